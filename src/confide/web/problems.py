"""Every error over HTTP has one shape: a problem document (RFC 9457) with `reasons` and `suggestions`."""

import logging
import secrets
import traceback
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from confide.errors import ConfideError, Refused, Suggestion

__all__ = ["RESPONSES", "problem", "show_problems"]

log = logging.getLogger("confide")


class ReasonModel(BaseModel):
    rule: str
    text: str


class SuggestionModel(BaseModel):
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


_CODES = (400, 401, 403, 404, 405, 413, 414, 422, 429, 500)
RESPONSES: dict[int | str, dict[str, Any]] = {
    code: {"model": Problem, "description": HTTPStatus(code).phrase} for code in _CODES
}


def problem(error: ConfideError, *, ending: str = "json") -> JSONResponse:
    """The document of an error; suggestions point to answers in the format that was asked for."""
    offers = [SuggestionModel(text=text, url=_address(text, ending)) for text in error.suggestions]
    refused = isinstance(error, Refused)
    document = Problem(
        title=error.title,
        status=error.http_status,
        detail=error.message,
        policy=error.policy if isinstance(error, Refused) else None,
        reasons=[ReasonModel(rule=r.rule, text=r) for r in error.reasons] if isinstance(error, Refused) else [],
        suggestions=offers,
    )
    headers = {"WWW-Authenticate": "Bearer"} if error.http_status == 401 and not refused else {}
    return _response(document, headers)


def plain(status: int, title: str, detail: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """A problem that is no error of ours."""
    return _response(Problem(title=title, status=status, detail=detail), headers or {})


def _response(document: Problem, headers: dict[str, str]) -> JSONResponse:
    content = document.model_dump(exclude_none=True)
    return JSONResponse(content, document.status, headers, media_type="application/problem+json")


def _address(suggestion: str, ending: str) -> str | None:
    if not isinstance(suggestion, Suggestion):
        return None
    return "/" + suggestion.address.replace("/table?", f"/table.{ending}?", 1)


def show_problems(app: FastAPI) -> None:
    """Let every exception of the app become a problem document."""

    @app.exception_handler(ConfideError)
    async def ours(request: Request, error: ConfideError) -> JSONResponse:
        if error.http_status >= 500:
            return fault(error)
        return problem(error, ending=request.path_params.get("ending", "json"))

    @app.exception_handler(RequestValidationError)
    async def misread(request: Request, error: RequestValidationError) -> JSONResponse:
        where = ", ".join(sorted({str(item["loc"][-1]) for item in error.errors()}))
        return plain(422, "Mistake", f"Cannot read {where}. See /openapi.json for what it may be.")

    @app.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> JSONResponse:
        details = {404: "There is nothing at this address.", 405: "This address answers GET only."}
        headers = dict(error.headers or {})
        return plain(
            error.status_code,
            HTTPStatus(error.status_code).phrase,
            details.get(error.status_code, "Not possible."),
            headers,
        )

    @app.exception_handler(Exception)
    async def unforeseen(request: Request, error: Exception) -> JSONResponse:
        return fault(error)


def fault(error: Exception) -> JSONResponse:
    """Ours: logged by an id with the places in our code, never with a message or value; shown without detail."""
    number = secrets.token_hex(6)
    places = [f"{frame.name}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)][-6:]
    log.error("fault %s: %s at %s", number, type(error).__name__, " > ".join(places))
    shown = error.message if isinstance(error, ConfideError) else "Something went wrong on our side."
    return plain(500, "Fault", f"{shown} It was noted under {number}.")
