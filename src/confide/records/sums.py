"""The hot loops of counting: cells of tables, and what is added up, alone or commonest in them, in one pass each."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.arrays import Bools, Floats, Ints, Narrow
from confide.data.compiling import compiled

__all__ = [
    "Places",
    "add_columns",
    "add_counts",
    "add_values",
    "count_classes",
    "count_cross",
    "cross_cells",
    "number_cells",
    "part_cells",
    "raise_to_largest",
    "right_claims",
    "rows_of_few",
    "rows_of_few_cross",
    "sole_classes",
]

Places = NDArray[np.unsignedinteger[Any]]
"""Places of classes: of 1 byte where all lists of codes are short."""


@compiled
def cross_cells(one: Narrow, two: Narrow, three: Narrow, sizes: tuple[int, int]) -> Ints:  # pragma: no cover - compiled
    """The cell of each record in a table by three variables; `sizes` has the classes of the second and the third."""
    cell = np.empty(len(one), np.int64)
    for i in range(len(one)):
        cell[i] = (np.int64(one[i]) * sizes[0] + two[i]) * sizes[1] + three[i]
    return cell


@compiled
def count_cross(
    counts: Ints, one: Narrow, two: Narrow, three: Narrow, sizes: tuple[int, int]
) -> None:  # pragma: no cover - compiled
    """Count the records of each cell of such a table, in place, without a number for each record."""
    for i in range(len(one)):
        counts[(np.int64(one[i]) * sizes[0] + two[i]) * sizes[1] + three[i]] += 1


@compiled
def part_cells(cell: Ints, places: Narrow, size: int) -> None:  # pragma: no cover - compiled
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
def rows_of_few(
    rows: Narrow, done: int, cell: Ints, counts: Ints, most: int, start: int
) -> int:  # pragma: no cover - compiled
    """Put down the records, numbered from `start` on, whose cell counts for at most so many, after those that are `done`; how many
    are done then. There is room for one more."""
    # written whether or not it is one: which records are is hard to foresee, and a wrong turn costs more than a number
    for i in range(len(cell)):
        rows[done] = start + i
        done += counts[cell[i]] <= most
    return done


@compiled
def rows_of_few_cross(
    rows: Narrow, counts: Ints, most: int, one: Narrow, two: Narrow, three: Narrow, sizes: tuple[int, int]
) -> None:  # pragma: no cover - compiled
    """The same of all records, by their places in a table by three variables."""
    done = 0
    for i in range(len(one)):
        rows[done] = i
        done += counts[(np.int64(one[i]) * sizes[0] + two[i]) * sizes[1] + three[i]] <= most


@compiled
def add_columns(sums: Floats, cell: Ints, columns: Floats) -> None:  # pragma: no cover - compiled
    """Add up each column over the records of each cell, in place: `numpy.bincount` of many weights."""
    for i in range(len(cell)):
        for j in range(columns.shape[1]):
            sums[cell[i], j] += columns[i, j]


@compiled
def number_cells(wanted: Ints, cells: int) -> tuple[Ints, int]:  # pragma: no cover - compiled
    """A number for each cell that is wanted, -1 for the others of so many, and how many are."""
    number, found = np.full(cells, -1, np.int64), 0
    for target in wanted:
        if number[target] < 0:
            number[target] = found
            found += 1
    return number, found


@compiled
def count_classes(counts: Narrow, number: Ints, cell: Ints, columns: Places) -> None:  # pragma: no cover - compiled
    """Count the classes of each variable, a row of `columns`, among the records of each numbered cell, in place."""
    for i in range(len(cell)):
        row = number[cell[i]]
        if row >= 0:
            for j in range(len(columns)):
                counts[row, j, columns[j, i]] += 1


@compiled
def right_claims(
    counts: Narrow, number: Ints, wanted: Ints, usual: Ints, truth: Places, others: bool
) -> Bools:  # pragma: no cover - compiled
    """About which targets the commonest class in their `wanted` cell is the `truth`, a row for each variable.

    `usual` has what is claimed of an empty cell. `others` leaves out the target's own record, which then is one of those counted.
    """
    right = np.zeros(truth.shape, np.bool_)
    for i in range(len(wanted)):
        for j in range(len(truth)):
            best, most = usual[j], 0
            for place in range(counts.shape[2]):
                here = counts[number[wanted[i]], j, place] - (others and place == truth[j, i])
                if here > most:
                    best, most = place, here
            right[j, i] = best == truth[j, i]
    return right


@compiled
def sole_classes(fine: Narrow, coarse: Narrow, classes: int) -> Narrow:  # pragma: no cover - compiled
    """The one class of another variable that all records of each class have, -1 where there are none; nothing at all if those of one
    have several. That shows after a few records, if not all follow."""
    found = np.full(classes, -1, np.int32)
    for i in range(len(fine)):
        if found[fine[i]] < 0:
            found[fine[i]] = coarse[i]
        elif found[fine[i]] != coarse[i]:
            return found[:0]
    return found
