"""What every page has at hand: the templates, who asks, the way back, and where the site is."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from confide import __version__
from confide.answering.service import Service
from confide.errors import Denied, Mistake
from confide.formats.about import plain
from confide.model.catalog.dataset import Dataset
from confide.site.access import Person, Reach
from confide.web.authentication import Authentication, asker_of
from confide.web.hosts import own_address
from confide.web.pages import static
from confide.web.subpath import ROOT, SubPath

__all__ = ["Error", "PageContext", "exact", "here", "page_of"]


@dataclass(frozen=True)
class Error:
    """What is wrong with one field of a form: the summary on top links to the field, the field shows the message."""

    field: str
    message: str


def exact(text: str) -> Markup:
    """Give the text escaped and otherwise as it is, for values of fields and for code.

    Everything else that a template prints is made plain first: no line breaks, no invisible or reordering characters.
    """
    return escape(text)


def _finalize(value: Any) -> Any:
    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("confide.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
        auto_reload=False,
    )
    templates.filters["exact"] = exact
    templates.globals |= {"static": static.address, "version": __version__}
    return templates


_TEMPLATES = _templates()


def page_of(template: str, words: Mapping[str, Any]) -> str:
    """The page that a template makes of these words."""
    return _TEMPLATES.get_template(template).render(words)


@dataclass(frozen=True)
class PageContext:
    """What the routes of pages have at hand."""

    service: Service
    authentication: Authentication
    path: SubPath = ROOT

    def render(self, request: Request, name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        """The page of a template. It knows `context`, `person` (None for a stranger) and `here`, its own address."""
        words = {
            "context": self,
            "appearance": self.service.appearance,
            "site_files": self.site_files,
            "person": self.visitor(request),
            "asker": asker_of(request),
            "here": here(request),
            "policy_title": self._policy_title(request),
            **values,
        }
        return HTMLResponse(self.path.page(page_of(name, words)), status)

    @property
    def site_files(self) -> dict[str, str]:
        """Where the logo and the colours of the site are served, by their names without ending; those it has."""
        files = self.service.appearance.files.items()
        return {name.partition(".")[0]: static.address_of(name, content) for name, content in files}

    def _policy_title(self, request: Request) -> str:
        """The policy under which a page stands: the site's, or that of the data set whose page it is."""
        known = self.described(request)
        return (self.service.policy_of(known.name) if known else self.service.policy).title

    def described(self, request: Request) -> Dataset | None:
        """The data set, or the vintage of one, whose page it is, if that is there for who looks."""
        person = self.visitor(request)
        return self.service.find(request.scope["path"].split("/")[1], person=person) if person else None

    def still(self, request: Request) -> None:
        """`Denied` if who asked may not see the answer any more: while it was made, the token expired or was removed."""
        now, then = self.authentication.recognise(request.scope), asker_of(request)
        if isinstance(now.person, Denied):
            raise now.person
        if now.visiting != then.visiting or _nameless(now.person) != _nameless(self.person(request)):
            raise Denied("What you may ask has changed since you asked.", suggestions=["Ask again."])

    def person(self, request: Request) -> Person:
        """Who asks; `Denied` where the site wants to know and does not."""
        found = asker_of(request).person
        if isinstance(found, Denied):
            raise found
        return found

    def datasets(self, request: Request) -> dict[str, Dataset]:
        """The data sets that are there for who looks; none for a stranger."""
        person = self.visitor(request)
        return self.service.datasets_of(person) if person else {}

    def visitor(self, request: Request) -> Person | None:
        """Who asks, or None: for what a page shows to strangers too."""
        try:
            return self.person(request)
        except Denied:
            return None

    @cached_property
    def asker(self) -> Any:
        """What routes ask of a request: who asks, as in `asker: Annotated[Person, context.asker]`."""

        async def asker(request: Request) -> Person:
            return self.person(request)

        return Depends(asker)

    def dataset(self, name: str, asker: Person) -> Dataset:
        """A data set by its name; an address without one is not found, nor is one that is not for this person."""
        try:
            return self.service.dataset(name, person=asker)
        except Mistake as mistake:
            mistake.http_status = 404
            raise

    @property
    def wants_token(self) -> bool:
        """Whether a program must show a token to ask."""
        return self.service.access.reach is Reach.TOKENS

    def site(self, request: Request) -> str:
        """The address of the site as the asker reaches it, for the code that pages show: by a name of its own."""
        return own_address(request.scope, self.service.access) + self.path.path


def _nameless(person: Person) -> Person:
    """What somebody may ask, whatever a visitor is called today."""
    return replace(person, name="")


def here(request: Request) -> str:
    """The address of the page within the site, with its query."""
    query: str = request.scope["query_string"].decode("latin-1")
    raw: str = (request.scope.get("raw_path") or request.scope["path"].encode()).decode("latin-1")
    return raw.partition("?")[0] + (f"?{query}" if query else "")
