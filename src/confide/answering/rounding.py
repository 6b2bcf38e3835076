"""Rounding, so that no digit says more than the noise lets it."""

import numpy as np

from confide.arrays import Floats

__all__ = ["power_below", "significant"]


def power_below(values: Floats) -> Floats:
    """The largest power of ten not above each value; 1 for zero.

    >>> power_below(np.array([35.0, 0.02, 0.0]))
    array([10.  ,  0.01,  1.  ])
    """
    size = np.where(values == 0, 1.0, np.abs(values))
    return 10.0 ** np.floor(np.log10(size) + 1e-12)


def significant(values: Floats, digits: int) -> Floats:
    """Each value to that many significant digits.

    >>> significant(np.array([123456.0, 0.012345, 0.0]), 3)
    array([1.23e+05, 1.23e-02, 0.00e+00])
    """
    exponent = np.floor(np.log10(np.where(values == 0, 1.0, np.abs(values))) + 1e-12)
    scale = 10.0 ** np.abs(digits - 1 - exponent)
    fine: Floats = np.where(exponent < digits, np.rint(values * scale) / scale, np.rint(values / scale) * scale)
    return fine
