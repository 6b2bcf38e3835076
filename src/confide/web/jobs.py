"""Long work: each piece is a job with an owner. It goes on while a page says how far it is, and its outcome is kept for a while."""

import secrets
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from threading import Event, Lock
from time import monotonic
from typing import Any, Generic, TypeVar

from confide.errors import Mistake, Reason, Refused
from confide.web.cache import Cache

__all__ = ["Job", "JobState", "Jobs", "Progress", "Stopped"]

PATIENCE = 2.0
"""Seconds a page waits for an outcome before it says how far the work is."""

MOST_OPEN, MOST_OPEN_EACH = 64, 8
"""So many jobs may wait or be worked on, of all and of one owner."""

T = TypeVar("T")
Key = tuple[str, Hashable]
"""An owner, and what the work is."""


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


class JobState(StrEnum):
    """How far a job is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(eq=False)
class Job(Generic[T]):
    """A piece of work: waiting, going on, or done."""

    owner: str
    here: bool = False
    """Whether whoever asked first does it themselves, instead of one of the workers."""
    address: str = "/"
    """Where whoever waits for it is sent in the end."""
    id: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    asked: datetime = field(default_factory=lambda: datetime.now(UTC))
    running_since: datetime | None = None
    finished: float = 0.0
    progress: Progress = field(default_factory=Progress)
    error: BaseException | None = None
    _gave: T = field(init=False, repr=False)
    _over: Event = field(default_factory=Event, repr=False)

    def wait(self, seconds: float | None = None) -> bool:
        """Whether the work is done, after waiting for it so long, or as long as it takes."""
        return self._over.wait(seconds)

    @property
    def done(self) -> bool:
        return self._over.is_set()

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
        """Whether the outcome would be the same if the work were done again. A quota's or a fault's would not."""
        if isinstance(self.error, Refused):
            return not any(reason.rule.startswith("quota.") for reason in self.error.reasons)
        return self.error is None or isinstance(self.error, Mistake)

    def perform(self, work: Callable[[Progress], T], clock: Callable[[], float]) -> None:
        """Do the work, unless nobody wants it any more before it begins."""
        try:
            if self.progress.stopping.is_set():
                raise Stopped
            self.running_since = datetime.now(UTC)
            self._gave = work(self.progress)
        except BaseException as error:
            self.error = error
        self.finished = clock()

    def end(self, error: BaseException | None = None) -> None:
        """Let go of everybody who waits."""
        self.error = error or self.error
        self._over.set()


class Jobs:
    """The long work of a site, each piece under its owner and a key. Safe to share among threads.

    Promise: the same work of one owner is done once, however often it is asked for, while it goes on and while its outcome is kept;
    nobody is given the work of another owner; what waits, what goes on and what is kept are bounded.

    >>> jobs = Jobs(Cache(10), workers=1, policy="standard")
    >>> jobs.start(("sum", 2), lambda progress: 1 + 1, owner="ana").outcome, jobs.find(("sum", 2), owner="bob")
    (2, None)
    >>> jobs.close()
    """

    def __init__(
        self,
        kept: Cache[Key, Job[Any]],
        *,
        workers: int,
        policy: str,
        patience: float = PATIENCE,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._kept, self._policy, self._patience, self._clock = kept, policy, patience, clock
        self._open: dict[Key, Job[Any]] = {}
        self._lock = Lock()
        self._workers = ThreadPoolExecutor(workers, thread_name_prefix="job")

    def start(self, key: Hashable, work: Callable[[Progress], T], *, owner: str, address: str = "/") -> Job[T]:
        """The job with this key, begun if there is none, after a moment's wait for its outcome."""
        with self._lock:
            job = self._find((owner, key))
            if job is None:
                self._must_have_space(owner)
                job = Job[T](owner)
                self._workers.submit(self._do, (owner, key), job, work)
                self._open[owner, key] = job
            job.address = address
        job.wait(self._patience)
        return self._handed_over((owner, key), job)

    def run(self, key: Hashable, work: Callable[[Progress], T], *, owner: str) -> Job[T]:
        """The job with this key, done: kept, waited for if it goes on, or else done here and now."""
        with self._lock:
            job = self._find((owner, key))
            new = job is None
            if job is None:
                job = self._open[owner, key] = Job[T](owner, here=True)
        if new:
            self._do((owner, key), job, work)
        job.wait()
        return self._handed_over((owner, key), job)

    def find(self, key: Hashable, *, owner: str) -> Job[Any] | None:
        """The job with this key, if there is one."""
        with self._lock:
            return self._find((owner, key))

    def numbered(self, number: str, *, owner: str) -> Job[Any] | None:
        """The job of that number, if it is this owner's."""
        with self._lock:
            jobs = [*self._open.values(), *(job for _, job in self._kept.items(now=self._clock()))]
        mine = (job for job in jobs if job.owner == owner)
        return next((job for job in mine if secrets.compare_digest(job.id.encode(), number.encode())), None)

    def forget(self, unwanted: Callable[[Hashable], bool], *, owner: str) -> None:
        """Stop and forget the jobs of an owner whose keys are unwanted."""
        with self._lock:
            for known, job in [*self._open.items(), *self._kept.items()]:
                if known[0] == owner and unwanted(known[1]):
                    job.progress.stopping.set()
                    self._open.pop(known, None)
                    self._kept.pop(known)

    def close(self) -> None:
        """Stop what can be stopped between two steps, finish the rest of what goes on, and never begin what waits."""
        with self._lock:
            left = list(self._open.values())
        for job in left:
            job.progress.stopping.set()
        self._workers.shutdown(wait=True, cancel_futures=True)
        for job in left:
            if job.running_since is None:
                job.end(Stopped())

    def __len__(self) -> int:
        """How many jobs are remembered."""
        return len(self._open) + len(self._kept)

    def _find(self, key: Key) -> Job[Any] | None:
        return self._open.get(key) or self._kept.get(key, now=self._clock())

    def _must_have_space(self, owner: str) -> None:
        waiting = [job for job in self._open.values() if not job.here]
        mine = sum(job.owner == owner for job in waiting)
        if mine >= MOST_OPEN_EACH:
            raise self._busy(f"{mine} of your questions are being answered. Wait until one is finished.")
        if len(waiting) >= MOST_OPEN:
            raise self._busy("The site is busy with other questions. Ask again in a minute.")

    def _busy(self, words: str) -> Refused:
        refusal = Refused([Reason("quota.waiting", words)], policy=self._policy)
        refusal.http_status = 429
        return refusal

    def _do(self, key: Key, job: Job[T], work: Callable[[Progress], T]) -> None:
        job.perform(work, self._clock)
        with self._lock:
            if self._open.get(key) is job:  # otherwise it was forgotten meanwhile
                del self._open[key]
                self._kept.put(key, job, now=self._clock())
        job.end()

    def _handed_over(self, key: Key, job: Job[T]) -> Job[T]:
        """The job; an outcome that may differ the next time is kept only until somebody was told."""
        if job.done and not job.lasting:
            self._kept.change(key, lambda found: None if found is job else found)
        return job
