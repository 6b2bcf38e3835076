"""The law of the noise of confidential numbers: f = exp(s z) / E exp(s z), z standard normal within 2.5 deviations.

It has one mode and mean 1, is never 0 nor negative, and is public: whoever knows it can correct for it. With a = 2.5, moments
of z come from M(t) = E exp(t z) = exp(t²/2) (Phi(a - t) - Phi(-a - t)) / (Phi(a) - Phi(-a)).
"""

import numpy as np
from scipy.special import ndtr, ndtri

from confide.arrays import Floats

__all__ = ["REACH", "factors", "factors_below", "log_mean", "log_variance", "log_with_power", "power_mean", "unbiasing"]

REACH = 2.5
"""No factor lies further out than so many standard deviations of its logarithm."""

_LOW, _HIGH = float(ndtr(-REACH)), float(ndtr(REACH))
_VARIANCE = 1 - 2 * REACH * float(np.exp(-(REACH**2) / 2) / np.sqrt(2 * np.pi)) / (_HIGH - _LOW)


def factors(uniform: Floats, spread: Floats | float) -> Floats:
    """The factor that each uniform number draws, for a spread s.

    >>> factors(np.array([0.1, 0.5, 0.9]), 0.25).round(3).tolist()
    [0.71, 0.972, 1.33]
    """
    z = ndtri(_LOW + uniform * (_HIGH - _LOW))
    return np.asarray(np.exp(spread * z) / _generating(spread))


def factors_below(logs: Floats, spread: float) -> Floats:
    """The share of factors whose logarithm is not above some values.

    >>> factors_below(np.log(factors(np.array([0.1, 0.5, 0.9]), 0.25)), 0.25).round(6).tolist()
    [0.1, 0.5, 0.9]
    """
    if not spread:
        return np.asarray(logs >= 0, np.float64)
    z = np.clip((logs + np.log(_generating(spread))) / spread, -REACH, REACH)
    return np.asarray((ndtr(z) - _LOW) / (_HIGH - _LOW))


def power_mean(power: float, spread: Floats | float) -> Floats:
    """The mean of a power of the factor.

    >>> power_mean(1, 0.25).item(), power_mean(2, 0.25).round(4).item()
    (1.0, 1.0579)
    """
    return np.asarray(_generating(power * np.asarray(spread)) / _generating(spread) ** power)


def log_mean(spread: Floats | float) -> Floats:
    """The mean of the logarithm of the factor: below 0, since the mean of the factor is 1."""
    return np.asarray(-np.log(_generating(spread)))


def unbiasing(power: float, spread: Floats | float) -> Floats:
    """What to multiply a noised number by so that the mean of its power is right; of its logarithm, for a power of 0."""
    if not power:
        return np.asarray(np.exp(-log_mean(spread)))
    return np.asarray(power_mean(power, spread) ** (-1 / power))


def log_variance(spread: Floats | float) -> Floats:
    """The variance of the logarithm of the factor."""
    return np.asarray(np.square(spread) * _VARIANCE)


def log_with_power(power: float, spread: Floats | float) -> Floats:
    """The covariance of the logarithm of the factor with a power of it, by the mean of that power: s M'(t) / M(t), t = power s.

    >>> log_with_power(1, 0.25).round(4).item()
    0.0568
    """
    t = power * np.asarray(spread)
    edges = np.exp(-((REACH + t) ** 2) / 2) - np.exp(-((REACH - t) ** 2) / 2)
    slope = t + edges / np.sqrt(2 * np.pi) / (ndtr(REACH - t) - ndtr(-REACH - t))
    return np.asarray(spread * slope)


def _generating(t: Floats | float) -> Floats:
    t = np.asarray(t)
    if t.size > 2 and ((t == (low := t.min())) | (t == (high := t.max()))).all():
        # records have one spread or, if exposed, another: two values of a costly function instead of one for each record
        return np.where(t == low, _generating(low), _generating(high))
    return np.asarray(np.exp(t**2 / 2) * (ndtr(REACH - t) - ndtr(-REACH - t)) / (_HIGH - _LOW))
