"""Cutpoints drafted from the data for the custodian to declare: round ones for a draft, or one of four methods as it is."""

import json
from collections.abc import Sequence
from decimal import Decimal
from math import floor, log10
from typing import Any

import numpy as np

from confide.arrays import Floats
from confide.errors import Mistake, nearest
from confide.model.catalog.bins import span
from confide.site.cutpoints.methods import Bins, fixed, increasing, minimum_width, partitioned
from confide.site.profiling.column import ProfiledColumn, column_of
from confide.site.profiling.grouping import room
from confide.sources.source import read_source

__all__ = ["METHODS", "draft_cutpoints", "round_cutpoints"]


METHODS = ("fixed", "minimum", "increasing", "partitioned")
LEAST = 30
"""A drafted bin holds at least so many records."""

FEWEST_BINS, MOST_BINS = 3, 10
"""A number is drafted with about so many bins: fewer where tables by three numbers would have too few units a cell."""


def draft_cutpoints(
    source: Any, column: str, *, method: str = "minimum", minimum: int = 50, table: str | None = None
) -> list[str]:
    """Lines for the variable's section of `dataset.toml`: cutpoints with at least `minimum` records in each bin.

    `source` is whatever `confide init` takes. `partitioned` also gives the nodes above the bins. Other lines of the
    section that these replace must go.
    """
    if method not in METHODS:
        raise Mistake(
            f"No method called {method!r}. There are {', '.join(METHODS)}.", suggestions=nearest(method, METHODS)
        )
    read = read_source(source, table=table)
    if column not in read.table.column_names:
        raise Mistake(f"The data have no column {column!r}.", suggestions=nearest(column, read.table.column_names))
    found = column_of(read, column)
    if found.numbers is None:
        raise Mistake(f"Column {column!r} is not numeric, so it has no cutpoints.")
    bins = _bins(found, method, minimum)
    cuts = [_decimal(cut, found.decimals) for cut in bins.cutpoints]
    if not cuts:
        raise Mistake(
            f"With at least {minimum} records in each bin, {method!r} makes one bin of {column!r}.",
            suggestions=["Try --method minimum, or a smaller --minimum."],
        )
    lines = [
        f"# {method}: at least {minimum} records in each of {len(cuts) + 1} bins. Round the cutpoints if they tell too much.",
        f"decimals = {found.decimals}",
        *(["minimum = 0"] if not (found.present < 0).any() and (not cuts or cuts[0] > 0) else []),
        f"cutpoints = [{', '.join(f'{cut:f}' for cut in cuts)}]",
    ]
    return [*lines, f"nodes = {json.dumps(_nodes(bins, cuts, found))}"] if method == "partitioned" else lines


def _bins(column: ProfiledColumn, method: str, minimum: int) -> Bins:
    values, step = column.present, float(Decimal(1).scaleb(-column.decimals))
    if method == "fixed":
        return fixed(values, minimum=minimum, step=step)
    if method == "increasing":
        return increasing(values, minimum=minimum, step=step)
    return partitioned(values, minimum=minimum) if method == "partitioned" else minimum_width(values, minimum=minimum)


def _decimal(value: float, decimals: int) -> Decimal:
    cut = Decimal(repr(value)).quantize(Decimal(1).scaleb(-decimals))
    return cut.quantize(Decimal(1)) if cut == cut.to_integral() else cut.normalize()


def _nodes(bins: Bins, cuts: Sequence[Decimal], column: ProfiledColumn) -> list[str]:
    """The nodes between the root and the bins, by the bins they span: no lowest or highest value of the data is told."""
    low = Decimal(0) if not (column.present < 0).any() else None
    edges = [low, *cuts, None]
    starts = {bound[0]: place for place, bound in enumerate(bins.bounds)}
    ends = {bound[1]: place for place, bound in enumerate(bins.bounds)}
    spans = [(starts[first], ends[last]) for first, last in bins.nodes]
    inner = [(a, b) for a, b in spans if a != b and (a, b) != (0, len(cuts))]
    return [span(edges[a], edges[b + 1], decimals=column.decimals) for a, b in inner]


def round_cutpoints(column: ProfiledColumn, *, share: float = 1.0) -> list[float]:
    """Cutpoints with about as many records between them, at round numbers; zero is a bin of its own if common, also where one in a
    hundred has more: then there are those two.

    `share` is that of units to records.
    """
    values = column.present
    least = max(LEAST, len(values) // max(FEWEST_BINS, min(MOST_BINS, room(len(values) * share))))
    zeros = int((values == 0).sum())
    if (values < 0).any() or zeros < least:
        return _filled(_rounded(values, least, column.decimals), values)
    more = values[values > 0]
    cuts = _rounded(more, least, column.decimals)
    parts = [_parting(cuts, column.decimals)] if len(more) >= max(LEAST, len(values) // 100) else []
    return _filled([*parts, *cuts], values)


def _rounded(values: Floats, least: int, decimals: int) -> list[float]:
    """The narrowest bins with the least records, their cutpoints moved to round numbers."""
    if len(values) < 2 * least:
        return []
    raw = minimum_width(values, minimum=least).cutpoints
    edges = [float(values.min()), *raw, float(values.max())]
    gaps = [min(b - a, c - b) or b - a for a, b, c in zip(edges, edges[1:], edges[2:], strict=False)]
    return sorted({_round(cut, gap, decimals) for cut, gap in zip(raw, gaps, strict=True)})


def _round(cut: float, gap: float, decimals: int) -> float:
    """The cutpoint at the roundest number nearby: a multiple of 1, 2 or 5 times a power of ten, not over three quarters of the gap."""
    most = 0.75 * gap
    power = 10.0 ** floor(log10(most))
    step = max(s * power for s in (1, 2, 5) if s * power <= most * (1 + 1e-9))
    nice = max(step, 10.0**-decimals)
    return float(round(round(cut / nice) * nice, decimals))


def _parting(cuts: list[float], decimals: int) -> float:
    """The cutpoint that parts zero from the rest."""
    return 1.0 if not cuts or cuts[0] > 1 else 10.0**-decimals


def _filled(cuts: list[float], values: Floats) -> list[float]:
    """The cutpoints without those that leave fewer records than the least in a bin."""
    kept: list[float] = []
    ordered = np.sort(values)
    before = 0
    for cut in cuts:
        below = int(np.searchsorted(ordered, cut))
        if below - before >= LEAST and len(values) - below >= LEAST:
            kept.append(int(cut) if cut == int(cut) else cut)
            before = below
    return kept
