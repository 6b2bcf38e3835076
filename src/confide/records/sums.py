"""The hot loops of counting: cells of tables, and what is added up, alone or commonest in them, in one pass each."""

import numpy as np
from numpy.typing import NDArray

from confide.arrays import Bools, Floats, Ints, Narrow
from confide.data.compiling import compiled

__all__ = [
    "Places",
    "add_counts",
    "add_values",
    "cell_sums",
    "cross_cells",
    "part_cells",
    "raise_to_largest",
    "right_claims",
    "rows_of_few",
]

Places = NDArray[np.uint16]


@compiled
def cross_cells(one: Places, two: Places, three: Places, sizes: tuple[int, int]) -> Ints:  # pragma: no cover - compiled
    """The cell of each record in a table by three variables; `sizes` has the classes of the second and the third."""
    cell = np.empty(len(one), np.int64)
    for i in range(len(one)):
        cell[i] = (np.int64(one[i]) * sizes[0] + two[i]) * sizes[1] + three[i]
    return cell


@compiled
def part_cells(cell: Ints, places: Places, size: int) -> None:  # pragma: no cover - compiled
    """Part cells by one more variable of that many classes, in place."""
    for i in range(len(cell)):
        cell[i] = cell[i] * size + places[i]


@compiled
def add_counts(counts: Ints, cell: Ints) -> None:  # pragma: no cover - compiled
    """Count the records of each cell, in place: `numpy.bincount` of numbers that need no check."""
    for i in range(len(cell)):
        counts[cell[i]] += 1


@compiled
def add_values(sums: Floats, cell: Ints, values: Floats) -> None:  # pragma: no cover - compiled
    """Add up the values of each cell, in place."""
    for i in range(len(cell)):
        sums[cell[i]] += values[i]


@compiled
def raise_to_largest(largest: Floats, of: Narrow, values: Floats) -> None:  # pragma: no cover - compiled
    """Raise what each group has to the largest of its values, in place: `numpy.maximum.at`, in a tenth of the time."""
    for i in range(len(of)):
        largest[of[i]] = max(largest[of[i]], values[i])


@compiled
def rows_of_few(cell: Ints, counts: Ints, most: int, start: int) -> Ints:  # pragma: no cover - compiled
    """The records, numbered from `start` on, whose cell has at most so many."""
    rows, place = np.empty(len(cell) + 1, np.int64), 0
    # written whether or not it is one: which records are is hard to foresee, and a wrong turn costs more than a number
    for i in range(len(cell)):
        rows[place] = start + i
        place += counts[cell[i]] <= most
    return rows[:place].copy()


@compiled
def cell_sums(cell: Ints, columns: Floats, cells: int) -> Floats:  # pragma: no cover - compiled
    """A row for each cell, with the sum of each column over its records: `numpy.bincount` of many weights."""
    sums = np.zeros((cells, columns.shape[1]))
    for i in range(len(cell)):
        for j in range(columns.shape[1]):
            sums[cell[i], j] += columns[i, j]
    return sums


@compiled
def right_claims(
    cell: Ints, wanted: Ints, columns: Places, usual: Ints, truth: Places, shape: tuple[int, int], others: bool
) -> Bools:  # pragma: no cover - compiled
    """About which targets the commonest class among the records of a `wanted` cell is the `truth`, for each variable.

    `usual` has what is claimed of an empty cell, `shape` the number of cells and of classes. `others` leaves out the target's
    own record, which then is one of those counted.
    """
    number, found = np.full(shape[0], -1, np.int64), 0
    for target in wanted:
        if number[target] < 0:
            number[target] = found
            found += 1
    counts = np.zeros((found, columns.shape[1], shape[1]), np.int32)
    for i in range(len(cell)):
        row = number[cell[i]]
        if row >= 0:
            for j in range(columns.shape[1]):
                counts[row, j, columns[i, j]] += 1
    right = np.zeros(truth.shape, np.bool_)
    for i in range(len(wanted)):
        for j in range(columns.shape[1]):
            best, most = usual[j], 0
            for place in range(shape[1]):
                here = counts[number[wanted[i]], j, place] - (others and place == truth[i, j])
                if here > most:
                    best, most = place, here
            right[i, j] = best == truth[i, j]
    return right
