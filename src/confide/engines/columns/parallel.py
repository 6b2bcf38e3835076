"""Work on the records of a file in two threads, with a look between segments at whether it is still wanted."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

from confide.cancellation import current_cancellation

__all__ = ["HALVES", "both", "in_two"]

HALVES = (0, 1)
"""Always two, whatever the machine has: who adds up what, and so the bits of a sum, depend on the file alone."""

SEGMENT = 1 << 20
"""Records after which it is asked whether the work is still wanted: some hundredths of a second."""


def in_two(work: Callable[[int, int, int], None], rows: int, cut: Callable[[int], int] = lambda row: row) -> None:
    """Call `work(half, start, stop)` for both halves of each segment; `cut` moves the row at which one may begin."""
    for first, middle, last in segments(rows, cut):
        current_cancellation().check()
        edges = (first, middle, last)
        both(lambda half, edges=edges: work(half, edges[half], edges[half + 1]))  # type: ignore[misc]  # mypy infers no lambda with a default


def both(work: Callable[[int], None]) -> None:
    """Call `work` for both halves at once."""
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(work, 1)
        work(0)
        other.result()


def segments(rows: int, cut: Callable[[int], int]) -> list[tuple[int, int, int]]:
    """Where segments begin, have their middle and end; but for `cut` these are multiples of 64.

    >>> segments(100, lambda row: row)
    [(0, 0, 100)]
    """
    starts = [*(cut(row) for row in range(0, rows, SEGMENT)), rows]
    found = []
    for first, last in pairwise(starts):
        middle = cut(first + (last - first) // 128 * 64)
        found.append((first, min(middle, last), last))
    return found
