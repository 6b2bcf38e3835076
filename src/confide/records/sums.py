"""The hot loops of counting: cells of tables, and sums and classes of many columns over them, in one pass."""

import numpy as np
from numpy.typing import NDArray

from confide.arrays import Floats, Ints
from confide.data.compiling import compiled

__all__ = ["Places", "cell_sums", "class_counts", "part_cells"]

Places = NDArray[np.uint16]


@compiled
def part_cells(cell: Ints, places: Places, size: int) -> None:  # pragma: no cover - compiled
    """Part cells by one more variable of that many classes, in place."""
    for i in range(len(cell)):
        cell[i] = cell[i] * size + places[i]


@compiled
def cell_sums(cell: Ints, columns: Floats, cells: int) -> Floats:  # pragma: no cover - compiled
    """A row for each cell, with the sum of each column over its records: `numpy.bincount` of many weights."""
    sums = np.zeros((cells, columns.shape[1]))
    for i in range(len(cell)):
        for j in range(columns.shape[1]):
            sums[cell[i], j] += columns[i, j]
    return sums


@compiled
def class_counts(
    cell: Ints, number: Ints, columns: Places, shape: tuple[int, int]
) -> Ints:  # pragma: no cover - compiled
    """How many records of each numbered cell have each class, for each column; `shape` has the cells and the classes.

    `number` has the number of each cell, -1 for those that nobody asks about.
    """
    counts = np.zeros((shape[0], columns.shape[1], shape[1]), np.int64)
    for i in range(len(cell)):
        row = number[cell[i]]
        if row >= 0:
            for j in range(columns.shape[1]):
                counts[row, j, columns[i, j]] += 1
    return counts
