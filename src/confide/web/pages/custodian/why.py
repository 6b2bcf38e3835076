"""Why a request is allowed or refused: every rule, how it came out, and in what words. No number of the data is shown."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import FastAPI, Request, Response

from confide.answering.service import scope, trial
from confide.errors import Mistake
from confide.model.policy import Policy
from confide.model.request import Request as Question
from confide.site.access import Person
from confide.site.ledger import Entry
from confide.site.policies import read_draft
from confide.spelling.json import read_request
from confide.spelling.pasted import read_pasted
from confide.spelling.url import write_url
from confide.web.pages.analyst import model_view
from confide.web.pages.analyst.table import view
from confide.web.pages.context import Error
from confide.web.pages.custodian.context import CustodianContext

__all__ = ["add_why"]

VIEWS = (*view.PARAMETERS, *model_view.VIEWS)
"""Parameters of an address that change nothing of what is asked."""


@dataclass(frozen=True)
class _ExplainQuery:
    """What the page was asked: a text, or an entry of the ledger; under the policy in force or the draft."""

    text: str
    entry: Entry | None
    under: str


def add_why(app: FastAPI, context: CustodianContext) -> None:
    """Serve /custodian/why."""
    service = context.service

    @app.get("/custodian/why", include_in_schema=False)
    def why(request: Request, custodian: Annotated[Person, context.custodian]) -> Response:
        draft = read_draft(service.papers)
        query = request.query_params
        under = "draft" if draft and query.get("under") == "draft" else "force"
        asked = _ExplainQuery(query.get("request", ""), _entry(context, query.get("number", "")), under)
        if not asked.text and asked.entry is None:
            return context.render(request, "why.html", asked=asked, draft=draft, found=None, errors=[])
        try:
            question = _question(asked)
            policy = trial(draft.policy, service.policy) if draft and asked.under == "draft" else None
            return _explained(context, request, asked, question, policy)
        except Mistake as mistake:
            errors = [Error("request", str(mistake))]
            return context.render(request, "why.html", status=422, asked=asked, draft=draft, found=None, errors=errors)


def _explained(
    context: CustodianContext, request: Request, asked: _ExplainQuery, question: Question[Any], policy: Policy | None
) -> Response:
    service = context.service
    question = service.admit(question).request
    address = "/" + write_url(question)
    key = ("why", (policy or service.policy).mark, address)
    job = context.start(key, lambda progress: service.explain(question, policy))
    if not job.done:
        return context.working(request, job, "Asking every rule")
    return context.render(
        request,
        "why.html",
        asked=asked,
        draft=read_draft(service.papers),
        found=job.outcome,
        failed=[checked for checked in job.outcome if checked.verdict == "failed"],
        address=address,
        scope=scope(question.where, service.dataset(question.dataset)),
        policy=policy or service.policy,
        errors=[],
    )


def _question(asked: _ExplainQuery) -> Question[Any]:
    return read_pasted(asked.text, views=VIEWS) if asked.entry is None else read_request(asked.entry.request)


def _entry(context: CustodianContext, number: str) -> Entry | None:
    if not (number.isascii() and number.isdecimal() and len(number) < 16):
        return None
    return context.service.audit.entry(int(number))
