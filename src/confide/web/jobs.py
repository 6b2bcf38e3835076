"""Questions that take long: each becomes a job with an address of its own, and is asked and counted once.

A page waits a moment for its answer. If that is not enough, the browser is sent to the job, which sends it back to the page
when the answer is there; the page then finds it kept. An answer is kept for some minutes for whoever asked, so that another
view of the same page (percentages, a chart) is no second question either.
"""

import secrets
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from threading import Lock
from time import monotonic
from typing import Annotated, overload
from urllib.parse import unquote_plus

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse

from confide.answering.service import Service
from confide.errors import Mistake, Reason, Refused
from confide.formats.about import plain
from confide.model.model_release import ModelRelease
from confide.model.release import Release
from confide.model.request import Correlation, Regression, Table
from confide.model.request import Request as Question
from confide.site.access import Person
from confide.web.closing import at_close
from confide.web.pages.context import PageContext, here

__all__ = ["Job", "Jobs", "State", "add_jobs", "answer"]

PATIENCE = 2.0
"""Seconds a page waits before its answer becomes a job."""

KEPT = 600.0
"""Seconds an answer is kept for whoever asked."""

MOST_KEPT, PLOTTED = 64, 8
"""So many outcomes are kept; one with plots, which is megabytes large, counts as so many."""

WORKERS = 4
"""So many questions of pages are worked on at once; the others wait."""

MOST_OPEN, MOST_OPEN_EACH = 64, 8
"""So many questions may wait or be worked on, of all and of one person."""

Answered = Release | ModelRelease
Key = tuple[str, str, bool]


class State(StrEnum):
    """How far a job is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(eq=False)
class Job:
    """A question being answered, or its outcome."""

    id: str
    who: str
    asked: datetime
    address: str = "/"
    running_since: datetime | None = None
    finished: float | None = None
    future: Future[Answered] = field(init=False, repr=False)

    @property
    def state(self) -> State:
        if not self.future.done():
            return State.WAITING if self.running_since is None else State.RUNNING
        if self.future.cancelled():
            return State.FAILED
        error = self.future.exception()
        return State.DONE if error is None else State.REFUSED if isinstance(error, Refused) else State.FAILED

    @property
    def lasting(self) -> bool:
        """Whether the outcome would be the same if the question were asked again. A quota's or a fault's would not."""
        if self.state is not State.REFUSED:
            return self.state is State.DONE
        error = self.future.exception()
        return isinstance(error, Refused) and not any(reason.rule.startswith("quota.") for reason in error.reasons)


class Jobs:
    """The questions of pages: those being answered, and the outcomes kept. Safe to share among threads.

    Promise: a question is asked once, however often its page is looked at while the outcome is kept; nobody sees the job or
    the kept outcome of another person; memory is bounded.
    """

    def __init__(self, service: Service, *, patience: float = PATIENCE, kept: float = KEPT) -> None:
        self._service, self._patience, self._kept = service, patience, kept
        self._jobs: OrderedDict[Key, Job] = OrderedDict()
        """The last used last."""
        self._lock = Lock()
        self._workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="job")

    def answer(self, question: Question, *, who: str, address: str, diagnose: bool = False) -> Answered | Job:
        """The answer, kept or new; or the job it has become, which will send the browser to `address`."""
        desk = self._service.desk(question.dataset)
        question = desk.admit(question)
        key = (who, desk.receipt(question), diagnose)
        with self._lock:
            self._forget()
            job = self._jobs.get(key)
            if job is None:
                self._must_have_room(who)
                job = self._start(key, _work(self._service, question, who, diagnose=diagnose))
            job.address = address
            self._jobs.move_to_end(key)
        wait([job.future], self._patience)
        return self._hand_over(key, job) if job.future.done() else job

    def find(self, number: str, *, who: str) -> Job | None:
        """The job of that number, if it is this person's."""
        with self._lock:
            self._forget()
            mine = (job for job in self._jobs.values() if job.who == who)
            return next((job for job in mine if secrets.compare_digest(job.id.encode(), number.encode())), None)

    def close(self) -> None:
        """Finish what is worked on, so that it is recorded; what waits is never asked."""
        self._workers.shutdown(wait=True, cancel_futures=True)

    def __len__(self) -> int:
        """How many jobs are remembered."""
        return len(self._jobs)

    def _start(self, key: Key, work: Callable[[], Answered]) -> Job:
        job = Job(secrets.token_urlsafe(16), key[0], datetime.now(UTC))
        job.future = self._workers.submit(_run, job, work)
        self._jobs[key] = job
        return job

    def _must_have_room(self, who: str) -> None:
        open_ = [job for job in self._jobs.values() if job.finished is None]
        mine = sum(job.who == who for job in open_)
        if mine >= MOST_OPEN_EACH:
            raise _busy(self._service, f"{mine} of your questions are being answered. Wait until one is finished.")
        if len(open_) >= MOST_OPEN:
            raise _busy(self._service, "The site is busy with other questions. Ask again in a minute.")

    def _forget(self) -> None:
        """Drop the outcomes kept for long enough, and of the others those not used for longest."""
        old, kept = monotonic() - self._kept, 0
        for key, job in reversed(list(self._jobs.items())):
            if job.finished is not None:
                kept += PLOTTED if key[2] else 1
                if job.finished < old or kept > MOST_KEPT:
                    del self._jobs[key]

    def _hand_over(self, key: Key, job: Job) -> Answered:
        if not job.lasting:
            with self._lock:
                self._jobs.pop(key, None)
        return job.future.result()


def _run(job: Job, work: Callable[[], Answered]) -> Answered:
    job.running_since = datetime.now(UTC)
    try:
        return work()
    finally:
        job.finished = monotonic()


def _work(service: Service, question: Question, who: str, *, diagnose: bool) -> Callable[[], Answered]:
    if diagnose and isinstance(question, Regression):
        return partial(service.diagnose, question, who=who)
    return partial(service.answer, question, who=who)


def _busy(service: Service, words: str) -> Refused:
    refusal = Refused([Reason("quota.waiting", words)], policy=service.policy.title)
    refusal.http_status = 429
    return refusal


@overload
def answer(request: Request, question: Table, asker: Person) -> Release | RedirectResponse: ...
@overload
def answer(
    request: Request, question: Regression | Correlation, asker: Person, *, diagnose: bool = False
) -> ModelRelease | RedirectResponse: ...
def answer(
    request: Request, question: Question, asker: Person, *, diagnose: bool = False
) -> Answered | RedirectResponse:
    """The answer to the question of a page; or, if it takes long, the way to the page of the job.

    Raises Mistake, Refused or Fault as `Service.answer` does, at the page's own address even if they took long.
    """
    found = _jobs(request.app).answer(question, who=asker.name, address=here(request), diagnose=diagnose)
    return RedirectResponse(f"/jobs/{found.id}", 303) if isinstance(found, Job) else found


def add_jobs(app: FastAPI, context: PageContext) -> None:
    """Let pages answer through jobs, and serve the pages of these."""
    app.state.jobs = Jobs(context.service)
    at_close(app, lambda: _jobs(app).close())

    @app.get("/jobs/{number}", include_in_schema=False)
    def job(request: Request, number: str, asker: Annotated[Person, context.asker]) -> Response:
        found = _jobs(app).find(number, who=asker.name)
        if found is None:
            raise _gone()
        if found.future.done():
            return RedirectResponse(found.address, 303)
        page = context.render(request, "job.html", job=found, asked=plain(unquote_plus(found.address)))
        # In a header: readers of pages warn of a <meta> element that refreshes.
        page.headers["Refresh"] = str(_pause(found))
        return page


def _jobs(app: FastAPI) -> Jobs:
    jobs: Jobs = app.state.jobs
    return jobs


def _pause(job: Job) -> int:
    """Seconds until the browser looks again: the longer it has taken, the longer it may take."""
    return max(2, min(30, int((datetime.now(UTC) - job.asked).total_seconds() / 4)))


def _gone() -> Mistake:
    gone = Mistake("No question of yours is being answered here.", suggestions=["Open the page you came from again."])
    gone.http_status = 404
    return gone
