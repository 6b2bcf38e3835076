"""What insiders know that does not follow from what everybody knows, in terms of the unknowns of points."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from confide.arrays import Bools, Floats, Ints
from confide.tables.suppression.at_once.points import Points
from confide.tables.suppression.problem import SuppressionProblem

__all__ = ["KnownRanges", "knowledge"]


@dataclass(frozen=True, eq=False)
class KnownRanges:
    """What insiders know of unknowns: `who` that the move of `of` is from `low` to `high`. One entry for each of both."""

    who: Ints
    of: Ints
    low: Floats
    high: Floats

    def where(self, kept: Bools | Ints) -> "KnownRanges":
        return KnownRanges(*(column[kept] for column in vars(self).values()))


def knowledge(problem: SuppressionProblem, points: Points) -> KnownRanges:
    """What the insiders know that does not follow from the rest: of totals it mostly does."""
    insiders = problem.insiders
    who = np.repeat(np.arange(len(insiders)), np.diff(insiders.starts))
    cells = insiders.cells
    kept = (points.of[cells] >= 0) & ((insiders.most < np.inf) | ~_implied(problem, who))
    who, cells, value = who[kept], cells[kept], problem.values[cells[kept]]
    of, factor = points.of[cells], points.factor[cells]
    ends = np.sort([(insiders.least[kept] - value) / factor, (insiders.most[kept] - value) / factor], axis=0)
    low, high = np.maximum(ends[0], points.low[of]), np.minimum(ends[1], points.high[of])
    order = np.lexsort((of, who))
    starts = np.flatnonzero(np.diff(who[order], prepend=-1) | np.diff(of[order], prepend=-1)) if len(order) else order
    if not len(order):
        return KnownRanges(who, of, low, high)
    all_of = KnownRanges(
        who[order][starts], of[order][starts],
        np.maximum.reduceat(low[order], starts), np.minimum.reduceat(high[order], starts),
    )  # fmt: skip
    return all_of.where((all_of.low > points.low[all_of.of]) | (all_of.high < points.high[all_of.of]))


def _implied(problem: SuppressionProblem, who: Ints) -> Bools:
    """Which entries follow from what the same insider knows of the parts, as no part is less than 0."""
    insiders, matrix = problem.insiders, problem.relations.matrix
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    signed = np.bincount(row, (problem.lower[matrix.indices] < 0) & (matrix.data > 0), minlength=matrix.shape[0]) > 0
    total = np.full(matrix.shape[0], -1)
    total[row[matrix.data < 0]] = matrix.indices[matrix.data < 0]
    usable = (total >= 0) & ~signed
    parts = sparse.csr_array(((matrix.data > 0) * 1.0, matrix.indices, matrix.indptr), shape=matrix.shape)[usable]
    shape = (len(insiders), len(problem.values))
    least = sparse.csr_array((np.maximum(insiders.least, 0.0), (who, insiders.cells)), shape=shape)
    sums = sparse.coo_array(least @ parts.T)
    key = sums.row * np.int64(shape[1]) + total[usable][sums.col]
    mine = who * np.int64(shape[1]) + insiders.cells
    most = np.full(len(mine), -np.inf)
    order = np.argsort(mine)
    at = np.minimum(np.searchsorted(mine, key, sorter=order), max(0, len(mine) - 1))
    found = mine[order[at]] == key if len(mine) else np.zeros(len(key), dtype=np.bool_)
    np.maximum.at(most, order[at[found]], sums.data[found])
    return np.asarray(most >= insiders.least * (1 - 1e-12))
