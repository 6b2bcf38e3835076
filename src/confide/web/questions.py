"""The road of a question from a page or a program: asked, recorded and counted once, in whatever format it is looked at.

A page and its downloads, and another view of the page (percentages, a chart), are one question of one asker for as long as the
answer is kept.
"""

from collections.abc import Callable
from dataclasses import replace
from time import monotonic
from typing import Any

from confide.answering.service import Service
from confide.model.model_release import ModelRelease
from confide.model.release import Release
from confide.model.request import Regression, Request
from confide.web.cache import Cache
from confide.web.jobs import PATIENCE, Job, Jobs, JobState, Progress

__all__ = ["Answered", "Questions"]

KEPT = 600.0
"""Seconds an outcome is kept for whoever asked."""

MEMORY = 64_000_000
"""Bytes kept of outcomes, as far as they can be told."""

WORKERS = 4
"""So many questions of pages are worked on at once; the others wait."""

_SMALL, _CELL = 6_000, 200
"""Bytes of a small outcome, and of a number in the tables of a model, as measured: a table of 29 x 6 cells with three measures takes
16,000, a model without plots 13,000, one with two plots 5,400,000."""

Answered = Release | ModelRelease
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

    def answer(self, question: Request, *, who: str, diagnose: bool = False) -> Answered:
        """The answer, kept or new, however long it takes: for programs."""
        key, work = self._piece(question, who, diagnose=diagnose)
        return _as_asked(self._jobs.run(key, work, owner=who).outcome, diagnose=diagnose)

    def ask(self, question: Request, *, who: str, address: str, diagnose: bool = False) -> Answered | Job[Answered]:
        """The answer, kept or new; or, if it takes long, its job, which will send the browser to `address`: for pages."""
        key, work = self._piece(question, who, diagnose=diagnose)
        job = self._jobs.start(key, work, owner=who, address=address)
        return _as_asked(job.outcome, diagnose=diagnose) if job.done else job

    def job(self, number: str, *, who: str) -> Job[Answered] | None:
        """The job of that number, if it is this person's."""
        return self._jobs.numbered(number, owner=who)

    def close(self) -> None:
        """Finish what is worked on, so that it is recorded; what waits is never asked."""
        self._jobs.close()

    def __len__(self) -> int:
        """How many questions are remembered."""
        return len(self._jobs)

    def _piece(self, question: Request, who: str, *, diagnose: bool) -> tuple[Key, Callable[[Progress], Answered]]:
        """Under which key a question is found, and what is to be done if it is not."""
        desk = self._service.desk(question.dataset)
        question = desk.admit(question)
        receipt = desk.receipt(question)
        if isinstance(question, Regression) and self._diagnosed(receipt, who, wanted=diagnose):
            return (receipt, True), lambda progress: self._service.diagnose(question, who=who)
        return (receipt, False), lambda progress: self._service.answer(question, who=who)

    def _diagnosed(self, receipt: str, who: str, *, wanted: bool) -> bool:
        """Whether to look for the answer with diagnostics: it will do for who wants none, and a refusal is one for both."""
        if not wanted:
            return self._jobs.find((receipt, True), owner=who) is not None
        plain = self._jobs.find((receipt, False), owner=who)
        return plain is None or plain.state is not JobState.REFUSED


def _as_asked(answer: Answered, *, diagnose: bool) -> Answered:
    """The answer without the plots that nobody asked for."""
    if diagnose or isinstance(answer, Release) or not answer.charts:
        return answer
    plots = {f"plot: {name}" for name in answer.charts}
    return replace(answer, grids={name: grid for name, grid in answer.grids.items() if name not in plots}, charts={})


def _weight(job: Job[Answered]) -> int:
    """About so many bytes an outcome takes."""
    if job.error is not None:
        return _SMALL
    answer = job.outcome
    if isinstance(answer, Release):
        arrays = (a for column in answer.columns.values() for a in (column.values, column.marks, column.noise))
        return _SMALL + sum(array.nbytes for array in arrays)
    cells = sum(len(grid.columns) * len(grid.rows) for grid in answer.grids.values())
    return _SMALL + cells * _CELL
