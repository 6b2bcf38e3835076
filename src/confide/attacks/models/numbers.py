"""How likely each value of a target's number is, from readings of it through transformed class means."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from confide.arrays import Floats
from confide.attacks.claims import WITHIN

__all__ = ["TRANSFORMS", "Reading", "best_claim"]

TRANSFORMS: Mapping[str, Callable[[Floats], Floats]] = {"log": np.log, "sqrt": np.sqrt, "": lambda value: value}
"""By what may be done to a response: logarithm, root, nothing."""

WRONG = 0.15
"""So often a reading may be off for another reason than rounding: another unit of the class was dropped."""

SHARE_ERROR = 0.13
"""The share of a target in its class is known to about so much: weights vary, and class sizes are protected."""

ROUNDING = 1.3
"""Errors beside those of rounding (means of covariates) make readings worse by about this factor."""

POINTS, SHARES = 600, 9


@dataclass(frozen=True)
class Reading:
    """The mean of a class with the target less that without: `change`, with the error of its rounding.

    `size` is how many times the target's weight the class has, `mean` its mean without the target, `spread` the standard
    deviation in the class, and `fit` what the covariates say the target is above that mean. All on the scale of `transform`.
    """

    transform: str
    change: float
    error: float
    size: float
    mean: float
    spread: float
    fit: float = 0.0


def best_claim(readings: Sequence[Reading]) -> tuple[float, float]:
    """The claim that is most likely within a tenth of the truth, and how likely it is."""
    values = _grid(readings)
    likely = np.exp(_log_posterior(readings, values)).sum(axis=0)
    total = np.cumsum(likely) / likely.sum()
    high, low = (np.interp(values / (1 - WITHIN), values, total), np.interp(values / (1 + WITHIN), values, total))
    best = int((high - low).argmax())
    return float(values[best]), float(high[best] - low[best])


def _grid(readings: Sequence[Reading]) -> Floats:
    """Values from far below to far above what the readings say, evenly in their logarithms."""
    inverse: dict[str, Callable[[float], float]] = {"log": np.exp, "sqrt": lambda v: max(v, 0.0) ** 2, "": float}
    middles = [inverse[r.transform](r.mean) for r in readings]
    return np.geomspace(max(min(middles), 1.0) / 50, max(max(middles), 1.0) * 30, POINTS)


def _log_posterior(readings: Sequence[Reading], values: Floats) -> Floats:
    """By the error of the share, which all readings have in common, and by value; up to a constant."""
    steps = np.linspace(-2.5, 2.5, SHARES)[:, None]
    log = np.repeat(-0.5 * steps**2, len(values), axis=1)
    first = readings[0]
    log += -0.5 * ((TRANSFORMS[first.transform](values) - first.mean - first.fit) / first.spread) ** 2
    for one in readings:
        expected = (TRANSFORMS[one.transform](values) - one.mean - one.fit) / (one.size * np.exp(SHARE_ERROR * steps))
        error, wide = ROUNDING * one.error, 2 * one.spread / one.size
        log += np.log(
            (1 - WRONG) * _normal(one.change - expected, error) + WRONG * _normal(one.change - expected, wide)
        )
    return np.asarray(log - log.max())


def _normal(distance: Floats, spread: float) -> Floats:
    # The floor keeps the logarithm finite where a value is out of the question.
    return np.asarray(np.exp(-0.5 * (distance / spread) ** 2) / spread + 1e-300)
