"""Answers as data: the address is the question, its ending the format."""

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any, Literal

from fastapi import Depends, FastAPI, Path, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic.json_schema import SkipJsonSchema

from confide.formats.csv import write_csv, write_model_csv
from confide.formats.jsonstat.write import write_jsonstat
from confide.formats.models.json import write_model
from confide.formats.xlsx import write_model_xlsx, write_xlsx
from confide.model.model_release import ModelRelease
from confide.model.release import Release
from confide.site.access import Person
from confide.spelling.url import read_query
from confide.web.openapi import CSV, MODEL, TABLE, XLSX, problems
from confide.web.pages.context import PageContext
from confide.web.questions import Questions

__all__ = ["Ending", "Name", "add_answers"]


class Ending(StrEnum):
    """How the address of an answer ends: its format."""

    JSON = "json"
    CSV = "csv"
    XLSX = "xlsx"


Name = Annotated[str, Path(description="The name of a data set.")]
Format = Annotated[Ending, Path(description="The format of the answer.")]
Names = list[str]
Where = Annotated[Names, Query(description="A piece: variable=code,code;variable=code. Repeat for a union.")]

Measures = Annotated[Names, Query(description="count, weighted_count, total, mean; repeat, or put commas.")]

# FastAPI copies defaults; these parameters are declared to be described, and read in one place for all spellings.


def _table(
    rows: Annotated[Names, Query(description="Variables down the side; repeat, or put commas.")] = [],  # noqa: B006
    columns: Annotated[Names, Query(description="Variables across the top; repeat, or put commas.")] = [],  # noqa: B006
    where: Where = [],  # noqa: B006
    measure: Measures = ["count"],  # noqa: B006
    of: Annotated[str | SkipJsonSchema[None], Query(description="The numeric variable of a total or mean.")] = None,
) -> None: ...


def _regression(
    formula: Annotated[str, Query(description="The model: log(income) ~ age + age^2 + sex + age:sex.")] = "",
    where: Where = [],  # noqa: B006
    family: Annotated[str, Query(description="gaussian, binomial or poisson.")] = "gaussian",
    diagnostics: Annotated[Literal["true", "false"], Query(description="Add plots of synthetic residuals.")] = "false",
) -> None: ...


def _correlation(
    variables: Annotated[Names, Query(description="Two variables or more; repeat, or put commas.")] = [],  # noqa: B006
    where: Where = [],  # noqa: B006
) -> None: ...


_ASKS: dict[str, tuple[str, Callable[..., None], dict[str, Any]]] = {
    "table": ("A protected table", _table, TABLE),
    "regression": ("A protected regression", _regression, MODEL),
    "correlation": ("Protected correlations", _correlation, MODEL),
}
"""What may be asked for: its summary, its parameters, and what is answered."""


def add_answers(app: FastAPI, context: PageContext) -> None:
    """One address for each kind of question."""
    for ask in _ASKS:
        _add(app, context, ask)


def _add(app: FastAPI, context: PageContext, ask: str) -> None:
    summary, parameters, answered = _ASKS[ask]

    @app.get(
        f"/{{dataset}}/{ask}.{{ending}}",
        summary=summary,
        response_class=Response,
        responses={200: answered, **problems(401, 403, 404, 422)},
        dependencies=[Depends(parameters)],
        operation_id=ask,
    )
    def answer(request: Request, dataset: Name, ending: Format, asker: Annotated[Person, context.asker]) -> Response:
        query = request.query_params.multi_items()
        asked = [pair for pair in query if ask != "regression" or pair[0] != "diagnostics"]
        question = read_query(context.dataset(dataset).name, asked, ask=ask)
        questions: Questions = app.state.questions
        diagnose = ask == "regression" and ("diagnostics", "true") in query
        return _response(questions.answer(question, who=asker.name, diagnose=diagnose), ending)


def _response(release: Release | ModelRelease[Any], ending: Ending) -> Response:
    content = _TABLES[ending](release) if isinstance(release, Release) else _MODELS[ending](release)
    headers = {"ETag": f'"{release.receipt}"'}
    if ending is Ending.JSON:
        return JSONResponse(content, headers=headers)
    headers["Content-Disposition"] = f'attachment; filename="{release.request.dataset}.{ending}"'
    return Response(content, headers=headers, media_type=XLSX if ending is Ending.XLSX else f"{CSV}; charset=utf-8")


_TABLES: dict[Ending, Callable[[Release], Any]] = {
    Ending.JSON: write_jsonstat,
    Ending.CSV: write_csv,
    Ending.XLSX: write_xlsx,
}
_MODELS: dict[Ending, Callable[[ModelRelease[Any]], Any]] = {
    Ending.JSON: write_model,
    Ending.CSV: write_model_csv,
    Ending.XLSX: write_model_xlsx,
}
