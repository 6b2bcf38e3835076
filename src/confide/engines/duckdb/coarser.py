"""Cells from finer ones: a table of some classes of a file from the table by every variable that it names."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from confide.arrays import Bools, Ints
from confide.engines.cells import merged
from confide.model.evidence import Box, Cells, Tally

__all__ = ["coarsen", "each_array", "finest", "weigh"]

_ARRAYS = ("places", "records", "units", "key", "weight", "total", "size", "square", "top")


def finest(tally: Tally) -> Tally:
    """The tally of the whole file by every variable that this one names, in one order for all who name the same."""
    return replace(tally, by=tuple(sorted({*tally.by, *(name for box in tally.within for name, _ in box)})), within=())


def coarsen(fine: Cells, tally: Tally) -> Cells:
    """The cells of a tally from those of its `finest`. Where every record is a unit, all of them are sums of these."""
    rows = np.flatnonzero(_inside(fine, tally.within))
    places = fine.places[rows][:, [fine.by.index(name) for name in tally.by]]
    return merged(fine, tally.by, rows, places)


_BESIDE = 4_000
"""Bytes that cells take beside their numbers, and the question for them: an empty table is not for nothing."""


def weigh(cells: Cells) -> int:
    """About so many bytes some cells take."""
    arrays: list[Ints | None] = [getattr(cells, name) for name in _ARRAYS]
    return _BESIDE + sum(array.nbytes for array in arrays if array is not None)


def each_array(cells: Cells, change: Callable[[Ints], Ints]) -> Cells:
    """The cells with every array changed in the same way."""
    changed = {name: None if (a := getattr(cells, name)) is None else change(a) for name in _ARRAYS}
    return replace(cells, **changed)  # type: ignore[arg-type]  # each field keeps its type: an array or None


def _inside(cells: Cells, within: Sequence[Box]) -> Bools:
    chosen = np.full(len(cells.records), not within)
    for box in within:
        here = np.ones(len(cells.records), dtype=bool)
        for name, allowed in box:
            here &= np.isin(cells.places[:, cells.by.index(name)], allowed)
        chosen |= here
    return chosen
