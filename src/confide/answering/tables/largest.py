"""Whether the largest contribution of a cell could be read off a sum of squares: of an error, or of a standard deviation."""

import numpy as np

from confide.answering.shield import Shield
from confide.arrays import Bools, Floats

__all__ = ["LARGEST", "hides_largest"]

LARGEST = 1 / 3
"""Where the largest contribution squared is more than this share of a sum of squares, it could be read off its root: to within 42
percent at best if it is less."""


def hides_largest(squares: Floats, largest: Floats, shield: Shield) -> Bools:
    """Where a sum of squares may be told. Where records carry noise it may be everywhere: it is of protected ones."""
    policy = shield.policy
    if policy.records.noise or not policy.protects or not shield.totals.withholds:
        return np.ones(squares.shape, dtype=bool)
    return np.asarray(np.maximum(largest, 0.0) ** 2 <= LARGEST * squares)
