"""Refusals, mistakes and faults as pages: what happened in plain words, and what to do, each way forward a link."""

import re
from collections.abc import Mapping
from urllib.parse import quote

from fastapi import Request, Response
from starlette.types import Scope

from confide.answering.service import RULES
from confide.errors import Fault
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy
from confide.model.request import kinds
from confide.spelling.url import parameters, read_query
from confide.web.pages.analyst.plainly import about_address, in_words
from confide.web.pages.context import PageContext, here
from confide.web.problems import ProblemDocument, Reply, as_document

__all__ = ["replies", "wants_page"]

_TITLES = {
    401: "Please log in",
    403: "This is not for you to see",
    404: "There is no such page",
    405: "This cannot be done here",
    413: "That was too much at once",
    414: "That was too much at once",
    422: "Something is not right yet",
    429: "Too many questions at once",
    500: "Something went wrong on our side",
    502: "Nobody can log in there now",
    503: "The site is busy",
}


_DAILY = ("quota.per_day", "quota.token", "quota.project")
"""Rules that let somebody ask again tomorrow."""


def wants_page(path: str) -> bool:
    """Whether an address is that of a page: data have an ending or lie under /api/.

    >>> wants_page("/people/table"), wants_page("/people/table.json"), wants_page("/api/datasets"), wants_page("/api")
    (True, False, False, True)
    >>> wants_page("/people/variables/a.b"), wants_page("/variables/table.csv")
    (True, False)
    """
    _, _, rest = path.removeprefix("/").partition("/")  # the name of a variable may have a point in it
    data = path == "/metrics" or path.startswith(("/api/", "/static/")) or "." in path.rpartition("/")[2]
    return rest.startswith("variables/") or not data


def replies(context: PageContext) -> Reply:
    """How problems are told: as a page to who asked for a page, otherwise as a document."""

    def reply(scope: Scope, problem: ProblemDocument, headers: Mapping[str, str]) -> Response:
        if not wants_page(scope["path"]):
            return as_document(context.path.problem(problem), headers)
        page = _page(context, Request(scope), problem)
        page.headers.update(headers)
        return page

    return reply


def _page(context: PageContext, request: Request, problem: ProblemDocument) -> Response:
    known = context.described(request)
    quota = any(reason.rule.startswith(("quota.", "review.")) for reason in problem.reasons)
    refused = bool(problem.reasons) and not quota
    policy = _policy(context, request, known)
    return context.render(
        request,
        "refused.html" if refused else "problem.html",
        status=problem.status,
        title=_title(problem, refused=refused, quota=quota),
        problem=problem,
        dataset=known,
        asked=_asked(request, known) if refused and known else "",
        reasons=[(reason.rule, labelled(reason.text, known)) for reason in problem.reasons],
        suggestions=[(labelled(offer.text, known), offer.url) for offer in problem.suggestions],
        rules={rule.name: rule.wants(policy) for rule in RULES},
        protected=policy.universe.decide_on == "protected",
        about=_about(context, known),
        change=_change(request),
        login="/login?next=" + quote(here(request), safe=""),
    )


def _policy(context: PageContext, request: Request, dataset: Dataset | None) -> Policy:
    """The policy that a page about a data set speaks of; the site's where that of a project cannot be used, which is a problem too."""
    try:
        return (
            context.service.policy_of(dataset.name, person=context.visitor(request))
            if dataset
            else context.service.policy
        )
    except Fault:
        return context.service.policy


def _about(context: PageContext, dataset: Dataset | None) -> str:
    """Where it is said how answers are protected: for this data set, if it has a policy of its own."""
    return about_address(context.service, dataset.name) if dataset else "/about"


def _title(problem: ProblemDocument, *, refused: bool, quota: bool) -> str:
    if refused:
        return "This answer cannot be released"
    if any(reason.rule.startswith("review.") for reason in problem.reasons):
        return "Your result is under review" if problem.status == 202 else "A custodian said no"
    if quota and problem.status == 403:
        daily = any(reason.rule in _DAILY for reason in problem.reasons)
        return "That was enough for today" if daily else "That was too much at once"
    return _TITLES.get(problem.status, problem.title)


def labelled(text: str, dataset: Dataset | None) -> str:
    """The text with the names of variables in it replaced by their labels."""

    def label(found: re.Match[str]) -> str:
        known = dataset and dataset.variables.get(found[1])
        return f"“{known.label}”" if known else found[0]

    return re.sub(r"'([^']+)'", label, text)


def _asked(request: Request, dataset: Dataset) -> str:
    """The refused question in words; a refused question is well formed, but its address may hold more."""
    ask = request.scope["path"].rpartition("/")[2]
    kind = kinds().get(ask)
    if kind is None:
        return ""
    query = [pair for pair in request.query_params.multi_items() if pair[0] in parameters(kind)]
    return in_words(read_query(dataset.name, query, kind), dataset)


def _change(request: Request) -> str:
    """Where the question can be changed: the builder, with everything kept; nothing for what is no question."""
    dataset, _, ask = request.scope["path"][1:].partition("/")
    if ask not in kinds():
        return ""
    query = here(request).partition("?")[2]
    return f"/{quote(dataset, safe='')}/{ask}/build?{query}"
