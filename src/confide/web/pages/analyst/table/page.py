"""The table builder and the page of a table."""

from collections.abc import Iterator
from functools import partial
from math import prod
from typing import Annotated, Any

from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse
from markupsafe import Markup

from confide.errors import Mistake
from confide.formats.about import plain, titles
from confide.formats.charts.tables import table_chart
from confide.formats.html import write_html
from confide.formats.views import as_asked
from confide.model.admission.derived import with_definitions
from confide.model.admission.table import check_variables
from confide.model.catalog.dataset import Dataset, Variable
from confide.model.release import Release
from confide.model.request import Measure, TableRequest
from confide.site.access import Person
from confide.spelling.url import read_query, write_query, write_url
from confide.spelling.where import write_names
from confide.web import charts
from confide.web.pages.analyst.code import samples
from confide.web.pages.analyst.levels import size
from confide.web.pages.analyst.own import offered
from confide.web.pages.analyst.plainly import title_of
from confide.web.pages.analyst.table.draft import SHOW, TableDraft, address, offers, show_side
from confide.web.pages.analyst.table.view import View, links
from confide.web.pages.analyst.universe import naming, show_pieces
from confide.web.pages.context import Error, PageContext
from confide.web.pages.job import answer

__all__ = ["add_table_pages"]

_MEASURES = {
    Measure.COUNT: ("Count", "how many"),
    Measure.WEIGHTED_COUNT: ("Weighted count", "how many in the population, by the weights of the survey"),
    Measure.TOTAL: ("Total", "the sum of a number"),
    Measure.MEAN: ("Mean", "the average of a number"),
    Measure.SD: ("Standard deviation", "how far a number lies from its mean"),
    Measure.RATIO: ("Ratio", "the total of one number over that of another"),
    Measure.MEDIAN: ("Median", "the number that half of them lie below"),
    Measure.P10: ("10th percentile", "the number that a tenth of them lie below"),
    Measure.P25: ("25th percentile", "a quarter"),
    Measure.P75: ("75th percentile", "three quarters"),
    Measure.P90: ("90th percentile", "nine tenths"),
}
_FORMATS = (
    (".csv", "CSV", "one row a cell, for statistical programs"),
    (".xlsx", "Excel", "as it stands here, with notes"),
    (".json", "JSON-stat", "for programs"),
)


def add_table_pages(app: FastAPI, context: PageContext) -> None:
    """The builder and the answer."""

    @app.get("/{dataset}/table/build", include_in_schema=False)
    def build(request: Request, dataset: str, asker: Annotated[Person, context.asker]) -> Response:
        query = request.query_params.multi_items()
        described = offered(context, dataset, asker, query)
        draft = TableDraft.read(query, described)
        pressed = dict(query).get("do")
        if pressed == SHOW:
            return RedirectResponse(address(described, draft.question(), build=False), 303)
        if pressed is not None:
            draft, part = draft.press(pressed)
            return RedirectResponse(address(described, draft.write(), build=True, part=part), 303)
        return context.render(request, "table_build.html", **_builder(context, described, draft))

    @app.get("/{dataset}/table", include_in_schema=False)
    async def table(request: Request, dataset: str, asker: Annotated[Person, context.asker]) -> Response:
        query = request.query_params.multi_items()
        described = offered(context, dataset, asker, query)
        admit = partial(context.service.admit, who=asker.asking)
        try:
            view, asked = View.read(query)
            wanted = await run_in_threadpool(read_query, described.name, asked, TableRequest)
            release = await answer(context, request, await run_in_threadpool(admit, wanted))
        except Mistake as mistake:
            return await run_in_threadpool(_mistake, context, request, described, mistake)
        if isinstance(release, Response):
            return release
        return await run_in_threadpool(_page, context, request, asker, view, as_asked(release, wanted))


def _page(context: PageContext, request: Request, asker: Person, view: View, shown: Release) -> Response:
    question = shown.request
    described = with_definitions(context.service.dataset(question.dataset), question.define)
    chart = table_chart(shown)
    return context.render(
        request,
        "table.html",
        **_answer(context, request, described, shown),
        fragment=Markup(write_html(view.finish(shown), zeros=view.zeros)),
        views=links(view, question, described, lambda query: address(described, query, build=False)),
        picture=chart and charts.picture(request, {**chart, "title": None}, asker),
        caption=f"{next(iter(shown.columns.values())).label}: {title_of(question.rows, question.columns, described)}",
    )


def _mistake(context: PageContext, request: Request, dataset: Dataset, mistake: Mistake) -> Response:
    """The builder again, with everything as it was, and what is wrong at its field."""
    draft = TableDraft.read(request.query_params.multi_items(), dataset)
    errors = draft.errors(dataset) or [Error("build", str(mistake))]
    return context.render(request, "table_build.html", status=422, **_builder(context, dataset, draft, errors))


def _answer(context: PageContext, request: Request, dataset: Dataset, release: Release) -> dict[str, Any]:
    """What the page of a table says around its numbers."""
    question = release.request
    query, build = write_query(question), write_query(question.numbers)
    site = context.site(request)
    title = title_of(question.rows, question.columns, dataset)
    cite = (
        f"{release.source or site}. {release.title}: {title}. {release.scope}. Protected under policy {release.policy}."
    )
    return {
        "dataset": dataset,
        "title": title,
        "release": release,
        "parts": [
            (words, text, address(dataset, build, build=True, part=part)) for words, text, part in _parts(release)
        ],
        "downloads": [("/" + write_url(question, ending=e), words, purpose) for e, words, purpose in _FORMATS],
        "samples": samples(question, site=site, token=context.wants_token),
        "citation": plain(f"{cite} Receipt {release.receipt}. {site}{address(dataset, query, build=False)}"),
    }


def _parts(release: Release) -> Iterator[tuple[str, str, str]]:
    """What was asked, part by part, and where on the builder's page each part is."""
    count = len(release.request.rows)
    rows, columns = release.dimensions[:count], release.dimensions[count:]
    yield "Rows", ", ".join(d.label for d in rows) or "none", "rows"
    yield "Columns", ", ".join(d.label for d in columns) or "none", "columns"
    yield "Measure", "; ".join(titles(release.columns.values())), "measure"
    yield "Universe", release.scope, "universe"


def _builder(
    context: PageContext, dataset: Dataset, draft: TableDraft, errors: list[Error] | None = None
) -> dict[str, Any]:
    """What the builder shows."""
    policy = context.service.policy_of(dataset.name)
    known, named = draft.known(dataset), draft.who.names(dataset)
    sizes = [size(dataset.variables[name]) for name in known]
    cells = prod(sizes) if sizes else 0
    return {
        "dataset": dataset,
        "draft": draft,
        "policy": policy,
        "rows": show_side("rows", draft, dataset, policy),
        "columns": show_side("columns", draft, dataset, policy),
        "offers": offers(draft, dataset, policy),
        "measures": list(_measures(dataset, draft)),
        "numbers": [("", "No number", False), *((v.name, v.label, v.name == draft.of) for v in _numbers(dataset))],
        "divisors": [("", "No number", False), *((v.name, v.label, v.name == draft.over) for v in _numbers(dataset))],
        "pieces": show_pieces(draft.who, dataset, lambda where: not check_variables(known, where, dataset, policy)),
        "title": title_of(draft.known(dataset, "rows"), draft.known(dataset, "columns"), dataset),
        "cells": cells,
        "size": f"{' × '.join(map(str, sizes))} = {cells:,}" if len(sizes) > 1 else f"{cells:,}",
        "reasons": check_variables(known, naming(named, dataset), dataset, policy),
        "quoted": write_names,
        "defined": draft.who.define,
        "errors": errors or [],
    }


def _measures(dataset: Dataset, draft: TableDraft) -> Iterator[tuple[str, str, str, bool]]:
    """The measures that this data set can give; one that was asked for is shown in any case."""
    chosen = draft.measure or (Measure.COUNT,)
    weighted, numbers = bool(dataset.weight), bool(_numbers(dataset))
    for measure, (words, help) in _MEASURES.items():
        offered = numbers if measure.of_variable else weighted or measure is Measure.COUNT
        if offered or measure in chosen:
            yield measure, words, help, measure in chosen
    yield from ((name, name, "unknown", True) for name in chosen if name not in tuple(Measure))


def _numbers(dataset: Dataset) -> list[Variable]:
    return [v for v in dataset.variables.values() if v.measurable]
