"""What the custodian's pages have at hand: who may come in, forms that are really theirs, and work that takes long."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeVar

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse

from confide.answering.service import Service
from confide.cache import Cache
from confide.errors import Denied
from confide.site.access import Person, PersonRole, require
from confide.web.authentication import asker_of
from confide.web.forms import must_be_of_session, read_form
from confide.web.pages.context import PageContext
from confide.web.under_way.jobs import Job, Jobs, Progress
from confide.web.under_way.shared import Key, SharedWork

__all__ = ["PAGES", "CustodianContext", "must_be_custodian"]

PAGES = (
    ("/custodian", "Overview"),
    ("/custodian/policy", "Policy"),
    ("/custodian/draft", "Draft"),
    ("/custodian/replay", "Replay"),
    ("/custodian/why", "Why?"),
    ("/custodian/frontier", "Models"),
    ("/custodian/records", "Records"),
    ("/custodian/red-team", "Red team"),
    ("/custodian/audit", "Audit"),
    ("/custodian/review", "Review"),
    ("/custodian/ledger", "Ledger"),
    ("/custodian/tokens", "Tokens"),
    ("/custodian/projects", "Projects"),
)
"""The pages between which the custodian's own navigation leads."""

REFRESH = 2
"""Seconds until a page that waits for its work looks again."""


OWNER = "custodians"
WORKERS, MOST_KEPT = 2, 12
"""So many pieces of custodians' work go on at once; so many outcomes are kept, until another makes place."""

T = TypeVar("T")


@dataclass(frozen=True)
class CustodianContext:
    """What pages have at hand, with what only custodians need."""

    pages: PageContext
    jobs: Jobs
    shared: SharedWork | None
    """What other machines work on, where several serve the site."""

    @classmethod
    def of(cls, pages: PageContext) -> "CustodianContext":
        """The context of a site."""
        service = pages.service
        shared = SharedWork(service.state, service.signing_key, most=MOST_KEPT) if service.state.machine else None
        return cls(pages, Jobs(Cache(MOST_KEPT), workers=WORKERS, policy=service.policy.title), shared)

    @property
    def service(self) -> Service:
        return self.pages.service

    @cached_property
    def custodian(self) -> Any:
        """What every route here asks of a request first: that a custodian sends it."""

        async def custodian(request: Request) -> Person:
            return must_be_custodian(request, self.service)

        return Depends(custodian)

    @cached_property
    def form(self) -> Any:
        """The fields of a form that a custodian sent from a page of this session."""
        return Depends(_sent(self.service))

    def render(self, request: Request, name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        """A page of the custodian's. It knows `csrf`, which every form of it holds."""
        session = asker_of(request).session
        words = {"csrf": session.csrf if session else "", "pages": PAGES, **values}
        return self.pages.render(request, f"custodian/{name}", status=status, **words)

    def start(self, key: Key, work: Callable[[Progress], T]) -> Job[T]:
        """Long work that all custodians share: begun once, at whatever machine, and waited for a moment."""
        key = (*key, self.service.loaded)
        if self.shared is not None:
            self._forget_if_renewed(key)
            work = partial(self.shared.once, key, work)
        return self.jobs.start(key, work, owner=OWNER)

    def begun(self, key: Key, work: Callable[[Progress], T]) -> Job[T] | None:
        """The same work, if somebody has begun it."""
        named = (*key, self.service.loaded)
        self._forget_if_renewed(named)
        job = self.jobs.find(named, owner=OWNER)
        if job is None and self.shared is not None and self.shared.knows(named):
            return self.start(key, work)
        return job

    def begin_anew(self, key: Key, work: Callable[[Progress], T]) -> None:
        """Start the work although it may have been done, and stop and forget all else of its kind."""
        if self.shared is not None:
            self.shared.forget(str(key[0]))
        self.jobs.forget(lambda known: isinstance(known, tuple) and known[0] == key[0], owner=OWNER)
        self.start(key, work)

    def close(self) -> None:
        """Stop what goes on."""
        self.jobs.close()
        if self.shared is not None:
            self.shared.close()

    def _forget_if_renewed(self, key: Key) -> None:
        job = self.jobs.find(key, owner=OWNER)
        if self.shared is not None and job is not None and job.done and self.shared.renewed(key):
            self.jobs.forget(lambda known: known == key, owner=OWNER)

    def working(self, request: Request, job: Job[Any], title: str) -> HTMLResponse:
        """The page of work that is not done yet. It looks again by itself, with or without scripts."""
        page = self.render(request, "working.html", status=202, title=title, progress=job.progress)
        page.headers["Refresh"] = str(REFRESH)
        return page


def must_be_custodian(request: Request, service: Service) -> Person:
    """The custodian who sends a request; Denied for everybody else, with what they can do about it."""
    asker = asker_of(request)
    if not service.access.has_custodians:
        raise Denied(
            "These pages are for custodians, and this site has none yet.",
            http_status=403,
            suggestions=["On the machine of the site, make a token: confide token add SITE NAME --role custodian"],
        )
    if isinstance(asker.person, Denied) or asker.visiting:
        raise Denied("These pages are for custodians.", suggestions=["Log in with the token of a custodian."])
    require(asker.person, PersonRole.CUSTODIAN)
    return asker.person


def _sent(service: Service) -> Callable[[Request], Awaitable[dict[str, str]]]:
    async def sent(request: Request) -> dict[str, str]:
        must_be_custodian(request, service)
        form = await read_form(request)
        must_be_of_session(request, form)
        return form

    return sent
