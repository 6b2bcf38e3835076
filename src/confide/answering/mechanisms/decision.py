"""Noise of the counts that rules look at: zero-mean, a draw of its own for each set of units.

Promise: a refusal could have come from a larger set and an acceptance from a smaller one, and neither tells of the noise of a
published count. Only a policy that decides on true counts has none.
"""

from dataclasses import dataclass

from confide.answering.universe.census import UnitSets
from confide.arrays import Floats, Ints
from confide.model.policy import UniverseRules
from confide.site.draws import Draws
from confide.tables.perturbation.transitions import Transitions, transitions

__all__ = ["DecisionNoise"]


@dataclass(frozen=True)
class DecisionNoise:
    """Gives the counts that rules look at."""

    rules: UniverseRules
    draws: Draws

    def units(self, sets: UnitSets) -> Ints:
        """Numbers of units as rules see them."""
        if self.rules.decide_on == "true":
            return sets.units
        return self.drawn(sets.units, self.draws.counts(sets.records, sets.units, sets.key)[1])

    def drawn(self, units: Ints, uniform: Floats) -> Ints:
        """The same where the draw is at hand: with noise of its own, or true if the policy says so."""
        return units if self.matrix is None else self.matrix.draw(units, uniform)

    @property
    def matrix(self) -> Transitions | None:
        """The probabilities of every change before a rule looks; none if rules look at true counts."""
        if self.rules.decide_on == "true":
            return None
        return transitions(D=self.rules.noise_distance, V=self.rules.noise_variance, js=0)
