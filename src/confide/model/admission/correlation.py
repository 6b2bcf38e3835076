"""Correlations: which variables they may have, whatever the data are."""

import re

from confide.errors import Mistake, Reason
from confide.model.admission.regression import admit_factor
from confide.model.admission.related import check_forms, check_predictors, check_suppressed
from confide.model.admission.universe import admit_universe, check_universe
from confide.model.catalog.dataset import Dataset
from confide.model.formula import Factor, read_term
from confide.model.policy import Policy
from confide.model.request import CorrelationRequest

__all__ = ["admit_correlated", "admit_correlation", "check_correlation"]


def admit_correlation(request: CorrelationRequest, dataset: Dataset) -> CorrelationRequest:
    """The request; a Mistake names the first thing that is not in the codebook."""
    admit_universe(request.where, dataset)
    for factor in request.factors:
        admit_correlated(factor, dataset, ranked=request.ranked)
    return request


def admit_correlated(factor: Factor, dataset: Dataset, *, ranked: bool = False) -> None:
    """A Mistake if this may not be correlated with anything; it is that of a formula, if it looks like one."""
    if factor.variable not in dataset.variables and re.search(r"[\w`]\(|\^|\*\*", factor.variable):
        read_term(factor.variable)
    variable = dataset.variable(factor.variable)
    if not variable.measurable and not variable.classifies:
        raise Mistake(f"{variable.name!r} can not be correlated.")
    admit_factor(factor, dataset)
    if ranked:
        _admit_ranked(factor, dataset)


def _admit_ranked(factor: Factor, dataset: Dataset) -> None:
    name = factor.variable
    if factor.transform:
        raise Mistake(f"Ranks are of {name!r} itself: name it without {factor.transform}(...).")
    if not dataset.variables[name].classifies and dataset.bins(name) is None:
        raise Mistake(
            f"{name!r} has no ranks: no cutpoints are declared for it.",
            suggestions=["Leave 'method' out, or ask the custodian to declare cutpoints."],
        )


def check_correlation(request: CorrelationRequest, dataset: Dataset, policy: Policy) -> list[Reason]:
    """The reasons to refuse correlations whatever the data are."""
    return [
        *check_universe(request.where, policy),
        *check_predictors(request.names, policy),
        *check_suppressed(request.names, request.where, dataset, policy),
        *check_forms(request.names, request.classes(dataset), request.where, dataset),
    ]
