"""What a model of several classes explains: which classes or periods enter, decided on protected counts alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from confide.answering.analysis import Admitted
from confide.answering.regressions.sums import Sums
from confide.arrays import Bools, Ints
from confide.model.catalog.dataset import Variable
from confide.model.design import Category, Duration, Number
from confide.model.request import Family, RegressionRequest

__all__ = ["Explained"]


@dataclass(frozen=True)
class Explained:
    """The classes of the response, each a level of the model; records with a missing code are left out.

    Of a multinomial model the most common class is level 0, and records of classes with too few units are left out: the odds of
    two classes do not depend on which others there are. Where classes have an order, one with too few units, or a period with too
    few events, stands with the one before it, and the first with the next.
    """

    question: Admitted[RegressionRequest]
    sums: Sums
    complete: tuple[Number, ...]

    @property
    def family(self) -> Family:
        return self.question.request.family

    @property
    def names(self) -> tuple[str, ...]:
        return self.question.request.outcome

    @property
    def variable(self) -> Variable:
        return self.question.dataset.variables[self.names[0]]

    @cached_property
    def response(self) -> Category | Duration:
        there, order = self._there, {place: level for level, place in enumerate(self.places)}
        levels = np.array([order.get(place, -1) for place in range(len(there))])
        if self.family is not Family.MULTINOMIAL and order:
            levels = np.where(there, np.maximum(np.maximum.accumulate(levels), 0), -1)
        made = tuple(levels.tolist())
        return (
            Duration(self.names[0], made, self.names[1], self._events)
            if self._events
            else Category(self.names[0], made)
        )

    @cached_property
    def places(self) -> tuple[int, ...]:
        """The place of each level, or the first of them."""
        counts = self._happened if self._events else self._counts
        there = np.flatnonzero(self._there & (counts >= max(self.sums.shield.policy.models.dummy, 1)))
        if self.family is Family.MULTINOMIAL and len(there):
            first = there[np.argmax(counts[there])]
            there = np.concatenate([[first], there[there != first]])
        return tuple(there.tolist())

    @property
    def units(self) -> tuple[int, ...]:
        """The units in each level; of durations those it happened to in each period, and those it never did."""
        if not self.enough:
            return (0,)
        if self._events:
            never = self._counts[self._there].sum() - self._happened[self._there].sum()
            return *self._happened[list(self.places)].tolist(), int(never)
        return tuple(self._counts[list(self.places)].tolist())

    @property
    def enough(self) -> bool:
        """Whether there is anything to compare."""
        return len(self.places) >= (1 if self._events else 2)

    @cached_property
    def cells(self) -> list[list[tuple[int, ...]]]:
        """For each outcome of the response the cells of the table by its variables that it is made of."""
        response, of_level = self.response, self._of_level
        if isinstance(response, Category):
            return [[(place,) for place in places] for places in of_level]
        codes = self.question.dataset.variables[response.event].codes
        others = [place for place in range(len(codes or ())) if place not in response.places]
        return [list(product(places, events)) for places in of_level for events in (others, list(response.places))]

    @property
    def _of_level(self) -> list[list[int]]:
        levels = self.response.levels
        return [[at for at, level in enumerate(levels) if level == own] for own in range(max(levels, default=-1) + 1)]

    def varied(self, counts: Ints, least: int, *, alike: bool = False) -> Bools:
        """For each class of a predictor, by its counts in the table with the response, whether enough outcomes have units in it.

        With `alike`, whether more than one has: the odds of two classes of the response may be there where a third has no units.
        """
        if not self.enough:
            return np.zeros(len(counts) - 1, bool)
        each = np.stack([_added(counts, cells) for cells in self.cells], axis=1)
        if self.family is Family.MULTINOMIAL and not alike:
            return np.asarray(each.min(axis=1) >= least)
        if self.family is not Family.SURVIVAL:
            return np.asarray(each.sum(axis=1) - each.max(axis=1) >= least)
        happened = each[:, 1::2].sum(axis=1)
        lived = (each * np.repeat(np.arange(1, each.shape[1] // 2 + 1), 2)).sum(axis=1) - happened
        return np.asarray(np.minimum(happened, lived) >= least)

    @cached_property
    def _there(self) -> Bools:
        """Which places are not missing."""
        return np.array([not code.missing for code in self.variable.codes or ()], bool)

    @cached_property
    def _table(self) -> Ints:
        return self.sums.counts(self.names, complete=self.complete)

    @property
    def _counts(self) -> Ints:
        return self._table[:-1] if self._table.ndim == 1 else self._table[:-1, -1]

    @property
    def _happened(self) -> Ints:
        found: Ints = self._table[:-1, list(self._events)].sum(axis=1)
        return found

    @property
    def _events(self) -> tuple[int, ...]:
        event = self.question.request.event
        if event is None:
            return ()
        return tuple(sorted(self.question.dataset.variables[event.variable].place(code) for code in event.codes))


def _added(counts: Ints, cells: Sequence[tuple[int, ...]]) -> Ints:
    """Counts by the classes of a predictor, over some cells of the response; the last class is the margin."""
    found: Ints = np.sum([np.moveaxis(counts[:-1], 0, -1)[cell] for cell in cells], axis=0)
    return found
