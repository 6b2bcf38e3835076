"""Logging in and out: by a token that is pasted once, or at a provider; a session stands for it until it is over."""

import hmac
from dataclasses import dataclass
from math import ceil
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, FastAPI, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from confide.errors import Denied, Mistake, Reason, Refused
from confide.site.access import Provider
from confide.web.authentication import asker_of, private
from confide.web.forms import must_be_of_session, must_match, read_form
from confide.web.openid import Relay
from confide.web.pages.context import Error, PageContext
from confide.web.rate_limit import Pace, rate_limit

__all__ = ["ATTEMPTS", "add_login", "local_address"]

ATTEMPTS = 10
"""Logins that may fail from one machine in a minute."""

Form = Annotated[dict[str, str], Depends(read_form)]


def add_login(app: FastAPI, context: PageContext) -> None:
    """Serve /login, /logout, and the way to a provider and back."""
    failures = rate_limit(context.service.state, "failed logins", ATTEMPTS)
    _add_provider(app, context, failures)

    @app.get("/login", include_in_schema=False)
    def login(request: Request) -> Response:
        return _form(context, request, request.query_params.get("next", ""))

    @app.post("/login", include_in_schema=False)
    def log_in(request: Request, form: Form) -> Response:
        machine = _must_not_fail_often(context, request, failures)
        must_match(form, context.authentication.login_csrf(context.authentication.login_nonce(request)))
        inside = RedirectResponse(local_address(form.get("next", "")), 303)
        if not private(request.scope):
            return _form(context, request, form.get("next", ""))
        if context.authentication.log_in(request, inside, form.get("token", "").strip()):
            return inside
        failures.allow(machine, failures.now())
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


def _add_provider(app: FastAPI, context: PageContext, failures: Pace) -> None:
    relay = Relay(context.service.login_secret)

    @app.get("/login/openid", include_in_schema=False)
    def leave(request: Request) -> Response:
        provider = _provider(context)
        if not private(request.scope):
            return _form(context, request, request.query_params.get("next", ""))
        away = RedirectResponse("/", 303)
        going = _Going(context, request, context.authentication.leave(request, away))
        state = going.state(local_address(request.query_params.get("next", "")))
        away.headers["location"] = relay.address(
            provider, back=going.back, state=state, nonce=going.nonce, verifier=going.verifier
        )
        return away

    @app.get("/login/openid/return", include_in_schema=False)
    def come_back(request: Request) -> Response:
        provider, machine = _provider(context), _must_not_fail_often(context, request, failures)
        asked = request.query_params
        wanted = local_address(asked.get("state", "").partition(":")[2])
        # The browser came from another site, so it would not send the session along if it were redirected: a page sends it on.
        inside = context.render(request, "logged_in.html", next=wanted, address=context.path.address(wanted))
        going = _Going(context, request, context.authentication.come_back(request, inside))
        try:
            going.must_be(asked.get("state", ""), wanted)
            if "code" not in asked:
                raise Denied(f"{provider.title} did not log you in.", suggestions=["Log in again."])
            identity = relay.identify(
                provider, code=asked["code"], back=going.back, nonce=going.nonce, verifier=going.verifier
            )
            if identity is None or not context.authentication.admit(request, inside, identity):
                what = f"{provider.title} knows you, but this site does not admit you."
                raise Denied(what, http_status=403, suggestions=["Ask the custodian of this site."])
        except Denied as denied:
            if denied.http_status != 502:  # the provider's failures are not theirs
                failures.allow(machine, failures.now())
            raise
        return inside


@dataclass(frozen=True)
class _Going:
    """Somebody on the way to the provider and back. All that is secret follows from the nonce in their browser."""

    context: PageContext
    request: Request
    cookie: str

    @property
    def back(self) -> str:
        """Where the provider sends them back to."""
        return self.context.site(self.request) + "/login/openid/return"

    @property
    def nonce(self) -> str:
        return self.context.authentication.derived(self.cookie, "nonce")

    @property
    def verifier(self) -> str:
        return self.context.authentication.derived(self.cookie, "verifier")

    def state(self, wanted: str) -> str:
        """What the provider gives back unread: proof that they left from here, and where they wanted to go."""
        return f"{self.context.authentication.derived(self.cookie, 'state')}:{wanted}"

    def must_be(self, state: str, wanted: str) -> None:
        """Denied if this is not the browser that left."""
        if not self.cookie or not hmac.compare_digest(self.state(wanted).encode(), state.encode()):
            raise Denied("This login was not begun in this browser, or took too long.", suggestions=["Log in again."])


def _provider(context: PageContext) -> Provider:
    provider = context.service.access.login
    if provider is None:
        mistake = Mistake("People log in with a token here.", suggestions=["Go to /login."])
        mistake.http_status = 404
        raise mistake
    return provider


def _must_not_fail_often(context: PageContext, request: Request, failures: Pace) -> str:
    """The machine that a login comes from; refused if too many failed from it."""
    machine = asker_of(request).machine
    if wait := failures.wait(machine, failures.now()):
        raise _too_often(context, ceil(wait))
    return machine


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
