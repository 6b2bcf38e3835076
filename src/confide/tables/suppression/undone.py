"""The demands that somebody undoes, in tables so large that all are looked at together: first by points for many, then one by one."""

from collections.abc import Generator, Iterator
from typing import NamedTuple

import numpy as np

from confide.arrays import Bools, Ints
from confide.tables.programs.deadline import Deadline
from confide.tables.suppression.crowd import Crowd
from confide.tables.suppression.pairs import OpenPairs
from confide.tables.suppression.points import Points
from confide.tables.suppression.problem import Demand, SuppressionProblem
from confide.tables.suppression.protection import OUTSIDER

__all__ = ["Undone", "undone"]


WORTH = 0.02
"""Such points are made until a round of them settles less than this share of the pairs, and of the demands, that are left."""

FEW = 30
"""They are for more demands than this: a round of them takes as long as programs for six by themselves."""

DIRECT = 3
"""Demands with so few pairs are looked at for one insider after the other."""

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
    sure, pairs = crowd.walked(pairs)
    yield from _each(crowd, sure)
    pairs = yield from _all_at_once(crowd, pairs)
    pairs = yield from _one_by_one(crowd, pairs)
    yield from _each(crowd, pairs, undecided=True)


def _each(crowd: Crowd, pairs: OpenPairs, *, undecided: bool = False) -> Iterator[Undone]:
    """The demands of these pairs, with the first insider of each."""
    there, first, many = np.unique(pairs.demand, return_index=True, return_counts=True)
    for number, who, left in zip(there.tolist(), pairs.who[first].tolist(), many.tolist(), strict=True):
        yield Undone(crowd.demands[number], who, left if undecided else 0)


def _all_at_once(crowd: Crowd, pairs: OpenPairs) -> Generator[Undone, None, OpenPairs]:
    """The demands undone of those with most pairs; gives back the pairs left after points for many demands at once.

    These are made as long as they settle many pairs or finish many demands.
    """
    weight, worth = np.ones(len(crowd.demands)), 1.0
    tired: set[int] = set()
    while len(np.unique(pairs.demand)) > FEW and worth >= WORTH and not crowd.over(len(pairs)):
        before = pairs
        pairs = _turn(crowd, crowd.thin(pairs, weight), tired)
        pairs = (yield from _stretch(crowd, pairs, pairs.most)) if len(pairs) else pairs
        pairs = crowd.finish(pairs) if len(pairs) else pairs
        worth = 1 - min(len(pairs) / len(before), len(np.unique(pairs.demand)) / len(np.unique(before.demand)))
    return pairs


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


def _one_by_one(crowd: Crowd, pairs: OpenPairs) -> Generator[Undone, None, OpenPairs]:
    """The demands undone of those left, with one who does: points for one demand, and where these settle few, for one insider.

    Those with few pairs come first: if time is over, few are left. Gives back the pairs for which there was none.
    """
    stretched: set[int] = set()
    while len(pairs) and not crowd.over(len(pairs)):
        demand, share = pairs.fewest, 0.0
        mine = pairs.who[pairs.demand == demand]
        if len(mine) > DIRECT and demand not in stretched:
            stretched.add(demand)
            pairs = yield from _stretch(crowd, pairs, demand)
            continue
        if len(mine) > DIRECT:
            pairs, share = crowd.turned(pairs, crowd.meeting(demand), demand)
            mine = pairs.who[pairs.demand == demand]
        if share < WORTH and len(mine):
            who = int(mine[np.bincount(pairs.who)[mine].argmax()])
            undoes, pairs = crowd.against(who, pairs)
            yield from (Undone(crowd.demands[number], who) for number in undoes.tolist())
    return pairs
