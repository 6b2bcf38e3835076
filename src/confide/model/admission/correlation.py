"""Correlations: which variables they may have, whatever the data are."""

import re

from confide.errors import Mistake, Reason
from confide.model.admission.regression import admit_factor
from confide.model.admission.related import check_predictors, check_related
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
        admit_correlated(factor, dataset)
    return request


def admit_correlated(factor: Factor, dataset: Dataset) -> None:
    """A Mistake if this may not be correlated with anything; it is that of a formula, if it looks like one."""
    if factor.variable not in dataset.variables and re.search(r"[\w`]\(|\^|\*\*", factor.variable):
        read_term(factor.variable)
    variable = dataset.variable(factor.variable)
    if not variable.measurable and not variable.classifies:
        raise Mistake(f"{variable.name!r} can not be correlated.")
    admit_factor(factor, dataset)


def check_correlation(request: CorrelationRequest, dataset: Dataset, policy: Policy) -> list[Reason]:
    """The reasons to refuse correlations whatever the data are."""
    return [
        *check_universe(request.where, policy),
        *check_predictors(request.names, policy),
        *check_related(request.names, request.where, dataset, policy),
    ]
