"""Round the whole app: names, sizes and pace before anything is read, headers on all that leaves, and no error gets past."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from math import ceil

from fastapi import Response
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from confide.errors import ConfideError
from confide.model.policy import Policy
from confide.site.access import Access
from confide.web.authentication import Asker, Authentication
from confide.web.forms import LARGEST_FORM
from confide.web.hosts import check_request
from confide.web.metrics import Metrics, kind_of
from confide.web.problems import ProblemDocument, Reply, as_document, fault, too_many
from confide.web.rate_limit import Pace, RateLimit
from confide.web.serving.homes import ALONE, Homes, client_of
from confide.web.subpath import SubPath

__all__ = ["HEADERS", "LARGEST_BODY", "LONGEST_ADDRESS", "Middleware"]

LONGEST_ADDRESS = 8_000
STATIC = "/static/"
UNCOUNTED = (STATIC, "/charts/")
"""Files that are the same for everyone, and pictures of answers that were given and counted."""
LARGEST_BODY = 1_000
"""In bytes. Questions stand in the address, and their bodies are never read; the few forms have limits of their own."""

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""On all that leaves. Nothing of it is kept by a browser either, unless a route says so (`Cache-Control`)."""


class Middleware:
    """Promise: every response carries the headers, and an error of ours tells and logs nothing of the data.

    `access` tells who may reach the site, at the moment; if it cannot, nobody does. `policy` gives the one in force at the moment.
    `forms` are the addresses that take a form, with the bytes it may have; `pace` makes the limit of requests a minute.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        access: Callable[[], Access],
        policy: Callable[[], Policy],
        authentication: Authentication,
        reply: Reply,
        probe: Callable[[Scope], Awaitable[Response | None]],
        metrics: Metrics,
        path: SubPath,
        homes: Homes = ALONE,
        forms: Mapping[str, int] = LARGEST_FORM,
        pace: Callable[[int], Pace] = RateLimit,
    ) -> None:
        self._app, self._policy, self._authentication, self._reply = app, policy, authentication, reply
        self._access, self._limit = access, pace(policy().quota.per_minute)
        self._probe, self._metrics, self._path, self._homes, self._forms = probe, metrics, path, homes, forms

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        scope = self._path.within(scope)
        leaving = _Leaving(send, self._path)
        try:
            if probed := await self._probe(scope):
                return await probed(scope, receive, leaving)
            scope, foreign = await check_request(scope, self._access())
            if foreign:
                more = {"Connection": "close"} if foreign.status == 400 else {}  # what follows may be no HTTP
                return await as_document(foreign, more)(scope, receive, leaving)
            asker = scope.setdefault("state", {})["asker"] = self._authentication.recognise(scope)
            turned_away = self._size(scope)
            if not turned_away and await self._homes.sent_home(scope, asker):
                return None
            turned_away = turned_away or await self._pace(scope, asker)
            await (turned_away or self._app)(_as_get(scope), receive, leaving)
        except Exception as error:
            response = self._fault(scope, error)
            if not leaving.status:
                await response(scope, receive, leaving)
        finally:
            if leaving.status:  # else the client is gone
                self._metrics.count(kind_of(scope["path"]), leaving.status)

    def _fault(self, scope: Scope, error: Exception) -> Response:
        if isinstance(error, ConfideError) and error.http_status == 503:
            return as_document(fault(error), {})  # a page would ask again who may see it
        try:
            return self._reply(scope, fault(error), {})
        except Exception as broken:  # what is broken may be the page that would say so
            return as_document(fault(broken), {})

    def _size(self, scope: Scope) -> Response | None:
        if len(scope.get("raw_path") or scope["path"]) + len(scope["query_string"]) > LONGEST_ADDRESS:
            what = f"The address is longer than {LONGEST_ADDRESS} characters. Ask for less at once."
            return self._reply(scope, ProblemDocument(title="Mistake", status=414, detail=what), {})
        headers = Headers(scope=scope)
        length = headers.get("content-length", "0")
        largest = self._forms.get(scope["path"], LARGEST_BODY) if scope["method"] == "POST" else LARGEST_BODY
        small = length.isdecimal() and len(length) < 10 and int(length) <= largest
        if not small or "transfer-encoding" in headers:
            what = "Questions stand in the address; send no body."
            if largest != LARGEST_BODY:
                what = f"A form of this page has at most {largest} bytes."
            return self._reply(scope, ProblemDocument(title="Mistake", status=413, detail=what), {})
        return None

    async def _pace(self, scope: Scope, asker: Asker) -> Response | None:
        """Asking for what is `UNCOUNTED` does not count."""
        self._limit = self._limit.at(self._policy().quota.per_minute)
        if scope["path"].startswith(UNCOUNTED):
            return None
        allow = partial(self._limit.allow, client_of(asker), self._limit.now())
        wait = await run_in_threadpool(allow) if self._limit.shared else allow()
        if not wait:
            return None
        return self._reply(scope, too_many(ceil(wait), self._policy().title), {"Retry-After": str(ceil(wait))})


class _Leaving:
    """Passes a response on, with the headers; `status` is 0 until it has begun."""

    def __init__(self, send: Send, path: SubPath) -> None:
        self._send, self._path, self.status = send, path, 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers.update(HEADERS)
            headers.setdefault("Cache-Control", "no-store")
            if "location" in headers:
                headers["location"] = self._path.address(headers["location"])
        await self._send(message)


def _as_get(scope: Scope) -> Scope:
    """HEAD is GET whose body the server keeps back (RFC 9110, 9.3.2); the question is asked and recorded all the same."""
    return {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope
