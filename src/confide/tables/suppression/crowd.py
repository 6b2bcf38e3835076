"""Many attackers against many demands: which of them are kept from which by the points that were found for all.

A point keeps a demand from an insider if it meets the demand and fits what they know, and so does a mixture of points. Most
pairs of a demand and an insider are settled so by what was found for the outsider. For the others there are more points: some
go as far as they can where many pairs are left, so that mixtures have some to spare, and some fit what many of the insiders
know. What is left after some dozens of them is looked at insider by insider.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from confide.arrays import Bools, Floats, Ints
from confide.tables.programs.deadline import Progress
from confide.tables.suppression.contraction import tighten
from confide.tables.suppression.mixtures import KnownMoves, kept, settled
from confide.tables.suppression.points import BOOST, Points, Targets
from confide.tables.suppression.problem import Demand, SuppressionProblem
from confide.tables.suppression.protection import OUTSIDER, Protection
from confide.tables.suppression.witness import TINY, Finder

__all__ = ["undone"]


HELD = 0.03
"""What share of the insiders, of those that are left, a new point is made to fit."""

STRETCHED = 2
"""How many points that go as far as they can are made for one that fits what insiders know."""

WORTH = 0.02
"""Such points are made until a round of them settles less than this share of the pairs that are left."""

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
    """Demands, by number, and insiders, and the share `need` of the demand that the insider must be kept from."""

    demand: Ints
    who: Ints
    need: Floats

    def __len__(self) -> int:
        return len(self.who)

    def where(self, kept: Bools | Ints) -> "_Pairs":
        return _Pairs(*(column[kept] for column in vars(self).values()))


class _Crowd:
    """The pairs of demands and insiders for whom no witness was found yet."""

    def __init__(self, problem: SuppressionProblem, points: Points, demands: list[Demand]) -> None:
        self.problem, self.points, self.demands = problem, points, demands
        self.targets = points.reach(demands)
        self.known = _knowledge(problem, points)
        starts = np.searchsorted(self.known.who, np.arange(len(problem.insiders) + 1))
        tiny = TINY * 1e-3 * points.unit
        self._boxes = KnownMoves(starts, self.known.of, self.known.low - tiny, self.known.high + tiny)
        self._share = self.targets.side / self.targets.amount * (1 + TINY)
        self._protection = Protection(Finder(problem))
        self._random = np.random.default_rng(SEED)

    def pairs(self, met: Bools) -> _Pairs:
        """The demands, of those met, and the insiders for whom no mixture of the points does."""
        places, found = self._places(), []
        for number in np.flatnonzero(met).tolist():
            need = self._needs(self.demands[number])
            reach = places[self.targets.of[number]] * self._share[number]
            who = np.flatnonzero(~kept(reach, places, self._boxes, need))
            found.append((np.full(len(who), number), who, need[who]))
        return _Pairs(*map(np.concatenate, zip(*found, strict=True)))

    def _needs(self, demand: Demand) -> Floats:
        """The share of a demand that each insider must be kept from: none of it if they know its cell."""
        need = np.ones(len(self.problem.insiders))
        for who in self._protection.knowing(demand.cell):
            need[who] = self._protection.asked(demand, who).amount / demand.amount
        return np.where(need <= TINY, 0.0, need)

    def _places(self) -> Floats:
        """The moves of each unknown in each point, the true table first."""
        return np.column_stack([np.zeros(len(self.points.low)), *self.points.found])

    def impossible(self, pairs: _Pairs) -> Bools:
        """The pairs in which the demand asks of the unknown that the insider knows for more than they know to be possible."""
        first = np.minimum(self._boxes.starts[pairs.who], max(0, len(self.known.of) - 1))
        own = self.targets.of[pairs.demand] == self.known.of[first]
        up = self.targets.side[pairs.demand] > 0
        farthest = np.where(up, self.known.high[first], -self.known.low[first])
        return np.asarray(own & (farthest < pairs.need * self.targets.amount[pairs.demand] * (1 - TINY)))

    def bounds(self, held: Ints) -> tuple[Floats, Floats]:
        """The bounds of those who know what all of these know."""
        entries = self.known.where(np.isin(self.known.who, held))
        low, high = self.points.low.copy(), self.points.high.copy()
        np.maximum.at(low, entries.of, entries.low)
        np.minimum.at(high, entries.of, entries.high)
        return np.minimum(low, 0.0), np.maximum(high, 0.0)

    def thin(self, pairs: _Pairs, weight: Floats) -> _Pairs:
        """The pairs that are left after some more points, those first of which many are left."""
        for _ in range(STRETCHED):
            many = np.bincount(pairs.demand, minlength=len(self.demands))
            point = self.points.stretch(self.targets, many * self._random.random(len(many)))
            pairs = pairs if point is None else self.left(pairs)
        many = np.bincount(pairs.who, minlength=len(self.problem.insiders))
        order = np.argsort(-many * self._random.random(len(many)), kind="stable")
        held = order[: int(np.ceil(HELD * (many > 0).sum()))]
        wanted = np.zeros(len(self.demands), dtype=np.bool_)
        wanted[pairs.demand[np.isin(pairs.who, held)]] = True
        point = self.points.push(self.targets, wanted, weight, self.bounds(held))
        weight[wanted] *= BOOST
        return pairs if point is None else self.left(pairs)

    def around(self, pairs: _Pairs) -> _Pairs:
        """The pairs that are left after a point for the demand of which most are left, made to fit half of its insiders."""
        number = int(np.bincount(pairs.demand).argmax())
        theirs = pairs.who[pairs.demand == number]
        held = theirs[self._random.random(len(theirs)) < 0.5]
        only = np.arange(len(self.demands)) == number
        point = self.points.push(self.targets, only, np.ones(len(only)), self.bounds(held))
        return pairs if point is None else self.left(pairs)

    def left(self, pairs: _Pairs) -> _Pairs:
        """The pairs that the last point does not settle either."""
        reach = (self.targets.of, self._share)
        return pairs.where(~settled(pairs.demand, pairs.who, pairs.need, reach, self._places(), self._boxes))

    def against(self, who: int, pairs: _Pairs) -> tuple[Ints, _Pairs]:
        """The demands that one insider is now known to undo, and the pairs that are left without these."""
        at = np.flatnonzero(pairs.who == who)
        mine, whole = pairs.demand[at], self.targets
        asked = Targets(whole.of[mine], whole.side[mine], whole.amount[mine] * pairs.need[at])
        bounds = tighten(self.points.matrix, *self.bounds(np.array([who])))
        undone = self.points.hopeless(asked, bounds)
        if not undone.any():
            met = self.points.together(asked, bounds)
            if not met.any():
                met[0] = bool(self.points.meets(asked, self.points.alone(asked, 0, bounds))[0])
                undone[0] = not met[0]
            pairs = self.left(pairs.where(np.delete(np.arange(len(pairs)), at[met])))
        return mine[undone], pairs.where(~np.isin(pairs.demand, mine[undone]))


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
    crowd = _Crowd(problem, points, demands)
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
    while len(pairs) and len(pairs) <= (1 - WORTH) * before:
        before = len(pairs)
        tell(before)
        pairs = crowd.thin(pairs, weight)
    while len(pairs):
        tell(len(pairs))
        before, pairs = len(pairs), crowd.around(pairs)
        if len(pairs) <= (1 - WORTH) * before:
            continue
        who = int(np.bincount(pairs.who).argmax())
        undoes, pairs = crowd.against(who, pairs)
        yield from ((number, who) for number in undoes.tolist())
