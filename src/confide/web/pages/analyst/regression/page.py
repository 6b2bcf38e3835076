"""The regression builder and the page of a regression."""

from functools import partial
from typing import Annotated, Any

from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse

from confide.errors import Mistake
from confide.model.catalog.dataset import Dataset
from confide.model.formula import write_formula
from confide.model.request import RegressionRequest
from confide.site.access import Person
from confide.spelling.url import read_query
from confide.web.pages.analyst.model_view import INTERACTIVE, VIEWS, address, show_regression
from confide.web.pages.analyst.own import offered
from confide.web.pages.analyst.regression.draft import ModelDraft
from confide.web.pages.analyst.regression.offers import (
    EXTRAS,
    FAMILIES,
    predictors,
    response_classes,
    responses,
    show_terms,
)
from confide.web.pages.analyst.table.draft import SHOW
from confide.web.pages.analyst.universe import show_pieces
from confide.web.pages.context import PageContext
from confide.web.pages.job import answer

__all__ = ["add_model_pages"]


def add_model_pages(app: FastAPI, context: PageContext) -> None:
    """The builder and the answer."""

    @app.get("/{dataset}/regression/build", include_in_schema=False)
    def build(request: Request, dataset: str, asker: Annotated[Person, context.asker]) -> Response:
        query = request.query_params.multi_items()
        described = offered(context, dataset, asker, query)
        draft, pressed = ModelDraft.read(query, described), dict(query).get("do")
        ticked = [text for key, text in query if key == ("class" if pressed == "classes" else "tick")]
        if pressed == SHOW:
            draft = draft.finished()
            if not draft.errors:
                return RedirectResponse(address(described, "regression", draft.write(), build=False), 303)
        elif pressed is not None:
            draft, part = draft.press(pressed, ticked)
            if not draft.errors:
                return RedirectResponse(address(described, "regression", draft.write(), part=part), 303)
        return _builder(context, request, draft, ticked)

    @app.get("/{dataset}/regression", include_in_schema=False)
    async def regression(request: Request, dataset: str, asker: Annotated[Person, context.asker]) -> Response:
        query = request.query_params.multi_items()
        described = offered(context, dataset, asker, query)
        admit, asked = (
            partial(context.service.admit, who=asker.asking),
            [pair for pair in query if pair[0] not in VIEWS],
        )
        try:
            question = await run_in_threadpool(lambda: admit(read_query(described.name, asked, RegressionRequest)))
        except Mistake as mistake:
            return await run_in_threadpool(_mistake, context, request, described, mistake)
        release = await answer(context, request, question, diagnose=("diagnostics", "true") in query)
        if isinstance(release, RedirectResponse):
            return release
        shown = await run_in_threadpool(show_regression, context, request, asker, release)
        shown["interactive"] = INTERACTIVE in query
        return await run_in_threadpool(context.render, request, "regression.html", **shown)


def _mistake(context: PageContext, request: Request, dataset: Dataset, mistake: Mistake) -> Response:
    """The builder again, with everything as it was, and what is wrong at its field."""
    draft = ModelDraft.read(request.query_params.multi_items(), dataset).finished()
    return _builder(context, request, draft if draft.errors else draft.wrong("build", mistake), ())


def _builder(context: PageContext, request: Request, draft: ModelDraft, ticked: Any) -> Response:
    dataset, policy = draft.dataset, context.service.policy_of(draft.dataset.name)
    offered = predictors(draft, policy)
    return context.render(
        request,
        "regression_build.html",
        status=422 if draft.errors else 200,
        dataset=dataset,
        policy=policy,
        draft=draft,
        errors=draft.errors,
        ticked=ticked,
        responses=responses(draft),
        response_classes=response_classes(draft),
        terms=show_terms(draft),
        offered=offered,
        pieces=show_pieces(draft.who, dataset, lambda where: draft.allows(where, policy)),
        reasons=draft.reasons(policy),
        formula=write_formula(draft.formula) if draft.formula else "",
        family=FAMILIES[draft.family],
        families=[(family, words, family is draft.family) for family, words in FAMILIES.items()],
        kept=draft.fields(),
        extras=[(extra, words, extra in draft.also) for extra, words in EXTRAS.items()],
        defined=draft.who.define,
    )
