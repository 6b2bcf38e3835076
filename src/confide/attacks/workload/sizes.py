"""How large universes are: by the true records where they are at hand, else by the one-way tables that a site publishes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from math import prod
from typing import Any

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.attacks.truth.truth import Truth
from confide.attacks.workload.asking import Questioner
from confide.attacks.workload.menu import usable_codes
from confide.attacks.workload.proportions import Proportions
from confide.attacks.workload.roads import TrueAnswers
from confide.model.catalog.dataset import Dataset
from confide.model.formula import Factor, Transform
from confide.model.request import RegressionRequest, Request, TableRequest
from confide.model.universe import Condition, Universe

__all__ = ["PublishedSizes", "TrueSizes"]


@dataclass(frozen=True, eq=False)
class TrueSizes:
    """Sizes of the true records, so that the questions are the same under every policy and every secret."""

    true: TrueAnswers

    @property
    def truth(self) -> Truth:
        return self.true.truth

    def share(self, where: Universe) -> float:
        """The share of all units that a universe of one piece holds."""
        return self._share(self._within(where))

    def objection(self, request: Request[Any], proportions: Proportions) -> str:
        """What somebody who knows the field would object to: the hours of children, or whether workers are retired.

        "numbers": few units have all numbers of the question, or these do not vary, or a response that is a class does not.
        "unfit": what is to be fitted cannot be, protection aside.
        """
        if not self._varies(request, proportions):
            return "numbers"
        return "" if isinstance(request, TableRequest) or self.true.ask(request) is not None else "unfit"

    def _varies(self, request: Request[Any], proportions: Proportions) -> bool:
        there = self._within(request.where)
        factors = _factors(request)
        numbers = [self._number(f) for f in factors if self.truth.dataset.variable(f.variable).measurable]
        for values in numbers:
            there &= np.isfinite(values)
        if self._share(there) < proportions.least or any(np.ptp(values[there]) == 0 for values in numbers):
            return False
        events = [self._inside(Condition(f.variable, f.codes))[there].mean() for f in factors if f.codes]
        return all(proportions.event <= event <= 1 - proportions.event for event in events)

    def _within(self, where: Universe) -> Bools:
        inside = np.ones(len(self._unit), bool)
        for piece in where.pieces:
            for condition in piece.conditions:
                inside &= self._inside(condition)
        return inside

    def _inside(self, condition: Condition) -> Bools:
        codes = self.truth.dataset.variable(condition.variable).codes
        wanted = np.isin(np.array(codes.names if codes else ()), condition.codes)
        return np.asarray(wanted[self._places(condition.variable)])

    def _share(self, inside: Bools) -> float:
        units = int(self._unit.max(initial=-1)) + 1
        several = units < len(self._unit)
        there = np.count_nonzero(np.bincount(self._unit[inside])) if several else np.count_nonzero(inside)
        return int(there) / units if units else 0.0

    def _number(self, factor: Factor) -> Floats:
        values = self._numbers(factor.variable)
        return np.where(values > 0, values, np.nan) if factor.transform is Transform.LOG else values

    @cached_property
    def _places(self) -> Callable[[str], Ints]:
        return cache(self.truth.places)

    @cached_property
    def _numbers(self) -> Callable[[str], Floats]:
        return cache(self.truth.numbers)

    @cached_property
    def _unit(self) -> Ints:
        return np.unique(self.truth.units, return_inverse=True)[1]


@dataclass(frozen=True, eq=False)
class PublishedSizes:
    """Sizes that protected one-way tables lead an analyst to expect, as if variables were independent.

    Where even the one-way table is refused, all classes are taken to be equally common.
    """

    questioner: Questioner
    book: Dataset

    def share(self, where: Universe) -> float:
        """The share of all units that a universe of one piece is expected to hold."""
        conditions = [condition for piece in where.pieces for condition in piece.conditions]
        return prod(sum(self._shares(c.variable).get(code, 0.0) for code in c.codes) for c in conditions)

    def objection(self, request: Request[Any], proportions: Proportions) -> str:
        """Nothing is known that speaks against a question."""
        return ""

    def _shares(self, name: str) -> dict[str, float]:
        if name not in self._known:
            self._known[name] = self._ask(name)
        return self._known[name]

    def _ask(self, name: str) -> dict[str, float]:
        found = self.questioner.ask(TableRequest(self.book.name, (name,))).release
        if found is None:
            codes = usable_codes(self.book.variable(name))
            return dict.fromkeys(codes, 1 / len(codes))
        counts = np.nan_to_num(found.columns["count"].values)
        return dict(zip(found.dimensions[0].codes, counts / max(counts[-1], 1.0), strict=True))

    @cached_property
    def _known(self) -> dict[str, dict[str, float]]:
        return {}


def _factors(request: Request[Any]) -> list[Factor]:
    """What a question relates or measures; of what has classes, only a response has a code."""
    if isinstance(request, TableRequest):
        return [Factor(name) for name in (request.of, request.over) if name]
    if isinstance(request, RegressionRequest):
        return [request.formula.response, *(factor for term in request.formula.terms for factor in term)]
    return [Factor(name) for name in request.names]
