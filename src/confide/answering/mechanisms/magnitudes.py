"""Totals of a cube: perturbed by the policy's mechanism, withheld where they stay sensitive.

Promise: a withheld total is never delivered, and whether it is withheld is judged on the protected number of units and
against the protected total.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from confide.answering.cube import Cube
from confide.arrays import Bools, Floats, Ints
from confide.model.policy import TotalRules
from confide.site.draws import Draws
from confide.tables.perturbation.total_noise import Ma, Thompson
from confide.tables.sensitivity import Contributions, Dominance, PPercent, Threshold

__all__ = ["Magnitudes", "Protected", "record_noise"]


@dataclass(frozen=True)
class Protected:
    """Protected totals, the spread of their noise, and which are withheld."""

    values: Floats
    noise: Floats
    withheld: Bools


@dataclass(frozen=True)
class Magnitudes:
    """What a policy's section on totals describes."""

    rules: TotalRules

    @property
    def contributors(self) -> int:
        """How many of the largest contributions are needed."""
        thompson = len(self.rules.magnitudes) + 1 if self.rules.mechanism == "thompson" else 0
        return max(2, self.rules.dominance_n, thompson)

    @property
    def share(self) -> float:
        """A largest contribution of at most this share of a cell settles every rule, however large the next ones are.

        They are no larger than it, and the protected total is at least 1 - 2 beta of the true one. Thompson's noise needs
        them all.
        """
        rules = self.rules
        if rules.mechanism == "thompson":
            return 0.0
        limits = [rules.dominance_k / 100 / rules.dominance_n] if 0 < rules.dominance_k < 100 else []
        limits += [1 / (2 + rules.p_percent / 100)] if rules.p_percent else []
        least = 1 - 2 * rules.beta if rules.mechanism == "ma" else 1.0
        return 0.999 * least * min(limits, default=1.0)

    @property
    def mechanism(self) -> Ma | Thompson | None:
        if self.rules.mechanism == "ma" and self.rules.beta:
            return Ma(self.rules.beta)
        return Thompson(self.rules.magnitudes) if self.rules.mechanism == "thompson" else None

    def protect(self, cube: Cube, of: str, draws: Draws, *, units: Ints, scale: int) -> Protected:
        """The totals of a cube; `units` are the counts that rules look at, `scale` the decimals of the integers."""
        assert cube.total is not None and cube.size is not None and cube.top is not None
        total, size = (np.ravel(a) / 10.0**scale for a in (cube.total, cube.size))
        top = cube.top.reshape(-1, cube.top.shape[-1]) / 10.0**scale
        noise, spread, mechanism = np.zeros_like(total), np.zeros_like(total), self.mechanism
        if mechanism is not None:
            uniforms = draws.totals(of, cube.records, cube.units, cube.key, draws=mechanism.draws)
            noise = mechanism.noise(total, np.ravel(cube.units), top, uniforms)
            spread = mechanism.spread(total + noise, top)
        shown = total + noise
        moved = np.abs(shown) / np.where(total == 0, 1.0, np.abs(total))
        judged = Contributions(np.ravel(units), np.where(total == 0, size, size * moved), top)
        withheld = self._sensitive(judged, np.ravel(cube.units), shown)
        shape = cube.units.shape
        return Protected(shown.reshape(shape), spread.reshape(shape), withheld.reshape(shape))

    @property
    def tests(self) -> list[Threshold | Dominance | PPercent]:
        """The sensitivity rules that are switched on."""
        rules = self.rules
        tests: list[Threshold | Dominance | PPercent] = []
        tests += [Threshold(rules.units)] if rules.units else []
        tests += [Dominance(rules.dominance_n, rules.dominance_k)] if 0 < rules.dominance_k < 100 else []
        tests += [PPercent(rules.p_percent)] if rules.p_percent else []
        return tests

    @property
    def withholds(self) -> bool:
        """Whether there is a rule by which a total may be withheld."""
        risky = self.mechanism is not None and self.rules.risk_limit < 1 and bool(self.rules.risk_alpha)
        return bool(self.tests) or risky

    def _sensitive(self, cells: Contributions, units: Ints, shown: Floats) -> Bools:
        marked = np.zeros(len(units), dtype=bool)
        for test in self.tests:
            marked |= test.marks(cells)
        rules, mechanism = self.rules, self.mechanism
        if mechanism is not None and rules.risk_limit < 1 and rules.risk_alpha:
            marked |= mechanism.risk(shown, units, cells.top, alpha=rules.risk_alpha) > rules.risk_limit
        return marked


def record_noise(square: Floats, *, share: float) -> Floats:
    """The standard deviation of a sum from noise that changed each of its parts once, by that share of itself.

    `square` is the sum of squares of the parts as they are now; on average noise has made it 1 + share^2 times larger.

    >>> record_noise(np.array([100.0]), share=0.75)
    array([6.])
    """
    return share / sqrt(1 + share**2) * np.sqrt(square)
