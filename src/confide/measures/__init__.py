"""Risk and utility of released files: single measures in `risk` and `utility`, all of them in a `report`."""

from confide.measures import risk, utility
from confide.measures.maps import MaskingMap, risk_utility_map
from confide.measures.reports.report import Report, report
from confide.measures.scores import Score, score

__all__ = ["MaskingMap", "Report", "Score", "report", "risk", "risk_utility_map", "score", "utility"]
