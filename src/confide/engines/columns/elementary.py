"""Exponentials and logarithms of many numbers at once, in loops that the compiler makes wide.

Those of the C library are called one number at a time and took a quarter of a logistic step (measured). To two units in the
last place, the same on every machine.
"""

import numpy as np

from confide.arrays import Floats, Ints
from confide.data.compiling import compiled

__all__ = ["exponentials", "logarithms"]

LOG2_E, LN2_HIGH, LN2_LOW = 1.4426950408889634, 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""ln 2 in two parts, the first with zeros at its end, so that its products with small integers are exact (Cody and Waite 1980)."""

ONE, FRACTION = np.int64(1023 << 52), np.int64((1 << 52) - 1)
"""The bits of 1.0, and those of a double after its exponent."""


@compiled
def exponentials(x: Floats, found: int, bits: Ints, to: Floats) -> None:
    """exp(x) for numbers within 700 of zero: 2^n exp(r) with |r| at most ln 2 / 2, and 14 terms of the series of exp(r)."""
    for k in range(found):
        n = np.floor(x[k] * LOG2_E + 0.5)
        r = (x[k] - n * LN2_HIGH) - n * LN2_LOW
        p = 1 / 6227020800.0
        p = p * r + 1 / 479001600.0
        p = p * r + 1 / 39916800.0
        p = p * r + 1 / 3628800.0
        p = p * r + 1 / 362880.0
        p = p * r + 1 / 40320.0
        p = p * r + 1 / 5040.0
        p = p * r + 1 / 720.0
        p = p * r + 1 / 120.0
        p = p * r + 1 / 24.0
        p = p * r + 1 / 6.0
        p = p * r + 0.5
        p = p * r + 1.0
        to[k] = p * r + 1.0
        bits[k] = (np.int64(n) + 1023) << 52
    power = bits.view(np.float64)
    for k in range(found):
        to[k] = to[k] * power[k]


@compiled
def logarithms(x: Floats, found: int, bits: Ints, to: Floats) -> None:
    """log(x) for positive numbers that are not subnormal: n ln 2 + 2 artanh(s), s = (m - 1) / (m + 1), 1 / sqrt 2 < m < sqrt 2."""
    given, fraction = x.view(np.int64), bits.view(np.float64)
    for k in range(found):
        bits[k] = (given[k] & FRACTION) | ONE
    for k in range(found):
        high = fraction[k] > 1.4142135623730951
        m = fraction[k] * 0.5 if high else fraction[k]
        n = np.float64((given[k] >> 52) - 1023) + (1.0 if high else 0.0)
        s = np.divide(m - 1.0, m + 1.0)  # unlike /, it does not look for zeros, which would end wide loops
        q = s * s
        p = 2 / 21.0
        p = p * q + 2 / 19.0
        p = p * q + 2 / 17.0
        p = p * q + 2 / 15.0
        p = p * q + 2 / 13.0
        p = p * q + 2 / 11.0
        p = p * q + 2 / 9.0
        p = p * q + 2 / 7.0
        p = p * q + 2 / 5.0
        p = p * q + 2 / 3.0
        to[k] = n * LN2_HIGH + (2.0 * s + (p * q * s + n * LN2_LOW))
