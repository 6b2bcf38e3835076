"""Charts of models as Vega-Lite: plain dictionaries with their data inside, to be dressed by `confide.formats.charts.theme`."""

from collections.abc import Iterator, Sequence
from typing import Any

from confide.formats.charts.colours import ABOVE, BELOW, LINE, MIDDLE, OVER, POINT, RULE
from confide.formats.charts.theme import distinct, short
from confide.formats.models.words import TermGroup

__all__ = ["MOST_ROWS", "coefficient_chart", "correlation_chart"]

Chart = dict[str, Any]

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
MOST_ROWS = 60
"""So many coefficients are drawn; the table has them all."""

LEAST_ROOM = 34
"""Pixels that a number in a cell needs."""


def coefficient_chart(groups: Sequence[TermGroup], *, response: str) -> Chart:
    """Give every estimate with its 95 percent interval, a panel a term, each with a scale of its own.

    Terms are in different units, so one scale for all would hide some of them.
    """
    terms = distinct(group.title for group in groups)
    values = [row for group, term in zip(groups, terms, strict=True) for row in _rows(group, term)][:MOST_ROWS]
    x = {"type": "quantitative", "title": None, "axis": {"tickCount": 4, "labelSeparation": 8}}
    y = {"field": "class", "type": "nominal", "sort": None, "title": None, "axis": {"ticks": False, "domain": False}}
    layers = [
        _mark({"type": "rule", "color": RULE, "strokeDash": [4, 4]}, {"x": {"datum": 0, "type": "quantitative"}}),
        _mark(
            {"type": "rule", "color": POINT, "strokeWidth": 3},
            {"x": x | {"field": "low"}, "x2": {"field": "high"}, "y": y},
        ),
        _mark(
            {"type": "point", "filled": True, "color": LINE, "size": 60, "opacity": 1},
            {"x": x | {"field": "estimate"}, "y": y},
        ),
    ]
    header = {"title": None, "labelOrient": "top", "labelAnchor": "start", "labelAngle": 0, "labelPadding": 2}
    return {
        "$schema": SCHEMA,
        "description": f"Coefficients of the model of {short(response)} as dots, each with its 95 percent interval as a "
        "line. A line that crosses zero, the dashed rule, is compatible with no effect. Each term has a scale of its own.",
        "data": {"values": values},
        "facet": {"row": {"field": "term", "type": "nominal", "sort": terms, "header": header}},
        "spacing": 14,
        "spec": {"height": {"step": 20}, "layer": layers},
        "resolve": {"scale": {"x": "independent", "y": "independent"}},
    }


def correlation_chart(names: Sequence[str], rows: Sequence[Sequence[float]]) -> Chart:
    """Give the correlations as a heat map: blue above zero, orange below, the stronger the darker."""
    labels = distinct(names)
    values = [
        {"row": labels[i], "column": labels[j], "correlation": value}
        for i, row in enumerate(rows)
        for j, value in enumerate(row)
    ]
    colour = {
        "field": "correlation",
        "type": "quantitative",
        "scale": {"domain": [-1, 0, 1], "range": [BELOW, MIDDLE, ABOVE], "interpolate": "rgb"},
        "legend": {"title": "correlation", "gradientLength": 200},
    }
    strong = {"test": "abs(datum.correlation) > 0.55", "value": OVER}
    room = {"test": f"width > {LEAST_ROOM * len(labels)}", "value": 1}
    number = {"field": "correlation", "type": "quantitative", "format": ".2~f"}
    return {
        "$schema": SCHEMA,
        "description": f"Heat map of the correlations of {', '.join(labels[:12])}"
        + (" and others" if len(labels) > 12 else "")
        + ". Blue is positive and orange negative; the stronger the colour, the stronger the correlation.",
        "data": {"values": values},
        "width": "container",
        "height": {"step": 30},
        "config": {"padding": {"left": 4, "top": 4, "right": 36, "bottom": 4}},
        "encoding": {"x": _axis("column", labels, top=True), "y": _axis("row", labels)},
        "layer": [
            {"mark": {"type": "rect"}, "encoding": {"color": colour}},
            {
                "mark": {"type": "text", "aria": False},
                "encoding": {
                    "text": number,
                    "opacity": {"condition": room, "value": 0},
                    "color": {"condition": strong},
                },
            },
        ],
    }


def _rows(group: TermGroup, term: str) -> Iterator[Chart]:
    for row, words in zip(group.rows, distinct(row.words or "each unit more" for row in group.rows), strict=True):
        yield {"term": term, "class": words, "estimate": row.estimate, "low": row.low, "high": row.high}


def _mark(mark: Chart, encoding: Chart) -> Chart:
    return {"mark": mark, "encoding": encoding}


def _axis(field: str, labels: Sequence[str], *, top: bool = False) -> Chart:
    axis = {"orient": "top", "labelAngle": -40, "labelLimit": 110} if top else {"labelLimit": 150}
    line = {"ticks": False, "domain": False}
    return {"field": field, "type": "nominal", "sort": list(labels), "title": None, "axis": {**axis, **line}}
