"""The regression builder and the page of a regression."""

from typing import Annotated, Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse

from confide.errors import Mistake
from confide.model.formula import write_formula
from confide.model.request import RegressionRequest
from confide.site.access import Person
from confide.spelling.url import read_query
from confide.web.pages.analyst.model_view import INTERACTIVE, VIEWS, address, show_regression
from confide.web.pages.analyst.regression.draft import ModelDraft
from confide.web.pages.analyst.regression.offers import FAMILIES, predictors, responses, show_terms
from confide.web.pages.analyst.table.draft import SHOW
from confide.web.pages.analyst.universe import show_pieces
from confide.web.pages.context import PageContext
from confide.web.pages.job import answer

__all__ = ["add_model_pages"]


def add_model_pages(app: FastAPI, context: PageContext) -> None:
    """The builder and the answer."""

    @app.get("/{dataset}/regression/build", include_in_schema=False)
    def build(request: Request, dataset: str, asker: Annotated[Person, context.asker]) -> Response:
        described, query = context.dataset(dataset), request.query_params.multi_items()
        draft, pressed = ModelDraft.read(query, described), dict(query).get("do")
        ticked = [text for key, text in query if key == "tick"]
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
    def regression(request: Request, dataset: str, asker: Annotated[Person, context.asker]) -> Response:
        described, query = context.dataset(dataset), request.query_params.multi_items()
        try:
            asked = read_query(described.name, [p for p in query if p[0] not in VIEWS], RegressionRequest)
            question = context.service.admit(asked)
        except Mistake as mistake:
            draft = ModelDraft.read(query, described).finished()
            return _builder(context, request, draft if draft.errors else draft.wrong("build", mistake), ())
        diagnose = ("diagnostics", "true") in query
        release = answer(request, question, asker, diagnose=diagnose)
        if isinstance(release, RedirectResponse):
            return release
        shown = show_regression(context, request, asker, release)
        return context.render(request, "regression.html", interactive=INTERACTIVE in query, **shown)


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
        terms=show_terms(draft),
        offered=offered,
        pieces=show_pieces(draft.who, dataset, lambda where: draft.allows(where, policy)),
        reasons=draft.reasons(policy),
        formula=write_formula(draft.formula) if draft.formula else "",
        family=FAMILIES[draft.family],
        families=[(family, words, family is draft.family) for family, words in FAMILIES.items()],
        kept=draft.fields(),
    )
