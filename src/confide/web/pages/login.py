"""Logging in and out: a token is pasted once, and a session stands for it until it is over."""

import time
from math import ceil
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, FastAPI, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from confide.errors import Reason, Refused
from confide.web.authentication import asker_of, private
from confide.web.forms import must_be_of_session, must_match, read_form
from confide.web.pages.context import Error, PageContext
from confide.web.rate_limit import RateLimit

__all__ = ["ATTEMPTS", "add_login", "local_address"]

ATTEMPTS = 10
"""Logins that may fail from one machine in a minute."""

Form = Annotated[dict[str, str], Depends(read_form)]


def add_login(app: FastAPI, context: PageContext) -> None:
    """Serve /login and /logout."""
    failures = RateLimit(ATTEMPTS)

    @app.get("/login", include_in_schema=False)
    def login(request: Request) -> Response:
        return _form(context, request, request.query_params.get("next", ""))

    @app.post("/login", include_in_schema=False)
    def log_in(request: Request, form: Form) -> Response:
        machine = asker_of(request).machine
        if wait := failures.wait(machine, time.monotonic()):
            raise _too_often(context, ceil(wait))
        must_match(form, context.authentication.login_csrf(context.authentication.login_nonce(request)))
        inside = RedirectResponse(local_address(form.get("next", "")), 303)
        if not private(request.scope):
            return _form(context, request, form.get("next", ""))
        if context.authentication.log_in(request, inside, form.get("token", "").strip()):
            return inside
        failures.allow(machine, time.monotonic())
        wrong = Error("token", "The site does not know this token. It may have been removed, or not be whole.")
        return _form(context, request, form.get("next", ""), errors=[wrong])

    @app.get("/logout", include_in_schema=False)
    def logout(request: Request) -> Response:
        session = asker_of(request).session
        if session is None:
            return RedirectResponse("/", 303)
        return context.render(request, "logout.html", csrf=session.csrf)

    @app.post("/logout", include_in_schema=False)
    def log_out(request: Request, form: Form) -> Response:
        must_be_of_session(request, form)
        outside = RedirectResponse("/", 303)
        context.authentication.log_out(request, outside)
        return outside


def _form(context: PageContext, request: Request, wanted: str, *, errors: list[Error] | None = None) -> HTMLResponse:
    nonce = context.authentication.login_nonce(request)
    page = context.render(
        request,
        "login.html",
        status=422 if errors else 200,
        csrf=context.authentication.login_csrf(nonce),
        next=local_address(wanted),
        errors=errors or [],
        private=private(request.scope),
        access=context.service.access,
    )
    context.authentication.keep_nonce(request, page, nonce)
    return page


def local_address(wanted: str) -> str:
    """Where to go after a login: an address of this site, or the home page.

    >>> [local_address(text) for text in ("/custodian?x=1", "//evil.example", "/\\\\evil.example", "https://evil.example")]
    ['/custodian?x=1', '/', '/', '/']
    """
    plain = wanted.isascii() and wanted.isprintable() and "\\" not in wanted and " " not in wanted
    if not plain or not wanted.startswith("/") or wanted.startswith("//"):
        return "/"
    parts = urlsplit(wanted)
    return wanted if not parts.scheme and not parts.netloc and parts.path not in ("/login", "/logout") else "/"


def _too_often(context: PageContext, wait: int) -> Refused:
    words = f"Too many logins failed from this machine. Wait {wait} second{'s' if wait != 1 else ''}."
    refusal = Refused([Reason("quota.logins", words)], policy=context.service.policy.title)
    refusal.http_status = 429
    return refusal
