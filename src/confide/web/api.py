"""The HTTP service: the address of a page is the question; the same address with .json, .csv or .xlsx is the data."""

from collections import deque
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any, Literal

from fastapi import Depends, FastAPI, Path, Query, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from jinja2 import Environment, PackageLoader, select_autoescape
from pydantic import BaseModel
from pydantic.json_schema import SkipJsonSchema

from confide import __version__, ledger
from confide.access import Denied, Person, Role, require
from confide.errors import Mistake
from confide.formats.csv import write_csv, write_model_csv
from confide.formats.jsonstat import write_jsonstat
from confide.formats.model_json import write_model
from confide.formats.xlsx import write_model_xlsx, write_xlsx
from confide.model.catalog import Dataset, Variable
from confide.model.model_release import ModelRelease
from confide.model.release import Release
from confide.model.request import Regression, Table
from confide.service import Service
from confide.spelling.codebook import write_codebook
from confide.spelling.url import read_query, write_url
from confide.web.guard import Guard, who_asks
from confide.web.openapi import CSV, MODEL, TABLE, XLSX, describe, problems
from confide.web.problems import show_problems

__all__ = ["create_app"]


class Ending(StrEnum):
    """How the address of an answer ends: its format."""

    JSON = "json"
    CSV = "csv"
    XLSX = "xlsx"


FORMATS = {Ending.JSON: "JSON-stat", Ending.CSV: "CSV", Ending.XLSX: "XLSX"}


class Listed(BaseModel):
    """A data set as it is listed."""

    name: str
    title: str
    source: str
    period: str


class Listing(BaseModel):
    """The data sets of a site."""

    datasets: list[Listed]


Name = Annotated[str, Path(description="The name of a data set.")]
Format = Annotated[Ending, Path(description="The format of the answer.")]
Rows = Annotated[list[str], Query(description="Variables down the side; repeat, or put commas.")]
Columns = Annotated[list[str], Query(description="Variables across the top; repeat, or put commas.")]
Where = Annotated[list[str], Query(description="A piece: variable=code,code;variable=code. Repeat for a union.")]
Measures = Annotated[list[str], Query(description="count, weighted_count, total, mean; repeat, or put commas.")]
Of = Annotated[str | SkipJsonSchema[None], Query(description="The numeric variable of a total or mean.")]
Formula = Annotated[str, Query(description="The model: log(income) ~ age + age^2 + sex + age:sex.")]
Family = Annotated[str, Query(description="gaussian, binomial or poisson.")]
Diagnostics = Annotated[Literal["true", "false"], Query(description="Add plots of synthetic residuals.")]
Variables = Annotated[list[str], Query(description="Two variables or more; repeat, or put commas.")]
Last = Annotated[int, Query(ge=1, le=1000, description="How many.")]


def create_app(service: Service) -> FastAPI:
    """The app of an open site; closing the site is the caller's business."""
    app = FastAPI(
        title="Confide",
        version=__version__,
        description="Protected answers from confidential microdata.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.add_middleware(Guard, access=service.access, policy=service.policy)
    show_problems(app)
    _home(app, service)
    _catalog(app, service)
    _ledger(app, service)
    _table(app, service)
    _regression(app, service)
    _correlation(app, service)
    describe(app, tokens=bool(service.access.tokens))
    return app


def _asker(service: Service) -> Any:
    """What routes ask of a request: who asks."""

    async def person(request: Request) -> Person:
        return who_asks(service.access, request.headers)

    return Depends(person)


def _known(service: Service, name: str) -> str:
    """The name of a data set; an address without one is not found."""
    try:
        service.desk(name)
    except Mistake as mistake:
        mistake.http_status = 404
        raise
    return name


def _home(app: FastAPI, service: Service) -> None:
    pages = Environment(loader=PackageLoader("confide.web"), autoescape=select_autoescape(), trim_blocks=True)

    @app.get("/", summary="The home page", response_class=HTMLResponse, responses=problems())
    def home(request: Request) -> HTMLResponse:
        try:
            who_asks(service.access, request.headers)
            datasets = list(service.datasets.values())
        except Denied:
            datasets = []
        page = pages.get_template("home.html")
        return HTMLResponse(page.render(datasets=datasets, policy=service.policy, formats=FORMATS, address=_address))


def _address(dataset: Dataset, variable: Variable, ending: Ending) -> str:
    return "/" + write_url(Table(dataset.name, (variable.name,)), ending=f".{ending}")


def _catalog(app: FastAPI, service: Service) -> None:
    @app.get(
        "/api/datasets",
        summary="The data sets one may ask about",
        response_model=Listing,
        responses=problems(401),
    )
    def datasets(asker: Annotated[Person, _asker(service)]) -> JSONResponse:
        listed = [{key: getattr(d, key) for key in Listed.model_fields} for d in service.datasets.values()]
        return JSONResponse({"datasets": listed})

    @app.get(
        "/api/datasets/{name}",
        summary="The codebook of a data set: declared domains only",
        response_model=dict[str, Any],
        responses=problems(401, 404),
    )
    def dataset(name: Name, asker: Annotated[Person, _asker(service)]) -> JSONResponse:
        return JSONResponse(write_codebook(service.datasets[_known(service, name)]))


def _ledger(app: FastAPI, service: Service) -> None:
    @app.get(
        "/api/ledger",
        summary="The last questions and outcomes (custodians only)",
        response_model=dict[str, Any],
        responses=problems(401, 403, 422),
    )
    def questions(asker: Annotated[Person, _asker(service)], last: Last = 100) -> JSONResponse:
        require(asker, Role.CUSTODIAN)
        entries = deque(ledger.read(service.folder.ledger), maxlen=last)
        return JSONResponse({"entries": [vars(entry) for entry in entries]})


def _table(app: FastAPI, service: Service) -> None:
    @app.get(
        "/{dataset}/table.{ending}",
        summary="A protected table",
        response_class=Response,
        responses={200: TABLE, **problems(401, 403, 404, 422)},
    )
    def table(
        request: Request,
        dataset: Name,
        ending: Format,
        asker: Annotated[Person, _asker(service)],
        rows: Rows = [],  # noqa: B006  # FastAPI copies defaults; these parameters are declared to be described,
        columns: Columns = [],  # noqa: B006  # and read in one place for all spellings
        where: Where = [],  # noqa: B006
        measure: Measures = ["count"],  # noqa: B006
        of: Of = None,
    ) -> Response:
        question = read_query(_known(service, dataset), request.query_params.multi_items())
        return _response(service.answer(question, who=asker.name), ending, dataset)


def _regression(app: FastAPI, service: Service) -> None:
    @app.get(
        "/{dataset}/regression.{ending}",
        summary="A protected regression",
        response_class=Response,
        responses={200: MODEL, **problems(401, 403, 404, 422)},
    )
    def regression(
        request: Request,
        dataset: Name,
        ending: Format,
        asker: Annotated[Person, _asker(service)],
        formula: Formula = "",
        where: Where = [],  # noqa: B006
        family: Family = "gaussian",
        diagnostics: Diagnostics = "false",
    ) -> Response:
        query = [(key, value) for key, value in request.query_params.multi_items() if key != "diagnostics"]
        question = read_query(_known(service, dataset), query, ask="regression")
        if diagnostics == "true" and isinstance(question, Regression):
            return _response(service.diagnose(question, who=asker.name), ending, dataset)
        return _response(service.answer(question, who=asker.name), ending, dataset)


def _correlation(app: FastAPI, service: Service) -> None:
    @app.get(
        "/{dataset}/correlation.{ending}",
        summary="Protected correlations",
        response_class=Response,
        responses={200: MODEL, **problems(401, 403, 404, 422)},
    )
    def correlation(
        request: Request,
        dataset: Name,
        ending: Format,
        asker: Annotated[Person, _asker(service)],
        variables: Variables = [],  # noqa: B006
        where: Where = [],  # noqa: B006
    ) -> Response:
        question = read_query(_known(service, dataset), request.query_params.multi_items(), ask="correlation")
        return _response(service.answer(question, who=asker.name), ending, dataset)


def _response(release: Release | ModelRelease, ending: Ending, dataset: str) -> Response:
    content = _TABLES[ending](release) if isinstance(release, Release) else _MODELS[ending](release)
    headers = {"ETag": f'"{release.receipt}"'}
    if ending is Ending.JSON:
        return JSONResponse(content, headers=headers)
    headers["Content-Disposition"] = f'attachment; filename="{dataset}.{ending}"'
    return Response(content, headers=headers, media_type=XLSX if ending is Ending.XLSX else f"{CSV}; charset=utf-8")


_TABLES: dict[Ending, Callable[[Release], Any]] = {
    Ending.JSON: write_jsonstat,
    Ending.CSV: write_csv,
    Ending.XLSX: write_xlsx,
}
_MODELS: dict[Ending, Callable[[ModelRelease], Any]] = {
    Ending.JSON: write_model,
    Ending.CSV: write_model_csv,
    Ending.XLSX: write_model_xlsx,
}
