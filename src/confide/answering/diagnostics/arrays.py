"""The arrays that diagnostics take: finite, one-dimensional and of one length."""

import hashlib

import numpy as np
from numpy.typing import ArrayLike

from confide.arrays import Floats, Ints
from confide.errors import Mistake

__all__ = ["finite", "generator", "runs"]


def finite(values: ArrayLike, name: str, *, size: int | None = None) -> Floats:
    """Give the values as floats; anything missing, infinite or of another length is a Mistake that names the argument.

    >>> finite([1, 2], "x")
    array([1., 2.])
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or size not in (None, array.size):
        raise Mistake(f"The {name} do not fit the other columns.", suggestions=["Give one value for every unit."])
    if not np.isfinite(array).all():
        raise Mistake(
            f"Some {name} are missing or infinite.", suggestions=["Leave out the units that the model left out."]
        )
    return array


def generator(seed: bytes, purpose: str) -> np.random.Generator:
    """Give random numbers that depend on the seed and the purpose, on nothing else.

    >>> generator(b"s", "x").random() == generator(b"s", "x").random()
    True
    """
    digest = hashlib.sha256(purpose.encode() + b"\0" + seed).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "little")))


def runs(ordered: Floats) -> tuple[Floats, Ints, Ints]:
    """Give the distinct values of ordered ones, where each begins, and how often it occurs.

    >>> runs(np.array([0.0, 0.0, 7.0]))
    (array([0., 7.]), array([0, 2]), array([2, 1]))
    """
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: ordered.size])
    return ordered[starts], starts, np.diff(np.append(starts, ordered.size))
