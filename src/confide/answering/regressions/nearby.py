"""Models near a refused one, nearest first: without an interaction, coarser, without a predictor, over everyone."""

from collections.abc import Iterator
from dataclasses import replace

from confide.answering.analysis import Near
from confide.model.admission.regression import label
from confide.model.catalog.dataset import Dataset
from confide.model.formula import Factor, Term
from confide.model.request import RegressionRequest
from confide.model.universe import EVERYONE

__all__ = ["near_models"]


def near_models(request: RegressionRequest, dataset: Dataset) -> Iterator[Near[RegressionRequest]]:
    """Each with the words for it. Found from public metadata alone."""
    formula = request.formula
    for term in [t for t in reversed(formula.terms) if len(t) > 1]:
        rest = tuple(t for t in formula.terms if not set(term) <= set(t))
        parts = tuple((factor,) for factor in term if (factor,) not in rest)
        yield Near(f"without the interaction {label(term)}", _with(request, (*rest, *parts)))
    for name in formula.variables:
        parent = dataset.variables[name].parent
        if parent is not None and parent not in (*formula.variables, formula.response.variable):
            terms = tuple(tuple(_swapped(f, name, parent) for f in term) for term in formula.terms)
            yield Near(f"{parent!r} instead of {name!r}", _with(request, terms))
    for name in reversed(formula.variables):
        rest = tuple(t for t in formula.terms if name not in {f.variable for f in t})
        if rest:
            yield Near(f"without {name!r}", _with(request, rest))
    if request.where:
        yield Near("everyone instead of this universe", replace(request, where=EVERYONE))


def _with(request: RegressionRequest, terms: tuple[Term, ...]) -> RegressionRequest:
    return replace(request, formula=replace(request.formula, terms=terms))


def _swapped(factor: Factor, old: str, new: str) -> Factor:
    return replace(factor, variable=new) if factor.variable == old else factor
