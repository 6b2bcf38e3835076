"""Models near a refused one, nearest first: of logarithms, without an interaction, coarser, without a predictor."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from confide.answering.analysis import Near
from confide.answering.nearby import (
    coarser_classes,
    mean_tables,
    near_universes,
    one_or_two,
    with_tables,
    without_missing,
)
from confide.model.admission.regression import label
from confide.model.catalog.dataset import Dataset
from confide.model.choices import CoefficientErrors, Extra
from confide.model.formula import Factor, Term, Transform
from confide.model.request import Family, RegressionRequest

__all__ = ["near_models"]


def near_models(request: RegressionRequest, dataset: Dataset) -> Iterator[Near[Any]]:
    """Each with the words for it, one change or two; or a table of means. Found from public metadata alone."""
    numbers = [] if request.outcome else [request.formula.response.variable]
    return with_tables(one_or_two(request, dataset, _moves), mean_tables(request, numbers, dataset))


def _moves(request: RegressionRequest, dataset: Dataset) -> Iterator[Near[RegressionRequest]]:
    yield from _without_comparison(request)
    if request.by_design:
        yield Near("with errors by the model", replace(request, errors=CoefficientErrors.MODEL))
    # Logarithms first: they help where a few units carry the model, and where the cross is too fine nothing is lost on them.
    yield from _logarithms(request, dataset)
    yield from _fewer_interactions(request)
    yield from _coarser_predictors(request, dataset)
    yield from _coarser_response(request, dataset)
    yield from near_universes(request, dataset)
    yield from _fewer_predictors(request)
    yield from without_missing(request, request.names, dataset)


def _without_comparison(request: RegressionRequest) -> Iterator[Near[RegressionRequest]]:
    """Without the models within it that are told."""
    if request.against is not None:
        yield Near("without the comparison", replace(request, against=None))
    if Extra.DEVIANCE in request.also:
        also = tuple(extra for extra in request.also if extra is not Extra.DEVIANCE)
        yield Near("without the table of deviance", replace(request, also=also))


def _fewer_interactions(request: RegressionRequest) -> Iterator[Near[RegressionRequest]]:
    terms = request.formula.terms
    for term in [t for t in reversed(terms) if len(t) > 1]:
        rest = tuple(t for t in terms if not set(term) <= set(t))
        parts = tuple((factor,) for factor in term if (factor,) not in rest)
        yield Near(f"without the interaction {label(term)}", _with(request, (*rest, *parts)))


def _coarser_predictors(request: RegressionRequest, dataset: Dataset) -> Iterator[Near[RegressionRequest]]:
    for name in request.predictors:
        for form in coarser_classes(name, dataset):
            if form not in request.names:
                plain = Factor(name, reference=request.formula.references.get(name))
                yield Near(f"{form!r} instead of {name!r}", _exchanged(request, {plain: Factor(form)}))


def _coarser_response(request: RegressionRequest, dataset: Dataset) -> Iterator[Near[RegressionRequest]]:
    """Of several classes fewer."""
    response = request.formula.response
    for form in coarser_classes(response.variable, dataset) if request.family.several else ():
        if len(dataset.variables[form].codes or ()) > 2 and form not in request.names:
            yield Near(f"{form!r} instead of {response.variable!r}", _exchanged(request, {response: Factor(form)}))


def _logarithms(request: RegressionRequest, dataset: Dataset) -> Iterator[Near[RegressionRequest]]:
    """Of amounts without an upper end, on a few of which a model rests: of all of them, then of one."""
    formula = request.formula
    numbers = [formula.response] if request.family is Family.GAUSSIAN else []
    numbers += [factor for term in formula.terms for factor in term]
    amounts = [factor for factor in dict.fromkeys(numbers) if _amount(factor, dataset)]
    for some in ([amounts] if len(amounts) > 1 else []) + [[factor] for factor in amounts]:
        logs = {factor: replace(factor, transform=Transform.LOG) for factor in some}
        words = " and ".join(f"{label([new])} instead of {label([old])}" for old, new in logs.items())
        yield Near(words, _exchanged(request, logs))


def _amount(factor: Factor, dataset: Dataset) -> bool:
    variable = dataset.variables[factor.variable]
    return variable.measurable and not factor.transform and not variable.signed and variable.maximum is None


def _fewer_predictors(request: RegressionRequest) -> Iterator[Near[RegressionRequest]]:
    for name in reversed(request.predictors):
        rest = tuple(t for t in request.formula.terms if name not in {f.variable for f in t})
        if rest:
            yield Near(f"without {name!r}", _with(request, rest))


def _with(request: RegressionRequest, terms: tuple[Term, ...]) -> RegressionRequest:
    return replace(request, formula=replace(request.formula, terms=terms))


def _exchanged(request: RegressionRequest, new: Mapping[Factor, Factor]) -> RegressionRequest:
    """The model with other factors wherever some stand."""
    formula = request.formula
    terms = tuple(tuple(new.get(factor, factor) for factor in term) for term in formula.terms)
    response = new.get(formula.response, formula.response)
    return replace(request, formula=replace(formula, response=response, terms=terms))
