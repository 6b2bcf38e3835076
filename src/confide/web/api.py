"""The HTTP service: the address of a page is the question; the same address with .json, .csv or .xlsx is the data."""

import time
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Path, Query, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from jinja2 import Environment, PackageLoader, select_autoescape

from confide import __version__, ledger
from confide.access import Person, Role, require
from confide.errors import Mistake
from confide.formats.csv import write_csv
from confide.formats.jsonstat import write_jsonstat
from confide.formats.xlsx import write_xlsx
from confide.model.release import Release
from confide.service import Service
from confide.spelling.codebook import write_codebook
from confide.spelling.url import read_query
from confide.web.limits import RateLimit
from confide.web.problems import RESPONSES, plain, show_problems

__all__ = ["create_app"]

LONGEST_ADDRESS = 8_000
LARGEST_BODY = 1_000
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}

Next = Callable[[Request], Awaitable[Response]]


class Ending(StrEnum):
    JSON = "json"
    CSV = "csv"
    XLSX = "xlsx"


def create_app(service: Service) -> FastAPI:
    """The app of an open site; closing the site is the caller's business."""
    app = FastAPI(
        title="Confide",
        version=__version__,
        description="Protected answers from confidential microdata.",
        docs_url=None,
        redoc_url=None,
        responses=RESPONSES,
    )
    show_problems(app)
    _guard(app, service)
    _routes(app, service)
    return app


def _person(service: Service, request: Request) -> Person:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return service.access.person(token.strip() if scheme.lower() == "bearer" and token else None)


def _guard(app: FastAPI, service: Service) -> None:
    """Before anything is read: sizes and pace. On everything that leaves: the headers."""
    limit = RateLimit(service.policy.quota.per_minute)

    async def judged(request: Request, call_next: Next) -> Response:
        if len(str(request.url)) > LONGEST_ADDRESS:
            return plain(
                414, "Mistake", f"The address is longer than {LONGEST_ADDRESS} characters. Ask for less at once."
            )
        length = request.headers.get("content-length", "0")
        if not length.isdigit() or int(length) > LARGEST_BODY or "transfer-encoding" in request.headers:
            return plain(413, "Mistake", "Questions stand in the address; send no body.")
        client = request.headers.get("authorization") or (request.client.host if request.client else "")
        wait = limit.allow(client, time.monotonic())
        if wait:
            return plain(
                429, "Refused", f"Too many requests. Wait {wait:.0f} seconds.", {"Retry-After": str(int(wait) + 1)}
            )
        return await call_next(request)

    @app.middleware("http")
    async def guard(request: Request, call_next: Next) -> Response:
        response = await judged(request, call_next)
        response.headers.update(HEADERS)
        return response


def _routes(app: FastAPI, service: Service) -> None:
    pages = Environment(loader=PackageLoader("confide.web"), autoescape=select_autoescape())

    def person(request: Request) -> Person:
        return _person(service, request)

    Asker = Annotated[Person, Depends(person)]
    Name = Annotated[str, Path(description="The name of a data set.")]

    def known(name: str) -> str:
        try:
            service.desk(name)
        except Mistake as mistake:
            mistake.http_status = 404
            raise
        return name

    @app.get("/", include_in_schema=False)
    def home() -> HTMLResponse:
        template = pages.get_template("home.html")
        return HTMLResponse(template.render(datasets=service.datasets.values(), policy=service.policy))

    @app.get("/api/datasets", summary="The data sets one may ask about")
    def datasets(asker: Asker) -> dict[str, Any]:
        books = [write_codebook(dataset) for dataset in service.datasets.values()]
        return {"datasets": [{key: book[key] for key in ("name", "title", "source", "period")} for book in books]}

    @app.get("/api/datasets/{name}", summary="The codebook of a data set: declared domains only")
    def dataset(name: Name, asker: Asker) -> dict[str, Any]:
        return write_codebook(service.datasets[known(name)])

    @app.get("/api/ledger", summary="The last questions and outcomes (custodians only)")
    def questions(asker: Asker, last: Annotated[int, Query(ge=1, le=1000)] = 100) -> dict[str, Any]:
        require(asker, Role.CUSTODIAN)
        entries = list(ledger.read(service.folder.ledger))[-last:]
        return {"entries": [vars(entry) for entry in entries]}

    @app.get(
        "/{dataset}/table.{ending}",
        summary="A protected table",
        response_class=Response,
        responses={200: {"content": {"application/json": {}, "text/csv": {}, XLSX: {}}, "description": "The table"}},
    )
    def table(
        request: Request,
        dataset: Name,
        ending: Ending,
        asker: Asker,
        rows: Annotated[list[str], Query(description="Variables down the side; repeat, or put commas.")] = [],  # noqa: B006
        columns: Annotated[list[str], Query(description="Variables across the top.")] = [],  # noqa: B006
        where: Annotated[
            list[str], Query(description="A piece: variable=code,code;variable=code. Repeat for a union.")
        ] = [],  # noqa: B006
        measure: Annotated[list[str], Query(description="count, weighted_count, total, mean.")] = ["count"],  # noqa: B006
        of: Annotated[str | None, Query(description="The numeric variable of a total or mean.")] = None,
    ) -> Response:
        question = read_query(known(dataset), request.query_params.multi_items())
        return _response(service.answer(question, who=asker.name), ending, dataset)


def _response(release: Release, ending: Ending, dataset: str) -> Response:
    headers = {"ETag": f'"{release.receipt}"'}
    if ending is Ending.JSON:
        return JSONResponse(write_jsonstat(release), headers=headers)
    headers["Content-Disposition"] = f'attachment; filename="{dataset}.{ending}"'
    if ending is Ending.CSV:
        return Response(write_csv(release), headers=headers, media_type="text/csv; charset=utf-8")
    return Response(write_xlsx(release), headers=headers, media_type=XLSX)
