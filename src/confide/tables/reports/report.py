"""What a method did to a table, as a page to look at: which cells, what loss, with charts. For the custodian."""

import numpy as np
import pyarrow as pa

from confide.data.report import Chart, ReportPage
from confide.formats.charts.colours import MIDDLE, POINT
from confide.tables.annealing.safe.base import SafeBase
from confide.tables.changed import Changed
from confide.tables.loss import Loss, information_loss
from confide.tables.perturbation.transitions import Transitions

__all__ = ["report_of"]


def report_of(result: Changed | SafeBase | Transitions) -> ReportPage:
    """The page about a result: an adjusted, rounded or perturbed table, a SAFE base, or a transition matrix."""
    if isinstance(result, Transitions):
        return _of_transitions(result)
    return _of_base(result) if isinstance(result, SafeBase) else _of_change(result)


def _of_change(result: Changed) -> ReportPage:
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
    return ReportPage(
        title,
        (repr(result), *result.notes),
        _losses(found),
        (*_loss_grids(found), ("Cells that moved farthest", moved)),
    )


def _of_base(result: SafeBase) -> ReportPage:
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
    return ReportPage(f"SAFE base by {' x '.join(result.by)}", (repr(result), *result.notes), _losses(found), grids)


def _of_transitions(result: Transitions) -> ReportPage:
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
    return ReportPage("How counts move", (said,), (chart,), (("Probabilities", grid),), warning="")


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
