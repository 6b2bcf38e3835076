"""A piece of long work: who wants it, how far it is and what it gave."""

import secrets
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from math import inf
from typing import Generic, TypeVar

from confide.cancellation import Cancellation
from confide.errors import Mistake, Refused

__all__ = ["Job", "JobState", "Progress"]

T = TypeVar("T")


@dataclass
class Progress:
    """How far a piece of work is: so many steps done, of so many, if it is known of how many."""

    done: int = 0
    of: int = 0
    cancellation: Cancellation = field(default_factory=Cancellation, repr=False)

    def step(self) -> None:
        """Count a step; raises `Stopped` if the work is not wanted any more."""
        self.cancellation.check()
        self.done += 1


class JobState(StrEnum):
    """How far a job is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"


def _not_over() -> Future[None]:
    over: Future[None] = Future()
    over.set_running_or_notify_cancel()  # so that nobody who waits can cancel it for the others
    return over


@dataclass(eq=False)
class Job(Generic[T]):
    """A piece of work: waiting, going on, or done."""

    owner: str
    key: Hashable
    seconds: float = inf
    """How long it may go on."""
    address: str = "/"
    """Where whoever waits for it is sent in the end."""
    id: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    asked: datetime = field(default_factory=lambda: datetime.now(UTC))
    running_since: datetime | None = None
    begun: float = inf
    finished: float = 0.0
    waiters: int = 0
    """So many wait for its end just now."""
    shown: float = -inf
    """When somebody last looked at its page."""
    progress: Progress = field(default_factory=Progress)
    error: BaseException | None = None
    over: Future[None] = field(default_factory=_not_over, repr=False)
    _gave: T = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.cancellation.seconds = self.seconds

    def wait(self, seconds: float | None = None) -> bool:
        """Whether the work is done, after waiting for it so long, or as long as it takes."""
        with suppress(TimeoutError):
            self.over.result(seconds)
        return self.done

    @property
    def done(self) -> bool:
        return self.over.done()

    @property
    def cancellation(self) -> Cancellation:
        return self.progress.cancellation

    @property
    def outcome(self) -> T:
        """What the work gave, once it is done; raises what it raised."""
        if self.error is None:
            return self._gave
        if self.lasting:  # raised again and again, and each time its traceback would grow by the frames of a request
            self.error.with_traceback(None)
        raise self.error

    @property
    def state(self) -> JobState:
        if not self.done:
            return JobState.WAITING if self.running_since is None else JobState.RUNNING
        if self.error is None:
            return JobState.DONE
        return JobState.REFUSED if isinstance(self.error, Refused) else JobState.FAILED

    @property
    def lasting(self) -> bool:
        """Whether the outcome would be the same if the work were done again. A quota's, a review's or a fault's would not."""
        if isinstance(self.error, Refused):
            return all(reason.lasting for reason in self.error.reasons)
        return self.error is None or isinstance(self.error, Mistake)

    def perform(self, work: Callable[[Progress], T], clock: Callable[[], float]) -> None:
        """Do the work, unless nobody wants it any more before it begins."""
        try:
            self.cancellation.check()
            self.running_since, self.begun = datetime.now(UTC), clock()
            with self.cancellation.applied():
                self._gave = work(self.progress)
        except BaseException as error:
            self.error = error
        self.finished = clock()

    def end(self, error: BaseException | None = None) -> None:
        """Let go of everybody who waits."""
        self.error = error or self.error
        self.over.set_result(None)
