"""Work on many records, on every core."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

__all__ = ["beside", "cores_for", "in_order", "in_parts"]

T = TypeVar("T")

PARTS = 8
"""Parts that a core gets, so that one slow part does not keep the others waiting."""


MOST = 1 << 18
"""Parts are no larger than this, so that what is made of each fits into memory."""

FEW, MANY = 100_000, 20_000_000
"""Fewer records than this are looked through in less time than a thread takes to be told of it; of more, two cores at once would need
memory for twice as many."""


def cores_for(records: int) -> int:
    """How many pieces of work on all of so many records are done at once."""
    return os.cpu_count() or 1 if FEW <= records <= MANY else 1


def in_order(calls: Iterable[Callable[[], T]], *, cores: int) -> Iterator[T]:
    """What each call gives, in the order of the calls; so many run at once, and no more results than that wait to be taken.

    >>> list(in_order((lambda n=n: n * n for n in range(4)), cores=2))
    [0, 1, 4, 9]
    """
    if cores == 1:
        yield from (call() for call in calls)
        return
    with ThreadPoolExecutor(cores) as pool:
        waiting: deque[Future[T]] = deque()
        for call in calls:
            if len(waiting) == cores:
                yield waiting.popleft().result()
            waiting.append(pool.submit(call))
        while waiting:
            yield waiting.popleft().result()


@contextmanager
def beside(call: Callable[[], T], *, cores: int) -> Iterator[Callable[[], T]]:
    """What gives the result of a call, which is made while other work is done; on a single core, when the result is asked for.

    >>> with beside(lambda: 6 * 7, cores=2) as found:
    ...     print("other work", found())
    other work 42
    """
    if cores == 1:
        yield call
        return
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(call).result


def in_parts(work: Callable[[int, int], object], size: int) -> None:
    """Call `work(start, stop)` for parts of a range, in as many threads as there are cores."""
    cores = os.cpu_count() or 1
    step = max(1, min(MOST, -(-size // (cores * PARTS))))
    with ThreadPoolExecutor(cores) as pool:
        for done in [pool.submit(work, start, min(size, start + step)) for start in range(0, size, step)]:
            done.result()
