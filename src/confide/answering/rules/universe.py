"""Rules for universes (Lucero et al. 2011, sec. 3.1.1), and two of ours against trackers and differences.

Unless the policy says otherwise they look at protected counts: each set of units has its own zero-mean draw, so a refusal
could have come from a larger set and an acceptance from a smaller one.
"""

import itertools
from dataclasses import dataclass

from confide.answering.universe.census import Census, Group
from confide.answering.universe.resolve import Resolved, intersections, parts, remainders
from confide.arrays import Floats, Ints
from confide.errors import Reason
from confide.model.catalog.dataset import Dataset
from confide.model.policy import UniverseRules
from confide.site.draws import Draws
from confide.tables.perturbation.transitions import Transitions, transitions

__all__ = ["Judge", "judge_universe"]


@dataclass(frozen=True)
class Judge:
    """Gives the counts that rules look at."""

    rules: UniverseRules
    draws: Draws

    def units(self, group: Group) -> Ints:
        """Numbers of units as rules see them."""
        if self.rules.decide_on == "true":
            return group.units
        return self.drawn(group.units, self.draws.counts(group.records, group.units, group.key)[1])

    def drawn(self, units: Ints, uniform: Floats) -> Ints:
        """The same where the draw is at hand: with noise of its own, or true if the policy says so."""
        return units if self.matrix is None else self.matrix.draw(units, uniform)

    @property
    def matrix(self) -> Transitions | None:
        """The probabilities of every change before a rule looks; none if rules look at true counts."""
        if self.rules.decide_on == "true":
            return None
        return transitions(D=self.rules.noise_distance, V=self.rules.noise_variance, js=0)


def judge_universe(universe: Resolved, census: Census, dataset: Dataset, judge: Judge) -> list[Reason]:
    """The reasons to refuse the universe; none if it may be asked about."""
    rules = judge.rules
    reasons: list[Reason] = []
    if rules.marginals and _has_small_margin(universe, census, judge):
        reasons.append(
            Reason("universe.marginals", "The variables of this universe leave groups of only one or two units.")
        )
    tested = [part for piece in universe.pieces for part in parts(piece, dataset)]
    if (judge.units(census.count(tested)) < rules.gamma).any():
        reasons.append(Reason("universe.gamma", f"A part of this universe has fewer than {rules.gamma} units."))
    shared = intersections(universe.pieces)
    if shared:
        counts = judge.units(census.count(shared))
        if ((counts > 0) & (counts < rules.gamma_star)).any():
            reasons.append(
                Reason(
                    "universe.gamma_star", f"Pieces of this universe overlap in fewer than {rules.gamma_star} units."
                )
            )
    if rules.complement and universe.boxes:
        outside = judge.units(census.complement(universe.boxes))
        if ((outside > 0) & (outside < rules.gamma)).any():
            reasons.append(
                Reason("universe.complement", f"This universe leaves out fewer than {rules.gamma} units, but not none.")
            )
    near = [box for piece in universe.pieces for box in remainders(piece, dataset)] if rules.remainder else []
    if near:
        counts = judge.units(census.count(near))
        if ((counts > 0) & (counts < rules.remainder)).any():
            reasons.append(
                Reason(
                    "universe.remainder",
                    f"Another choice of codes would differ from this universe by fewer than {rules.remainder} units.",
                )
            )
    return reasons


def _has_small_margin(universe: Resolved, census: Census, judge: Judge) -> bool:
    """No Marginal 1 or 2: no (m-1)-way margin of the m-way table of the universe variables is 1 or 2."""
    m = len(universe.variables)
    for by in itertools.combinations(universe.variables, max(m - 1, 0)):
        counts = judge.units(census.margins(by))
        if ((counts == 1) | (counts == 2)).any():
            return True
    return False
