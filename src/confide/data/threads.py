"""Work on many records, on every core."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

__all__ = ["in_parts"]

PARTS = 8
"""Parts that a core gets, so that one slow part does not keep the others waiting."""


MOST = 1 << 18
"""Parts are no larger than this, so that what is made of each fits into memory."""


def in_parts(work: Callable[[int, int], object], size: int) -> None:
    """Call `work(start, stop)` for parts of a range, in as many threads as there are cores."""
    cores = os.cpu_count() or 1
    step = max(1, min(MOST, -(-size // (cores * PARTS))))
    with ThreadPoolExecutor(cores) as pool:
        for done in [pool.submit(work, start, min(size, start + step)) for start in range(0, size, step)]:
            done.result()
