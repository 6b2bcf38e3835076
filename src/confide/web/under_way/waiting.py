"""Waiting for the answer to a question without a thread, for as long as whoever asked is there."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from confide.answering.service import Admitted
from confide.model.request import Request as Question
from confide.web.questions import Questions
from confide.web.under_way.jobs import Job

__all__ = ["answered", "answered_soon"]

R = TypeVar("R")
Asked = Question[R] | Admitted[Question[R]]


async def answered(request: Request, read: Callable[[], Asked[R]], *, who: str, diagnose: bool = False) -> R:
    """The answer to the question that is read from a request, however long it takes.

    Raises Mistake, Refused or Fault as `Service.answer` does; `ClientDisconnect` if whoever asked has gone, and then the question
    is cancelled unless somebody else waits for it.
    """
    questions = _questions(request)
    async with _job(request, read, who=who, diagnose=diagnose) as job:
        await _over(job, request)
    return questions.outcome(job, diagnose=diagnose)


async def answered_soon(
    request: Request, question: Asked[R], *, who: str, address: str, diagnose: bool = False
) -> R | Job[R]:
    """The answer if it does not take long; else its job, whose page sends to `address`. Raises as `answered` does."""
    questions = _questions(request)
    async with _job(request, lambda: question, who=who, diagnose=diagnose, address=address) as job:
        if not await _over(job, request, questions.patience):
            questions.show(job)
            return job
    return questions.outcome(job, diagnose=diagnose)


@asynccontextmanager
async def _job(request: Request, read: Callable[[], Asked[R]], **more: Any) -> AsyncIterator[Job[R]]:
    """The job of a question for as long as it is waited for. It is read and admitted in one thread: each takes a while to begin."""
    questions = _questions(request)
    job = await run_in_threadpool(lambda: questions.begin(read(), **more))
    try:
        yield job
    finally:
        questions.leave(job)


def _questions(request: Request) -> Questions:
    found: Questions = request.app.state.questions
    return found


async def _over(job: Job[Any], request: Request, seconds: float | None = None) -> bool:
    """Whether a job is over, after waiting so long for it."""
    if job.done:
        return True
    gone = asyncio.ensure_future(_gone(request))
    try:
        both = {asyncio.wrap_future(job.over), gone}
        await asyncio.wait(both, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if gone.done() and not job.done:
            raise ClientDisconnect
        return job.done
    finally:
        gone.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
