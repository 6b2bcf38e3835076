"""Which classes of the categorical predictors enter a model: chosen on protected counts of the records that it uses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from confide.answering.analysis import Admitted
from confide.answering.regressions.compile import Levels, aliased, compile_design, levels_of, spread_out
from confide.answering.regressions.several.explained import Explained
from confide.answering.regressions.sums import Sums
from confide.arrays import Bools
from confide.model.design import Number
from confide.model.request import RegressionRequest

__all__ = ["Classes"]

LEAST_OUTCOMES = 3
"""Units of either outcome that a class needs, whatever the policy says (Gomatam et al. 2004, sec. 4.1)."""


@dataclass(frozen=True)
class Classes:
    """The categorical predictors of a model and the classes of each that have a column."""

    question: Admitted[RegressionRequest]
    sums: Sums
    others: tuple[Number, ...] = ()
    """Numbers that records must have, too, though they are not in the formula."""

    @property
    def names(self) -> list[str]:
        variables = self.question.dataset.variables
        return [name for name in self.question.request.formula.variables if not variables[name].measurable]

    @property
    def complete(self) -> tuple[Number, ...]:
        """The numbers that a record must have to enter the model, the response's with them."""
        formula, variables = self.question.request.formula, self.question.dataset.variables
        numbers = [f for term in formula.terms for f in term if variables[f.variable].measurable]
        numbers += [] if self.question.request.outcome else [formula.response]
        return tuple(dict.fromkeys([*(Number(f.variable, f.transform) for f in numbers), *self.others]))

    @property
    def crossed(self) -> list[list[str]]:
        """The class variables of each interaction of two or more of them."""
        terms = self.question.request.formula.terms
        found = ([f.variable for f in term if f.variable in self.names] for term in terms)
        return [names for names in found if len(names) > 1]

    @property
    def places(self) -> list[int]:
        """The places of the classes that the response indicates."""
        response = self.question.request.formula.response
        return [self.question.dataset.variables[response.variable].place(code) for code in response.codes]

    @cached_property
    def explained(self) -> Explained:
        """Of a model of several classes, which enter."""
        return Explained(self.question, self.sums, self.complete)

    @cached_property
    def levels(self) -> Mapping[str, Levels]:
        """Those with enough units, in interactions too; a missing code is no reference, and goes where others tell it."""
        least, levels = self.sums.shield.policy.models.interaction, {name: self._levels(name) for name in self.names}
        for crossed in self.crossed:
            inner = self.sums.table(crossed, complete=self.complete).inner
            levels = spread_out(levels, inner, crossed, least=least)
        return self._without_aliased(levels)

    @cached_property
    def one_sided(self) -> Mapping[str, tuple[int, ...]]:
        """Of each predictor of classes the classes with enough units, but too few that have not the same outcome."""
        names = self.names if self.question.request.outcome else []
        return {
            name: tuple(np.flatnonzero(self._enough(name) & ~self._varied(name, alike=True)).tolist()) for name in names
        }

    @cached_property
    def without_odds(self) -> Mapping[str, tuple[int, ...]]:
        """Of each predictor of classes those with enough units that stand with the reference, some outcome having too few."""
        names = self.names if self.question.request.outcome else []
        found = {name: np.flatnonzero(self._enough(name) & ~self._varied(name)).tolist() for name in names}
        return {name: tuple(p for p in places if p != self.levels[name].reference) for name, places in found.items()}

    def units(self, name: str, places: Sequence[int]) -> int:
        """How many units some classes have, as rules see it."""
        return int(self.sums.counts([name], complete=self.complete)[list(places)].sum())

    def _enough(self, name: str) -> Bools:
        counts = self.sums.counts([name], complete=self.complete)[:-1]
        return np.asarray(counts >= max(self.sums.shield.policy.models.dummy, 1))

    def _levels(self, name: str) -> Levels:
        counts = self.sums.counts([name], complete=self.complete)[:-1]
        least = self.sums.shield.policy.models.dummy
        varied = self._varied(name) if self.question.request.outcome else None
        return levels_of(name, counts, least=least, varied=varied, missing=self._missing(name))

    def _missing(self, name: str) -> Bools:
        return np.array([code.missing for code in self.question.dataset.variables[name].codes or ()], bool)

    def _varied(self, name: str, *, alike: bool = False) -> Bools:
        """For each class, whether the outcomes of a response of classes have enough units in it; `alike`: more than one has."""
        least = max(self.sums.shield.policy.models.interaction, LEAST_OUTCOMES)
        counts = self.sums.counts([name, *self.question.request.outcome], complete=self.complete)
        if self.question.request.family.several:
            return self.explained.varied(counts, least, alike=alike)
        counts = counts[:-1]
        inside = counts[:, self.places].sum(axis=1)
        varied: Bools = np.minimum(inside, counts[:, -1] - inside) >= least
        return varied

    def _without_aliased(self, levels: Mapping[str, Levels]) -> Mapping[str, Levels]:
        """Who has no industry has no occupation either: the second such class says nothing, and would make no model fit.

        So it joins its reference, also where a few units tell the two apart: whether some do must not be told.
        """
        absent = [(name, place) for name in levels for place in levels[name].kept if self._missing(name)[place]]
        if not absent:
            return levels
        design = compile_design(self.question.request.formula, self.question.dataset, levels).design
        moments = self.sums.selection.moments(self.sums.selection.step(design))
        starts = {design.classes[block.classes[0][0]]: block.offset for block in design.blocks if block.alone}
        columns = {starts[name] + levels[name].kept.index(place): (name, place) for name, place in absent}
        least = self.sums.shield.policy.models.leverage_units * self.sums.leeway("missing", moments)[0]
        gone = aliased(moments.gram * (moments.records / moments.weight), list(columns), least=least)
        return _less(levels, [columns[column] for column in gone])


def _less(levels: Mapping[str, Levels], gone: list[tuple[str, int]]) -> Mapping[str, Levels]:
    return {
        name: Levels(name, one.reference, tuple(place for place in one.kept if (name, place) not in gone))
        for name, one in levels.items()
    }
