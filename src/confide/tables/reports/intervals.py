"""A pattern of suppression as a page: which cells are hidden, and what can be worked out of them. For the custodian."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from confide.arrays import Bools, Floats, Ints
from confide.data.report import Chart, ReportPage
from confide.formats.charts.colours import LINE, MIDDLE, OVER, POINT, RULE
from confide.formats.charts.theme import distinct
from confide.tables.suppression.audit import UNDECIDED
from confide.tables.table.statuses import STATUSES
from confide.tables.table.table import Status, Table

__all__ = ["report_of_intervals"]


BARS = 40
"""How many cells a chart of intervals shows."""

CODES = 80
"""How many codes a variable may have for its table to be drawn."""

FARTHEST = 300
"""Percent of its value; what is known less well of a cell is drawn as this."""


def report_of_intervals(
    title: str,
    table: Table,
    lower: Floats,
    upper: Floats,
    *,
    failed: Mapping[int, str] | None = None,
    hidden: Bools | None = None,
    kind: str = "suppressed",
    notes: tuple[str, ...] = (),
) -> ReportPage:
    """The page about a pattern: an outsider can work out that each cell lies from `lower` to `upper`.

    `failed` are cells that an audit found to be known too well, and what they miss; `hidden` those that are not shown as they
    are, of whatever kind, if not the suppressed.
    """
    failed = failed or {}
    tiny = 1e-9 * np.max(np.abs(table.value), initial=1.0)
    lower, upper = (np.where(np.abs(end) < tiny, 0.0, end) for end in (lower, upper))
    there = table.suppressed if hidden is None else hidden
    cells = np.flatnonzero(there)
    gone = [cell for cell in cells.tolist() if failed.get(cell) != "shown"]
    share = np.abs(table.value[gone]).sum() / max(1e-300, np.abs(table.value).sum())
    suppressed = f"{len(gone):,} of {len(table):,} cells are {kind}, with {share:.1%} of the value of all cells."
    slack = _slack(table, lower, upper)
    known = (slack < 1 - 1e-5) & there
    known[list(failed)] = True
    undecided = sum(missed.startswith(UNDECIDED) for missed in failed.values())
    sure = int(known.sum()) - undecided
    verdict = f"Cells that can be known too well: {sure}." if known.any() else "Every interval is wide enough."
    verdicts = {
        cell: "too narrow" if known[cell] else "enough" for cell in np.flatnonzero(table.primary | known).tolist()
    }
    verdicts |= {cell: _failing(missed) for cell, missed in failed.items()}
    order = cells[np.lexsort((slack[cells], ~table.primary[cells], ~known[cells]))]
    counts = pa.table({"status": list(STATUSES), "cells": np.bincount(table.status, minlength=len(STATUSES))})
    drawn = order[table.primary[order] | known[order]][:BARS]
    return ReportPage(
        f"{title}: {table.measure} by {' x '.join(table.variables)}",
        (*notes, suppressed, verdict),
        (*_map(table), *_intervals(table, lower, upper, drawn, known)),
        (
            ("Cells by status", counts),
            (f"{kind.capitalize()} cells", _cells(table, lower, upper, order, verdicts)),
        ),
    )


def _failing(missed: str) -> str:
    if missed == "shown":
        return "is shown"
    return missed if missed.startswith(UNDECIDED) else f"too narrow: {missed}"


def _slack(table: Table, lower: Floats, upper: Floats) -> Floats:
    """How many times as wide as it must be the interval of each cell is, on the side where it is narrowest."""
    reached = (
        (table.value - lower, table.lower_protection),
        (upper - table.value, table.upper_protection),
        (upper - lower, table.sliding_protection),
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        sides = [np.where(needed > 0, reach / needed, np.inf) for reach, needed in reached]
    slack: Floats = np.min(sides, axis=0)
    return slack


def _cells(table: Table, lower: Floats, upper: Floats, cells: Ints, verdicts: Mapping[int, str]) -> pa.Table:
    """The cells of a pattern, those to look at first; what they need is said of primary cells only."""
    others = ~table.primary[cells]
    least, most = table.value - table.lower_protection, table.value + table.upper_protection
    return pa.table(
        {
            "cell": [table.name(cell) for cell in cells.tolist()],
            "status": [STATUSES[status] for status in table.status[cells]],
            "value": table.value[cells],
            "needed from": pa.array(least[cells], mask=others),
            "known from": pa.array(lower[cells], from_pandas=True),
            "known to": pa.array(upper[cells], from_pandas=True),
            "needed to": pa.array(most[cells], mask=others),
            "verdict": [verdicts.get(cell, "") for cell in cells.tolist()],
        }
    )


def _intervals(table: Table, lower: Floats, upper: Floats, cells: Ints, known: Bools) -> tuple[Chart, ...]:
    """The cells that are protected least: a line from end to end of what is known, ticks where it must reach."""
    if not len(cells):
        return ()
    # Zeros that are to be hidden have no percentages of their own.
    unit = np.where(table.value != 0, np.abs(table.value), np.maximum(table.upper_protection, 1.0))
    names = distinct(table.name(cell) for cell in cells.tolist())
    ends = {
        "low": lower - table.value,
        "high": upper - table.value,
        "down": -table.lower_protection,
        "up": table.upper_protection,
    }
    # What there was no time for is drawn as if nothing of it were uncertain.
    percent = {name: np.nan_to_num(np.clip(100 * end / unit, -FARTHEST, FARTHEST)[cells]).tolist()
               for name, end in ends.items()}  # fmt: skip
    values = [
        {"cell": name, "outcome": "known too well" if known[cell] else "enough", **dict(zip(percent, row, strict=True))}
        for name, cell, *row in zip(names, cells.tolist(), *percent.values(), strict=True)
    ]
    y = {"field": "cell", "type": "nominal", "sort": None, "title": None}
    x: dict[str, Any] = {"type": "quantitative", "title": "percent of the value, from it"}
    colour = {
        "field": "outcome",
        "scale": {"domain": ["enough", "known too well"], "range": [POINT, LINE]},
        "title": None,
    }
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "rule", "strokeWidth": 5, "strokeCap": "round"},
            "encoding": {"y": y, "x": {**x, "field": "low"}, "x2": {"field": "high"}, "color": colour},
        },
        *(
            {
                "mark": {"type": "tick", "color": RULE, "thickness": 2, "size": 14},
                "encoding": {"y": y, "x": {**x, "field": end}},
            }
            for end in ("down", "up")
        ),
    ]
    alt = (
        f"For the {len(values)} primary cells protected least, what an outsider can work out, and in ticks how far that must "
        "reach; the numbers are below."
    )
    return (
        Chart(
            "What can be worked out (bars), and how far that must reach (ticks)",
            alt,
            {"data": {"values": values}, "width": "container", "height": {"step": 24}, "layer": layers},
        ),
    )


def _map(table: Table) -> tuple[Chart, ...]:
    """A table of two variables as it lies before the reader, with its suppressed cells."""
    sizes = [len(hierarchy.codes) for hierarchy in table.hierarchies]
    if len(sizes) != 2 or max(sizes) > CODES or not table.suppressed.any():
        return ()
    down, across = (distinct(hierarchy.codes) for hierarchy in table.hierarchies)
    values = [
        {"down": down[row], "across": across[column], "status": STATUSES[status]}
        for (row, column), status in zip(table.places.tolist(), table.status.tolist(), strict=True)
    ]
    colours = {Status.SAFE: MIDDLE, Status.PRIMARY: LINE, Status.SECONDARY: POINT, Status.PUBLISHED: MIDDLE}
    here = [status for status in colours if (table.status == status).any()]
    scale = {"domain": [STATUSES[status] for status in here], "range": [colours[status] for status in here]}
    encoding = {
        "y": {"field": "down", "type": "nominal", "sort": down, "title": table.variables[0]},
        "x": {"field": "across", "type": "nominal", "sort": across, "title": table.variables[1]},
        "color": {"field": "status", "type": "nominal", "scale": scale, "title": None},
    }
    mark = {"type": "rect", "stroke": OVER, "strokeWidth": 1}
    full = [each for each in values if each["status"] != STATUSES[Status.EMPTY]]
    alt = "The table with its primary and secondary cells; they are listed below."
    spec = {"data": {"values": full}, "width": "container", "mark": mark, "encoding": encoding}
    return (Chart("Which cells are suppressed", alt, spec),)
