"""How an asker's results stand that a custodian reviews: a page, and the same for programs."""

from typing import Annotated, Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse

from confide.site.access import Person
from confide.site.reviews import told
from confide.spelling.json import read_request
from confide.spelling.url import write_url
from confide.web.openapi import problems
from confide.web.pages.context import PageContext

__all__ = ["add_reviews"]


def add_reviews(app: FastAPI, context: PageContext) -> None:
    """Serve /reviews and /api/reviews."""

    @app.get("/reviews", include_in_schema=False)
    def reviews(request: Request, asker: Annotated[Person, context.asker]) -> Response:
        found = context.service.reviews_of(asker)
        listed = [(review, "/" + write_url(read_request(review.request))) for review in found]
        return context.render(request, "reviews.html", reviews=listed)

    @app.get(
        "/api/reviews",
        summary="Your results that a custodian reviews or has reviewed (custodians: everybody's)",
        response_model=dict[str, Any],
        responses=problems(401),
    )
    def states(asker: Annotated[Person, context.asker]) -> JSONResponse:
        return JSONResponse({"reviews": [told(review) for review in context.service.reviews_of(asker)]})
