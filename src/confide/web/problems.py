"""Every error over HTTP has one shape: a problem (RFC 9457) with `reasons` and `suggestions`, told as a document or a page."""

import logging
import secrets
import traceback
from collections.abc import Callable, Mapping
from http import HTTPStatus
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import Scope

from confide.errors import ConfideError, Denied, Refused, Suggestion

__all__ = ["MEDIA_TYPE", "ProblemDocument", "Reply", "as_document", "fault", "problem", "show_problems", "too_many"]

MEDIA_TYPE = "application/problem+json"
log = logging.getLogger("confide")


class ReasonModel(BaseModel):
    """Which rule said no, and its sentence."""

    rule: str
    text: str


class SuggestionModel(BaseModel):
    """What to do instead; `url`, if there is one, answers."""

    text: str
    url: str | None = None


class ProblemDocument(BaseModel):
    """What happened, and what to do."""

    model_config = ConfigDict(title="Problem")

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    policy: str | None = None
    reasons: list[ReasonModel] = []
    suggestions: list[SuggestionModel] = []


Reply = Callable[[Scope, ProblemDocument, Mapping[str, str]], Response]
"""How a problem is told to who asked, with what headers."""


def as_document(problem: ProblemDocument, headers: Mapping[str, str]) -> JSONResponse:
    """The problem as programs read it."""
    return JSONResponse(problem.model_dump(exclude_none=True), problem.status, dict(headers), media_type=MEDIA_TYPE)


def problem(error: ConfideError, *, ending: str = "") -> ProblemDocument:
    """What an error of ours tells; suggestions point to answers in the format that was asked for."""
    told = ProblemDocument(title=error.title, status=error.http_status, detail=error.message)
    told.suggestions = [SuggestionModel(text=text, url=_address(text, ending)) for text in error.suggestions]
    if isinstance(error, Refused):
        told.policy = error.policy
        told.reasons = [ReasonModel(rule=reason.rule, text=reason) for reason in error.reasons]
    return told


def too_many(wait: int, policy: str) -> ProblemDocument:
    """The refusal of a client that knocks too often."""
    text = f"Too many requests in a minute. Wait {wait} second{'s' if wait != 1 else ''}."
    reasons = [ReasonModel(rule="quota.per_minute", text=text)]
    return ProblemDocument(title="Refused", status=429, detail=text, policy=policy, reasons=reasons)


def fault(error: Exception) -> ProblemDocument:
    """Ours: logged under an id with the places in the code, never with a value; shown without detail.

    The message of an error that is not ours may hold data, so it goes nowhere; our own is for the custodian's log.
    """
    number = secrets.token_hex(6)
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    places = " > ".join(f"{Path(frame.filename).stem}.{frame.name}:{frame.lineno}" for frame in frames)
    told = f" ({error})" if isinstance(error, ConfideError) else ""
    log.error("fault %s: %s%s at %s", number, type(error).__name__, told, places)
    if isinstance(error, ConfideError) and error.http_status == 503:
        detail = f"This site lets nobody in until its custodian has mended it. It was noted under {number}."
        return ProblemDocument(title="Fault", status=503, detail=detail)
    detail = f"Something went wrong on our side. It was noted under {number}."
    return ProblemDocument(title="Fault", status=500, detail=detail)


def show_problems(app: FastAPI, reply: Reply) -> None:
    """Let the exceptions of the app become problems."""

    @app.exception_handler(ConfideError)
    async def ours(request: Request, error: ConfideError) -> Response:
        our_fault = error.http_status >= 500 and not isinstance(error, Refused | Denied)
        if error.http_status == 502:
            log.warning(
                "%s", error
            )  # whom the site relies on fails it: its custodian can do something, who asks cannot
        told = fault(error) if our_fault else problem(error, ending=_ending(request))
        headers = {"WWW-Authenticate": "Bearer"} if told.status == 401 else {}
        headers |= {"Retry-After": str(error.retry_after)} if error.retry_after else {}
        return reply(request.scope, told, headers)

    @app.exception_handler(ClientDisconnect)
    async def gone(request: Request, error: ClientDisconnect) -> Response:
        return Response(status_code=499)  # as web servers log it: nobody reads it

    @app.exception_handler(RequestValidationError)
    async def misread(request: Request, error: RequestValidationError) -> Response:
        return reply(request.scope, _misread(error), {})

    @app.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> Response:
        headers = dict(error.headers or {})
        if error.status_code == 405:
            headers["Allow"] = headers.get("Allow", "GET").replace("GET", "GET, HEAD")
        return reply(request.scope, _other(error.status_code, headers), headers)


def _misread(error: RequestValidationError) -> ProblemDocument:
    if any(item["loc"] == ("path", "ending") for item in error.errors()):
        what = "There is no such format. The address of an answer ends in .json, .csv or .xlsx."
        return ProblemDocument(title="Mistake", status=404, detail=what)
    texts = [f"Cannot read {str(item['loc'][-1])!r}: {_first_lower(item['msg'])}." for item in error.errors()]
    return ProblemDocument(title="Mistake", status=422, detail=" ".join(texts))


def _other(status: int, headers: Mapping[str, str]) -> ProblemDocument:
    known = {
        404: "There is nothing at this address.",
        405: f"This address answers {headers.get('Allow', '').replace(', ', ' and ')} only.",
    }
    return ProblemDocument(title=HTTPStatus(status).phrase, status=status, detail=known.get(status, "Not possible."))


def _ending(request: Request) -> str:
    """How the address of an answer ends, as in `.csv`; that of a page has no ending."""
    return f".{request.path_params['ending']}" if "ending" in request.path_params else ""


def _address(suggestion: str, ending: str) -> str | None:
    if not isinstance(suggestion, Suggestion):
        return None
    path, mark, query = suggestion.address.partition("?")
    return f"/{path}{ending}{mark}{query}"


def _first_lower(text: str) -> str:
    return text[:1].lower() + text[1:]
