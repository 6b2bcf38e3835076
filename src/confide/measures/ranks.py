"""Ranks of numbers."""

import numpy as np

from confide.arrays import Floats

__all__ = ["ranked"]


def ranked(values: Floats) -> Floats:
    """The rank of each number from 1 on, equal ones sharing the middle of theirs; NaN has none.

    >>> ranked(np.array([5.0, 1.0, 5.0, np.nan])).tolist()
    [2.5, 1.0, 2.5, nan]
    """
    known = ~np.isnan(values)
    _, place, count = np.unique(values[known], return_inverse=True, return_counts=True)
    found = np.full(len(values), np.nan)
    found[known] = (np.cumsum(count) - (count - 1) / 2)[place]
    return found
