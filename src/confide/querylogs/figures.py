"""The figures of Erola et al. (2011) of one's own log: levels reached, topics kept, time taken."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from confide.data.report import SCHEMA, Chart
from confide.formats.charts.colours import POINT, SERIES

__all__ = ["level_chart", "srp_chart", "time_chart"]

LEVEL = {"field": "level", "type": "ordinal", "title": "Level", "axis": {"labelAngle": 0}}
SHARE = {"type": "quantitative", "scale": {"domain": [0, 1]}, "axis": {"format": "%"}}


def level_chart(shares: Iterable[float]) -> Chart:
    """Give the share of lines with a topic on each level (Figure 2)."""
    values = [{"level": level, "share": float(share)} for level, share in enumerate(shares, 1)]
    said = ", ".join(f"{value['share']:.0%} on level {value['level']}" for value in values)
    return _chart(
        "Lines that have a topic, by level", f"Bar chart: {said}.", values,
        {"type": "bar", "color": POINT}, {"x": LEVEL, "y": {"field": "share", "title": "Share of lines", **SHARE}},
    )  # fmt: skip


def srp_chart(kept: Mapping[str, Mapping[int, Sequence[float]]]) -> Chart:
    """Give the topics kept by level and k, for each way of grouping by its name (Figure 3)."""
    values = [
        {"grouping": way, "k": k, "level": level, "srp": float(share)}
        for way, by_k in kept.items() for k, shares in by_k.items() for level, share in enumerate(shares, 1)
    ]  # fmt: skip
    said = "; ".join(
        f"k = {k}, {way}: " + " ".join(f"{share:.2f}" for share in shares)
        for way, by_k in kept.items() for k, shares in by_k.items()
    )  # fmt: skip
    encoding = {
        "x": LEVEL, "y": {"field": "srp", "title": "Topics kept (SRP)", **SHARE},
        "color": {"field": "grouping", "type": "nominal", "title": "Clusters", "scale": {"range": list(SERIES[: len(kept)])}},
        "column": {"field": "k", "type": "ordinal", "title": "k"},
    }  # fmt: skip
    return _chart(
        "Topics kept, by level and k", f"Lines by level, {said}.", values, {"type": "line", "point": True}, encoding
    )


def time_chart(seconds: Mapping[int, float]) -> Chart:
    """Give the seconds that grouping took, by k (Figure 4)."""
    values = [{"k": k, "seconds": round(taken, 3)} for k, taken in seconds.items()]
    said = ", ".join(f"k = {value['k']}: {value['seconds']} s" for value in values)
    x = {"field": "k", "type": "ordinal", "title": "k", "axis": {"labelAngle": 0}}
    y = {"field": "seconds", "type": "quantitative", "title": "Seconds"}
    return _chart("Time taken", f"Bar chart: {said}.", values, {"type": "bar", "color": POINT}, {"x": x, "y": y})


def _chart(title: str, alt: str, values: list[dict[str, Any]], mark: dict[str, Any], encoding: dict[str, Any]) -> Chart:
    return Chart(title, alt, {"$schema": SCHEMA, "data": {"values": values}, "mark": mark, "encoding": encoding})
