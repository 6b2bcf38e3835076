"""Rounding, so that no digit says more than the noise lets it."""

import numpy as np

from confide.arrays import Floats

__all__ = ["DOUBLE", "power_below", "significant", "to_error"]


DOUBLE = 15
"""So many digits a floating-point number has: no limit beside the standard error."""


def power_below(values: Floats) -> Floats:
    """The largest power of ten not above each value; 1 for zero.

    >>> power_below(np.array([35.0, 0.02, 0.0]))
    array([10.  ,  0.01,  1.  ])
    """
    return 10.0 ** _exponent(values)


def significant(values: Floats, digits: int) -> Floats:
    """Each value to that many significant digits.

    >>> significant(np.array([123456.0, 0.012345, 0.0]), 3)
    array([1.23e+05, 1.23e-02, 0.00e+00])
    """
    return _at(values, _exponent(values) - (digits - 1))


def to_error(values: Floats, errors: Floats, *, digits: int) -> Floats:
    """Each value to the second significant digit of its standard error, and never to more digits than these.

    So rounding moves it by at most a twentieth of its error. Where that is 0 only the digits count.

    >>> to_error(np.array([1234.567, 1234.567, 0.123456]), np.array([31.0, 0.0, 0.0047]), digits=6)
    array([1.23500e+03, 1.23457e+03, 1.23500e-01])
    """
    finest = _exponent(values) - (digits - 1)
    return _at(values, np.where(errors > 0, np.maximum(finest, _exponent(errors) - 1), finest))


def _exponent(values: Floats) -> Floats:
    """Of the largest power of ten not above each value; 0 for zero."""
    exponent: Floats = np.floor(np.log10(np.where(values == 0, 1.0, np.abs(values))) + 1e-12)
    return exponent


def _at(values: Floats, exponent: Floats) -> Floats:
    """Each value to a multiple of a power of ten; divided rather than multiplied by small ones, which are no exact doubles."""
    scale = 10.0 ** np.abs(exponent)
    fine: Floats = np.where(exponent < 0, np.rint(values * scale) / scale, np.rint(values / scale) * scale)
    return fine
