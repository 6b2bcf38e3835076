"""Diagnostic plots as Vega-Lite: plain dictionaries with their data inside, for any page and any tool.

Each has a title and a description in words (Vega makes it the label that a screen reader speaks); single points are left
out of what is spoken. Nothing is fetched from anywhere.
"""

from collections.abc import Iterable
from typing import Any

from confide.answering.diagnostics.plots import LIMIT, CategoricalPlot, GroupedPlot, NumericPlot
from confide.arrays import Floats

__all__ = ["categorical_chart", "fitted_chart", "grouped_chart", "numeric_chart"]

Chart = dict[str, Any]

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
POINT, LINE, RULE = "#5b7ba6", "#8a1c1c", "#595959"
RESIDUAL = "synthetic standardised residual"


def numeric_chart(plot: NumericPlot, *, name: str) -> Chart:
    """Give the scatter of synthetic residuals along a predictor, with its smooth line.

    >>> import numpy as np
    >>> none = np.empty(0)
    >>> numeric_chart(NumericPlot(none, none, none, none, 0.5), name="age")["title"]["text"]
    'Residuals along age'
    """
    return _scatter(plot, f"Residuals along {name}", name, "penalised spline")


def fitted_chart(plot: NumericPlot) -> Chart:
    """Give the scatter of synthetic residuals along the fitted values, with its kernel smoother."""
    return _scatter(plot, "Residuals along the fitted values", "fitted value", "kernel smoother")


def categorical_chart(plot: CategoricalPlot, *, name: str) -> Chart:
    """Give one box of synthetic residuals a class; suppressed classes carry the mark [c]."""
    shown = [i for i, hidden in enumerate(plot.suppressed.tolist()) if not hidden]
    hidden = [i for i, hidden in enumerate(plot.suppressed.tolist()) if hidden]
    columns = {"low": plot.low, "q1": plot.quarter, "median": plot.median, "q3": plot.three_quarters, "high": plot.high}
    boxes = [{"class": plot.classes[i], **{key: float(column[i]) for key, column in columns.items()}} for i in shown]
    marks = [{"class": plot.classes[i], "mark": "[c]", "at": 0} for i in hidden]
    words = (
        f"Box plots of synthetic standardised residuals by {name}: boxes from quarter to quarter with the median, "
        f"lines from the 5 to the 95 percent point. Boxes at one height and of one length speak for the model. "
        f"[c] marks a class with too few units. {_noise(plot.noise_sd)}"
    )
    x = {"field": "class", "type": "nominal", "title": name, "sort": None, "scale": {"domain": list(plot.classes)}}
    layers = [_zero(), *_boxes(boxes, x), _layer(marks, {"type": "text"}, x, _y("at"), text={"field": "mark"})]
    return _chart(f"Residuals by {name}", words, layers)


def grouped_chart(plot: GroupedPlot, *, name: str) -> Chart:
    """Give the mean residuals of groups of a logistic model, with the range that chance explains."""
    values = _rows(x=plot.x, residual=plot.residual, low=-plot.bound, high=plot.bound)
    words = (
        f"Mean residuals of groups of units along {name}, with the range of two standard errors about zero. About one "
        f"group in twenty outside it speaks for the model; a pattern speaks against it. Before the means were taken, "
        f"{plot.chance:.0%} of outcomes were turned round at random; the means allow for that."
    )
    x = _x(name)
    y = _y("residual", title="mean residual", limits=False)
    band = _layer(
        values, {"type": "area", "color": POINT, "opacity": 0.25}, x, y | {"field": "low"}, y2={"field": "high"}
    )
    dots = _layer(values, {"type": "point", "filled": True, "color": LINE, "size": 40}, x, y)
    return _chart(f"Mean residuals along {name}", words, [_zero(limits=False), band, dots])


def _scatter(plot: NumericPlot, title: str, name: str, smoother: str) -> Chart:
    words = (
        f"Scatter plot of {plot.x.size} synthetic standardised residuals along {name}, none beyond 4, with a {smoother}. "
        f"A level line and a band of one width speak for the model; a bent line asks for another term, a widening band "
        f"for another scale. {_noise(plot.noise_sd)}"
    )
    dot = {"type": "point", "filled": True, "size": 9, "opacity": 0.35, "color": POINT, "aria": False}
    line = {"type": "line", "color": LINE, "strokeWidth": 2.5}
    layers = [
        _zero(),
        _layer(_rows(x=plot.x, t=plot.t), dot, _x(name), _y("t")),
        _layer(_rows(x=plot.smooth_x, t=plot.smooth_t), line, _x(name), _y("t")),
    ]
    return _chart(title, words, layers)


def _boxes(boxes: list[Chart], x: Chart) -> list[Chart]:
    return [
        _layer(boxes, {"type": "rule", "color": RULE}, x, _y("low"), y2={"field": "high"}),
        _layer(boxes, {"type": "bar", "size": 18, "color": POINT}, x, _y("q1"), y2={"field": "q3"}),
        _layer(boxes, {"type": "tick", "size": 18, "thickness": 2, "color": "white"}, x, _y("median")),
    ]


def _chart(title: str, words: str, layers: list[Chart]) -> Chart:
    return {
        "$schema": SCHEMA,
        "title": {"text": title, "subtitle": "Synthetic: no point is a unit", "anchor": "start"},
        "description": words,
        "width": "container",
        "height": 300,
        "layer": layers,
        "config": {"view": {"continuousWidth": 480, "discreteWidth": 480}},
    }


def _layer(values: list[Chart], mark: Chart, x: Chart, y: Chart, **more: Chart) -> Chart:
    return {"data": {"values": values}, "mark": mark, "encoding": {"x": x, "y": y, **more}}


def _zero(*, limits: bool = True) -> Chart:
    encoding = {"y": _y("zero", title=RESIDUAL if limits else "mean residual", limits=limits)}
    mark = {"type": "rule", "color": RULE, "strokeDash": [4, 4], "aria": False}
    return {"data": {"values": [{"zero": 0}]}, "mark": mark, "encoding": encoding}


def _x(name: str) -> Chart:
    return {"field": "x", "type": "quantitative", "title": name, "scale": {"zero": False, "nice": False}}


def _y(field: str, *, title: str = RESIDUAL, limits: bool = True) -> Chart:
    scale = {"scale": {"domain": [-LIMIT, LIMIT]}} if limits else {}
    return {"field": field, "type": "quantitative", "title": title, **scale}


def _noise(noise_sd: float) -> str:
    return f"Noise with a standard deviation of {noise_sd:.2g} was added to every residual."


def _rows(**columns: Floats) -> list[Chart]:
    rounded: list[Iterable[float]] = [
        [float(f"{value:.6g}") for value in column.tolist()] for column in columns.values()
    ]
    return [dict(zip(columns, row, strict=True)) for row in zip(*rounded, strict=True)]
