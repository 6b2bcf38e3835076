"""What engines do with the cells of a tally once they are counted."""

from dataclasses import replace

import numpy as np

from confide.arrays import Ints
from confide.model.evidence import Cells, Tally

__all__ = ["bounded", "merged"]

_SUMS = ("records", "units", "weight", "total", "size", "square")


def bounded(cells: Cells, tally: Tally) -> Cells:
    """The contract of `Tally.share` for contributions that are all exact."""
    if not tally.share or cells.top is None or cells.size is None:
        return cells
    matters = cells.top[:, 0] > tally.share * cells.size
    return replace(cells, top=np.where(matters[:, None], cells.top, cells.top[:, :1]))


def merged(fine: Cells, by: tuple[str, ...], rows: Ints, places: Ints) -> Cells:
    """Cells from finer ones: of these `rows`, which have new places. Where every record is a unit, all numbers are sums."""
    order = np.lexsort(places.T[::-1]) if by else np.arange(len(rows))
    rows, places = rows[order], places[order]
    differs = (places[1:] != places[:-1]).any(axis=1)
    first = np.flatnonzero(np.concatenate([np.ones(min(1, len(rows)), dtype=bool), differs]))
    summed = {name: np.add.reduceat(array[rows], first) for name in _SUMS if (array := getattr(fine, name)) is not None}
    key = np.bitwise_xor.reduceat(fine.key[rows], first)
    top = None if fine.top is None else _largest(fine.top[rows], first)
    return replace(fine, by=by, places=places[first], key=key, top=top, **summed)


def _largest(top: Ints, first: Ints) -> Ints:
    """The largest of rows that belong together, of which each begins at one of `first`, as many as a row has."""
    width = top.shape[1]
    together = np.repeat(np.arange(len(first)), np.diff(first, append=len(top)) * width)
    order = np.lexsort((-top.ravel(), together))
    largest: Ints = top.ravel()[order[first[:, None] * width + np.arange(width)]]
    return largest
