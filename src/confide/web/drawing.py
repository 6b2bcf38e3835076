"""Processes of their own for what holds Python's lock: vl-convert draws for a tenth of a second and lets nobody else work."""

import signal
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from threading import Lock
from typing import Any

from confide.errors import Fault

__all__ = ["Drawing"]

WORKERS = 2
SLOWEST = 30.0
"""Seconds after which a piece of work is given up."""


class Drawing:
    """A few processes, started when they are first needed. Safe to share among threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._pool: ProcessPoolExecutor | None = None

    @property
    def started(self) -> bool:
        return self._pool is not None

    def begin(self, work: Callable[..., str], *given: Any, **named: Any) -> None:
        """Have the work done, without waiting for it."""
        self._processes().submit(work, *given, **named)

    def run(self, work: Callable[..., str], *given: Any, **named: Any) -> str:
        """What the work gives. If its process was killed, it is tried once more in a new one."""
        try:
            return self._try(work, *given, **named)
        except BrokenProcessPool:
            self.close()
        try:
            return self._try(work, *given, **named)
        except BrokenProcessPool:
            self.close()
            raise Fault("The process that draws charts ended twice.") from None

    def close(self) -> None:
        """End the processes."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)

    def _try(self, work: Callable[..., str], *given: Any, **named: Any) -> str:
        try:
            return self._processes().submit(work, *given, **named).result(SLOWEST)
        except (TimeoutError, ValueError) as error:
            raise Fault(f"A chart could not be drawn ({type(error).__name__}).") from None

    def _processes(self) -> ProcessPoolExecutor:
        with self._lock:
            if self._pool is None:
                # Spawned, since a fork of a process with threads may hang; deaf to Ctrl+C, which is the server's to hear.
                self._pool = ProcessPoolExecutor(
                    WORKERS, get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN)
                )
            return self._pool
