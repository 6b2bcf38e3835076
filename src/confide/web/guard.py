"""Round the whole app: sizes and pace before anything is read, headers on all that leaves, and no error gets past."""

import time
from collections.abc import Mapping
from math import ceil

from fastapi.responses import JSONResponse
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from confide.access import Access, Denied, Person
from confide.model.policy import Policy
from confide.web.limits import RateLimit
from confide.web.problems import fault, plain, too_many

__all__ = ["HEADERS", "LARGEST_BODY", "LONGEST_ADDRESS", "Guard", "who_asks"]

LONGEST_ADDRESS = 8_000
LARGEST_BODY = 1_000
"""In bytes. Questions stand in the address; a body is never read."""

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def who_asks(access: Access, headers: Mapping[str, str]) -> Person:
    """The person whose token the request shows; `Denied` where the site wants one and does not know it."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return access.person(token.strip() if scheme.lower() == "bearer" else None)


class Guard:
    """Promise: every response carries the headers, and an error of ours tells and logs nothing of the data."""

    def __init__(self, app: ASGIApp, *, access: Access, policy: Policy) -> None:
        self._app, self._access, self._policy = app, access, policy
        self._limit = RateLimit(policy.quota.per_minute)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        leaving = _Leaving(send)
        try:
            turned_away = self._size(scope) or self._pace(scope)
            await (turned_away or self._app)(_as_get(scope), receive, leaving)
        except Exception as error:
            response = fault(error)
            if not leaving.started:
                await response(scope, receive, leaving)

    def _size(self, scope: Scope) -> JSONResponse | None:
        if len(scope.get("raw_path") or scope["path"]) + len(scope["query_string"]) > LONGEST_ADDRESS:
            what = f"The address is longer than {LONGEST_ADDRESS} characters. Ask for less at once."
            return plain(414, "Mistake", what)
        headers = Headers(scope=scope)
        length = headers.get("content-length", "0")
        small = length.isdecimal() and len(length) < 10 and int(length) <= LARGEST_BODY
        if not small or "transfer-encoding" in headers:
            return plain(413, "Mistake", "Questions stand in the address; send no body.")
        return None

    def _pace(self, scope: Scope) -> JSONResponse | None:
        wait = self._limit.allow(self._client(scope), time.monotonic())
        return too_many(ceil(wait), self._policy.title) if wait else None

    def _client(self, scope: Scope) -> str:
        """Whose pace it is: the person's, or the machine's. An unknown token is not a new client, or guessing is free."""
        try:
            return f"person {who_asks(self._access, Headers(scope=scope)).name}"
        except Denied:
            return f"machine {(scope.get('client') or [''])[0]}"


class _Leaving:
    """Passes a response on, with the headers."""

    def __init__(self, send: Send) -> None:
        self._send, self.started = send, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            MutableHeaders(scope=message).update(HEADERS)
        await self._send(message)


def _as_get(scope: Scope) -> Scope:
    """HEAD is GET whose body the server keeps back (RFC 9110, 9.3.2); the question is asked and recorded all the same."""
    return {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope
