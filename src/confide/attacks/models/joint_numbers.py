"""Several noisy numbers of one person, read together: what each says of the others is public, and so is the law of the noise.

Logarithms are taken as normal. The noise of each number is drawn for itself, so that wages and taxes say of income what its
own noise hides. How numbers go together the readings of many targets tell, for their noise only adds to the variances; of
few targets models tell it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr

from confide.arrays import Floats
from confide.attacks.claims import WITHIN
from confide.attacks.intruder import Intruder
from confide.attacks.models.reading import Fit, fit_of, quoted
from confide.attacks.models.targets import code_of
from confide.data.noise_law import log_mean, log_variance

__all__ = ["Belief", "NumberLaw"]

ANOTHER = 0.15
"""So often the record under somebody's keys is taken to be another's."""

WEIGHT = 0.1
"""Where records have weights, those of targets are known to about so much, and all numbers of one are off alike."""

HIGHEST = 0.995
"""No correlation is believed to be higher."""


ENOUGH = 40
"""So many targets with readings of all numbers tell how the numbers go together."""


@dataclass(frozen=True, eq=False)
class Belief:
    """What is thought of the logarithm of each target's number: some normal laws, each with a weight; a column a law."""

    weights: Floats
    means: Floats
    spreads: Floats

    def below(self, values: Floats) -> Floats:
        """How likely each target is below each of some values."""
        with np.errstate(divide="ignore"):
            steps = np.log(np.atleast_2d(values))[:, :, None]
        chance = ndtr((steps - self.means[:, None]) / self.spreads[:, None])
        return np.asarray((self.weights[:, None] * chance).sum(axis=2))

    def best(self) -> Floats:
        """The value for each target that is most likely within a tenth of the truth."""
        middle = (self.weights * self.means).sum(axis=1)
        values = np.exp(middle[:, None] + np.linspace(-2, 2, 161))
        likely = self.below(values / (1 - WITHIN)) - self.below(values / (1 + WITHIN))
        return np.asarray(values[np.arange(len(values)), likely.argmax(axis=1)])


@dataclass(frozen=True, eq=False)
class _Joint:
    """Means of logarithms, a row a number, and their covariances."""

    means: Floats
    covariance: Floats


@dataclass(frozen=True)
class NumberLaw:
    """The joint law of some numbers; the first is wanted."""

    intruder: Intruder
    keys: tuple[str, ...]
    numbers: tuple[str, ...]

    def belief(self, readings: Floats) -> Belief:
        """By targets; `readings` has a row a number, NaN where nothing is read."""
        rules = self.intruder.policy.records
        # who is alone on as many keys as the policy looks at is known to carry the larger noise
        spreads = {rules.noise_exposed} if len(self.keys) <= rules.keys else {rules.noise, rules.noise_exposed}
        law = self._learnt(readings, max(spreads)) or _Joint(self.means, self.covariance)
        parts = [_given(readings, law, spread, self._alike) for spread in sorted(spreads)]
        another = max(ANOTHER, rules.background_exposed)
        likely = np.stack([part[2] for part in parts], axis=1)
        likely = np.exp(likely - likely.max(axis=1, keepdims=True))
        likely *= (1 - another) / likely.sum(axis=1, keepdims=True)
        prior = law.means[0], np.full(readings.shape[1], law.covariance[0, 0] ** 0.5)
        weights = np.concatenate([likely, np.full((len(likely), 1), another)], axis=1)
        means = np.stack([*(part[0] for part in parts), prior[0]], axis=1)
        return Belief(weights, means, np.stack([*(part[1] for part in parts), prior[1]], axis=1))

    @property
    def _alike(self) -> float:
        return WEIGHT**2 if self.intruder.book.weight else 0.0

    def _learnt(self, readings: Floats, spread: float) -> _Joint | None:
        """The law that the readings themselves have, without the noise; None of too few."""
        logs = np.log(np.where(readings > 0, readings, np.nan)) - float(log_mean(spread))
        whole = np.isfinite(logs).all(axis=0)
        if whole.sum() < ENOUGH:
            return None
        noisy = np.atleast_2d(np.cov(logs[:, whole])) - self._alike
        values, vectors = np.linalg.eigh(noisy - np.eye(len(noisy)) * float(log_variance(spread)))
        covariance = vectors @ np.diag(np.maximum(values, 1e-3)) @ vectors.T
        means = np.repeat(logs[:, whole].mean(axis=1, keepdims=True), readings.shape[1], axis=1)
        return _Joint(means, np.asarray(covariance))

    @cached_property
    def _fits(self) -> list[Fit | None]:
        return [self._by_keys(number) for number in self.numbers]

    def _by_keys(self, number: str) -> Fit | None:
        """The model of a number by as many of the keys as are answered."""
        for left_out in range(len(self.keys)):
            for keys in [self.keys[left_out:], self.keys[: len(self.keys) - left_out]]:
                terms = " + ".join(map(quoted, keys))
                fit = (
                    fit_of(self.intruder.regression(f"log({quoted(number)}) ~ {terms}")) if self.intruder.left else None
                )
                if fit is not None:
                    return fit
        return None

    @cached_property
    def means(self) -> Floats:
        """What the keys of each target predict, a row a number; the level of all where no model is answered."""
        size = self.intruder.known.size
        return np.stack([_fitted(self.intruder, fit, self.keys, size) for fit in self._fits])

    @cached_property
    def spread(self) -> Floats:
        """Around that, without the noise."""
        noise = float(log_variance(self.intruder.policy.records.noise))
        found = [1.0 if fit is None else fit.statistics["sigma"] ** 2 - noise for fit in self._fits]
        return np.sqrt(np.maximum(found, 0.01))

    @cached_property
    def covariance(self) -> Floats:
        size = len(self.numbers)
        found = np.eye(size)
        for one in range(size):
            for other in range(one):
                found[one, other] = found[other, one] = self._correlation(self.numbers[one], self.numbers[other])
        # no more alike than some matrix of correlations is
        values, vectors = np.linalg.eigh(found)
        found = vectors @ np.diag(np.maximum(values, 1e-3)) @ vectors.T
        return np.asarray(found * np.outer(self.spread, self.spread))

    def _correlation(self, first: str, second: str) -> float:
        """Of two logarithms, without what noise takes off it."""
        formula = f"log({quoted(first)}) ~ log({quoted(second)})"
        fit = fit_of(self.intruder.regression(formula)) if self.intruder.left else None
        if fit is None:
            return 0.0
        noise = float(log_variance(self.intruder.policy.records.noise))
        share = fit.statistics["r_squared"]
        variance = fit.statistics["sigma"] ** 2 / max(1 - share, 1e-6)
        kept = max(1 - noise / variance, 0.2)
        return float(np.sign(fit.estimates[f"log({second})"]) * min(share**0.5 / kept, HIGHEST))


def _given(readings: Floats, law: _Joint, spread: float, alike: float) -> tuple[Floats, Floats, Floats]:
    """The mean and the spread of the wanted logarithm given what is read, and how likely that is, for one law of noise."""
    logs = np.log(np.where(readings > 0, readings, np.nan)) - float(log_mean(spread)) - law.means
    found, cov = np.empty((3, readings.shape[1])), law.covariance
    for target in range(readings.shape[1]):
        seen = np.isfinite(logs[:, target])
        noisy = cov[np.ix_(seen, seen)] + np.eye(int(seen.sum())) * max(float(log_variance(spread)), 1e-4) + alike
        off = logs[seen, target]
        gain = np.linalg.solve(noisy, cov[seen, 0])
        found[0, target] = law.means[0, target] + gain @ off
        found[1, target] = max(cov[0, 0] - gain @ cov[seen, 0], 1e-6) ** 0.5
        found[2, target] = -0.5 * (off @ np.linalg.solve(noisy, off) + np.linalg.slogdet(noisy)[1])
    return found[0], found[1], found[2]


def _fitted(intruder: Intruder, fit: Fit | None, keys: Sequence[str], size: int) -> Floats:
    if fit is None:
        return np.zeros(size)
    level = np.full(size, fit.intercept)
    for target in range(size):
        labels = [f"{key}={code_of(intruder, target, key)}" for key in keys]
        level[target] += sum(fit.estimates.get(label, 0.0) for label in labels)
    return level
