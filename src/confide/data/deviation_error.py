"""How well a standard deviation is known of so many units, where no fourth powers are at hand but the largest distance to the mean."""

import numpy as np

from confide.arrays import Floats, Ints

__all__ = ["CELL_SIZES", "deviation_error"]

CELL_SIZES = (50, 500)
"""What protection makes of standard deviations is told apart for cells of fewer units, of fewer than the second, and of more."""

TAILS = 1 / 3
"""The kurtosis of numbers, less 1, as a share of the square of the largest in standard deviations; at least 2, as that of a normal
distribution. Chosen on the demonstration data."""


def deviation_error(deviations: Floats, units: Ints | Floats, largest: Floats) -> Floats:
    """The standard error of a standard deviation s of n units of a simple sample: s sqrt((kurtosis - 1) / 4n).

    `largest` is the largest distance to the mean.

    >>> deviation_error(np.array([10.0, 10.0]), np.array([50.0, 50.0]), np.array([20.0, 60.0])).round(2).tolist()
    [1.0, 2.45]
    """
    beside = np.maximum(largest, 0.0) / np.where(deviations > 0, deviations, 1.0)
    return np.asarray(deviations * np.sqrt(np.maximum(2.0, TAILS * beside**2) / (4 * np.maximum(units, 1))))
