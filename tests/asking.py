"""How tests ask: requests from Python words, a small codebook, and a road whose every outcome can be looked at."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from confide.answering.road import Road
from confide.errors import Reason, Suggestion
from confide.model.policy import Policy
from confide.model.request import CorrelationRequest, RegressionRequest, Request, TableRequest
from confide.spelling.python import read_arguments

__all__ = ["PLACES_AND_WORK", "Desk", "Outcome", "python_correlation", "python_regression", "python_table"]


PLACES_AND_WORK = """
[variables.sex.codes]
f = "F"
m = "M"

[variables.county.codes]
A = "A"
B = "B"

[variables.town]
parent = "county"
[variables.town.codes]
a1 = { label = "A one", parent = "A" }
a2 = { label = "A two", parent = "A" }
b1 = { label = "B one", parent = "B" }

[variables.work]
missing = ["?"]
[variables.work.codes]
yes = "Yes"
no = "No"
"""
"""A codebook of four variables: two levels of places, and one with a code for missing values."""


def python_table(dataset: str, **words: Any) -> TableRequest:
    """The request of `.table(...)`."""
    return read_arguments(TableRequest, dataset, words)


def python_regression(dataset: str, formula: Any, **words: Any) -> RegressionRequest:
    """The request of `.regression(...)`."""
    return read_arguments(RegressionRequest, dataset, {"formula": formula, **words})


def python_correlation(dataset: str, variables: Any, **words: Any) -> CorrelationRequest:
    """The request of `.correlation(...)`."""
    return read_arguments(CorrelationRequest, dataset, {"variables": variables, **words})


@dataclass(frozen=True)
class Outcome:
    """What came of a question: protected numbers, or the reasons to refuse them. Equal if these are, whatever the words."""

    reasons: list[Reason]
    columns: Mapping[str, Any]
    grids: Mapping[str, Any]
    notes: tuple[str, ...]
    release: Any = field(compare=False)
    model: Any = field(compare=False)
    """What was protected, before it is rounded: for tests of what an intruder would do with it."""


@dataclass(frozen=True)
class Desk:
    """Where a test asks: a road, without ledger and quota."""

    road: Road

    @property
    def policy(self) -> Policy:
        return self.road.policy

    def consider(self, request: Request[Any], *, diagnostics: bool = False) -> Outcome:
        considered = self.road.consider(self.road.admit(request))
        refused = bool(considered.reasons)
        release = None if refused else self.road.release(considered, diagnostics=diagnostics)
        columns, grids = getattr(release, "columns", {}), getattr(release, "grids", {})
        notes = release.notes if release else ()
        return Outcome(list(considered.reasons), columns, grids, notes, release, considered.protected)

    def receipt(self, request: Request[Any]) -> str:
        return self.road.receipt(self.road.admit(request))

    def suggest(self, request: Request[Any]) -> Iterator[Suggestion]:
        return self.road.suggest(self.road.admit(request))

    def under(self, policy: Policy) -> "Desk":
        return Desk(self.road.under(policy))
