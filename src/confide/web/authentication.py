"""Who comes in: by the token in a header, by the session in a cookie, or without either, where the site lets them."""

import hmac
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from ipaddress import ip_address
from typing import Any, Protocol

from fastapi import Request, Response
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import Scope

from confide.errors import Denied
from confide.site.access import Access, Identity, Person, PersonRole, Reach, is_loopback
from confide.site.state import State
from confide.web.sessions import Session, Sessions
from confide.web.subpath import path_of

__all__ = ["COUNTS", "Asker", "AuthenticatedSite", "Authentication", "asker_of", "encrypted", "private"]

COUNTS = "/metrics"
"""The only address that is there for a monitor."""

_LOGIN_LASTS = 3600
"""Seconds for which the form of a login may stay open."""


@dataclass(frozen=True)
class Asker:
    """Who sent a request: a person, or why not; the session if a login says so; the machine it came from."""

    person: Person | Denied
    session: Session | None
    machine: str
    visiting: bool = False
    """Whether the person showed nothing, and may ask because the site lets everybody."""


def asker_of(request: Request) -> Asker:
    """Who sent a request, as the middleware found; a stranger where no middleware looked."""
    stranger = Asker(Denied("This site answers only people with a token."), None, "")
    found: Asker = getattr(request.state, "asker", stranger)
    return found


class AuthenticatedSite(Protocol):
    """What must be known of a site to know its people."""

    @property
    def access(self) -> Access: ...
    @property
    def state(self) -> State: ...
    def signing_key(self, purpose: str) -> bytes: ...
    def visitor(self, machine: str) -> str: ...


class Authentication:
    """Knows people by what they show, and begins and ends their sessions.

    Promise: a monitor is nobody but where the counts are; a token in a header wins over a cookie; a session is over as soon as
    its token is removed; the cookie is out of reach of scripts and of other sites, and never leaves an encrypted line.
    """

    def __init__(self, service: AuthenticatedSite, *, clock: Callable[[], float] | None = None) -> None:
        self._service, self._clock = service, clock or service.state.now
        self._sessions, self._key = Sessions(service.state), service.signing_key("login")

    def recognise(self, scope: Scope) -> Asker:
        """Who sends this request."""
        access, headers, machine = self._service.access, Headers(scope=scope), machine_of(scope)
        scheme, _, token = headers.get("authorization", "").partition(" ")
        shown = token.strip() if scheme.lower() == "bearer" else ""
        session = None if shown else self._sessions.find(_read(scope, headers, "session"), now=self._clock())
        if session and (known := _person_of(session, access)):
            return Asker(known, session, machine)
        try:
            person = access.person(shown or None)
        except Denied as denied:
            return Asker(denied, None, machine)
        if person.role is PersonRole.MONITOR and scope["path"] != COUNTS:
            return Asker(Denied(f"This token opens {COUNTS} and nothing else.", http_status=403), None, machine)
        if shown:
            return Asker(person, None, machine)
        if access.reach is Reach.PUBLIC:
            person = replace(person, name=self._service.visitor(machine))
        return Asker(person, None, machine, visiting=True)

    def log_in(self, request: Request, response: Response, token: str) -> bool:
        """Begin a session for the person with this token, and end the one before it; False if nobody has it, or a monitor."""
        known = self._service.access.token(token)
        if known is None or known.role is PersonRole.MONITOR:
            return False
        self._begin(request, response, known.digest)
        _write(request, response, "login", "")
        return True

    def admit(self, request: Request, response: Response, identity: Identity) -> bool:
        """Begin a session for somebody whom the provider knows; False if the site does not admit them."""
        known = self._service.access.person_logged_in(identity)
        if known is not None:
            self._begin(request, response, identity)
        return known is not None

    def _begin(self, request: Request, response: Response, shown: str | Identity) -> None:
        self._sessions.end(_read(request.scope, request.headers, "session"))
        _write(request, response, "session", self._sessions.begin(shown, now=self._clock()))

    def log_out(self, request: Request, response: Response) -> None:
        """End the session, here and in the browser."""
        self._sessions.end(_read(request.scope, request.headers, "session"))
        _write(request, response, "session", "")

    def login_nonce(self, request: Request) -> str:
        """What binds the form of a login to the browser that shows it: its cookie, or a new one."""
        return _read(request.scope, request.headers, "login") or secrets.token_urlsafe(32)

    def keep_nonce(self, request: Request, response: Response, nonce: str) -> None:
        _write(request, response, "login", nonce, max_age=_LOGIN_LASTS)

    def login_csrf(self, nonce: str) -> str:
        """What the form of a login holds beside the cookie. There is no session yet, so nothing is stored."""
        return self.derived(nonce, "form")

    def derived(self, nonce: str, use: str) -> str:
        """A secret for one use in one login, known to this server alone until it is used."""
        return hmac.digest(self._key, f"{use}\n{nonce}".encode("utf-8", "surrogatepass"), "sha256").hex()

    def leave(self, request: Request, response: Response) -> str:
        """A nonce in a cookie that comes back with whom the provider sends back: other sites' links bring it too."""
        nonce = secrets.token_urlsafe(32)
        _write(request, response, "leaving", nonce, max_age=_LOGIN_LASTS, samesite="lax")
        return nonce

    def come_back(self, request: Request, response: Response) -> str:
        """The nonce of who left for the provider, good for once; nothing if they did not leave from here."""
        _write(request, response, "leaving", "", samesite="lax")
        return _read(request.scope, request.headers, "leaving")


def encrypted(scope: Scope) -> bool:
    """Whether the request came over TLS, as far as the server or a declared proxy can tell."""
    return bool(scope["scheme"] == "https")


def private(scope: Scope) -> bool:
    """Whether a token may be typed here: the line is encrypted, or does not leave this machine."""
    host = Headers(scope=scope).get("host", "")
    name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
    client = (scope.get("client") or ("", 0))[0]
    return encrypted(scope) or (is_loopback(name) and is_loopback(client))


def machine_of(scope: Scope) -> str:
    """The machine a request comes from; in IPv6 its network, of which a machine may have all the addresses.

    >>> machine_of({"client": ("2001:db8::1:2", 0)}) == machine_of({"client": ("2001:db8::3", 0)})
    True
    """
    client = str((scope.get("client") or ("", 0))[0])
    try:
        address = ip_address(client)
    except ValueError:
        return client
    if address.version == 6 and address.ipv4_mapped is None:
        return f"{ip_address(int(address) >> 64 << 64)}/64"
    return str(getattr(address, "ipv4_mapped", None) or address)


def _name(scope: Scope, use: str) -> str:
    """The prefix __Host- binds a cookie to this host and to TLS; browsers refuse it without, and for a part of a host."""
    prefix = "__Secure-" if path_of(scope) else "__Host-"
    return f"{prefix}confide-{use}" if encrypted(scope) else f"confide-{use}"


def _read(scope: Scope, headers: Mapping[str, str], use: str) -> str:
    return cookie_parser(headers.get("cookie", "")).get(_name(scope, use), "")


def _person_of(session: Session, access: Access) -> Person | None:
    """Whose session it is, if the token or the identity that it stands for still opens the site."""
    if isinstance(session.shown, Identity):
        return access.person_logged_in(session.shown)
    known = access.of_digest(session.shown)
    return access.person_of(known) if known else None


def _write(
    request: Request, response: Response, use: str, value: str, *, max_age: int | None = None, samesite: str = "strict"
) -> None:
    """Set a cookie that ends with the browser unless `max_age` says when; an empty value takes it away."""
    flags: dict[str, Any] = {"httponly": True, "samesite": samesite, "secure": encrypted(request.scope)}
    flags["path"] = path_of(request.scope) or "/"  # below a path: not told to the others on this host
    response.set_cookie(_name(request.scope, use), value, max_age=max_age if value else 0, **flags)
