"""Models near a refused one, nearest first: without an interaction, coarser, on a smoother scale, without a predictor."""

from collections.abc import Iterator
from dataclasses import replace

from confide.answering.analysis import Near
from confide.answering.nearby import coarser_forms, near_universes, one_or_two, without_missing
from confide.model.admission.regression import label
from confide.model.catalog.dataset import Dataset
from confide.model.formula import Factor, Term, Transform
from confide.model.request import Family, RegressionRequest

__all__ = ["near_models"]


def near_models(request: RegressionRequest, dataset: Dataset) -> Iterator[Near[RegressionRequest]]:
    """Each with the words for it, one change or two. Found from public metadata alone."""
    return one_or_two(request, lambda asked: _moves(asked, dataset))


def _moves(request: RegressionRequest, dataset: Dataset) -> Iterator[Near[RegressionRequest]]:
    yield from _fewer_interactions(request)
    yield from _coarser_predictors(request, dataset)
    yield from _logarithms(request, dataset)
    yield from near_universes(request, dataset)
    yield from _fewer_predictors(request)
    yield from without_missing(request, request.names, dataset)


def _fewer_interactions(request: RegressionRequest) -> Iterator[Near[RegressionRequest]]:
    terms = request.formula.terms
    for term in [t for t in reversed(terms) if len(t) > 1]:
        rest = tuple(t for t in terms if not set(term) <= set(t))
        parts = tuple((factor,) for factor in term if (factor,) not in rest)
        yield Near(f"without the interaction {label(term)}", _with(request, (*rest, *parts)))


def _coarser_predictors(request: RegressionRequest, dataset: Dataset) -> Iterator[Near[RegressionRequest]]:
    for name in request.predictors:
        for form in () if dataset.variables[name].measurable else coarser_forms(name, dataset):
            if form not in request.names:
                yield Near(f"{form!r} instead of {name!r}", _exchanged(request, Factor(name), Factor(form)))


def _logarithms(request: RegressionRequest, dataset: Dataset) -> Iterator[Near[RegressionRequest]]:
    """Of amounts without an upper end, a few of which a model rests on: of the response first."""
    formula = request.formula
    numbers = [factor for term in formula.terms for factor in term]
    numbers += [formula.response] if request.family is Family.GAUSSIAN else []
    for factor in dict.fromkeys(reversed(numbers)):
        variable = dataset.variables[factor.variable]
        if variable.measurable and not factor.transform and not variable.signed and variable.maximum is None:
            smoother = replace(factor, transform=Transform.LOG)
            yield Near(f"{label([smoother])} instead of {label([factor])}", _exchanged(request, factor, smoother))


def _fewer_predictors(request: RegressionRequest) -> Iterator[Near[RegressionRequest]]:
    for name in reversed(request.predictors):
        rest = tuple(t for t in request.formula.terms if name not in {f.variable for f in t})
        if rest:
            yield Near(f"without {name!r}", _with(request, rest))


def _with(request: RegressionRequest, terms: tuple[Term, ...]) -> RegressionRequest:
    return replace(request, formula=replace(request.formula, terms=terms))


def _exchanged(request: RegressionRequest, old: Factor, new: Factor) -> RegressionRequest:
    """The model with another factor wherever one stands."""
    terms = tuple(tuple(new if factor == old else factor for factor in term) for term in request.formula.terms)
    response = new if request.formula.response == old else request.formula.response
    return replace(request, formula=replace(request.formula, response=response, terms=terms))
