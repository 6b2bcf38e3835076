"""Whose turn it is: workers shared between people, not between requests."""

from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

__all__ = ["Scheduler"]

Work = Callable[[], None]


class Scheduler:
    """Carries out work in a few threads, those who want some one after the other. Safe to share among threads.

    Promise: whoever waits has a turn after at most one of everybody else, however much these want; at most `each` pieces of one
    are carried out at once, so that one alone never has all the workers, if `each` is less; the work of one begins in
    the order in which it came.
    """

    def __init__(self, *, workers: int, each: int) -> None:
        self._workers, self._each = workers, each
        self._waiting: OrderedDict[str, deque[Work]] = OrderedDict()
        """Who waits, the one whose turn is next first."""
        self._running: Counter[str] = Counter()
        self._lock, self._closed = Lock(), False
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="job")

    def submit(self, owner: str, work: Work) -> None:
        """Carry this out when it is the owner's turn. It must raise nothing."""
        with self._lock:
            self._waiting.setdefault(owner, deque()).append(work)
            self._begin()

    def withdraw(self, owner: str, work: Work) -> bool:
        """Whether the work had not begun, and never will."""
        with self._lock:
            mine = self._waiting.get(owner, deque())
            if work not in mine:
                return False
            mine.remove(work)
            if not mine:
                del self._waiting[owner]
            return True

    def close(self) -> None:
        """Wait for what is carried out, and never begin what waits."""
        with self._lock:
            self._closed = True
            self._waiting.clear()
        self._threads.shutdown(wait=True)

    def _begin(self) -> None:
        while not self._closed and self._running.total() < self._workers and (owner := self._next()) is not None:
            mine = self._waiting.pop(owner)
            self._running[owner] += 1
            self._threads.submit(self._run, owner, mine.popleft())
            if mine:
                self._waiting[owner] = mine  # at the end: all others come first

    def _next(self) -> str | None:
        return next((owner for owner in self._waiting if self._running[owner] < self._each), None)

    def _run(self, owner: str, work: Work) -> None:
        try:
            work()
        finally:
            with self._lock:
                self._running[owner] -= 1
                self._running += Counter()  # forgets those who have none
                self._begin()
