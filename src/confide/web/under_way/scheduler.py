"""Whose turn it is: workers shared between people, not between requests."""

import os
import sys
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Condition, Lock, local

__all__ = ["Scheduler"]

Work = Callable[[], None]

NICER = 10
"""So much nicer, as the system has it, is the work of one who wants several pieces at once: a tenth of the time of a core that
somebody else wants, all of it otherwise. Not the most there is, since such work holds Python's lock now and then."""


LONGEST = 0.05
"""Seconds for which such work waits for others at each of its steps, at most: it is slowed down, and never kept from its end."""


class Scheduler:
    """Carries out work in a few threads, those who want some one after the other. Safe to share among threads.

    Promise: whoever waits has a turn after at most one of everybody else, however much these want; at most `each` pieces of one
    are carried out at once, so that one alone never has all the workers, if `each` is less; the work of one begins in
    the order in which it came. The work of one who wants several pieces at once gives way to that of others: it waits for
    them a moment wherever it calls `give_way`, and where the system gives every thread a priority of its own (Linux), that of
    such work and of all threads that it starts is lower.
    """

    def __init__(self, *, workers: int, each: int) -> None:
        self._workers, self._each = workers, each
        self._waiting: OrderedDict[str, deque[Work]] = OrderedDict()
        """Who waits, the one whose turn is next first."""
        self._running: Counter[str] = Counter()
        self._lock, self._closed = Lock(), False
        self._ahead, self._changed, self._here = 0, Condition(self._lock), local()
        self._threads = _started(workers, "job")
        # Threads of their own: only a privileged process may take back that it gives way.
        self._giving_way = _started(workers, "job-behind", _give_way)

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

    def give_way(self) -> None:
        """Wait a moment, in work of one who wants several pieces at once, while work of others is carried out."""
        if getattr(self._here, "behind", False):
            with self._changed:
                self._changed.wait_for(lambda: not self._ahead or self._closed, LONGEST)

    def close(self) -> None:
        """Wait for what is carried out, and never begin what waits."""
        with self._lock:
            self._closed = True
            self._waiting.clear()
        self._threads.shutdown(wait=True)
        self._giving_way.shutdown(wait=True)

    def _begin(self) -> None:
        while not self._closed and self._running.total() < self._workers and (owner := self._next()) is not None:
            mine = self._waiting.pop(owner)
            several = len(mine) + self._running[owner] > 1
            self._running[owner] += 1
            self._ahead += not several
            (self._giving_way if several else self._threads).submit(self._run, owner, mine.popleft(), several)
            if mine:
                self._waiting[owner] = mine  # at the end: all others come first

    def _next(self) -> str | None:
        return next((owner for owner in self._waiting if self._running[owner] < self._each), None)

    def _run(self, owner: str, work: Work, behind: bool) -> None:
        self._here.behind = behind
        try:
            work()
        finally:
            with self._changed:
                self._running[owner] -= 1
                self._ahead -= not behind
                self._changed.notify_all()
                self._running += Counter()  # forgets those who have none
                self._begin()


def _started(workers: int, name: str, initializer: Callable[[], None] | None = None) -> ThreadPoolExecutor:
    """Threads that are all there from the start: one that is started later has the priority of who happens to start it."""
    threads, together = ThreadPoolExecutor(workers, name, initializer), Barrier(workers)
    for _ in range(workers):
        threads.submit(together.wait)
    return threads


def _give_way() -> None:
    """Let this thread, and those that it starts, wait for others; elsewhere than on Linux it would be the whole process."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0) + NICER)
