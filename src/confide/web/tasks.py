"""Long work for custodians: it goes on while its page says how far it is, and its outcome is kept for the page to show."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import Any

__all__ = ["Progress", "Stopped", "Task", "Tasks"]

PATIENCE = 1.5
"""Seconds a page waits before it says how far the work is."""

WORKERS = 2
MOST_KEPT = 12
"""So many outcomes are kept; the one not looked at for longest makes room."""


class Stopped(Exception):
    """The work is not wanted any more."""


@dataclass
class Progress:
    """How far a piece of work is: so many steps done, of so many, if it is known of how many."""

    done: int = 0
    of: int = 0
    stopping: Event = field(default_factory=Event, repr=False)

    def step(self) -> None:
        """Count a step; raises `Stopped` if the work is not wanted any more."""
        if self.stopping.is_set():
            raise Stopped
        self.done += 1


@dataclass(frozen=True, eq=False)
class Task:
    """A piece of work: waiting, going on, or done."""

    progress: Progress
    future: "Future[Any]"

    @property
    def done(self) -> bool:
        return self.future.done()

    @property
    def outcome(self) -> Any:
        """What the work gave; raises what it raised."""
        return self.future.result()


class Tasks:
    """The long work of a site, each piece under a key. Safe to share among threads.

    Promise: work with the same key is done once while its outcome is kept; memory is bounded.

    >>> tasks = Tasks()
    >>> tasks.get(("sum", 2), lambda progress: 1 + 1).outcome
    2
    >>> tasks.close()
    """

    def __init__(self, *, patience: float = PATIENCE) -> None:
        self._patience, self._lock = patience, Lock()
        self._tasks: OrderedDict[Hashable, Task] = OrderedDict()
        self._workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="task")

    def get(self, key: Hashable, work: Callable[[Progress], Any]) -> Task:
        """The task with this key, begun if there is none, after a moment's wait for its outcome."""
        with self._lock:
            task = self._tasks.get(key) or self._begin(key, work)
        wait([task.future], self._patience)
        return task

    def find(self, key: Hashable) -> Task | None:
        """The task with this key, if there is one."""
        with self._lock:
            if key in self._tasks:
                self._tasks.move_to_end(key)
            return self._tasks.get(key)

    def forget(self, wanted: Callable[[Hashable], bool]) -> None:
        """Stop and forget the tasks whose keys are wanted no more."""
        with self._lock:
            for key in [key for key in self._tasks if wanted(key)]:
                self._tasks.pop(key).progress.stopping.set()

    def close(self) -> None:
        """Stop everything, and wait for it."""
        self.forget(lambda key: True)
        self._workers.shutdown(wait=True, cancel_futures=True)

    def _begin(self, key: Hashable, work: Callable[[Progress], Any]) -> Task:
        progress = Progress()
        task = self._tasks[key] = Task(progress, self._workers.submit(work, progress))
        done = [old for old, other in self._tasks.items() if other.done]
        for old in done[: max(0, len(self._tasks) - MOST_KEPT)]:
            del self._tasks[old]
        return task
