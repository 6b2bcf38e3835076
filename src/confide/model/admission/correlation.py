"""Correlations: which variables they may have, whatever the data are."""

from confide.errors import Mistake, Reason
from confide.model.admission.related import check_predictors, check_related
from confide.model.admission.universe import admit_universe, check_universe
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy
from confide.model.request import CorrelationRequest

__all__ = ["admit_correlation", "check_correlation"]


def admit_correlation(request: CorrelationRequest, dataset: Dataset) -> CorrelationRequest:
    """The request; a Mistake names the first thing that is not in the codebook."""
    admit_universe(request.where, dataset)
    for name in request.variables:
        variable = dataset.variable(name)
        if not variable.measurable and not variable.classifies:
            raise Mistake(f"{name!r} can not be correlated.")
    return request


def check_correlation(request: CorrelationRequest, dataset: Dataset, policy: Policy) -> list[Reason]:
    """The reasons to refuse correlations whatever the data are."""
    return [
        *check_universe(request.where, policy),
        *check_predictors(request.variables, policy),
        *check_related(request.variables, request.where, dataset, policy),
    ]
