"""The ledger: browsed, filtered, verified and downloaded."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse

from confide.errors import Mistake
from confide.site import ledger
from confide.site.access import Person
from confide.site.audit import Filter
from confide.site.ledger import Entry
from confide.spelling.json import read_request
from confide.spelling.url import write_url
from confide.web.pages.custodian.context import CustodianContext

__all__ = ["ShownEntry", "add_questions", "shown_entry", "shown_question"]

PAGE = 50
"""Entries on a page."""

LONGEST_SHOWN = 160
"""Characters of a question in a list; the page that explains it has all of them."""


@dataclass(frozen=True)
class ShownEntry:
    """An entry as lists show it: the question as its address and where it is explained, or what a custodian did."""

    entry: Entry
    question: str
    why: str


def shown_entry(entry: Entry) -> ShownEntry:
    """An entry as lists show it."""
    if entry.is_act:
        return ShownEntry(entry, shown_act(entry), "")
    return ShownEntry(entry, shown_question(entry.request), f"/custodian/why?number={entry.number}")


def shown_act(entry: Entry) -> str:
    """What a custodian did, in words: the act, its data set, and what else was recorded of it."""
    more = [str(value) for key, value in entry.request.items() if key != "act"]
    text = ", ".join([str(entry.request.get("act", "")), *([entry.dataset] if entry.dataset else []), *more])
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + " …"


def shown_question(request: Mapping[str, Any]) -> str:
    """A recorded question as its address, cut where it is long; one that no longer reads as a question says so."""
    try:
        question = "/" + write_url(read_request(request))
    except Mistake:
        return "(no longer well formed)"
    return question if len(question) <= LONGEST_SHOWN else question[:LONGEST_SHOWN] + " …"


def add_questions(app: FastAPI, context: CustodianContext) -> None:
    """Serve /custodian/ledger, /custodian/ledger/verify and /custodian/ledger.jsonl."""
    audit, path = context.service.audit, context.service.papers.ledger

    @app.get("/custodian/ledger", include_in_schema=False)
    def browse(request: Request, custodian: Annotated[Person, context.custodian]) -> Response:
        query = request.query_params
        wanted = Filter(**{key: query.get(key, "").strip() for key in asdict(Filter())})
        found = audit.find(wanted, before=_number(query.get("before", "")), most=PAGE) if len(audit) else None
        return context.render(
            request,
            "ledger.html",
            entries=[shown_entry(entry) for entry in found.entries] if found else [],
            wanted=wanted,
            summary=audit.summary(),
            newest="before" not in query,
            older=_address(wanted, before=found.older) if found and found.older else "",
            first=_address(wanted),
        )

    @app.get("/custodian/ledger/verify", include_in_schema=False)
    def verify(request: Request, custodian: Annotated[Person, context.custodian]) -> Response:
        if not len(audit):
            return context.render(request, "verify.html", found=None)
        job = context.start(("verify", len(audit)), lambda progress: ledger.verify(path))
        if not job.done:
            return context.working(request, job, "Verifying the ledger")
        return context.render(request, "verify.html", found=job.outcome)

    @app.get("/custodian/ledger.jsonl", include_in_schema=False)
    def download(custodian: Annotated[Person, context.custodian]) -> Response:
        headers = {"Content-Disposition": 'attachment; filename="ledger.jsonl"'}
        return StreamingResponse(ledger.whole_lines(path), headers=headers, media_type="application/jsonl")


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else None


def _address(wanted: Filter, **more: int) -> str:
    given: Mapping[str, object] = {key: value for key, value in asdict(wanted).items() if value} | more
    return "/custodian/ledger" + (f"?{urlencode(given)}" if given else "")
