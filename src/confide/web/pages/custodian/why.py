"""Why a request is allowed or refused: every rule, how it came out, and in what words. No number of the data is shown."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import FastAPI, Request, Response

from confide.answering.service import Service, scope, trial
from confide.errors import Mistake
from confide.model.policy import Policy
from confide.model.request import Request as Question
from confide.site.access import Person
from confide.site.ledger import Entry
from confide.spelling.json import read_request
from confide.spelling.pasted import read_pasted
from confide.spelling.url import write_url
from confide.web.pages.analyst import model_view
from confide.web.pages.analyst.table import view
from confide.web.pages.context import Error
from confide.web.pages.custodian.context import CustodianContext
from confide.web.pages.custodian.whose import Whose

__all__ = ["add_why"]

VIEWS = (*view.PARAMETERS, *model_view.VIEWS)
"""Parameters of an address that change nothing of what is asked."""


@dataclass(frozen=True)
class _ExplainQuery:
    """What the page was asked: a text, or an entry of the ledger; under the policy in force (`force`) or a draft."""

    text: str
    entry: Entry | None
    under: str


@dataclass(frozen=True)
class _Draft:
    """A draft that a request can be explained under, and how an address names it."""

    key: str
    whose: Whose
    policy: Policy


def add_why(app: FastAPI, context: CustodianContext) -> None:
    """Serve /custodian/why."""
    service = context.service

    @app.get("/custodian/why", include_in_schema=False)
    def why(request: Request, custodian: Annotated[Person, context.custodian]) -> Response:
        drafts = _drafts(service)
        query = request.query_params
        under = query.get("under", "") if query.get("under") in drafts else "force"
        asked = _ExplainQuery(query.get("request", ""), _entry(context, query.get("number", "")), under)
        words: dict[str, Any] = {"asked": asked, "drafts": drafts.values(), "found": None}
        if not asked.text and asked.entry is None:
            return context.render(request, "why.html", **words, errors=[])
        try:
            return _explained(context, request, asked, _question(asked), drafts)
        except Mistake as mistake:
            return context.render(request, "why.html", status=422, **words, errors=[Error("request", str(mistake))])


def _drafts(service: Service) -> dict[str, _Draft]:
    """The drafts there are, by the word for them in an address: `draft` is the site's, `draft:people` that of people."""
    places = {"draft" + (f":{name}" if name else ""): Whose(service, name) for name in (None, *service.datasets)}
    return {key: _Draft(key, whose, draft.policy) for key, whose in places.items() if (draft := whose.draft)}


def _explained(
    context: CustodianContext,
    request: Request,
    asked: _ExplainQuery,
    question: Question[Any],
    drafts: dict[str, _Draft],
) -> Response:
    service = context.service
    question = service.admit(question).request
    tried = _tried(service, drafts.get(asked.under), question.dataset)
    policy = tried or service.policy_of(question.dataset)
    address = "/" + write_url(question)
    job = context.start(("why", policy.mark, address), lambda progress: service.explain(question, tried))
    if not job.done:
        return context.working(request, job, "Asking every rule")
    return context.render(
        request,
        "why.html",
        asked=asked,
        drafts=drafts.values(),
        found=job.outcome,
        failed=[checked for checked in job.outcome if checked.verdict == "failed"],
        address=address,
        scope=scope(question.where, service.dataset(question.dataset)),
        policy=policy,
        whose=Whose(service, question.dataset),
        errors=[],
    )


def _tried(service: Service, draft: _Draft | None, dataset: str) -> Policy | None:
    """The policy of a data set under a draft, as far as it may be tried; nothing without a draft."""
    if draft is None:
        return None
    if draft.whose.name not in (None, dataset):
        raise Mistake(f"The draft of {draft.whose.name!r} is not for questions about {dataset!r}.")
    drafted = service.drafted(draft.policy, dataset=draft.whose.name)
    if dataset not in drafted:
        raise Mistake(f"{dataset!r} has a policy of its own, in which the draft of the site's changes nothing.")
    return trial(drafted[dataset], service.policy_of(dataset))


def _question(asked: _ExplainQuery) -> Question[Any]:
    return read_pasted(asked.text, views=VIEWS) if asked.entry is None else read_request(asked.entry.request)


def _entry(context: CustodianContext, number: str) -> Entry | None:
    if not (number.isascii() and number.isdecimal() and len(number) < 16):
        return None
    return context.service.audit.entry(int(number))
