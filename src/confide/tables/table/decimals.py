"""How many decimals numbers have, as people wrote them: sums of floating-point numbers have more."""

import numpy as np

from confide.arrays import Floats

__all__ = ["decimals_of", "written"]


MOST = 6
"""Numbers with more decimals are taken for real numbers."""

DIGITS = 12
"""Of real numbers so many digits are written: what comes after is left by the order in which they were added."""


def decimals_of(values: Floats) -> int | None:
    """How many decimals all of these have; None if they are real numbers.

    >>> decimals_of(np.array([0.1 + 0.2, 5.25])), decimals_of(np.array([1 / 3]))
    (2, None)
    """
    largest = np.abs(values).max(initial=0.0)
    for decimals in range(MOST + 1):
        if largest * 10.0**decimals >= 2.0**53:
            return None
        scaled = values * 10.0**decimals
        # Sums are off by a few of their last digits, which are never as much as a hundredth of the unit.
        if (np.abs(scaled - np.rint(scaled)) <= min(0.01, 1e-12 * largest * 10.0**decimals)).all():
            return decimals
    return None


def written(values: Floats) -> Floats:
    """The values as they are to be read, without what adding them up left in the last digits.

    That would be ugly, and depends on numbers that may have to stay hidden.

    >>> written(np.array([0.1 + 0.2, 26073.079999999998])).tolist()
    [0.3, 26073.08]
    """
    decimals = decimals_of(values)
    if decimals is None:
        return np.array([float(f"{value:.{DIGITS}g}") for value in values.tolist()])
    return np.round(values, decimals)
