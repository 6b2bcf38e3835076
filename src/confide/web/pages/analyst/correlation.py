"""The builder of correlations and the page of their answer."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse

from confide.errors import Mistake, Reason
from confide.formats.models.words import class_words
from confide.model.admission.correlation import admit_correlated
from confide.model.admission.related import check_predictors, check_related
from confide.model.admission.universe import check_universe
from confide.model.catalog.dataset import Dataset, Variable
from confide.model.choices import CorrelationMethod
from confide.model.formula import Factor, Transform, read_variable, write_variable
from confide.model.policy import Policy
from confide.model.request import CorrelationRequest
from confide.model.universe import Universe
from confide.site.access import Person
from confide.spelling.url import read_query
from confide.spelling.where import read_names, write_names
from confide.web.pages.analyst.levels import Option, by_subject, options
from confide.web.pages.analyst.model_view import INTERACTIVE, VIEWS, address, show_correlation
from confide.web.pages.analyst.own import offered
from confide.web.pages.analyst.table.draft import SHOW
from confide.web.pages.analyst.universe import Query, UniverseDraft, naming, show_pieces
from confide.web.pages.context import Error, PageContext
from confide.web.pages.job import answer

__all__ = ["CorrelationDraft", "add_correlation_pages"]

METHODS = [("pearson", "The numbers themselves (Pearson)"), ("spearman", "Their ranks (Spearman)")]
"""What is correlated."""

TRANSFORMS = [("", "as it is"), ("log", "logarithm"), ("sqrt", "square root"), ("square", "squared")]
"""How a number may enter."""


@dataclass(frozen=True)
class CorrelationDraft:
    """Correlations being asked for; nothing need be right yet."""

    variables: tuple[str, ...]
    who: UniverseDraft
    method: CorrelationMethod = CorrelationMethod.PEARSON

    @classmethod
    def read(cls, query: Query, dataset: Dataset) -> "CorrelationDraft":
        """What an address or a form describes. What is chosen to be added is added, whatever button is pressed."""
        named = [read_variable(name) for key, text in query if key == "variables" for name in read_names(text)]
        how = dict(query).get("transform", "")
        added = [name for key, text in query if key == "variable" for name in read_names(text)]
        named += [Factor(name, Transform(how) if how in list(Transform) else Transform.NONE) for name in added]
        ranked = dict(query).get("method") == CorrelationMethod.SPEARMAN
        method = CorrelationMethod.SPEARMAN if ranked else CorrelationMethod.PEARSON
        return cls(tuple(dict.fromkeys(map(write_variable, named))), UniverseDraft.read(query, dataset), method)

    def write(self) -> list[tuple[str, str]]:
        """The parameters of the address."""
        variables = [("variables", write_names(self.variables))] if self.variables else []
        method = [("method", str(self.method))] if self.ranked else []
        return [*variables, *method, *self.who.write()]

    def press(self, button: str) -> tuple["CorrelationDraft", str]:
        """What a button of the form does, and the part of the page that it belongs to."""
        action, _, name = button.partition(".")
        if action == "without":
            return replace(self, variables=tuple(v for v in self.variables if v != name)), "variables"
        who, part = self.who.press(button)
        return replace(self, who=who), part

    def errors(self, dataset: Dataset) -> list[Error]:
        """What is wrong or missing, each at its field."""
        found = [
            Error("variables", wrong)
            for factor in self.factors
            if (wrong := _wrong(factor, dataset, ranked=self.ranked))
        ]
        if len(self.variables) < 2:
            found.append(Error("variables", "Choose at least two variables."))
        return [*found, *self.who.errors(dataset)]

    @property
    def ranked(self) -> bool:
        return self.method is CorrelationMethod.SPEARMAN

    @property
    def factors(self) -> list[Factor]:
        return list(map(read_variable, self.variables))

    def known(self, dataset: Dataset) -> list[str]:
        """The names of the variables that there are and that can be correlated."""
        return [factor.variable for factor in self.factors if factor.variable in {v.name for v in _related(dataset)}]

    def reasons(self, dataset: Dataset, policy: Policy, *, more: Sequence[str] = ()) -> list[Reason]:
        """Why the policy would refuse these, with some more, whatever the data are."""
        return _reasons([*self.known(dataset), *more], naming(self.who.names(dataset), dataset), dataset, policy)

    def allows(self, where: Universe, dataset: Dataset, policy: Policy) -> bool:
        """Whether the universe may be that one, whatever the data are."""
        return set(_reasons(self.known(dataset), where, dataset, policy)) <= set(self.reasons(dataset, policy))


def _related(dataset: Dataset) -> list[Variable]:
    return [v for v in dataset.variables.values() if v.measurable or v.classifies]


def _wrong(factor: Factor, dataset: Dataset, *, ranked: bool) -> str:
    """Why this may not be correlated with anything; nothing if it may."""
    try:
        admit_correlated(factor, dataset, ranked=ranked)
    except Mistake as mistake:
        return str(mistake)
    return ""


def _reasons(names: Sequence[str], where: Universe, dataset: Dataset, policy: Policy) -> list[Reason]:
    related = check_related(names, where, dataset, policy)
    return [*check_universe(where, policy), *related, *check_predictors(names, policy)]


def _offers(draft: CorrelationDraft, dataset: Dataset, policy: Policy) -> list[tuple[str, list[Option]]]:
    """The variables that may still be added, under the headings of the codebook."""
    before = set(draft.reasons(dataset, policy))
    named = {factor.variable for factor in draft.factors}
    free = [v for v in _related(dataset) if v.name not in named]
    fitting = [v for v in free if set(draft.reasons(dataset, policy, more=[v.name])) <= before]
    return [(subject, [_option(dataset, v) for v in group]) for subject, group in by_subject(fitting)]


def _option(dataset: Dataset, variable: Variable) -> Option:
    return (variable.name, variable.label, 0) if variable.measurable else options(dataset, [variable])[0]


def add_correlation_pages(app: FastAPI, context: PageContext) -> None:
    """The builder and the answer."""

    @app.get("/{dataset}/correlation/build", include_in_schema=False)
    def build(request: Request, dataset: str, asker: Annotated[Person, context.asker]) -> Response:
        query = request.query_params.multi_items()
        described = offered(context, dataset, asker, query)
        draft, pressed = CorrelationDraft.read(query, described), dict(query).get("do")
        if pressed == SHOW:
            return RedirectResponse(address(described, "correlation", draft.write(), build=False), 303)
        if pressed is not None:
            draft, part = draft.press(pressed)
            return RedirectResponse(address(described, "correlation", draft.write(), part=part), 303)
        return _builder(context, request, described, draft)

    @app.get("/{dataset}/correlation", include_in_schema=False)
    async def correlation(request: Request, dataset: str, asker: Annotated[Person, context.asker]) -> Response:
        query = request.query_params.multi_items()
        described = offered(context, dataset, asker, query)
        admit, asked = (
            partial(context.service.admit, who=asker.asking),
            [pair for pair in query if pair[0] not in VIEWS],
        )
        try:
            question = await run_in_threadpool(lambda: admit(read_query(described.name, asked, CorrelationRequest)))
        except Mistake as mistake:
            return await run_in_threadpool(_mistake, context, request, described, mistake)
        release = await answer(context, request, question)
        if isinstance(release, RedirectResponse):
            return release
        shown = await run_in_threadpool(show_correlation, context, request, asker, release)
        shown["interactive"] = INTERACTIVE in query
        return await run_in_threadpool(context.render, request, "correlation.html", **shown)


def _mistake(context: PageContext, request: Request, dataset: Dataset, mistake: Mistake) -> Response:
    """The builder again, with everything as it was, and what is wrong at its field."""
    draft = CorrelationDraft.read(request.query_params.multi_items(), dataset)
    return _builder(context, request, dataset, draft, draft.errors(dataset) or [Error("build", str(mistake))])


def _builder(
    context: PageContext, request: Request, dataset: Dataset, draft: CorrelationDraft, errors: Sequence[Error] = ()
) -> Response:
    policy = context.service.policy_of(dataset.name)
    return context.render(
        request,
        "correlation_build.html",
        status=422 if errors else 200,
        dataset=dataset,
        policy=policy,
        errors=errors,
        chosen=[(name, write_names([name]), class_words(name, dataset)) for name in draft.variables],
        transforms=TRANSFORMS,
        methods=METHODS,
        method=str(draft.method),
        offers=_offers(draft, dataset, policy),
        quoted=write_names,
        defined=draft.who.define,
        pieces=show_pieces(draft.who, dataset, lambda where: draft.allows(where, dataset, policy)),
        reasons=draft.reasons(dataset, policy),
    )
