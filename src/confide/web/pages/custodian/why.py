"""Why a request is allowed or refused: every rule, how it came out, and in what words. No number of the data is shown."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import FastAPI, Request, Response

from confide.answering.notes import scope
from confide.answering.service import trial
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
from confide.web.pages.custodian.context import Room
from confide.web.pages.frame import Error

__all__ = ["add_why"]

VIEWS = (*view.PARAMETERS, *model_view.VIEWS)
"""Parameters of an address that change nothing of what is asked."""


@dataclass(frozen=True)
class _Asked:
    """What the page was asked: a text, or an entry of the ledger; under the policy in force or the draft."""

    text: str
    entry: Entry | None
    under: str


def add_why(app: FastAPI, room: Room) -> None:
    """Serve /custodian/why."""
    service = room.service

    @app.get("/custodian/why", include_in_schema=False)
    def why(request: Request, custodian: Annotated[Person, room.custodian]) -> Response:
        draft = read_draft(service.folder)
        query = request.query_params
        under = "draft" if draft and query.get("under") == "draft" else "force"
        asked = _Asked(query.get("request", ""), _entry(room, query.get("number", "")), under)
        if not asked.text and asked.entry is None:
            return room.render(request, "why.html", asked=asked, draft=draft, found=None, errors=[])
        try:
            question = _question(asked)
            policy = trial(draft.policy, service.policy) if draft and asked.under == "draft" else None
            return _explained(room, request, asked, question, policy)
        except Mistake as mistake:
            errors = [Error("request", str(mistake))]
            return room.render(request, "why.html", status=422, asked=asked, draft=draft, found=None, errors=errors)


def _explained(room: Room, request: Request, asked: _Asked, question: Question, policy: Policy | None) -> Response:
    service = room.service
    question = service.desk(question.dataset).admit(question)
    address = "/" + write_url(question)
    key = ("why", (policy or service.policy).mark, address)
    task = room.tasks.get(key, lambda progress: service.explain(question, policy))
    if not task.done:
        return room.working(request, task, "Asking every rule")
    return room.render(
        request,
        "why.html",
        asked=asked,
        draft=read_draft(service.folder),
        found=task.outcome,
        failed=[checked for checked in task.outcome if checked.verdict == "failed"],
        address=address,
        scope=scope(question.where, service.desk(question.dataset).dataset),
        policy=policy or service.policy,
        errors=[],
    )


def _question(asked: _Asked) -> Question:
    return read_pasted(asked.text, views=VIEWS) if asked.entry is None else read_request(asked.entry.request)


def _entry(room: Room, number: str) -> Entry | None:
    if not (number.isascii() and number.isdecimal() and len(number) < 16):
        return None
    return room.service.tally.entry(room.service.folder.ledger, int(number))
