"""Answers as data: the address is the question, its ending the format."""

from dataclasses import MISSING, fields
from enum import StrEnum
from functools import partial
from inspect import Parameter, Signature
from typing import Annotated, Any, Literal

from fastapi import Depends, FastAPI, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from pydantic.json_schema import SkipJsonSchema

from confide.formats.release import Released, writers
from confide.formats.views import as_asked
from confide.model.request import Request as Question
from confide.model.request import spelled_fields
from confide.site.access import Person
from confide.spelling.url import read_query
from confide.web.openapi import CSV, MODEL, TABLE, XLSX, problems
from confide.web.pages.context import PageContext
from confide.web.under_way.waiting import answered

__all__ = ["Ending", "Name", "add_answers"]


class Ending(StrEnum):
    """How the address of an answer ends: its format."""

    JSON = "json"
    CSV = "csv"
    XLSX = "xlsx"


Name = Annotated[str, Path(description="The name of a data set.")]
Format = Annotated[Ending, Path(description="The format of the answer.")]
Where = Annotated[list[str], Query(description="A piece: variable=code,code;variable=code. Repeat for a union.")]
Diagnostics = Annotated[Literal["true", "false"], Query(description="Add plots of synthetic residuals.")]


_Optional = str | SkipJsonSchema[None]


class _Parameters:
    """The parameters of a kind of question, to be described by FastAPI; they are read in one place for all spellings."""

    def __init__(self, kind: type[Question[Any]]) -> None:
        spelled = spelled_fields(kind)
        found = []
        for field in fields(kind):  # type: ignore[arg-type]  # every kind is a dataclass
            if field.name == "where":
                found.append(_parameter("where", Where, []))
            elif field.name in spelled:
                found.append(_described(field.name, *spelled[field.name]))
        if kind.diagnosable:
            found.append(_parameter("diagnostics", Diagnostics, "false"))
        self.__signature__ = Signature(found)

    async def __call__(self, **given: Any) -> None:
        """Nothing, and in no thread of its own."""


def _described(name: str, how: Any, default: Any) -> Parameter:
    query = Query(description=how.help)
    if how.many:
        return _parameter(name, Annotated[list[str], query], list(how.write(default)))
    if default is None:
        return _parameter(name, Annotated[_Optional, query], None)
    return _parameter(name, Annotated[str, query], "" if default is MISSING else how.write(default))


def _parameter(name: str, annotation: Any, default: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


_DOCUMENTS = {"table": TABLE}
"""What is answered, where it is not the tables of a model."""


def add_answers(app: FastAPI, context: PageContext) -> None:
    """One address for each kind of question."""
    for kind in context.service.kinds:
        _add(app, context, kind)


def _add(app: FastAPI, context: PageContext, kind: type[Question[Any]]) -> None:
    @app.get(
        f"/{{dataset}}/{kind.ask}.{{ending}}",
        summary=kind.summary,
        response_class=Response,
        responses={200: _DOCUMENTS.get(kind.ask, MODEL), **problems(202, 401, 403, 404, 422, 429, 503)},
        dependencies=[Depends(_Parameters(kind))],
        operation_id=kind.ask,
    )
    async def answer(
        request: Request, dataset: Name, ending: Format, asker: Annotated[Person, context.asker]
    ) -> Response:
        query = request.query_params.multi_items()
        asked = [pair for pair in query if not (kind.diagnosable and pair[0] == "diagnostics")]
        diagnose = kind.diagnosable and ("diagnostics", "true") in query
        read = partial(read_query, context.dataset(dataset, asker).name, asked, kind)
        release = await answered(request, read, who=asker.asking, diagnose=diagnose)

        def response() -> Response:
            context.still(request)
            return _response(as_asked(release, read()), ending)

        return await run_in_threadpool(response)


def _response(release: Released, ending: Ending) -> Response:
    content = getattr(writers(release), ending)(release)
    headers = {"ETag": f'"{release.receipt}"'}
    if ending is Ending.JSON:
        return JSONResponse(content, headers=headers)
    headers["Content-Disposition"] = f'attachment; filename="{release.request.dataset}.{ending}"'
    return Response(content, headers=headers, media_type=XLSX if ending is Ending.XLSX else f"{CSV}; charset=utf-8")
