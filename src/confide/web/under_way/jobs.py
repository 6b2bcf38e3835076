"""Long work: each piece is a job with an owner. It goes on while a page says how far it is, and its outcome is kept for a while."""

import secrets
import time
from collections.abc import Callable, Hashable
from functools import partial
from math import inf
from threading import Lock, Thread
from time import monotonic
from typing import Any, Protocol, TypeVar

from confide.cache import Cache
from confide.cancellation import Stopped, StopReason
from confide.errors import Reason, Refused
from confide.site.access import asked_by
from confide.web.under_way.job import Job, JobState, Progress
from confide.web.under_way.scheduler import Scheduler

__all__ = ["Job", "JobState", "Jobs", "Progress", "Stopped"]

PATIENCE = 2.0
"""Seconds a page waits for an outcome before it says how far the work is."""

MOST_OPEN, MOST_OPEN_EACH = 400, 100
"""So many jobs may wait or be worked on, of all and of one owner. One that waits holds a connection, of which there are 600, and
no thread."""

LONGEST_RETRY = 60
"""Seconds after which whoever was turned away may try again in any case."""

LOOK = 0.25
"""Seconds between two looks at what has taken too long or is not wanted any more."""


class Elsewhere(Protocol):
    """The other processes of a site, which people may ask for the same."""

    def show(self, job: Job[Any]) -> None:
        """Tell them how far a job is whose page is looked at."""

    def wants(self, job: Job[Any]) -> bool:
        """Whether somebody waits there for the end of a job."""


T = TypeVar("T")
Key = tuple[str, Hashable]
"""An owner, and what the work is."""


class Jobs:
    """The long work of a site, each piece under its owner and a key. Safe to share among threads.

    Promise: the same work of one owner is done once, however often it is asked for, while it goes on and while its outcome is kept;
    nobody is given the work of another owner; people take turns, and one has at most `each` of the workers; what waits, what goes
    on and what is kept are bounded; what takes longer than it may, or nobody waits for, is stopped.

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
        each: int | None = None,
        patience: float = PATIENCE,
        abandoned: float = inf,
        clock: Callable[[], float] = monotonic,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        """Work whose page nobody has looked at for `abandoned` seconds is not wanted any more, unless it is `elsewhere`."""
        self._kept, self._policy, self._clock = kept, policy, clock
        self.patience, self._abandoned, self._elsewhere = patience, abandoned, elsewhere
        self._open: dict[Key, Job[Any]] = {}
        self._active: dict[Job[Any], Callable[[], None]] = {}
        """What waits or goes on, also if it was forgotten, and how it is carried out."""
        self._lock, self._watched = Lock(), False
        self._workers, self._each = workers, each or workers
        self._scheduler = Scheduler(workers=workers, each=self._each)

    def begin(
        self, key: Hashable, work: Callable[[Progress], T], *, owner: str, seconds: float = 0.0, address: str = ""
    ) -> Job[T]:
        """The job with this key, begun if there is none, which may take so many seconds (0: as long as it takes).

        Whoever calls this wants the outcome until they `leave` the job.
        """
        with self._lock:
            job = self._find((owner, key))
            if job is None:
                self._must_have_space(owner)
                job = self._open[owner, key] = Job[T](owner, key, seconds=seconds or inf)
                job.cancellation.give_way = self._scheduler.give_way
                turn = self._active[job] = partial(self._do, job, work)
                self._watch()
                self._scheduler.submit(_person(owner), turn)
            job.waiters += 1
            job.address = address or job.address
        return job

    def leave(self, job: Job[Any]) -> None:
        """Wait for a job no longer, because it is over or not wanted."""
        with self._lock:
            job.waiters -= 1
            self._stop_if_unwanted(job)

    def told(self, job: Job[Any]) -> None:
        """Note that somebody is told the outcome: one that may differ the next time is kept no longer."""
        if not job.lasting:
            self._kept.change((job.owner, job.key), lambda found: None if found is job else found)

    def start(self, key: Hashable, work: Callable[[Progress], T], *, owner: str) -> Job[T]:
        """The job with this key, begun if there is none, after a moment's wait for its outcome: for a page that shows it."""
        job = self.begin(key, work, owner=owner)
        try:
            if job.wait(self.patience):
                self.told(job)
            self.show(job)
        finally:
            self.leave(job)
        return job

    def show(self, job: Job[Any]) -> None:
        """Note that somebody looks at the page of a job, and will look again."""
        job.shown = self._clock()
        self._tell(job)

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
                    self._stop(job)
                    self._open.pop(known, None)
                    self._kept.pop(known)

    def look_after(self) -> bool:
        """Stop what has taken too long and what nobody wants; whether anything is left to look after."""
        with self._lock:
            now = self._clock()
            for job in list(self._active):
                if job.cancellation.stopping:
                    job.cancellation.stop()  # again: it may have come between two statements
                elif now - job.begun > job.seconds:
                    job.cancellation.stop(StopReason.TIME)
                else:
                    self._stop_if_unwanted(job)
            self._watched = bool(self._active)
            return self._watched

    def close(self) -> None:
        """Stop what goes on, wait until it has ended, and never begin what waits."""
        with self._lock:
            for job in list(self._active):
                self._stop(job)
        self._scheduler.close()

    @property
    def waiting(self) -> int:
        """How many jobs have not begun."""
        with self._lock:
            return sum(job.running_since is None for job in self._active)

    def __len__(self) -> int:
        """How many jobs are remembered."""
        return len(self._open) + len(self._kept)

    def _find(self, key: Key) -> Job[Any] | None:
        found = self._open.get(key)
        return found if found and not found.cancellation.stopping else self._kept.get(key, now=self._clock())

    def _must_have_space(self, owner: str) -> None:
        mine, all = sum(_person(job.owner) == _person(owner) for job in self._active), len(self._active)
        if mine >= MOST_OPEN_EACH:
            words = f"{mine} of your questions are being answered. Wait until some are finished."
            raise self._busy(words, 429, 1 + mine // self._each)
        if all >= MOST_OPEN:
            raise self._busy("The site is busy with other questions. Ask again in a minute.", 503, LONGEST_RETRY)

    def _busy(self, words: str, status: int, wait: int) -> Refused:
        refusal = Refused([Reason("quota.waiting", words)], policy=self._policy)
        refusal.http_status, refusal.retry_after = status, min(wait, LONGEST_RETRY)
        return refusal

    def _do(self, job: Job[T], work: Callable[[Progress], T]) -> None:
        self._tell(job)
        job.perform(work, self._clock)
        with self._lock:
            del self._active[job]
            if self._open.get((job.owner, job.key)) is job:  # otherwise it was forgotten meanwhile
                del self._open[job.owner, job.key]
                if not isinstance(job.error, Stopped):  # which has no outcome
                    self._kept.put((job.owner, job.key), job, now=self._clock())
        job.end()
        self._tell(job)

    def _tell(self, job: Job[Any]) -> None:
        """Let the other processes know how far a job is, if its page was looked at."""
        if self._elsewhere and job.shown > -inf:
            self._elsewhere.show(job)

    def _stop_if_unwanted(self, job: Job[Any]) -> None:
        if not job.waiters and self._clock() - job.shown > self._abandoned and not self._wanted_elsewhere(job):
            self._stop(job)

    def _wanted_elsewhere(self, job: Job[Any]) -> bool:
        return self._elsewhere is not None and job in self._active and self._elsewhere.wants(job)

    def _stop(self, job: Job[Any]) -> None:
        """Let the work end at its next step or statement; at once, if it has not begun."""
        job.cancellation.stop()
        turn = self._active.get(job)
        if turn is not None and self._scheduler.withdraw(_person(job.owner), turn):
            del self._active[job]
            if self._open.get((job.owner, job.key)) is job:
                del self._open[job.owner, job.key]
            job.end(Stopped())

    def _watch(self) -> None:
        if not self._watched:
            self._watched = True
            Thread(target=self._look_after_all, name="jobs", daemon=True).start()

    def _look_after_all(self) -> None:
        while self.look_after():
            time.sleep(LOOK)


def _person(owner: str) -> str:
    """Whose turn it is: one who asks in several projects has no more turns than others."""
    return asked_by(owner).name
