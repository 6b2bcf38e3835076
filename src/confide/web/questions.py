"""The road of a question from a page or a program: asked, recorded and counted once, in whatever format it is looked at.

A page and its downloads, and another view of the page (percentages, a chart), are one question of one asker for as long as the
answer is kept.
"""

from collections.abc import Callable
from time import monotonic
from typing import Any, TypeVar

from confide.answering.service import Admitted, Service
from confide.formats.release import Released
from confide.model.request import Request
from confide.web.cache import Cache
from confide.web.jobs import PATIENCE, Job, Jobs, JobState, Progress

__all__ = ["Questions"]

KEPT = 600.0
"""Seconds an outcome is kept for whoever asked."""

MEMORY = 64_000_000
"""Bytes kept of outcomes, as far as they can be told."""

WORKERS = 4
"""So many questions of pages are worked on at once; the others wait."""

_SMALL = 6_000
"""Bytes of an outcome beside its numbers, as measured: a table of 29 x 6 cells with three measures takes 16,000 in all, a model
without plots 13,000, one with two plots 5,400,000."""

R = TypeVar("R")
Key = tuple[str, bool]
"""The receipt of an answer, and whether the answer has diagnostics."""


class Questions:
    """The questions of everybody: those being answered, and the outcomes kept. Safe to share among threads.

    Promise: a question is asked once, by page or by program, however often and in whatever format, while its outcome is kept: the
    same asker, the same request, the same policy and data. A model with its diagnostics is the model without them, too. Nobody
    sees the job or the kept outcome of another person; memory is bounded.
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
        self._service = service
        self._jobs = Jobs(cache, workers=WORKERS, policy=service.policy.title, patience=patience, clock=clock)

    def answer(self, question: Request[R] | Admitted[Request[R]], *, who: str, diagnose: bool = False) -> R:
        """The answer, kept or new, however long it takes: for programs."""
        key, work = self._piece(self._service.admit(question), who, diagnose=diagnose)
        answer: R = _as_asked(self._jobs.run(key, work, owner=who).outcome, diagnose=diagnose)
        return answer

    def ask(
        self, question: Request[R] | Admitted[Request[R]], *, who: str, address: str, diagnose: bool = False
    ) -> R | Job[R]:
        """The answer, kept or new; or, if it takes long, its job, which will send the browser to `address`: for pages."""
        key, work = self._piece(self._service.admit(question), who, diagnose=diagnose)
        job: Job[Any] = self._jobs.start(key, work, owner=who, address=address)
        return _as_asked(job.outcome, diagnose=diagnose) if job.done else job

    def job(self, number: str, *, who: str) -> Job[Released] | None:
        """The job of that number, if it is this person's."""
        return self._jobs.numbered(number, owner=who)

    def close(self) -> None:
        """Finish what is worked on, so that it is recorded; what waits is never asked."""
        self._jobs.close()

    def __len__(self) -> int:
        """How many questions are remembered."""
        return len(self._jobs)

    def _piece(
        self, question: Admitted[Request[Any]], who: str, *, diagnose: bool
    ) -> tuple[Key, Callable[[Progress], Any]]:
        """Under which key a question is found, and what is to be done if it is not."""
        receipt = self._service.receipt(question)
        diagnosed = question.request.diagnosable and self._diagnosed(receipt, who, wanted=diagnose)
        return (receipt, diagnosed), lambda progress: self._service.answer(question, who=who, diagnostics=diagnosed)

    def _diagnosed(self, receipt: str, who: str, *, wanted: bool) -> bool:
        """Whether to look for the answer with diagnostics: it will do for who wants none, and a refusal is one for both."""
        if not wanted:
            return self._jobs.find((receipt, True), owner=who) is not None
        plain = self._jobs.find((receipt, False), owner=who)
        return plain is None or plain.state is not JobState.REFUSED


def _as_asked(answer: Any, *, diagnose: bool) -> Any:
    """The answer without the plots that nobody asked for."""
    return answer if diagnose else answer.without_plots()


def _weight(job: Job[Released]) -> int:
    """About so many bytes an outcome takes."""
    return _SMALL + (job.outcome.size if job.error is None else 0)
