"""Sums of squares that are exact in a signed 64-bit integer: by how many bits contributions are cut first."""

from collections.abc import Mapping
from math import ceil, log2

import numpy as np
import pyarrow as pa

from confide.arrays import Floats, Ints

__all__ = ["square_shifts"]


AT_ONCE = 1 << 17
"""Contributions whose sizes are looked at together."""

LARGEST_BITS = 58
"""Sums of squares stay below 2 to this power; the bits left free allow contributions to be changed later, up to fourfold."""


def square_shifts(records: pa.Table, numbers: Mapping[str, str]) -> dict[str, int]:
    """The bits to cut for each number that needs it; `numbers` names their columns.

    The squares of units' contributions add up to at most the largest times the sum of sizes, in any cell.
    """
    units = records["unit"].to_numpy()
    ordered = np.sort(units)
    several = bool((ordered[1:] == ordered[:-1]).any())
    unit = np.searchsorted(ordered, units) if several else None
    shifts = {name: _shift(unit, records[column].fill_null(0).to_numpy()) for name, column in numbers.items()}
    return {name: shift for name, shift in shifts.items() if shift}


def _shift(unit: Ints | None, contributions: Ints) -> int:
    """`unit` numbers the unit of each record, unless every record is one."""
    if unit is None:
        # some at a time, which stay in the processor's cache
        parts = (_sizes(contributions[start : start + AT_ONCE]) for start in range(0, len(contributions), AT_ONCE))
        found = [(float(size.max()), float(size.sum())) for size in parts]
        largest, whole = max((most for most, _ in found), default=0.0), sum(total for _, total in found)
    else:
        sizes = np.bincount(unit, weights=_sizes(contributions))
        largest, whole = float(sizes.max(initial=0.0)), float(sizes.sum())
    return max(0, ceil((log2(max(largest, 1.0)) + log2(max(whole, 1.0)) - LARGEST_BITS) / 2))


def _sizes(contributions: Ints) -> Floats:
    return np.asarray(np.abs(contributions), np.float64)
