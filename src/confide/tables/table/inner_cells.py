"""Inner cells and the cells they count in: the relations of a table solved for what is free in them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from confide.arrays import Bools, Ints
from confide.tables.annealing.kernel import colour
from confide.tables.table.relations import Relations

__all__ = ["Grouping", "InnerCells", "inner_cells", "laid_out"]

Places = NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class InnerCells:
    """The cells that are no totals, and all cells as sums of them: row c of `expansion` has 1 at the inner cells of cell c."""

    cells: Ints
    expansion: sparse.csr_array
    relations: Relations

    def sums(self, values: Ints) -> Ints:
        """Every cell, from the values of the inner cells."""
        return np.asarray(self.expansion @ values)


@dataclass(frozen=True, eq=False)
class Grouping:
    """Which groups each of some things is in: as many for each thing, though some may be the same."""

    of: Places
    starts: Ints
    members: Places

    @classmethod
    def number(cls, groups: Ints) -> "Grouping":
        """From a row for each thing: the groups it is in, by whatever numbers."""
        found, of = np.unique(groups, return_inverse=True)
        of = of.reshape(groups.shape)
        starts = np.concatenate([[0], np.cumsum(np.bincount(of.ravel(), minlength=len(found)))])
        members = np.argsort(of.ravel(), kind="stable") // max(groups.shape[1], 1)
        return cls(of.astype(np.uint32), starts, members.astype(np.uint32))


def inner_cells(relations: Relations) -> InnerCells | None:
    """The inner cells of a table, or None where its relations leave no set of cells free: linked tables without a common detail.

    >>> relations = Relations.of([(0, [1, 2]), (1, [3, 4])], cells=5)
    >>> inner = inner_cells(relations)
    >>> inner.cells.tolist(), inner.sums(np.array([5, 6, 7])).tolist()
    ([2, 3, 4], [18, 13, 5, 6, 7])
    """
    matrix = relations.matrix
    negative = matrix.data < 0
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    one_total = np.bincount(rows[negative], minlength=matrix.shape[0]) == 1
    if np.any(relations.rhs) or np.any(np.abs(matrix.data) != 1) or not one_total.all():
        return None
    total = np.empty(matrix.shape[0], dtype=np.int64)
    total[rows[negative]] = matrix.indices[negative]
    _, chosen = np.unique(total, return_index=True)
    cells = np.setdiff1d(np.arange(relations.cells), total)
    once = np.isin(rows, chosen) & ~negative
    shape = (relations.cells, relations.cells)
    split = sparse.csr_array((np.ones(once.sum()), (total[rows[once]], matrix.indices[once])), shape=shape)
    expansion = _expanded(split, cells).astype(np.int64)
    if np.any(expansion.data != 1) or np.any((matrix @ expansion).data):
        return None
    return InnerCells(cells, sparse.csr_array(expansion), relations)


def _expanded(split: sparse.csr_array, cells: Ints) -> sparse.csr_array:
    """Totals split into their parts, and these into theirs, until nothing but inner cells is left."""
    free = np.arange(len(cells))
    inner = sparse.csr_array((np.ones(len(cells)), (cells, free)), shape=(split.shape[0], len(cells)))
    reached, expansion = inner.nnz, inner
    while True:
        expansion = sparse.csr_array(split @ expansion + inner)
        if expansion.nnz == reached:
            return expansion
        reached = expansion.nnz


def laid_out(inner: InnerCells, movable: Bools) -> tuple[Places, Grouping]:
    """The sums each movable inner cell counts in, in the columns of an `AnnealingLayout`, and its siblings in every relation."""
    expansion = sparse.csr_array(inner.expansion[:, np.flatnonzero(movable)])
    return _columns(expansion), _siblings(inner, movable)


def _columns(expansion: sparse.csr_array) -> Places:
    """One row an inner cell: the cells it counts in, each of them in one column wherever it stands.

    The largest sums are coloured first: they have the fewest columns to choose from.
    """
    cells, count = expansion.shape
    size = np.diff(expansion.indptr)
    large_first = np.argsort(-size, kind="stable")
    ordered = sparse.csr_array(expansion[large_first])
    starts, inner = ordered.indptr.astype(np.int64), ordered.indices.astype(np.uint32)
    most = int(np.bincount(inner, minlength=count).max(initial=0))
    column = np.full(cells, -1)
    width = most
    while (column < 0).any():
        width += max(most, 1)
        column = colour(starts, inner, np.zeros((count, width), dtype=np.bool_))
    used = int(column[size[large_first] > 0].max(initial=-1)) + 1
    sums = np.full((count, used), cells, dtype=np.uint32)
    sums[inner, np.repeat(column, np.diff(starts))] = np.repeat(large_first, np.diff(starts))
    return sums


def _siblings(inner: InnerCells, movable: Bools) -> Grouping:
    """Inner cells of one relation: a change of two that cancels there leaves most of the table as it is."""
    free = inner.cells[movable]
    matrix = sparse.csc_array(inner.relations.matrix[:, free])
    ways = np.diff(matrix.indptr)
    column = np.arange(matrix.nnz) - np.repeat(matrix.indptr[:-1], ways)
    # A cell of fewer relations than others has one more group, of its own.
    alone = np.arange(len(free)) + matrix.shape[0]
    groups = np.repeat(alone[:, None], max(int(ways.max(initial=0)), 1), axis=1)
    groups[np.repeat(np.arange(len(free)), ways), column] = matrix.indices
    return Grouping.number(groups)
