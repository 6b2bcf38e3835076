"""What the pages of regressions and correlations show of an answer."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Request

from confide.formats.about import plain, shown_value, subject
from confide.formats.models.charts import MOST_ROWS, coefficient_chart, correlation_chart
from confide.formats.models.residuals import Table, in_words, plot_words, residual_table
from confide.formats.models.words import (
    COLUMN_WORDS as TOLD,
)
from confide.formats.models.words import (
    class_words,
    coefficients,
    column_words,
    factor_words,
    level_words,
    p_words,
    reading,
    relabelled,
    split_label,
    statistics,
    term_words,
)
from confide.model.admission.derived import with_definitions
from confide.model.catalog.dataset import Dataset
from confide.model.formula import write_formula
from confide.model.model_release import Grid, ModelRelease
from confide.model.request import CorrelationRequest, Family, RegressionRequest
from confide.site.access import Person
from confide.spelling.url import write_query, write_url
from confide.web.charts import Picture, picture, script_address
from confide.web.pages.analyst.code import samples
from confide.web.pages.context import PageContext

__all__ = ["INTERACTIVE", "VIEWS", "address", "show_correlation", "show_regression"]

INTERACTIVE = ("chart", "interactive")
VIEWS = ("diagnostics", "chart")
"""Parameters of a page that are not of its question."""

_RATIOS = {family: "Odds ratio (95 % interval)" for family in Family if family is not Family.GAUSSIAN}
_RATIOS[Family.POISSON] = "Rate ratio (95 % interval)"


def address(dataset: Dataset, ask: str, query: Iterable[tuple[str, str]], *, build: bool = True, part: str = "") -> str:
    """Where a question is built or answered, with what is searched for left behind when it is; `part` is where on the page."""
    kept = [(key, text) for key, text in query if build or not key.startswith("find.")]
    path = f"/{quote(dataset.name, safe='')}/{ask}{'/build' if build else ''}"
    text = urlencode(kept, quote_via=quote, safe=",=;")
    return path + (f"?{text}" if text else "") + (f"#{part}" if part else "")


@dataclass(frozen=True)
class Plot:
    """A plot of synthetic residuals: its caption, picture and data."""

    caption: str
    picture: Picture | None
    data: Table


def show_regression(
    context: PageContext, request: Request, asker: Person, release: ModelRelease[RegressionRequest]
) -> dict[str, Any]:
    """The answer of a regression in words and pictures."""
    question = release.request
    dataset = with_definitions(context.service.dataset(question.dataset), question.define)
    groups = coefficients(release, dataset)
    response = factor_words(question.formula.response, dataset)
    slopes = [group for group in groups if group.explains]
    drawn = sum(len(group.rows) for group in slopes)
    return {
        **_shared(context, request, release),
        "response": response,
        "predictors": [term_words(term, dataset) for term in question.formula.terms],
        "formula": write_formula(question.formula),
        "family": question.family,
        "event": factor_words(question.event, dataset) if question.event else "",
        "groups": groups,
        "reading": list(reading(release, groups, dataset)),
        "columns": _coefficient_columns(question.family, release.grids["coefficients"]),
        "errors_kind": release.grids["coefficients"].title.partition("(")[2].rstrip(")"),
        "anova": _grid(release.grids["anova"], dataset, question),
        "more": [_grid(release.grids[name], dataset, question) for name in MORE if name in release.grids],
        "statistics": list(statistics(release)),
        "coefficient_picture": picture(request, coefficient_chart(slopes, response=response), asker),
        "left_out": max(0, drawn - MOST_ROWS),
        "plots": list(_plots(request, asker, release, dataset)),
    }


@dataclass(frozen=True)
class Related:
    """A variable among correlated ones: its classes, if it enters by these, and the rows of texts."""

    words: str
    classes: list[str]
    rows: list[list[str]]


def show_correlation(
    context: PageContext, request: Request, asker: Person, release: ModelRelease[CorrelationRequest]
) -> dict[str, Any]:
    """The answer of a correlation."""
    grid, question = release.grids["correlations"], release.request
    dataset = with_definitions(context.service.dataset(question.dataset), question.define)
    names = [class_words(column, dataset, first="class") for column in grid.columns[1:]]
    spec = correlation_chart(names, [[float(value or 0) for value in row[1:]] for row in grid.rows])
    return {
        **_shared(context, request, release),
        "variables": [factor_words(factor, dataset) for factor in question.factors],
        "groups": list(_related(grid, dataset)),
        "width": len(names),
        "ranked": question.ranked,
        "kind": "Rank correlations" if question.ranked else "Correlations",
        "picture": picture(request, spec, asker),
    }


def _related(grid: Grid, dataset: Dataset) -> Iterator[Related]:
    """The rows under their variables."""
    for name, rows in groupby(grid.rows, key=lambda row: split_label(str(row[0]), dataset)[0]):
        listed = list(rows)
        words = class_words(name, dataset)
        classes = [class_words(str(row[0]), dataset).removeprefix(f"{words}: ") for row in listed]
        texts = [[shown_value(value).replace("-", "−") for value in row[1:]] for row in listed]
        yield Related(words, [] if listed[0][0] == name else classes, texts)


def _shared(context: PageContext, request: Request, release: ModelRelease[Any]) -> dict[str, Any]:
    question = release.request
    ask = question.ask
    dataset, query = context.service.dataset(question.dataset), write_query(question)
    views = [pair for pair in request.query_params.multi_items() if pair[0] == "diagnostics"]
    site = context.site(request)
    cite = f"{release.source or site}. {release.title}. {subject(release)}. {release.scope}. Protected under policy {release.policy}."
    data = f"/{write_url(question, ending='{}')}" + "".join(f"&{key}={value}" for key, value in views)
    return {
        "dataset": dataset,
        "release": release,
        "change": address(dataset, ask, query),
        "plain": address(dataset, ask, query, build=False),
        "diagnosed": bool(release.charts),
        "moving": address(dataset, ask, [*query, *views, INTERACTIVE], build=False),
        "still": address(dataset, ask, [*query, *views], build=False),
        "script": script_address(),
        "downloads": [(data.replace("{}", ending, 1), name, why) for ending, name, why in _FORMATS],
        "samples": samples(question, site=site, token=context.wants_token),
        "citation": plain(f"{cite} Receipt {release.receipt}. {site}{address(dataset, ask, query, build=False)}"),
    }


_FORMATS = (
    (".csv", "CSV", "all tables one under the other, for any program"),
    (".xlsx", "XLSX", "a workbook with a sheet for each table"),
    (".json", "JSON", "the tables with everything that is said of them"),
)


MORE = ("thresholds", "hazards", "deviance", "comparison", "effects", "covariance")
"""The tables of a model that only some have: by their family, or if they were asked for."""


def _coefficient_columns(family: Family, grid: Grid) -> list[str]:
    ratio = [_RATIOS[family]] if family in _RATIOS else []
    return ["Estimate", "95 % interval", "Standard error", *ratio, "z" if ratio else "t", "p-value"]


def _grid(grid: Grid, dataset: Dataset, question: RegressionRequest) -> tuple[str, Table]:
    columns = [
        (_column(name, grid, dataset), "number" if place and name != "term" else "")
        for place, name in enumerate(grid.columns)
    ]
    tested = grid.columns[-1] == "p_value"
    rows = [
        [*map(shown_value, row[:-1]), p_words(row[-1]) if tested else shown_value(row[-1])]
        for row in relabelled(grid, dataset, question.formula.terms, level_words(question, dataset))
    ]
    return grid.title, (columns, rows)


def _column(name: str, grid: Grid, dataset: Dataset) -> str:
    """The heading of a column: what is tested by z in effects is tested by F in terms."""
    if name == "statistic" and grid.name == "effects":
        return "z"
    return column_words(name) if name in TOLD else class_words(name, dataset)


def _plots(
    request: Request, asker: Person, release: ModelRelease[RegressionRequest], dataset: Dataset
) -> Iterator[Plot]:
    known = plot_words(release.request, dataset)
    for name, chart in release.charts.items():
        words = known.get(name, name)
        codes = dataset.variables[name].codes if name in dataset.variables else None
        labels = {code.code: code.label for code in codes or ()}
        spec = in_words(chart, name=name, words=words, labels=labels)
        data = residual_table(release.grids[f"plot: {name}"], words=words, labels=labels)
        yield Plot(f"Residuals along {words}", picture(request, spec, asker), data)
