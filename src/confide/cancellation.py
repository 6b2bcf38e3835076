"""Stopping work that is not wanted any more, or has taken too much: a flag that reaches down to the engine's statement."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from math import inf
from threading import RLock

__all__ = ["Cancellation", "StopReason", "Stopped", "current_cancellation"]


class StopReason(StrEnum):
    """Why work was stopped."""

    UNWANTED = "unwanted"
    TIME = "time"
    MEMORY = "memory"


class Stopped(Exception):
    """The work was stopped before its end."""

    def __init__(self, reason: StopReason = StopReason.UNWANTED) -> None:
        super().__init__(reason)
        self.reason = reason


class Cancellation:
    """Whether a piece of work is to stop. Safe to share among threads.

    Promise: once `stop` was called, `check` raises `Stopped`, and whatever runs within `interrupting` is interrupted.

    >>> cancellation = Cancellation()
    >>> with cancellation.applied():
    ...     cancellation.stop()
    ...     current_cancellation().check()
    Traceback (most recent call last):
    confide.cancellation.Stopped: unwanted
    """

    def __init__(self, *, seconds: float = inf) -> None:
        self.seconds = seconds
        """How long the work may take; whoever gives it must stop it then."""
        self.give_way: Callable[[], None] = _go_on
        """Returns when the work may take its next step; whoever gives it may let others go first."""
        self._lock, self._reason, self._interrupts = RLock(), list[StopReason](), list[Callable[[], None]]()

    @property
    def stopping(self) -> bool:
        return bool(self._reason)

    def stop(self, reason: StopReason = StopReason.UNWANTED) -> None:
        """Stop the work; the first reason is the one that is told. Again and again does no harm, and may be needed:
        a statement that is interrupted a moment before it begins runs as if nothing had been.
        """
        with self._lock:
            self._reason.append(reason)
            del self._reason[1:]
            for interrupt in self._interrupts:
                interrupt()

    def check(self) -> None:
        """Raise `Stopped` if the work is to stop."""
        if self._reason:
            raise Stopped(self._reason[0])

    def pause(self) -> None:
        """Between two steps of work that takes long: let others go first if they are to, and raise `Stopped` if it is to stop.

        No lock that others need may be held here.
        """
        self.give_way()
        self.check()

    @contextmanager
    def interrupting(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Work that only `interrupt`, called from another thread, can stop; never called after it has ended."""
        with self._lock:
            self.check()
            self._interrupts.append(interrupt)
        try:
            yield
        finally:
            with self._lock:
                self._interrupts.remove(interrupt)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Let this be the `current_cancellation` of what this thread does."""
        before = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(before)


def _go_on() -> None:
    """Nobody goes first."""


_CURRENT: ContextVar[Cancellation | None] = ContextVar("cancellation", default=None)


def current_cancellation() -> Cancellation:
    """What can stop the work of this thread: nothing, unless somebody applied it."""
    return _CURRENT.get() or Cancellation()
