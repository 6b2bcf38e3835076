"""Many attackers against many demands: which of them are kept from which by the points that were found for all.

A point keeps a demand from an insider if it meets the demand and fits what they know. Most insiders know something of one
unknown only. Against these any mixture of points that meet a demand counts too, as it meets the demand itself: it is enough
that some of them lie above what the insider knows and others below. What is left after some dozens of points is looked at by itself.
"""

from collections.abc import Iterator
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


MIXED = 5
"""How many of the points in which a demand goes farthest are mixed with others."""

HELD = 0.1
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


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Demands, by number, and insiders; from `least` to `most` the only unknown of the insider goes in points that meet the demand."""

    demand: Ints
    who: Ints
    least: Floats
    most: Floats

    def __len__(self) -> int:
        return len(self.who)

    def where(self, kept: Bools | Ints) -> "_Pairs":
        return _Pairs(*(column[kept] for column in vars(self).values()))


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
        self._low, self._high = np.zeros(len(self._only)), np.zeros(len(self._only))
        self._low[self._one.who], self._high[self._one.who] = self._one.low, self._one.high
        self._tiny = TINY * 1e-3 * points.unit
        self._random = np.random.default_rng(SEED)

    def pairs(self, met: Bools) -> _Pairs:
        """The demands, of those met, and the insiders for whom none of the points does."""
        places = np.array(self.points.found)
        meets = np.array([self.points.meets(self.targets, point) for point in self.points.found])
        reached = np.array([self.targets.moves(point) for point in self.points.found]) / self.targets.amount
        moves = places[:, self._one.of]
        fitting, several = self._fitting(places)
        found = []
        for number in np.flatnonzero(met).tolist():
            some = moves[meets[:, number]]
            ends = some.min(axis=0), some.max(axis=0)
            left = np.flatnonzero((ends[0] > self._one.high + self._tiny) | (ends[1] < self._one.low - self._tiny))
            left = left[~self._mixed(moves[:, left], reached[:, number], left)] if len(left) else left
            more = several[~fitting[meets[:, number]].any(axis=0)]
            who = np.append(self._one.who[left], more)
            never = np.full(len(more), np.inf)
            pairs = _Pairs(
                np.full(len(who), number), who, np.append(ends[0][left], never), np.append(ends[1][left], -never)
            )
            found.append(pairs.where(~np.isin(who, self._kept_anyway(number))))
        return _Pairs(
            *(np.concatenate([vars(one)[name] for one in found]) for name in ("demand", "who", "least", "most"))
        )

    def _mixed(self, moves: Floats, reached: Floats, entries: Ints) -> Bools:
        """Of some who know one unknown, whom a mixture keeps from a demand: of a point that goes further than asked and another.

        The other is one in which the demand's cell goes no way back, and the unknown goes farthest to where it must be.
        """
        low, high = self._one.low[entries], self._one.high[entries]
        others = moves[reached >= 0]
        ends = np.minimum(others.min(axis=0), 0.0), np.maximum(others.max(axis=0), 0.0)
        kept = np.zeros(len(entries), dtype=np.bool_)
        for best in np.argsort(-reached, kind="stable")[:MIXED].tolist():
            above = moves[best] > high
            gap = np.abs(moves[best] - np.where(above, high, low))
            way = np.abs(moves[best] - np.where(above, ends[0], ends[1]))
            # With the share gap / way of the other it is just where it must be.
            kept |= (way >= gap) & ((1 - gap / np.maximum(way, self._tiny)) * reached[best] >= 1 - TINY)
        return kept

    def impossible(self, pairs: _Pairs) -> Bools:
        """The pairs in which the demand asks of the unknown that the insider knows for more than they know to be possible."""
        own = self.targets.of[pairs.demand] == self._only[pairs.who]
        side = self.targets.side[pairs.demand]
        farthest = np.where(side > 0, self._high[pairs.who], -self._low[pairs.who])
        return np.asarray(own & (farthest < self.targets.amount[pairs.demand] * (1 - TINY)))

    def _fitting(self, places: Floats) -> tuple[Bools, Ints]:
        """Which points fit all that each of the insiders knows who know several unknowns."""
        several, at = np.unique(self._more.who, return_inverse=True)
        wrong = [np.bincount(at, ~self._more.fits(point, self._tiny), minlength=len(several)) for point in places]
        return np.array(wrong) == 0, several

    def _kept_anyway(self, number: int) -> list[int]:
        """The insiders who know the cell of a demand and need not be kept from it by a point.

        Some know all of it. Who knows nothing beside it is kept from it by what keeps an outsider: a part of the same move. Unless
        they know more of another cell that moves with it.
        """
        demand, kept = self.demands[number], []
        scale = demand.amount / self.targets.amount[number]
        for who in self.protection.knowing(demand.cell):
            asked = self.protection.asked(demand, who)
            alone = self._times[who] == 1 and self._only[who] == self.targets.of[number]
            far = scale * (self._high[who] if self.targets.side[number] > 0 else -self._low[who])
            less = asked != demand and far >= asked.amount * (1 - TINY)
            if asked.amount <= TINY * demand.amount or (alone and less):
                kept.append(who)
        return kept

    def bounds(self, held: Ints) -> tuple[Floats, Floats]:
        """The bounds of those who know what all of these know."""
        entries = self.known.where(np.isin(self.known.who, held))
        low, high = self.points.low.copy(), self.points.high.copy()
        np.maximum.at(low, entries.of, entries.low)
        np.minimum.at(high, entries.of, entries.high)
        return np.minimum(low, 0.0), np.maximum(high, 0.0)

    def thin(self, pairs: _Pairs, weight: Floats) -> _Pairs:
        """The pairs that are left after one more point, made to fit some of the insiders."""
        every = np.unique(pairs.who)
        held = every[self._random.random(len(every)) < HELD]
        wanted = np.zeros(len(self.demands), dtype=np.bool_)
        wanted[pairs.demand[np.isin(pairs.who, held)]] = True
        point = self.points.push(self.targets, wanted, weight, self.bounds(held))
        weight[wanted] *= BOOST
        return pairs if point is None else self.left(pairs, point)

    def left(self, pairs: _Pairs, point: Floats) -> _Pairs:
        """The pairs for whom a point is no witness, nor a mixture of it and of those before."""
        wrong = np.zeros(len(self._only), dtype=np.bool_)
        wrong[self.known.who[~self.known.fits(point, self._tiny)]] = True
        meets = self.points.meets(self.targets, point)[pairs.demand]
        move = np.where(self._times[pairs.who] == 1, point[self._only[pairs.who]], np.nan)
        least = np.where(meets, np.fmin(pairs.least, move), pairs.least)
        most = np.where(meets, np.fmax(pairs.most, move), pairs.most)
        mixed = (least <= self._high[pairs.who] + self._tiny) & (most >= self._low[pairs.who] - self._tiny)
        kept = ~(meets & ~wrong[pairs.who]) & ~(mixed & (self._times[pairs.who] == 1))
        return _Pairs(pairs.demand, pairs.who, least, most).where(kept)

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
    met = points.settle(points.reach(demands), progress)
    failures = [(demands[number], OUTSIDER) for number in np.flatnonzero(~met).tolist()]
    if not met.any() or not len(problem.insiders):
        return failures
    crowd = _Crowd(problem, points, demands, Protection(Finder(problem)))
    return failures + [(demands[number], who) for number, who in _by_insiders(crowd, met, progress)]


def _by_insiders(crowd: _Crowd, met: Bools, progress: Progress | None) -> Iterator[tuple[int, int]]:
    """The demands, by number, that an insider undoes whom an outsider does not, with one who does."""

    def tell(left: int) -> None:
        if progress:
            progress(1.0, f"{left:,} pairs of a demand and a contributor left")

    pairs = crowd.pairs(met)
    tell(len(pairs))
    sure = pairs.where(crowd.impossible(pairs))
    first = np.unique(sure.demand, return_index=True)[1]
    yield from zip(sure.demand[first].tolist(), sure.who[first].tolist(), strict=True)
    pairs = pairs.where(~np.isin(pairs.demand, sure.demand))
    weight, before = np.ones(len(crowd.demands)), np.inf
    while len(pairs) and len(pairs) <= (1 - SETTLED) * before:
        before = len(pairs)
        tell(before)
        pairs = crowd.thin(pairs, weight)
    while len(pairs):
        tell(len(pairs))
        number, who = int(pairs.demand[0]), int(pairs.who[0])
        point = crowd.alone(number, who)
        if point is None:
            yield number, who
            pairs = pairs.where(pairs.demand != number)
        else:
            pairs = crowd.left(pairs.where(np.arange(len(pairs)) > 0), point)
