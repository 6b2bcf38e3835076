"""The road of a question from a page or a program: asked, recorded and counted once, in whatever format it is looked at.

A page and its downloads, and another view of the page (percentages, a chart), are one question of one asker for as long as the
answer is kept.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any, TypeVar, cast

from confide.answering.service import Admitted, Service
from confide.cache import Cache
from confide.errors import Fault, Reason, Refused
from confide.formats.release import Released
from confide.model.request import Request
from confide.site.access import asked_by
from confide.web.under_way.elsewhere import JobElsewhere, JobPages
from confide.web.under_way.jobs import LONGEST_RETRY, PATIENCE, Job, Jobs, JobState, Progress, Stopped

__all__ = ["Questions"]

KEPT = 600.0
"""Seconds an outcome is kept for whoever asked."""

MEMORY = 64_000_000
"""Bytes kept of outcomes, as far as they can be told."""

WORKERS = max(4, os.cpu_count() or 1)
"""So many questions are worked on at once, of pages and of programs; the others wait. More than cores, because a question waits
for the disk when it is recorded, and one alone may not have all."""

EACH = WORKERS // 2
"""So many of these are of one person."""

ABANDONED = 90.0
"""Seconds after which a question is cancelled whose page nobody has looked at; the page looks again after 30 at most."""

_SMALL = 6_000
"""Bytes of an outcome beside its numbers, as measured: a table of 29 x 6 cells with three measures takes 16,000 in all, a model
without plots 13,000, one with two plots 5,400,000."""

R = TypeVar("R")


class _Elsewhere:
    """The other processes of a site, as far as they have to do with questions that are answered here."""

    def __init__(self, service: Service, pages: JobPages) -> None:
        self._service, self._pages = service, pages

    def show(self, job: Job[Any]) -> None:
        self._pages.show(job)

    def wants(self, job: Job[Any]) -> bool:
        """Not while the state of the site is out of reach: then nothing will be recorded either."""
        receipt, diagnosed = cast(tuple[str, bool], job.key)
        with suppress(Fault):
            return self._service.is_awaited(receipt, diagnosed, who=job.owner) or self._pages.is_wanted(job)
        return False


class Questions:
    """The questions of everybody: those being answered, and the outcomes kept. Safe to share among threads.

    Promise: a question is asked once, by page or by program, however often and in whatever format, while its outcome is kept: the
    same asker, the same request, the same policy and data. A model with its diagnostics is the model without them, too. Nobody
    sees the job or the kept outcome of another person; memory is bounded. People take turns, whatever one of them asks, and what
    nobody waits for is cancelled.
    """

    def __init__(
        self,
        service: Service,
        *,
        patience: float = PATIENCE,
        kept: float = KEPT,
        memory: int = MEMORY,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        cache: Cache[Any, Job[Any]] = Cache(
            memory, weigh=_weight, expired=lambda job, now: bool(now - job.finished > kept)
        )
        self._service, self._policy, self._keep = service, service.policy.title, kept
        self._pages = JobPages(service.state, wanted=ABANDONED, kept=kept)
        times = {"patience": patience, "abandoned": ABANDONED}
        self._jobs = Jobs(
            cache,
            workers=WORKERS,
            each=EACH,
            policy=self._policy,
            clock=clock,
            elsewhere=_Elsewhere(service, self._pages),
            **times,
        )

    @property
    def patience(self) -> float:
        """Seconds a page waits for its answer."""
        return self._jobs.patience

    def begin(
        self, question: Request[R] | Admitted[Request[R]], *, who: str, address: str = "", diagnose: bool = False
    ) -> Job[R]:
        """The job of a question, which may be over; a Mistake or Refused if it is not asked.

        Whoever calls this waits for the answer until they `leave` the job. The page of the job sends to `address`.
        """
        admitted = self._service.admit(question, who=who)
        policy = self._service.policy_of(admitted.request.dataset, person=asked_by(who))
        receipt, seconds = self._service.receipt(admitted, who=who), policy.quota.seconds
        diagnosed = admitted.request.diagnosable and self._diagnosed(receipt, who, wanted=diagnose)

        def answer(progress: Progress) -> Any:
            return self._service.answer(admitted, who=who, diagnostics=diagnosed, kept=self._keep)

        return self._jobs.begin((receipt, diagnosed), answer, owner=who, seconds=seconds, address=address)

    def leave(self, job: Job[Any]) -> None:
        """Wait for a job no longer: if nobody does, and it is not over, the question is cancelled."""
        self._jobs.leave(job)

    def outcome(self, job: Job[R], *, diagnose: bool = False) -> R:
        """The answer of a job that is over, or what it raised."""
        self._jobs.told(job)
        try:
            answer: Any = job.outcome
        except Stopped:
            words = "The question was cancelled, because the site is being stopped. Ask again in a minute."
            stopped = Refused([Reason("quota.waiting", words)], policy=self._policy)
            stopped.http_status, stopped.retry_after = 503, LONGEST_RETRY
            raise stopped from None
        found: R = answer if diagnose else answer.without_plots()
        return found

    def show(self, job: Job[Any]) -> None:
        """Note that somebody looks at the page of a job, and will look again."""
        self._jobs.show(job)

    def job(self, number: str, *, who: str) -> Job[Released] | JobElsewhere | None:
        """The job of that number, if it is this person's, who looks at its page; it may be another process that works on it."""
        found = self._jobs.numbered(number, owner=who)
        if found is None:
            return self._pages.find(number, owner=who)
        self.show(found)
        return found

    def close(self) -> None:
        """Cancel what is worked on, which is recorded; what waits is never asked."""
        self._jobs.close()

    @property
    def waiting(self) -> int:
        """How many questions wait for their turn."""
        return self._jobs.waiting

    def __len__(self) -> int:
        """How many questions are remembered."""
        return len(self._jobs)

    def _diagnosed(self, receipt: str, who: str, *, wanted: bool) -> bool:
        """Whether to look for the answer with diagnostics: it will do for who wants none, and a refusal is one for both."""
        found = self._jobs.find((receipt, not wanted), owner=who)
        if not wanted:
            return found is not None or bool(self._service.answered(receipt, True, who=who))
        if found is None:
            return self._service.answered(receipt, False, who=who) != "refused"
        return found.state is not JobState.REFUSED


def _weight(job: Job[Released]) -> int:
    """About so many bytes an outcome takes."""
    return _SMALL + (job.outcome.size if job.error is None else 0)
