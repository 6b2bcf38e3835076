"""Slopes and correlations of numbers that carry noise, corrected for it.

Noise in a predictor makes its sum of squares larger by an expected amount, which the law of the noise tells (Fuller 1987, sec. 2.2;
multiplicative noise: Hwang 1986): left so, slopes shrink. So that amount is taken from the gram. In a logistic or Poisson
model this is done at the end of the fit, with its working weights: the first order of the correction (Stefanski 1985).
The means of transformed numbers are right already: each has a column of its own (`confide.records`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from confide.answering.regressions.scaling import original_units, same_without
from confide.arrays import Floats, Ints
from confide.data.noise_law import log_variance, log_with_power, power_mean
from confide.model.design import Design, Number
from confide.model.evidence import Moments
from confide.model.formula import Transform

__all__ = ["Attenuation"]


@dataclass(frozen=True)
class Attenuation:
    """What is known of the noise in a design: `noise` has the spread of each variable's, and of its transformations'."""

    design: Design
    noise: Mapping[str, float]

    @property
    def shrinks(self) -> bool:
        """Whether some predictor carries noise, so that slopes would shrink."""
        return bool(self._spreads)

    def corrected(self, moments: Moments) -> Moments:
        """The sums with the gram that the numbers would have without noise, as far as can be expected."""
        return replace(moments, gram=self.gram(moments.gram)) if self.shrinks else moments

    def gram(self, gram: Floats) -> Floats:
        """The gram less the expected squares and products of the noise: the same noise in two columns counts in both."""
        _, _, back = original_units(self.design)
        there = np.linalg.inv(back)
        plain = there.T @ gram @ there
        for variable, spread in self._spreads.items():
            plain = self._less(plain, variable, spread)
        found = back.T @ plain @ back
        return np.asarray((found + found.T) / 2)

    @cached_property
    def _spreads(self) -> dict[str, float]:
        """The spread of the noise of each variable among the predictors, as its only transformation has it."""
        found: dict[str, float] = {}
        for name in dict.fromkeys(number.variable for number in self.design.numbers):
            forms = {number for number in self.design.numbers if number.variable == name}
            spread = self._spread(next(iter(forms))) if len(forms) == 1 else self.noise.get(name, 0.0)
            found |= {name: spread} if spread else {}
        return found

    def _spread(self, number: Number) -> float:
        plain = self.noise.get(number.variable, 0.0)
        return self.noise.get(f"{number.transform}({number.variable})", plain) if number.transform else plain

    def _less(self, plain: Floats, variable: str, spread: float) -> Floats:
        """The products of columns without the noise of one variable."""
        powers, logs, partners = self._columns(variable)
        own = {power: float(power_mean(power, spread)) for a in powers for b in powers for power in (a, b, a + b)}
        plain = plain / np.array([[own[a + b] / own[a] / own[b] for b in powers] for a in powers])
        found = plain.copy()
        beside = {power: float(log_with_power(power, spread)) for power in set(powers)}
        for at, partner in zip(logs, partners, strict=True):
            with_powers = np.array([beside[power] for power in powers]) * plain[partner]
            found[at] -= with_powers
            found[:, at] -= with_powers
        found[np.ix_(logs, logs)] -= log_variance(spread) * plain[np.ix_(partners, partners)]
        return found

    def _columns(self, variable: str) -> tuple[list[float], Ints, Ints]:
        """Of each column the power of a variable in it; which have its logarithm; and the same columns without that."""
        powers = [0.0] * self.design.columns
        logs: list[int] = []
        partners: list[int] = []
        for block in self.design.blocks:
            for at in block.numbers:
                number = self.design.numbers[at]
                if number.variable != variable:
                    continue
                own = range(block.offset, block.offset + block.width)
                if number.transform is Transform.LOG:
                    other = same_without(block, (at,), self.design).offset
                    logs += own
                    partners += range(other, other + block.width)
                for column in own:
                    powers[column] = number.transform.power
        return powers, np.array(logs, np.int64), np.array(partners, np.int64)
