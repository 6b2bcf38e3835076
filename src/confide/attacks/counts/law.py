"""How counts are published, as the policy tells everybody."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from confide.arrays import Floats, Ints
from confide.model.policy import CountRules
from confide.tables.perturbation.transitions import transitions

__all__ = ["CountLaw"]

ASTRAY = 0.02
"""A share of counts is off by something else: a dropped unit, or a wrong idea of who else is in the cell."""


@dataclass(frozen=True)
class CountLaw:
    """The probability of every published count, from the rules of the policy."""

    rules: CountRules

    @cached_property
    def _matrix(self) -> Floats:
        rules = self.rules
        if rules.mechanism == "none":
            return np.ones((1, 1))
        found = transitions(D=rules.distance, V=rules.variance, js=rules.small, stay=rules.stay or None)
        return np.asarray(found.matrix)

    def log(self, published: Ints, true: Ints) -> Floats:
        """The log of the probability of a published count where there are so many units."""
        matrix = self._matrix
        reach = matrix.shape[1] // 2
        move = published - true
        chance = matrix[np.clip(true, 0, len(matrix) - 1), np.clip(move + reach, 0, 2 * reach)]
        spread = ASTRAY / (2 * reach + 3)
        return np.asarray(np.log(np.where(np.abs(move) <= reach, (1 - ASTRAY) * chance, 0.0) + spread))
