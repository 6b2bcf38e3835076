"""What the pages of a description have at hand: who may come in, the forms, and how pages and problems are shown."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any

from fastapi import Depends, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.types import Scope

from confide.errors import Denied
from confide.site.access import Access, PersonRole
from confide.site.access.people import new_token
from confide.site.describing.saving import DescriptionFile
from confide.site.looks.appearance import Appearance
from confide.site.state import State
from confide.site.state.file import FileState
from confide.web.authentication import Authentication, asker_of
from confide.web.forms import fields_of, must_be_of_session
from confide.web.pages.context import here, page_of
from confide.web.problems import ProblemDocument

__all__ = ["FORMS", "DescribingContext", "OpenDescription"]

FORMS = {"/": 300_000, "/variable": 900_000}
"""The addresses that take a form, and the bytes it may have: 100 labels, or 200 codes with their spellings, in any script."""

MOST_FIELDS = 1_100

FOREIGN = "This description is open in one browser, by the address that 'confide describe' printed."


@dataclass(frozen=True)
class OpenDescription:
    """A description that is open to one browser of this machine: whoever first shows its token.

    Promise: the token opens one session and no second; a session ends with the command.
    """

    file: DescriptionFile
    state: State = field(default_factory=FileState)
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    @cached_property
    def _made(self) -> tuple[str, Access]:
        token, kept = new_token("custodian", PersonRole.CUSTODIAN)
        return token, Access(tokens=(kept,))

    @property
    def token(self) -> str:
        return self._made[0]

    @property
    def access(self) -> Access:
        """As of a local site: it answers its own machine, and who shows the token."""
        return self._made[1]

    def signing_key(self, purpose: str) -> bytes:
        return self.key

    def visitor(self, machine: str) -> str:
        return machine


@dataclass(frozen=True)
class DescribingContext:
    """What the routes of these pages have at hand."""

    site: OpenDescription
    _opening: Lock = field(default_factory=Lock, repr=False)
    _opened: list[bool] = field(default_factory=list, repr=False)

    @cached_property
    def authentication(self) -> Authentication:
        """A session lasts as long as the command: the time that sessions see stands still, so that nobody who writes loses a page."""
        return Authentication(self.site, clock=lambda: 0.0)

    @property
    def file(self) -> DescriptionFile:
        return self.site.file

    def open(self, request: Request) -> Response:
        """Let the browser in that shows the token first."""
        inside = RedirectResponse("/", 303)
        with self._opening:
            if self._opened or not self.authentication.log_in(request, inside, request.query_params.get("token", "")):
                raise _denied()
            self._opened.append(True)
        return inside

    @cached_property
    def custodian(self) -> Any:
        """What every page asks of a request first."""

        async def custodian(request: Request) -> None:
            if asker_of(request).session is None:
                raise _denied()

        return Depends(custodian)

    @cached_property
    def form(self) -> Any:
        """The fields of a form that was sent from a page of this session."""

        async def form(request: Request) -> dict[str, str]:
            fields = await fields_of(request, largest=FORMS[request.scope["path"]], most=MOST_FIELDS)
            must_be_of_session(request, fields)
            return fields

        return Depends(form)

    def render(self, request: Request, name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        """A page. It knows `csrf`, which every form of it holds."""
        session = asker_of(request).session
        words = {
            "appearance": Appearance(),
            "site_files": {},
            "here": here(request),
            "name": self.file.name,
            "csrf": session.csrf if session else "",
            **values,
        }
        return HTMLResponse(page_of(f"describing/{name}", words), status)

    def reply(self, scope: Scope, problem: ProblemDocument, headers: Mapping[str, str]) -> Response:
        """How a problem is told."""
        page = self.render(Request(scope), "problem.html", status=problem.status, problem=problem)
        page.headers.update(headers)
        return page


def _denied() -> Denied:
    return Denied(FOREIGN, http_status=403, suggestions=["End the command with Ctrl+C and run it again for another."])
