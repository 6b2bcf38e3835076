"""Many attackers against many demands: which of them are kept from which by the points that were found for all.

A point keeps a demand from an insider if it meets the demand and fits what they know. Most insiders know something of one
unknown only. Against these any mixture of points that meet a demand counts too, as it meets the demand itself: it is enough
that some of them lie above what the insider knows and others below. What is left after some dozens of points is looked at by itself.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from confide.arrays import Bools, Floats, Ints
from confide.tables.programs.deadline import Progress
from confide.tables.suppression.contraction import tighten
from confide.tables.suppression.points import BOOST, SETTLED, Points
from confide.tables.suppression.problem import Demand, SuppressionProblem
from confide.tables.suppression.protection import OUTSIDER, Protection
from confide.tables.suppression.witness import TINY, Finder

__all__ = ["undone"]


HELD = 0.5
"""What share of the insiders, of those that are left, a new point is made to fit."""

SEED = 19590317
"""Which of them is random, but always the same."""


@dataclass(frozen=True, eq=False)
class _Knowledge:
    """What insiders know of unknowns: `who` that the move of `of` is from `low` to `high`. One entry for each of both."""

    who: Ints
    of: Ints
    low: Floats
    high: Floats

    def where(self, kept: Bools | Ints) -> "_Knowledge":
        return _Knowledge(*(column[kept] for column in vars(self).values()))

    def fits(self, point: Floats, tiny: float) -> Bools:
        """Which entries a point does not contradict."""
        move = point[self.of]
        return np.asarray((move >= self.low - tiny) & (move <= self.high + tiny))


def _knowledge(problem: SuppressionProblem, points: Points) -> _Knowledge:
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
        return _Knowledge(who, of, low, high)
    all_of = _Knowledge(
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


class _Crowd:
    """The pairs of demands and insiders for whom no witness was found yet."""

    def __init__(
        self, problem: SuppressionProblem, points: Points, demands: list[Demand], protection: Protection
    ) -> None:
        self.problem, self.points, self.demands, self.protection = problem, points, demands, protection
        self.targets = points.reach(demands)
        self.known = _knowledge(problem, points)
        self._times = np.bincount(self.known.who, minlength=len(problem.insiders))
        self._one = self.known.where(self._times[self.known.who] == 1)
        self._more = self.known.where(self._times[self.known.who] > 1)
        self._only = np.full(len(problem.insiders), -1)
        self._only[self._one.who] = self._one.of
        self._tiny = TINY * 1e-3 * points.unit
        self._random = np.random.default_rng(SEED)

    def pairs(self, met: Bools) -> tuple[Ints, Ints]:
        """The demands, of those met, and the insiders for whom none of the points does."""
        places = np.array(self.points.found)
        meets = np.array([self.points.meets(self.targets, point) for point in self.points.found])
        moves = places[:, self._one.of]
        fitting, several = self._fitting(places)
        demands, insiders = [], []
        for number in np.flatnonzero(met).tolist():
            some = moves[meets[:, number]]
            kept = (some.min(axis=0) <= self._one.high + self._tiny) & (some.max(axis=0) >= self._one.low - self._tiny)
            found = np.append(self._one.who[~kept], several[~fitting[meets[:, number]].any(axis=0)])
            found = found[~np.isin(found, self._kept_anyway(number))]
            demands.append(np.full(len(found), number))
            insiders.append(found)
        nobody = np.zeros(0, dtype=np.int64)
        return np.concatenate([nobody, *demands]), np.concatenate([nobody, *insiders])

    def _fitting(self, places: Floats) -> tuple[Bools, Ints]:
        """Which points fit all that each of the insiders knows who know several unknowns."""
        several, at = np.unique(self._more.who, return_inverse=True)
        wrong = [np.bincount(at, ~self._more.fits(point, self._tiny), minlength=len(several)) for point in places]
        return np.array(wrong) == 0, several

    def _kept_anyway(self, number: int) -> list[int]:
        """The insiders who know the cell of a demand and need not be kept from it by a point.

        Some know all of it. Who knows nothing beside it is kept from it by what keeps an outsider: a part of the same move.
        """
        demand, kept = self.demands[number], []
        for who in self.protection.knowing(demand.cell):
            asked = self.protection.asked(demand, who)
            alone = self._times[who] == 1 and self._only[who] == self.targets.of[number]
            if asked.amount <= TINY * demand.amount or (alone and asked != demand):
                kept.append(who)
        return kept

    def bounds(self, held: Ints) -> tuple[Floats, Floats]:
        """The bounds of those who know what all of these know."""
        entries = self.known.where(np.isin(self.known.who, held))
        low, high = self.points.low.copy(), self.points.high.copy()
        np.maximum.at(low, entries.of, entries.low)
        np.minimum.at(high, entries.of, entries.high)
        return np.minimum(low, 0.0), np.maximum(high, 0.0)

    def thin(self, pairs: tuple[Ints, Ints], weight: Floats) -> tuple[Ints, Ints]:
        """The pairs that are left after one more point, made to fit some of the insiders."""
        every = np.unique(pairs[1])
        held = every[self._random.random(len(every)) < HELD]
        wanted = np.zeros(len(self.demands), dtype=np.bool_)
        wanted[pairs[0][np.isin(pairs[1], held)]] = True
        point = self.points.push(self.targets, wanted, weight, self.bounds(held))
        weight[wanted] *= BOOST
        return pairs if point is None else self.left(pairs, point)

    def left(self, pairs: tuple[Ints, Ints], point: Floats) -> tuple[Ints, Ints]:
        """The pairs for whom a point is no witness."""
        wrong = np.zeros(len(self.problem.insiders), dtype=np.bool_)
        wrong[self.known.who[~self.known.fits(point, self._tiny)]] = True
        kept = ~self.points.meets(self.targets, point)[pairs[0]] | wrong[pairs[1]]
        return pairs[0][kept], pairs[1][kept]

    def alone(self, number: int, who: int) -> Floats | None:
        """The point that keeps one demand from one insider, if there is one."""
        asked = self.points.reach([self.protection.asked(self.demands[number], who)])
        bounds = tighten(self.points.matrix, *self.bounds(np.array([who])))
        if self.points.hopeless(asked, bounds)[0]:
            return None
        point = self.points.alone(asked, 0, bounds)
        return point if self.points.meets(asked, point)[0] else None


def undone(
    problem: SuppressionProblem, suppressed: Bools, demands: list[Demand], progress: Progress | None = None
) -> list[tuple[Demand, int]]:
    """The demands that somebody undoes, with one who does: the outsider, or an insider.

    Promise: exact, to within the solver's tolerance. For values that need not be whole, and demands on one side.
    """
    points = Points(problem, suppressed)
    targets = points.reach(demands)
    met = points.settle(targets, progress)
    failures = [(demands[number], OUTSIDER) for number in np.flatnonzero(~met).tolist()]
    if not met.any() or not len(problem.insiders):
        return failures
    crowd = _Crowd(problem, points, demands, Protection(Finder(problem)))
    pairs, weight, before = crowd.pairs(met), np.ones(len(demands)), np.inf
    while len(pairs[0]) and len(pairs[0]) <= (1 - SETTLED) * before:
        before = len(pairs[0])
        pairs = crowd.thin(pairs, weight)
        if progress:
            progress(0.5 + 0.5 / (1 + len(pairs[0])), "contributors")
    while len(pairs[0]):
        number, who = int(pairs[0][0]), int(pairs[1][0])
        point = crowd.alone(number, who)
        if point is None:
            failures.append((demands[number], who))
            others = pairs[0] != number
            pairs = pairs[0][others], pairs[1][others]
        else:
            pairs = crowd.left((pairs[0][1:], pairs[1][1:]), point)
    return failures
