"""The hot loops of counting all tables of a file by two variables: cells of crosses, what is added up in them, and coarser cells."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from confide.arrays import Bools, Ints
from confide.data.compiling import compiled

if TYPE_CHECKING:
    from typing import Any

__all__ = ["AMOUNT", "COUNTED", "add_amounts", "add_counts", "join_codes", "merge_cells", "see_codes"]

Codes = NDArray[np.int32]
Cells = NDArray[np.uint32]
"""Without a sign: an index that could be below 0 is looked at first."""

COUNTED = 3
"""What is counted in each cell: records, their keys (by exclusive or) and weights."""

AMOUNT = 8
"""What each cell has of an amount: total, size, square, the three largest; two are unused, for a line of the cache is 64 bytes."""


@compiled
def join_codes(
    codes: Codes, places: "NDArray[Any]", joined: Codes, classes: int
) -> None:  # pragma: no cover - compiled
    """Codes of what records have in some variables and in one more, in place; `joined` numbers what there is."""
    for i in range(len(codes)):
        codes[i] = joined[codes[i] * classes + places[i]]


@compiled
def see_codes(codes: Codes, places: "NDArray[Any]", seen: Bools, classes: int) -> None:  # pragma: no cover - compiled
    """Note which combinations of a code and a class there are."""
    for i in range(len(codes)):
        seen[codes[i] * classes + places[i]] = True


@compiled
def add_counts(cell: Cells, key: "NDArray[Any]", weight: Ints, counts: Ints) -> None:  # pragma: no cover - compiled
    """Add records to the counts of their cells; without weights each counts for one."""
    for i in range(len(cell)):
        own = cell[i]
        counts[own, 0] += 1
        counts[own, 1] ^= key[i]
        counts[own, 2] += weight[i] if len(weight) else 1


@compiled
def add_amounts(cell: Cells, amount: Ints, shift: int, sums: Ints) -> None:  # pragma: no cover - compiled
    """Add an amount of records to the sums of their cells; squares are of what is left when `shift` bits are cut."""
    for i in range(len(cell)):
        own, size = cell[i], abs(amount[i])
        cut = size >> shift
        sums[own, 0] += amount[i]
        sums[own, 1] += size
        sums[own, 2] += cut * cut
        if size > sums[own, 5]:  # seldom, after the first few
            _place(sums[own], size)


@compiled
def _place(own: Ints, size: int) -> None:  # pragma: no cover - compiled
    """Put a size among the three largest, the largest first."""
    if size > own[3]:
        own[5], own[4], own[3] = own[4], own[3], size
    elif size > own[4]:
        own[5], own[4] = own[4], size
    elif size > own[5]:
        own[5] = size


@compiled
def merge_cells(
    counts: Ints, sums: Ints, target: Ints, coarse: Ints, coarse_sums: Ints
) -> None:  # pragma: no cover - compiled
    """Add cells to those of a coarser table: `target` is where each belongs. `sums` has the cells of each amount."""
    for cell in range(len(target)):
        if counts[cell, 0]:
            own = coarse[target[cell]]
            own[0] += counts[cell, 0]
            own[1] ^= counts[cell, 1]
            own[2] += counts[cell, 2]
            for number in range(len(sums)):
                total = coarse_sums[number, target[cell]]
                for part in range(3):
                    total[part] += sums[number, cell, part]
                for part in range(3, 6):
                    _place(total, sums[number, cell, part])
