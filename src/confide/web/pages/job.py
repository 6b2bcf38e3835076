"""The page of a question that takes long, and how other pages get their answers."""

from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar
from urllib.parse import unquote_plus

from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse

from confide.answering.service import Admitted
from confide.errors import Mistake
from confide.formats.about import plain
from confide.model.request import Request as Question
from confide.site.access import Person
from confide.web.pages.context import PageContext, here
from confide.web.questions import Questions
from confide.web.under_way.elsewhere import JobElsewhere
from confide.web.under_way.jobs import Job
from confide.web.under_way.waiting import answered_soon

__all__ = ["add_job_page", "answer"]

R = TypeVar("R")


async def answer(
    context: PageContext, request: Request, question: Admitted[Question[R]], *, diagnose: bool = False
) -> R | RedirectResponse:
    """The answer to the question of a page; or, if it takes long, the way to the page of the job.

    Raises Mistake, Refused or Fault as `Service.answer` does, at the page's own address even if they took long; and Denied if
    whoever asked may not see the answer any more.
    """
    asker = context.person(request)
    found = await answered_soon(request, question, who=asker.asking, address=here(request), diagnose=diagnose)
    await run_in_threadpool(context.still, request)
    return RedirectResponse(f"/jobs/{found.id}", 303) if isinstance(found, Job) else found


def add_job_page(app: FastAPI, context: PageContext) -> None:
    """Serve /jobs/{number}, which sends the browser back to the page when the answer is there."""

    @app.get("/jobs/{number}", include_in_schema=False)
    def job(request: Request, number: str, asker: Annotated[Person, context.asker]) -> Response:
        questions: Questions = app.state.questions
        found = questions.job(number, who=asker.asking)
        if found is None:
            raise _gone()
        if found.done:
            return RedirectResponse(found.address, 303)
        page = context.render(request, "job.html", job=found, asked=plain(unquote_plus(found.address)))
        # In a header: readers of pages warn of a <meta> element that refreshes.
        page.headers["Refresh"] = str(_pause(found))
        return page


def _pause(job: Job[Any] | JobElsewhere) -> int:
    """Seconds until the browser looks again: the longer it has taken, the longer it may take."""
    return max(2, min(30, int((datetime.now(UTC) - job.asked).total_seconds() / 4)))


def _gone() -> Mistake:
    gone = Mistake("No question of yours is being answered here.", suggestions=["Open the page you came from again."])
    gone.http_status = 404
    return gone
