"""Cell-key perturbation of counts (Giessing & Höhne 2011, sec. 3 and 4).

Promise: mean zero, variance V, at most D away, never 1 to js, zero stays zero, and the same records always give the same
count. Weighted counts and counts of records are scaled by the same draw.
"""

from dataclasses import dataclass

import numpy as np

from confide.arrays import Floats, Ints
from confide.model.policy import CountRules
from confide.tables.perturbation.transitions import Transitions, transitions

__all__ = ["CellKey"]


@dataclass(frozen=True)
class CellKey:
    """The mechanism that a policy's section on counts describes."""

    rules: CountRules

    def units(self, units: Ints, uniform: Floats) -> Ints:
        """Protected numbers of units."""
        return units if self.matrix is None else self.matrix.draw(units, uniform)

    @property
    def matrix(self) -> Transitions | None:
        """The probabilities of every change; a Mistake if the policy asks for the impossible."""
        rules = self.rules
        if rules.mechanism == "none":
            return None
        return transitions(D=rules.distance, V=rules.variance, js=rules.small, stay=rules.stay or None)

    @staticmethod
    def scale(amount: Ints | Floats, units: Ints, protected: Ints) -> Floats:
        """An amount summed over the same units (records, weights), moved by the same share as their number."""
        return amount * (protected / np.maximum(units, 1))

    @property
    def spread(self) -> float:
        """Standard deviation of the change of a count, the same for every cell."""
        return 0.0 if self.rules.mechanism == "none" else float(np.sqrt(self.rules.variance))
