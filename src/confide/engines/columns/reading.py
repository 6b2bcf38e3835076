"""Reading columns in compiled loops: which records of a chunk are wanted, and their integers, one after the other.

All columns stand in one array of bytes, and kernels are told where: so a kernel is compiled once, whatever the widths of
the columns that it reads. Chunks are small enough for the processor's nearest cache.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.arrays import Ints
from confide.data.compiling import compiled
from confide.engines.columns.store import Bytes

__all__ = ["CHUNK", "Words", "pick", "take"]

Words = NDArray[np.uint64]
"""A bit for each record, 64 to a word; no words at all stand for all records."""

CHUNK = 2048


@compiled
def pick(words: Words, bytes_: Bytes, needs: Ints, start: int, n: int, at: NDArray[np.int32], scratch: Ints) -> int:
    """The records from `start` on, of n, that are in the words and have what they need: how many; `at` says which.

    A row of `needs` is a column (offset, kind) and the least integer it must have there.
    """
    found = n
    if len(words) == 0:
        for i in range(n):
            at[i] = i
    else:
        found = 0
        for i in range(n):
            row = np.uint64(start + i)
            at[found] = i
            found += int((words[row >> np.uint64(6)] >> (row & np.uint64(63))) & np.uint64(1))
    for need in range(len(needs)):
        take(bytes_, needs[need, 0], needs[need, 1], start, n, at, found, scratch)
        kept = 0
        for k in range(found):
            at[kept] = at[k]
            kept += scratch[k] >= needs[need, 2]
        found = kept
    return found


@compiled
def take(
    bytes_: Bytes, offset: int, kind: int, start: int, n: int, at: NDArray[np.int32], found: int, into: NDArray[Any]
) -> None:
    """The integers of a column for the records that were picked."""
    width = abs(kind)
    part = bytes_[offset + start * width : offset + (start + n) * width]
    if kind == 1:
        _copy(part, at, found, into)
    elif kind == 2:
        _copy(part.view(np.uint16), at, found, into)
    elif kind == 4:
        _copy(part.view(np.uint32), at, found, into)
    elif kind == -4:
        _copy(part.view(np.int32), at, found, into)
    else:
        _copy(part.view(np.int64), at, found, into)


@compiled
def _copy(stored: NDArray[Any], at: NDArray[np.int32], found: int, into: NDArray[Any]) -> None:
    if found == len(stored):
        for i in range(found):
            into[i] = stored[i]
    else:
        for k in range(found):
            into[k] = stored[np.uint32(at[k])]
