from . import risk as risk
from . import utility as utility
from .maps import MaskingMap as MaskingMap
from .maps import risk_utility_map as risk_utility_map
from .reports.report import Report as Report
from .reports.report import report as report
from .scores import Score as Score
from .scores import score as score
