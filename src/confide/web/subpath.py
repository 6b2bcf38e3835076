"""A site below a path of its host, as in https://example.org/stats.

Inside nothing knows of it: the path is taken off what comes in, if the web server in front has not, and put before every address
that leaves. Pages write the addresses of a site at the root, and one place changes them all, so that no page can forget it.
"""

import re
from collections.abc import Container
from dataclasses import dataclass

from starlette.types import Scope

from confide.errors import Mistake
from confide.site.folder import RESERVED
from confide.web.problems import ProblemDocument

__all__ = ["ROOT", "SubPath", "path_of"]

_PATH = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+")
_LONGEST = 100

_ADDRESS = re.compile(r'( (?:href|src|srcset|action|formaction|data-chart)=")/(?!/)')
"""Addresses of the site in a page. Text cannot look like one: in text quotation marks are escaped."""


@dataclass(frozen=True)
class SubPath:
    """Where below its host a site is served; '' if it has the host to itself.

    >>> stats = SubPath("/stats")
    >>> stats.address("/people"), stats.address("https://example.org/"), SubPath().address("/people")
    ('/stats/people', 'https://example.org/', '/people')
    >>> stats.page('<a href="/people">People</a> <a href="#main">Below</a>')
    '<a href="/stats/people">People</a> <a href="#main">Below</a>'
    """

    path: str = ""

    def __post_init__(self) -> None:
        if self.path and (not _PATH.fullmatch(self.path) or len(self.path) > _LONGEST):
            raise Mistake(f"{self.path[:60]!r} is no path for a site.", suggestions=["Write it as in /stats."])
        self.must_not_be(RESERVED)

    def must_not_be(self, names: Container[str]) -> None:
        """A Mistake if addresses could be read in two ways, because something of the site has the name of the path."""
        first = self.path[1:].partition("/")[0]
        if first and first in names:
            raise Mistake(f"The site has something at /{first} itself.", suggestions=["Choose another path."])

    def within(self, scope: Scope) -> Scope:
        """The request as the site sees it, whether the web server in front took the path off or not."""
        if not self.path:
            return scope
        scope = {**scope, "state": {**scope.get("state", {}), "path": self.path}}
        raw = scope.get("raw_path") or scope["path"].encode()
        rest = raw.removeprefix(self.path.encode())
        if rest == raw or rest[:1] not in (b"", b"/", b"?"):
            return scope
        inside = scope["path"].removeprefix(self.path) or "/"
        return {**scope, "raw_path": rest if rest.startswith(b"/") else b"/" + rest, "path": inside}

    def address(self, address: str) -> str:
        """An address of the site as browsers must ask for it; those of other sites stay."""
        return self.path + address if address.startswith("/") and not address.startswith("//") else address

    def page(self, html: str) -> str:
        """A page whose addresses lead where the site is."""
        return _ADDRESS.sub(rf"\g<1>{self.path}/", html) if self.path else html

    def problem(self, problem: ProblemDocument) -> ProblemDocument:
        """A problem whose suggestions lead where the site is."""
        if not self.path:
            return problem
        offers = [
            offer.model_copy(update={"url": offer.url and self.address(offer.url)}) for offer in problem.suggestions
        ]
        return problem.model_copy(update={"suggestions": offers})


ROOT = SubPath()
"""Where a site is that has its host to itself."""


def path_of(scope: Scope) -> str:
    """The path below which a request found the site; '' at the root of its host."""
    return str(scope.get("state", {}).get("path", ""))
