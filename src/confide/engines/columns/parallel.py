"""Work on the records of a file in two threads, with a look between segments at whether it is still wanted."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from confide.cancellation import current_cancellation

__all__ = ["HALVES", "SEGMENT", "in_two", "segments"]

HALVES = (0, 1)
"""Always two, whatever the machine has: who adds up what, and so the bits of a sum, depend on the file alone."""

SEGMENT = 1 << 22
"""Records after which it is asked whether the work is still wanted: some tens of milliseconds."""


def in_two(work: Callable[[int, int, int], None], rows: int, cut: Callable[[int], int] = lambda row: row) -> None:
    """Call `work(half, start, stop)` for both halves of each segment; `cut` moves the row at which one may begin."""
    with ThreadPoolExecutor(len(HALVES)) as pool:
        for first, middle, last in segments(rows, cut):
            current_cancellation().check()
            running = [pool.submit(work, 0, first, middle), pool.submit(work, 1, middle, last)]
            for future in running:
                future.result()


def segments(rows: int, cut: Callable[[int], int]) -> list[tuple[int, int, int]]:
    """Where segments begin, have their middle and end; but for `cut` these are multiples of 64.

    >>> segments(100, lambda row: row)
    [(0, 0, 100)]
    """
    starts = [*(cut(row) for row in range(0, rows, SEGMENT)), rows]
    found = []
    for first, last in zip(starts, starts[1:], strict=False):
        middle = cut(first + (last - first) // 128 * 64)
        found.append((first, min(middle, last), last))
    return found
