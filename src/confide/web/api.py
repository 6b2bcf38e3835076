"""The HTTP service: the address of a page is the question; the same address with .json, .csv or .xlsx is the data."""

from functools import partial
from typing import Annotated, Any

from fastapi import FastAPI, Query
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel

from confide import __version__
from confide.answering.service import Service
from confide.site import ledger
from confide.site.access import Person, PersonRole, require
from confide.spelling.codebook import write_codebook
from confide.spelling.ddi import write_ddi
from confide.web.answers import Name, add_answers
from confide.web.authentication import Authentication
from confide.web.charts import add_charts
from confide.web.closing import at_close
from confide.web.metrics import Metrics
from confide.web.middleware import Middleware
from confide.web.openapi import XML, describe, problems
from confide.web.pages.analyst.correlation import add_correlation_pages
from confide.web.pages.analyst.home import add_analyst_pages
from confide.web.pages.analyst.project import add_project_page
from confide.web.pages.analyst.regression.page import add_model_pages
from confide.web.pages.analyst.reviews import add_reviews
from confide.web.pages.analyst.table.page import add_table_pages
from confide.web.pages.analyst.workspace import add_workspace
from confide.web.pages.api_page import add_api_page
from confide.web.pages.context import PageContext
from confide.web.pages.custodian import add_custodian_pages
from confide.web.pages.job import add_job_page
from confide.web.pages.login import add_login
from confide.web.pages.refusals import replies
from confide.web.pages.static import add_static
from confide.web.probes import Probes, add_metrics
from confide.web.problems import show_problems
from confide.web.questions import Questions
from confide.web.rate_limit import rate_limit
from confide.web.serving.homes import ALONE, Homes
from confide.web.subpath import ROOT, SubPath

__all__ = ["create_app"]


class Listed(BaseModel):
    """A data set as it is listed."""

    name: str
    title: str
    source: str
    period: str


class Listing(BaseModel):
    """The data sets of a site."""

    datasets: list[Listed]


Last = Annotated[int, Query(ge=1, le=1000, description="How many.")]


def create_app(service: Service, *, path: SubPath = ROOT, homes: Homes = ALONE) -> FastAPI:
    """The app of an open site, served below a path of its host; closing the site is the caller's business."""
    path.must_not_be(service.datasets)
    app = FastAPI(
        title="Confide",
        version=__version__,
        description="Protected answers from confidential microdata.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    authentication = Authentication(service)
    context = PageContext(service, authentication, path)
    metrics = app.state.metrics = Metrics(service.state)
    reply = replies(context)
    settings: dict[str, Any] = {"policy": lambda: service.policy, "authentication": authentication, "reply": reply}
    settings |= {"probe": Probes(service).answer, "metrics": metrics, "path": path, "homes": homes}
    settings["pace"] = partial(rate_limit, service.state, "requests")
    app.add_middleware(Middleware, access=lambda: service.access, **settings)
    show_problems(app, reply)
    app.state.questions = Questions(service)
    at_close(app, lambda: app.state.questions.close())
    _catalog(app, context)
    _ledger(app, context)
    add_metrics(app, context, metrics)
    add_login(app, context)
    add_custodian_pages(app, context)
    add_answers(app, context)
    add_static(app, lambda: service.appearance.files)
    add_job_page(app, context)
    add_charts(app, context)
    add_table_pages(app, context)
    add_model_pages(app, context)
    add_correlation_pages(app, context)
    add_api_page(app, context)
    add_project_page(app, context)
    add_reviews(app, context)
    add_workspace(app, context)
    add_analyst_pages(app, context)  # last: its /{dataset} would take the addresses of the others
    describe(app, service.access, path)
    return app


def _catalog(app: FastAPI, context: PageContext) -> None:
    @app.get(
        "/api/datasets",
        summary="The data sets one may ask about",
        response_model=Listing,
        responses=problems(401),
    )
    def datasets(asker: Annotated[Person, context.asker]) -> JSONResponse:
        listed = [
            {key: getattr(d, key) for key in Listed.model_fields} for d in context.service.datasets_of(asker).values()
        ]
        return JSONResponse({"datasets": listed})

    @app.get(
        "/api/datasets/{name}",
        summary="The codebook of a data set: declared domains, and the policy of its answers",
        response_model=dict[str, Any],
        responses=problems(401, 404),
    )
    def dataset(name: Name, asker: Annotated[Person, context.asker]) -> JSONResponse:
        return JSONResponse(write_codebook(context.dataset(name, asker), context.service.policy_of(name)))

    @app.get(
        "/{dataset}/ddi.xml",
        summary="The codebook of a data set as DDI-Codebook 2.5",
        response_class=Response,
        responses={200: {"description": "The codebook", "content": {XML: {}}}, **problems(401, 404)},
        operation_id="ddi",
    )
    def ddi(dataset: Name, asker: Annotated[Person, context.asker]) -> Response:
        described = context.dataset(dataset, asker)
        text = write_ddi(write_codebook(described, context.service.policy_of(described.name)))
        return Response(
            text, media_type=XML, headers={"Content-Disposition": f'attachment; filename="{described.name}.xml"'}
        )


def _ledger(app: FastAPI, context: PageContext) -> None:
    @app.get(
        "/api/ledger",
        summary="The last questions and outcomes (custodians only)",
        response_model=dict[str, Any],
        responses=problems(401, 403, 422),
    )
    def questions(asker: Annotated[Person, context.asker], last: Last = 100) -> JSONResponse:
        require(asker, PersonRole.CUSTODIAN)
        entries = ledger.last(context.service.papers.ledger, last)
        return JSONResponse({"entries": [vars(entry) for entry in entries]})
