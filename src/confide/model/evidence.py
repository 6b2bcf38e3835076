"""True aggregates on their way from an engine to protection. Only the service and `queries` see them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Box", "Cells", "Tally"]

Ints = NDArray[np.int64]

Box = tuple[tuple[str, tuple[int, ...]], ...]
"""A conjunction: each variable with the places of its allowed codes."""


@dataclass(frozen=True)
class Tally:
    """A question to an engine: aggregates by classes of `by`, over the units in any of the disjoint boxes.

    `without` lists units left out by their keys. With `of`, records with a missing value of it are left out.
    """

    by: tuple[str, ...]
    within: tuple[Box, ...] = ()
    without: tuple[int, ...] = ()
    of: str | None = None
    weighted: bool = False
    top: int = 0


@dataclass(frozen=True)
class Cells:
    """An engine's answer: one row for each class that is not empty. Everything is an exact integer.

    `key` is the xor of the record keys: the same records give the same key in whatever table they appear.
    `total` and `size` are sums of contributions and of their absolute values; `top` the largest ones by unit.
    """

    by: tuple[str, ...]
    places: Ints
    records: Ints
    units: Ints
    key: Ints
    weight: Ints | None = None
    total: Ints | None = None
    size: Ints | None = None
    top: Ints | None = None
