"""Sums of many columns over the cells of a table, in one pass."""

import numpy as np

from confide.arrays import Floats, Ints
from confide.data.compiling import compiled

__all__ = ["cell_sums"]


@compiled
def cell_sums(cell: Ints, columns: Floats, cells: int) -> Floats:  # pragma: no cover - compiled
    """A row for each cell, with the sum of each column over its records: `numpy.bincount` of many weights."""
    sums = np.zeros((cells, columns.shape[1]))
    for i in range(len(cell)):
        for j in range(columns.shape[1]):
            sums[cell[i], j] += columns[i, j]
    return sums
