"""A request that names variables of the asker's own, in declared words as far as it goes."""

from dataclasses import replace
from typing import Any, TypeVar

from confide.model.admission.universe import declared_universe
from confide.model.catalog.dataset import Dataset
from confide.model.request import Request

__all__ = ["in_declared_words"]

Q = TypeVar("Q", bound=Request[Any])


def in_declared_words(request: Q, dataset: Dataset) -> Q:
    """The request over the same universe by declared variables, with the definitions that its answer needs and no others.

    So a universe is one whatever words describe it, and has the drops, keys and verdicts of that universe.
    """
    if not request.define:
        return request
    needed = tuple(one for one in request.define if one.name in request.names)
    where = declared_universe(request.where, dataset)
    return replace(request, where=where, define=needed)  # type: ignore[type-var]  # every request is a dataclass
