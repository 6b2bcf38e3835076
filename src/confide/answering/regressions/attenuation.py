"""Slopes and correlations of numbers that carry noise, corrected for it.

Noise in a predictor makes its sum of squares larger by an expected amount, which the law of the noise tells (Fuller 1987, sec. 2.2;
multiplicative noise: Hwang 1986): left so, slopes shrink. So that amount is taken from the gram. In a logistic or Poisson
model this is done at the end of the fit, with its working weights: the first order of the correction (Stefanski 1985).
The means of transformed numbers move too, which `unbiased` takes back: log x by E[log f], a power by its moment.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from confide.answering.regressions.scaling import original_units, same_without
from confide.arrays import Floats, Ints
from confide.data.noise_law import NoiseLaw, law_of
from confide.model.design import Design, Indicator, Number
from confide.model.evidence import Moments
from confide.model.formula import Transform

__all__ = ["Attenuation"]

_POWERS = {Transform.NONE: 1.0, Transform.SQRT: 0.5, Transform.SQUARE: 2.0, Transform.LOG: 0.0}


@dataclass(frozen=True)
class Attenuation:
    """What is known of the noise in a design: `noise` is the standard deviation of each variable's, as a share of it."""

    design: Design
    noise: Mapping[str, float]

    @property
    def shrinks(self) -> bool:
        """Whether some predictor carries noise, so that slopes would shrink."""
        return bool(self._laws)

    @property
    def unbiased(self) -> Design:
        """The design with numbers shifted and scaled so that their means are those of the numbers without noise."""
        response = self.design.response
        whole = response if isinstance(response, Indicator) else self._unbiased(response)
        return replace(self.design, response=whole, numbers=tuple(map(self._unbiased, self.design.numbers)))

    def corrected(self, moments: Moments) -> Moments:
        """The sums with the gram that the numbers would have without noise, as far as can be expected."""
        return replace(moments, gram=self.gram(moments.gram)) if self.shrinks else moments

    def gram(self, gram: Floats) -> Floats:
        """The gram less the expected squares and products of the noise: the same noise in two columns counts in both."""
        _, _, back = original_units(self.unbiased)
        there = np.linalg.inv(back)
        plain = there.T @ gram @ there
        for variable, law in self._laws.items():
            plain = self._less(plain, variable, law)
        found = back.T @ plain @ back
        return np.asarray((found + found.T) / 2)

    @cached_property
    def _laws(self) -> dict[str, NoiseLaw]:
        names = dict.fromkeys(number.variable for number in self.design.numbers)
        return {name: law_of(self.noise[name]) for name in names if self.noise.get(name)}

    def _unbiased(self, number: Number) -> Number:
        if not self.noise.get(number.variable):
            return number
        law = law_of(self.noise[number.variable])
        if number.transform is Transform.LOG:
            return replace(number, shift=number.shift - law.mean_log)
        mean = law.moment(_POWERS[number.transform])
        return replace(number, shift=number.shift / mean, scale=number.scale / mean)

    def _less(self, plain: Floats, variable: str, law: NoiseLaw) -> Floats:
        """The products of unbiased columns without the noise of one variable."""
        powers, logs, partners = self._columns(variable)
        times = np.array([[law.moment(a + b) / law.moment(a) / law.moment(b) for b in powers] for a in powers])
        plain = plain / times
        found = plain.copy()
        for at, partner in zip(logs, partners, strict=True):
            with_powers = np.array([law.log_with(power) if power else 0.0 for power in powers]) * plain[partner]
            found[at] -= with_powers
            found[:, at] -= with_powers
        found[np.ix_(logs, logs)] -= law.variance_log * plain[np.ix_(partners, partners)]
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
                    powers[column] = _POWERS[number.transform]
        return powers, np.array(logs, np.int64), np.array(partners, np.int64)
