"""Arrays by what they hold: named once, for every module."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bools", "Floats", "Ints", "Narrow"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

Narrow = NDArray[np.integer[Any]]
"""Integers that take no more bytes than they need."""
