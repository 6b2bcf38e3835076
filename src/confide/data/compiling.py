"""How hot loops are compiled."""

from collections.abc import Callable
from typing import TypeVar, cast

import numba

__all__ = ["compiled"]

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compiled on first use, kept on disk where a folder can be written; other threads run meanwhile.

    No fast-math: sums are not reordered, so a plain Python twin gives the same bits.
    """
    try:
        return cast(F, numba.njit(cache=True, nogil=True)(function))
    except RuntimeError:
        return cast(F, numba.njit(nogil=True)(function))
