"""The review queue: results that wait for a custodian's yes or no."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse

from confide.errors import Mistake
from confide.formats.release import writers
from confide.site.access import Person
from confide.site.reviews import Review, ReviewState
from confide.spelling.json import read_request
from confide.spelling.url import write_url
from confide.web.pages.context import Error
from confide.web.pages.custodian.context import CustodianContext

__all__ = ["add_review"]

WIDE = 100
"""Characters a line of a result that is shown."""


def add_review(app: FastAPI, context: CustodianContext) -> None:
    """Serve /custodian/review."""
    service = context.service

    def page(request: Request, custodian: Person, id: str, *, errors: list[Error], form: Mapping[str, str]) -> Response:
        listed = [(review, _address(review)) for review in service.reviews_of(custodian)]
        words: dict[str, Any] = {"reviews": listed, "chosen": None, "errors": errors, "given": form}
        if id:
            chosen, release = service.review(id)
            shown = writers(release).text(release, width=WIDE)
            words |= {"chosen": chosen, "address": _address(chosen), "shown": shown}
        return context.render(request, "review.html", status=422 if errors else 200, **words)

    @app.get("/custodian/review", include_in_schema=False)
    def review(request: Request, custodian: Annotated[Person, context.custodian]) -> Response:
        return page(request, custodian, request.query_params.get("id", ""), errors=[], form={})

    @app.post("/custodian/review", include_in_schema=False)
    def decide(
        request: Request,
        form: Annotated[dict[str, str], context.form],
        custodian: Annotated[Person, context.custodian],
    ) -> Response:
        id, say = form.get("id", ""), form.get("say", "")
        try:
            if say not in (ReviewState.YES, ReviewState.NO):
                raise Mistake("Say yes or no.")
            service.decide(id, ReviewState(say), custodian=custodian, reason=form.get("reason", ""))
        except Mistake as mistake:
            return page(request, custodian, id, errors=[Error("reason", str(mistake))], form=form)
        return RedirectResponse("/custodian/review", 303)


def _address(review: Review) -> str:
    return "/" + write_url(read_request(review.request))
