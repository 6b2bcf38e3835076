"""What a method did, as a page to look at: which cells, what loss, which intervals, with charts.

For the custodian: a page has true values. One template, no script, nothing loaded from elsewhere; every text is escaped,
and charts are pictures, in which nothing can run.
"""

import base64
import json
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from confide.data.text import write_text
from confide.formats.about import plain
from confide.formats.charts.colours import MIDDLE, POINT
from confide.formats.charts.theme import dressed
from confide.formats.html import TEMPLATES
from confide.tables.annealing.safe.base import SafeBase
from confide.tables.changed import Changed
from confide.tables.loss import Loss, information_loss
from confide.tables.perturbation.transitions import Transitions

__all__ = ["Chart", "Report", "report_of"]

ROWS = 200
"""How many rows of a grid are shown."""

WIDE, NARROW = 720, 340
"""Pixels of a chart. The narrow one fits a telephone without shrinking its letters."""


@dataclass(frozen=True)
class Chart:
    """A Vega-Lite specification with its data, and in words what it shows, for who cannot see it."""

    title: str
    alt: str
    spec: dict[str, Any]

    def image(self, *, dark: bool = False, width: int = WIDE) -> str:
        """The chart as the address of an SVG picture; nothing where charts cannot be drawn.

        Promise: nothing is loaded from anywhere.
        """
        if find_spec("vl_convert") is None:
            return ""
        import vl_convert

        whole = {"$schema": "https://vega.github.io/schema/vega-lite/v5.json", **self.spec}
        svg = vl_convert.vegalite_to_svg(json.dumps(dressed(whole, dark=dark, width=width)), allowed_base_urls=[])
        return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()


@dataclass(frozen=True)
class Report:
    """A page: sentences, charts and tables with a title each. `secret` ones say that they are for the custodian."""

    title: str
    sentences: tuple[str, ...]
    charts: tuple[Chart, ...] = ()
    grids: tuple[tuple[str, pa.Table], ...] = ()
    secret: bool = True

    def html(self) -> str:
        """The page.

        >>> "<b>" in Report("A <b>title</b>", ()).html()
        False
        """
        return TEMPLATES.get_template("report.html").render(
            title=plain(self.title),
            sentences=[plain(sentence) for sentence in self.sentences if sentence],
            secret=self.secret,
            charts=[_figure(chart) for chart in self.charts],
            grids=[_grid(title, table) for title, table in self.grids],
        )

    def write(self, path: str | Path) -> None:
        write_text(path, self.html())


def report_of(result: Changed | SafeBase | Transitions) -> Report:
    """The page about a result: an adjusted, rounded or perturbed table, a SAFE base, or a transition matrix."""
    if isinstance(result, Transitions):
        return _of_transitions(result)
    return _of_base(result) if isinstance(result, SafeBase) else _of_change(result)


def _of_change(result: Changed) -> Report:
    found = information_loss(result)
    away = result.deviations
    far = np.argsort(-np.abs(away), kind="stable")[: min(30, int((away != 0).sum()))]
    moved = pa.table(
        {
            "cell": [result.table.name(int(cell)) for cell in far],
            "before": result.before.value[far],
            "now": result.table.value[far],
            "deviation": away[far],
        }
    )
    title = f"What was changed: {result.table.measure} by {' x '.join(result.table.variables)}"
    return Report(
        title,
        (repr(result), *result.notes),
        _losses(found),
        (*_loss_grids(found), ("Cells that moved farthest", moved)),
    )


def _of_base(result: SafeBase) -> Report:
    found, rows = information_loss(result), result.deviations
    frame = {name: rows[name].to_numpy(zero_copy_only=False) for name in rows.column_names}
    names = list(dict.fromkeys(frame["table"].tolist()))
    inside = [frame["table"] == name for name in names]
    away = [np.abs(frame["deviation"][here]) for here in inside]
    cells = [frame["cells"][here] for here in inside]
    tables = pa.table(
        {
            "table": names,
            "cells": [int(some.sum()) for some in cells],
            "mean": [float(np.average(far, weights=some)) for far, some in zip(away, cells, strict=True)],
            "largest": [int(far.max()) for far in away],
        }
    )
    grids = (*_loss_grids(found), ("Controlled tables", tables))
    return Report(f"SAFE base by {' x '.join(result.by)}", (repr(result), *result.notes), _losses(found), grids)


def _of_transitions(result: Transitions) -> Report:
    moves = range(-result.D, result.D + 1)
    last = len(result.matrix) - 1
    rows = [str(count) + " and more" * (count == last) for count in range(len(result.matrix))]
    size = np.abs(np.arange(-result.D, result.D + 1))
    columns = {f"{move:+d}" if move else "0": result.matrix[:, place].round(4) for place, move in enumerate(moves)}
    grid = pa.table({"count": rows, **columns, "mean size": (result.matrix @ size).round(4)})
    cells = [
        {"count": rows[count], "move": int(move), "probability": float(result.matrix[count, place])}
        for count in range(len(rows))
        for place, move in enumerate(moves)
        if result.matrix[count, place] > 0
    ]
    encoding = {
        "x": {"field": "move", "type": "ordinal", "axis": {"labelAngle": 0}},
        "y": {"field": "count", "type": "ordinal", "sort": rows},
        "color": {"field": "probability", "type": "quantitative", "scale": {"range": [MIDDLE, POINT]}},
    }
    chart = Chart(
        "Probability of each move",
        "For each count, how probable each move is; the numbers are in the table below.",
        {"data": {"values": cells}, "width": "container", "height": {"step": 26}, "mark": "rect", "encoding": encoding},
    )
    small = f"Counts from 1 to {result.js} never appear. " if result.js else ""
    said = f"{small}No count moves by more than {result.D}; the variance of the moves is {result.V:g}. Zeros stay."
    return Report("How counts move", (said,), (chart,), (("Probabilities", grid),), secret=False)


def _losses(found: Loss) -> tuple[Chart, ...]:
    if not len(found.before):
        return ()
    said = f"The largest is {found.largest:,.10g}, the mean absolute deviation {found.mean:,.3f}; the numbers are in the table below."
    if found.whole:
        return (_bars("Cells by deviation", said, found.signed(), x="deviation"),)
    return (_bars("Cells by deviation in percent of their value", said, found.relative(), x="percent of the value"),)


def _loss_grids(found: Loss) -> tuple[tuple[str, pa.Table], ...]:
    return (
        ("Absolute deviations", found.histogram()) if found.whole else ("Deviations in percent", found.relative()),
        ("By number of variables", found.by_dimension()),
        ("By true value", found.by_size()),
    )


def _bars(title: str, alt: str, table: pa.Table, *, x: str) -> Chart:
    axis = {"labelAngle": 0 if x == "deviation" else -40, "labelOverlap": True}
    across = {"field": x, "type": "ordinal", "sort": None, "axis": axis}
    encoding = {"x": across, "y": {"field": "cells", "type": "quantitative"}}
    mark = {"type": "bar", "color": POINT}
    return Chart(
        title, alt, {"data": {"values": table.to_pylist()}, "width": "container", "mark": mark, "encoding": encoding}
    )


def _figure(chart: Chart) -> dict[str, str]:
    """A chart in the four ways that a reader may want to see it."""
    return {
        "title": chart.title,
        "alt": plain(chart.alt),
        "light": chart.image(),
        "dark": chart.image(dark=True),
        "light_narrow": chart.image(width=NARROW),
        "dark_narrow": chart.image(dark=True, width=NARROW),
    }


def _grid(title: str, table: pa.Table) -> dict[str, Any]:
    """A table as texts, the first rows of it, numbers to the right."""
    kinds = ["" if pa.types.is_string(field.type) else "number" for field in table.schema]
    rows = [list(row.values()) for row in table.slice(0, ROWS).to_pylist()]
    return {
        "title": title,
        "head": list(zip(map(plain, table.column_names), kinds, strict=True)),
        "rows": [list(zip(map(_text, row), kinds, strict=True)) for row in rows],
        "more": f"The first {ROWS} of {table.num_rows:,}." if table.num_rows > ROWS else "",
    }


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}".replace("inf", "∞")
    return f"{value:,}" if isinstance(value, int) else plain(str(value))
