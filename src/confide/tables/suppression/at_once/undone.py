"""The demands that somebody undoes, in tables so large that all are looked at together: first by points for many, then one by one."""

from collections.abc import Generator, Iterator
from typing import NamedTuple

import numpy as np

from confide.arrays import Bools, Ints
from confide.tables.programs.deadline import Deadline
from confide.tables.suppression.at_once.crowd import Crowd
from confide.tables.suppression.at_once.pairs import OpenPairs
from confide.tables.suppression.at_once.points import Points
from confide.tables.suppression.problem import Demand, SuppressionProblem
from confide.tables.suppression.protection import OUTSIDER

__all__ = ["Undone", "undone"]


WORTH = 0.02
"""Points for many demands are made until a round of them settles less than this share of the pairs that are left."""

FEW = 6
"""They are for more demands than this: a round of them takes as long as programs for so many by themselves."""

TIRED = 0.3
"""A point is turned until that settles less than this share of the pairs of the demands that it meets."""


class Undone(NamedTuple):
    """A demand that an attacker undoes, or, if it is `undecided`, one of so many who may: there was no time to find out."""

    demand: Demand
    attacker: int
    undecided: int = 0


def undone(
    problem: SuppressionProblem, suppressed: Bools, demands: list[Demand], deadline: Deadline
) -> Iterator[Undone]:
    """The demands that somebody undoes, with one who does: the outsider, or an insider; and those that were not decided in time.

    Promise: exact, to within the solver's tolerance. For values that need not be whole, and demands on one side.
    """
    points = Points(problem, suppressed, deadline)
    met, lost = points.settle(points.reach(demands))
    everybody = 1 + len(problem.insiders)
    yield from (Undone(demands[number], OUTSIDER) for number in np.flatnonzero(lost & ~met).tolist())
    yield from (Undone(demands[number], OUTSIDER, everybody) for number in np.flatnonzero(~lost & ~met).tolist())
    if met.any() and len(problem.insiders):
        yield from _by_insiders(Crowd(problem, points, demands), np.flatnonzero(met))


def _by_insiders(crowd: Crowd, numbers: Ints) -> Iterator[Undone]:
    """Those of the demands, by number, that an insider undoes, with one who does, or that are not decided."""
    pairs, unseen = crowd.pairs(numbers)
    everybody = len(crowd.problem.insiders)
    yield from (Undone(crowd.demands[number], 0, everybody) for number in unseen.tolist())
    sure = pairs.where(crowd.impossible(pairs))
    yield from _each(crowd, sure)
    pairs = pairs.where(~np.isin(pairs.demand, sure.demand))
    stretched: set[int] = set()
    pairs = yield from _all_at_once(crowd, crowd.thin(pairs), stretched)
    sure, pairs = crowd.walked(pairs)
    yield from _each(crowd, sure)
    pairs = yield from _one_by_one(crowd, pairs, stretched)
    yield from _each(crowd, pairs, undecided=True)


def _each(crowd: Crowd, pairs: OpenPairs, *, undecided: bool = False) -> Iterator[Undone]:
    """The demands of these pairs, with the first insider of each."""
    there, first, many = np.unique(pairs.demand, return_index=True, return_counts=True)
    for number, who, left in zip(there.tolist(), pairs.who[first].tolist(), many.tolist(), strict=True):
        yield Undone(crowd.demands[number], who, left if undecided else 0)


def _all_at_once(crowd: Crowd, pairs: OpenPairs, stretched: set[int]) -> Generator[Undone, None, OpenPairs]:
    """The demands undone of those with too many pairs for walks; gives back the pairs left after points for many demands at once."""
    tired, worth = set[int](), 1.0
    few, many = crowd.walkable(pairs)
    while len(np.unique(many.demand)) > FEW and worth >= WORTH and not crowd.over(len(few) + len(many)):
        before = len(many)
        many = _turn(crowd, crowd.stretched_together(many), tired)
        hardest = many.where(~np.isin(many.demand, list(stretched)))
        if len(hardest):
            stretched.add(hardest.most)
            many = yield from _stretch(crowd, many, hardest.most)
        settled, many = crowd.walkable(many)
        few = OpenPairs.all_of([few, settled])
        worth = 1 - len(many) / before
    return OpenPairs.all_of([few, many])


def _stretch(crowd: Crowd, pairs: OpenPairs, demand: int) -> Generator[Undone, None, OpenPairs]:
    """A demand if the program for it alone tells who undoes it; gives back the pairs left."""
    undoing, left = crowd.stretched(pairs, demand)
    yield from (Undone(crowd.demands[demand], who) for who in undoing[:1].tolist())
    return left


def _turn(crowd: Crowd, pairs: OpenPairs, tired: set[int]) -> OpenPairs:
    """The pairs left after another point for the demands that the best one meets, which is tired if that settles few of them."""
    number, first = crowd.best(pairs, tired), len(crowd.points.found)
    if number is None:
        return pairs
    left, share = crowd.turned(pairs, number)
    tired |= {number, *range(first, len(crowd.points.found))} if share < TIRED else set()
    return left


def _one_by_one(crowd: Crowd, pairs: OpenPairs, stretched: set[int]) -> Generator[Undone, None, OpenPairs]:
    """The demands undone of those left, with one who does: a point for the demand, and programs for several insiders at once.

    Those with few pairs come first: if time is over, few are left. Gives back the pairs for which there was none.
    """
    left = sorted(pairs.by_demand(), key=len)
    for number, mine in enumerate(left):
        if crowd.over(sum(map(len, left))):
            break
        demand = int(mine.demand[0])
        if len(mine) > 1 and demand not in stretched:
            mine = yield from _stretch(crowd, mine, demand)
        undoing, left[number] = crowd.programmed(mine)
        yield from _each(crowd, undoing)
    return OpenPairs.all_of(left)
