"""Every error over HTTP has one shape: a problem document (RFC 9457) with `reasons` and `suggestions`."""

import logging
import secrets
import traceback
from http import HTTPStatus
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from confide.errors import ConfideError, Refused, Suggestion

__all__ = ["MEDIA_TYPE", "Problem", "fault", "plain", "problem", "show_problems", "too_many"]

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


class Problem(BaseModel):
    """What happened, and what to do."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    policy: str | None = None
    reasons: list[ReasonModel] = []
    suggestions: list[SuggestionModel] = []


def problem(error: ConfideError, *, ending: str = "json") -> JSONResponse:
    """The document of an error; suggestions point to answers in the format that was asked for."""
    document = Problem(title=error.title, status=error.http_status, detail=error.message)
    document.suggestions = [SuggestionModel(text=text, url=_address(text, ending)) for text in error.suggestions]
    if isinstance(error, Refused):
        document.policy = error.policy
        document.reasons = [ReasonModel(rule=reason.rule, text=reason) for reason in error.reasons]
    return _response(document, {"WWW-Authenticate": "Bearer"} if error.http_status == 401 else {})


def plain(status: int, title: str, detail: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """A problem that is no error of ours."""
    return _response(Problem(title=title, status=status, detail=detail), headers or {})


def too_many(wait: int, policy: str) -> JSONResponse:
    """The refusal of a client that knocks too often."""
    text = f"Too many requests in a minute. Wait {wait} second{'s' if wait != 1 else ''}."
    document = Problem(title="Refused", status=429, detail=text, policy=policy)
    document.reasons = [ReasonModel(rule="quota.per_minute", text=text)]
    return _response(document, {"Retry-After": str(wait)})


def fault(error: Exception) -> JSONResponse:
    """Ours: logged under an id with the places in the code, never with a value; shown without detail.

    The message of an error that is not ours may hold data, so it goes nowhere; our own is for the custodian's log.
    """
    number = secrets.token_hex(6)
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    places = " > ".join(f"{Path(frame.filename).stem}.{frame.name}:{frame.lineno}" for frame in frames)
    told = f" ({error})" if isinstance(error, ConfideError) else ""
    log.error("fault %s: %s%s at %s", number, type(error).__name__, told, places)
    return plain(500, "Fault", f"Something went wrong on our side. It was noted under {number}.")


def show_problems(app: FastAPI) -> None:
    """Let the exceptions of the app become problem documents."""

    @app.exception_handler(ConfideError)
    async def ours(request: Request, error: ConfideError) -> JSONResponse:
        return fault(error) if error.http_status >= 500 else problem(error, ending=_ending(request))

    @app.exception_handler(RequestValidationError)
    async def misread(request: Request, error: RequestValidationError) -> JSONResponse:
        if any(item["loc"] == ("path", "ending") for item in error.errors()):
            return plain(
                404, "Mistake", "There is no such format. The address of an answer ends in .json, .csv or .xlsx."
            )
        texts = [f"Cannot read {str(item['loc'][-1])!r}: {_first_lower(item['msg'])}." for item in error.errors()]
        return plain(422, "Mistake", " ".join(texts))

    @app.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> JSONResponse:
        known = {404: "There is nothing at this address.", 405: "This address answers GET and HEAD only."}
        headers = {"Allow": "GET, HEAD"} if error.status_code == 405 else dict(error.headers or {})
        detail = known.get(error.status_code, "Not possible.")
        return plain(error.status_code, HTTPStatus(error.status_code).phrase, detail, headers)


def _response(document: Problem, headers: dict[str, str]) -> JSONResponse:
    return JSONResponse(document.model_dump(exclude_none=True), document.status, headers, media_type=MEDIA_TYPE)


def _ending(request: Request) -> str:
    return str(request.path_params.get("ending", "json"))


def _address(suggestion: str, ending: str) -> str | None:
    if not isinstance(suggestion, Suggestion):
        return None
    path, mark, query = suggestion.address.partition("?")
    return f"/{path}.{ending}{mark}{query}"


def _first_lower(text: str) -> str:
    return text[:1].lower() + text[1:]
