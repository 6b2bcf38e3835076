"""What is asked of a request before anything else: its target, who is said to ask, by which name, and from which page.

A browser can be made to send requests by any page it shows. It cannot be made to lie about the name it was told to call (Host), nor
about the page that made it call (Origin, Sec-Fetch-Site); so a name that is not the site's is no question to the site, whoever
points it here (DNS rebinding), and neither is what another site's page asks for.
"""

from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.types import Scope
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from confide.site.access import Access, Reach, is_loopback
from confide.web.problems import ProblemDocument

__all__ = ["check_request", "own_address"]

_FORWARDED = ("forwarded", "via", "x-real-ip")
_SAFE = ("GET", "HEAD")


async def check_request(scope: Scope, access: Access) -> tuple[Scope, ProblemDocument | None]:
    """The request as a declared web server in front says that it is, and why it is turned away, if it is."""
    if not (scope.get("raw_path") or scope["path"].encode()).startswith(b"/"):
        return scope, _problem(400, "The target of a request must begin with a slash.")
    hosts = Headers(scope=scope).getlist("host")
    if len(hosts) != 1:
        return scope, _problem(400, "A request must say once which host it is for.")
    if access.reach is Reach.LOCAL and _from_elsewhere(scope):
        return scope, _problem(403, "This site is local: it answers its own machine only, and no web server in front.")
    scope = await _believing(scope, access)
    name = access.name_of(hosts[0], client=_client(scope))
    if not name:
        what = "This is no name of a host." if name == "" else "This site does not answer to that name."
        return scope, _problem(400 if name == "" else 421, what)
    if not _from_here(scope, f"{scope['scheme']}://{hosts[0].lower()}"):
        return scope, _problem(403, "This was sent from another site.")
    return scope, None


def own_address(scope: Scope, access: Access) -> str:
    """The address by which a request that passed has called the site."""
    host = Headers(scope=scope).get("host", "")
    return f"{scope['scheme']}://{access.name_of(host, client=_client(scope)) or 'localhost'}"


def _problem(status: int, what: str) -> ProblemDocument:
    return ProblemDocument(title=HTTPStatus(status).phrase, status=status, detail=what)


def _client(scope: Scope) -> str:
    return str((scope.get("client") or ("", 0))[0])


def _from_elsewhere(scope: Scope) -> bool:
    """Whether a request comes from another machine, or looks as if a web server passed it on.

    Unless it is told to, an older nginx says nothing of itself; but it speaks HTTP/1.0, which no browser does.
    """
    passed_on = any(name in _FORWARDED or name.startswith("x-forwarded") for name in Headers(scope=scope))
    return passed_on or scope.get("http_version") == "1.0" or not is_loopback(_client(scope))


async def _believing(scope: Scope, access: Access) -> Scope:
    """The request with the client and the scheme that a declared web server in front tells; others are not believed."""
    told = dict(scope)

    async def keep(scope: Scope, receive: object, send: object) -> None:
        told.update(scope)

    if access.proxies:
        await ProxyHeadersMiddleware(keep, list(access.proxies))(dict(scope), None, None)  # type: ignore[arg-type]  # `keep` reads the scope alone
    return told


def _from_here(scope: Scope, here: str) -> bool:
    """Whether a page of this site made the browser ask, or the person; of other sites' pages, only links are followed."""
    headers, safe = Headers(scope=scope), scope["method"] in _SAFE
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if origin not in (None, here):
        return False
    link = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest", "document") == "document"
    return site in (None, "same-origin") or (safe and (site == "none" or link))
