"""Charts of tables as Vega-Lite: plain dictionaries with their data inside, to be dressed by `confide.formats.charts.theme`."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from confide.formats.about import marks, plain
from confide.formats.charts.colours import ABOVE, MIDDLE, POINT, SERIES
from confide.model.release import Column, Dimension, Release

__all__ = ["table_chart"]

Chart = dict[str, Any]

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
MOST_BARS, MOST_TILES = 60, 1500
"""What still can be read; the table has all numbers in any case."""

ROOM = 48
"""Pixels beside a heat map into which its last slanted label may reach."""


def table_chart(release: Release) -> Chart | None:
    """Give the first measure as bars (one variable), bars in groups or a heat map (two); nothing where none can be read.

    Totals are left out, and so is what is withheld; the description says how much that is.
    """
    column = next(iter(release.columns.values()))
    label = plain(column.label or column.name)
    shape = _shape(release, label)
    values = list(_values(release, column))
    if shape is None or not values:
        return None
    kind, marked, encoding = shape
    told = [{"field": f"v{n}", "title": _title(dimension)} for n, dimension in enumerate(release.dimensions)]
    withheld = int((marks(column)[_inner(column)] != "").sum())
    without = f" {withheld} numbers that are withheld or do not apply are left out." if withheld else ""
    return {
        "$schema": SCHEMA,
        "title": f"{label} by {' and '.join(map(_title, release.dimensions))}",
        "description": f"{kind} of {label} by {' and '.join(map(_title, release.dimensions))}. "
        f"{plain(release.scope)}.{without}",
        "data": {"values": values},
        "width": "container",
        "height": {"step": 20},
        "padding": {"left": 4, "top": 4, "bottom": 4, "right": ROOM if kind == "Heat map" else 4},
        "mark": marked,
        "encoding": {**encoding, "tooltip": [*told, {"field": "value", "title": label, "format": ",.15~g"}]},
    }


def _shape(release: Release, label: str) -> tuple[str, Chart, Chart] | None:
    """What kind of chart can be read, its mark and its encoding. The variable with fewer classes goes across."""
    numbered = sorted(enumerate(release.dimensions), key=lambda pair: -len(pair[1].codes))
    sizes = [len(dimension.codes) - 1 for _, dimension in numbered]
    number = {"field": "value", "type": "quantitative", "title": label}
    if len(sizes) == 1 and sizes[0] <= MOST_BARS:
        return "Bar chart", {"type": "bar", "color": POINT}, {"y": _classes(*numbered[0]), "x": number}
    if len(sizes) == 2 and sizes[1] <= len(SERIES) and sizes[0] * sizes[1] <= MOST_BARS:
        series = _classes(*numbered[1])
        colour = {**series, "title": _title(numbered[1][1]), "scale": {"range": list(SERIES)}}
        offset = {"field": series["field"], "sort": series["sort"]}
        encoding = {"y": _classes(*numbered[0]), "yOffset": offset, "x": number, "color": colour}
        return "Bar chart in groups", {"type": "bar"}, encoding
    if len(sizes) == 2 and sizes[0] * sizes[1] <= MOST_TILES:
        across = {**_classes(*numbered[1]), "axis": {"orient": "top", "labelAngle": -40}}
        colour = {**number, "scale": {"range": [MIDDLE, ABOVE], "interpolate": "rgb"}}
        return "Heat map", {"type": "rect"}, {"y": _classes(*numbered[0]), "x": across, "color": colour}
    return None


def _classes(number: int, dimension: Dimension) -> Chart:
    labels = [_label(dimension, at) for at in range(len(dimension.codes) - 1)]
    return {"field": f"v{number}", "type": "nominal", "sort": labels, "title": None}


def _values(release: Release, column: Column) -> Iterator[Chart]:
    """One entry for each cell that has a number."""
    numbers = column.values[_inner(column)]
    for place in np.argwhere(marks(column)[_inner(column)] == "").tolist():
        names = {f"v{axis}": _label(release.dimensions[axis], at) for axis, at in enumerate(place)}
        yield {**names, "value": float(numbers[tuple(place)])}


def _label(dimension: Dimension, at: int) -> str:
    """The label of a class, with its code where another class has the same label."""
    label = dimension.labels[at].strip() or dimension.codes[at]
    twice = dimension.labels.count(dimension.labels[at]) > 1
    return plain(f"{label} ({dimension.codes[at]})" if twice else label)


def _title(dimension: Dimension) -> str:
    return plain(dimension.label or dimension.name)


def _inner(column: Column) -> tuple[slice, ...]:
    return tuple(slice(None, -1) for _ in column.values.shape)
