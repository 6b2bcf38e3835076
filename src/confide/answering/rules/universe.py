"""Rules for universes (Lucero et al. 2011, sec. 3.1.1), and two of ours against trackers and differences.

Unless the policy says otherwise they look at protected counts: each set of units has its own zero-mean draw, so a refusal
could have come from a larger set and an acceptance from a smaller one.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.answering.analysis import Admitted
from confide.answering.mechanisms.decision import DecisionNoise
from confide.answering.rules.rule import Rule, Stage
from confide.answering.universe.census import Census
from confide.answering.universe.resolve import Resolved, intersections, parts, remainders
from confide.arrays import Ints
from confide.errors import Reason
from confide.model.admission.universe import check_pieces, check_universe_variables
from confide.model.catalog.dataset import Dataset
from confide.model.evidence import Box
from confide.model.policy import Policy
from confide.model.request import Request

__all__ = ["UNIVERSE_RULES", "JudgedUniverse"]


@dataclass(frozen=True)
class JudgedUniverse:
    """A universe as rules see it: numbers of units in sets of its implicit table, each with noise of its own."""

    universe: Resolved
    dataset: Dataset
    census: Census
    noise: DecisionNoise

    def units(self, boxes: Sequence[Box]) -> Ints:
        """In each of these boxes."""
        return self.noise.units(self.census.count(boxes)) if boxes else np.zeros(0, dtype=np.int64)

    @property
    def margins(self) -> list[Ints]:
        """The (m-1)-way margins of the m-way table of the universe's variables; for m = 1, the total."""
        names = self.universe.variables
        each = itertools.combinations(names, max(len(names) - 1, 0))
        return [self.noise.units(self.census.margins(by)) for by in each]

    @property
    def parts(self) -> Ints:
        """In every part of every piece: the pieces by classes of their categorical variables."""
        return self.units([part for piece in self.universe.pieces for part in parts(piece, self.dataset)])

    @property
    def overlaps(self) -> Ints:
        """In every intersection of pieces."""
        return self.units(intersections(self.universe.pieces))

    @property
    def outside(self) -> Ints:
        """Outside the universe; of everyone nothing is."""
        boxes = self.universe.boxes
        return self.noise.units(self.census.complement(boxes)) if boxes else self.units([])

    @property
    def remainders(self) -> Ints:
        """By which another choice of codes in one condition would change the universe."""
        return self.units([box for piece in self.universe.pieces for box in remainders(piece, self.dataset)])


def _marginals(universe: JudgedUniverse, policy: Policy) -> list[Reason]:
    """No Marginal 1 or 2: no (m-1)-way margin of the m-way table of the universe variables is 1 or 2."""
    small = any(((counts == 1) | (counts == 2)).any() for counts in universe.margins)
    words = "The variables of this universe leave groups of only one or two units."
    return [Reason("universe.marginals", words)] if small else []


def _gamma(universe: JudgedUniverse, policy: Policy) -> list[Reason]:
    least = policy.universe.gamma
    words = f"A part of this universe has fewer than {least} units."
    return [Reason("universe.gamma", words)] if (universe.parts < least).any() else []


def _gamma_star(universe: JudgedUniverse, policy: Policy) -> list[Reason]:
    least = policy.universe.gamma_star
    words = f"Pieces of this universe overlap in fewer than {least} units."
    return [Reason("universe.gamma_star", words)] if _few(universe.overlaps, least) else []


def _complement(universe: JudgedUniverse, policy: Policy) -> list[Reason]:
    least = policy.universe.gamma
    words = f"This universe leaves out fewer than {least} units, but not none."
    return [Reason("universe.complement", words)] if _few(universe.outside, least) else []


def _remainder(universe: JudgedUniverse, policy: Policy) -> list[Reason]:
    least = policy.universe.remainder
    words = f"Another choice of codes would differ from this universe by fewer than {least} units."
    return [Reason("universe.remainder", words)] if _few(universe.remainders, least) else []


def _few(counts: Ints, least: int) -> bool:
    """Whether some set has fewer units, but not none."""
    return bool(((counts > 0) & (counts < least)).any())


def _of_universe(check: Callable[..., list[Reason]]) -> Callable[[Admitted[Request[Any]], Policy], list[Reason]]:
    return lambda question, policy: check(question.request.where, policy)


UNIVERSE_RULES = (
    Rule(
        "universe.variables",
        "At most {universe.variables} variables define the universe.",
        "a universe defined by too many variables",
        {Stage.SHAPE: _of_universe(check_universe_variables)},
    ),
    Rule(
        "universe.pieces",
        "The universe has at most {universe.pieces} pieces.",
        "a universe of too many pieces",
        {Stage.SHAPE: _of_universe(check_pieces)},
    ),
    Rule(
        "universe.marginals",
        "The variables of the universe leave no group of one or two units.",
        "a universe whose variables leave groups of one or two units",
        {Stage.UNIVERSE: _marginals},
        lambda policy: policy.universe.marginals,
    ),
    Rule(
        "universe.gamma",
        "Every part of the universe has at least {universe.gamma} units.",
        "a universe with a part of too few units",
        {Stage.UNIVERSE: _gamma},
        lambda policy: bool(policy.universe.gamma),
    ),
    Rule(
        "universe.gamma_star",
        "Pieces of the universe overlap in no unit or in at least {universe.gamma_star}.",
        "a universe whose pieces overlap in too few units",
        {Stage.UNIVERSE: _gamma_star},
        lambda policy: bool(policy.universe.gamma_star),
    ),
    Rule(
        "universe.complement",
        "The universe leaves out nobody or at least {universe.gamma} units.",
        "a universe that leaves out a few units, but not none",
        {Stage.UNIVERSE: _complement},
        lambda policy: policy.universe.complement and bool(policy.universe.gamma),
        "Universes that leave out a few units are allowed: trackers work",
    ),
    Rule(
        "universe.remainder",
        "Another choice of codes differs from the universe by no unit or by at least {universe.remainder}.",
        "a universe that another choice of codes would change by a few units",
        {Stage.UNIVERSE: _remainder},
        lambda policy: bool(policy.universe.remainder),
        "Universes that differ by a few units are allowed",
    ),
)
