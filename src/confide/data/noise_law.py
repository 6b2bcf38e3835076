"""The law of the noise that protected records carry: each confidential number is multiplied once by a factor about 1.

The factor is f = exp(s z - c), with z standard normal cut off at 2.5 either way and c such that E[f] = 1 (about s^2 / 2). It has
one mode, and no number is moved by more than exp(2.5 s). Everything that must know the noise, to draw it or to correct for it,
knows it from here.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from confide.arrays import Floats

__all__ = ["FURTHEST", "NoiseLaw", "law_of"]

FURTHEST = 2.5
"""Where the normal number is cut off: of a long tail, the largest units would pay with their usefulness."""

_INSIDE = float(ndtr(FURTHEST) - ndtr(-FURTHEST))
_CUT_VARIANCE = 1 - 2 * FURTHEST * float(np.exp(-(FURTHEST**2) / 2)) / (2 * np.pi) ** 0.5 / _INSIDE
_LARGEST = 2.0


@dataclass(frozen=True)
class NoiseLaw:
    """The noise with parameter `s`: what it does to powers and to logarithms.

    >>> law = NoiseLaw(0.15)
    >>> law.moment(1), round(law.moment(2), 4), round(law.mean_log, 4), round(law.variance_log, 4)
    (1.0, 1.0206, -0.0102, 0.0205)
    """

    s: float

    def factors(self, uniform: Floats) -> Floats:
        """The factors that uniform numbers stand for."""
        z = ndtri(ndtr(-FURTHEST) + uniform * _INSIDE)
        return np.asarray(np.exp(self.s * z + self._centre))

    def moment(self, power: float) -> float:
        """E[f^power]."""
        return float(_generating(power * self.s) / _generating(self.s) ** power)

    @property
    def relative(self) -> float:
        """The standard deviation of f, so of the noise as a share of the number."""
        return float(np.sqrt(self.moment(2) - 1))

    @property
    def mean_log(self) -> float:
        """E[log f], which is below 0."""
        return self._centre

    @property
    def variance_log(self) -> float:
        """Var[log f]."""
        return float(self.s**2 * _CUT_VARIANCE)

    def log_with(self, power: float) -> float:
        """Cov[log f, f^power] / E[f^power]."""
        t = power * self.s
        edges = np.exp(-((FURTHEST + t) ** 2) / 2) - np.exp(-((FURTHEST - t) ** 2) / 2)
        slope = t + edges / (2 * np.pi) ** 0.5 / (ndtr(FURTHEST - t) - ndtr(-FURTHEST - t))
        return float(self.s * slope)

    @property
    def _centre(self) -> float:
        return -float(np.log(_generating(self.s)))


def _generating(t: float) -> float:
    """E[exp(t z)]."""
    return float(np.exp(t * t / 2) * (ndtr(FURTHEST - t) - ndtr(-FURTHEST - t)) / _INSIDE)


@lru_cache(maxsize=256)
def law_of(relative: float) -> NoiseLaw:
    """The law under which noise has this standard deviation, as a share of the number.

    >>> round(law_of(0.15).relative, 6)
    0.15
    """
    highest = NoiseLaw(_LARGEST).relative
    return NoiseLaw(float(brentq(lambda s: NoiseLaw(s).relative - min(relative, highest), 1e-6, _LARGEST, xtol=1e-12)))
