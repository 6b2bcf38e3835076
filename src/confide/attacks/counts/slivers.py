"""T8b: slivers. Two recodes of one number, cut at different points: their bins differ by what lies between the points."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Floats
from confide.attacks.choosing import codes
from confide.attacks.claims import Claims, NotApplicable, SetFact, SetTargets
from confide.attacks.counts.cell_facts import Schedule, cell_facts
from confide.attacks.counts.keys import coarse_keys
from confide.attacks.intruder import Intruder, values
from confide.model.catalog.dataset import Dataset, Variable
from confide.model.policy import Policy

__all__ = ["Slivers"]


@dataclass(frozen=True)
class Slivers:
    """Count the people between two cutpoints of different recodes of one number, in every class of a key.

    All below the one cutpoint, minus all below the other; and all above them the other way round. One question may not use
    both recodes, but two questions can. Where both tables are the same in a cell, nobody is there.

    Tried: (1) both recodes in one universe: refused, they exclude each other; (2) below alone: right in 24 % of cells where
    cells are keyed alone; (3) below and above, and zero where nothing changes: 29 %, kept, and certain where counts are exact.
    """

    keys: tuple[str, ...] = ()

    name: ClassVar = "slivers"
    code: ClassVar = "T8b"
    words: ClassVar = "differences of bins of two recodes of one number"
    knows: ClassVar = "nothing"

    def wants(self, book: Dataset, policy: Policy) -> SetTargets:
        self._setting(book)
        return SetTargets()

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        first, second, shown = self._setting(intruder.book)
        facts: list[SetFact] = []
        found: list[Floats] = []
        schedule = Schedule(intruder)
        for low, high, below, above in _between(first, second):
            if intruder.left < 4:
                break
            pair = {low.name: _bins(low, below, over=True), high.name: _bins(high, above, over=False)}
            facts += cell_facts(intruder.book, [shown], pair)
            found.append(_counted(intruder, shown, (low, below), (high, above)))
            if schedule.due(4):
                yield Claims.of(np.concatenate(found), facts=tuple(facts))
        if found:
            yield Claims.of(np.concatenate(found), facts=tuple(facts))

    def _setting(self, book: Dataset) -> tuple[Variable, Variable, str]:
        numbers = [v for v in book.variables.values() if v.classifies and v.binned and v.universe]
        for first, second in itertools.combinations(numbers, 2):
            if first.column == second.column and next(_between(first, second), None):
                shown = [v.name for v in coarse_keys(book) if v.column != first.column]
                if self.keys or shown:
                    return first, second, self.keys[0] if self.keys else shown[0]
        raise NotApplicable("No number has two recodes whose cutpoints lie between each other.")


def _between(first: Variable, second: Variable) -> Iterator[tuple[Variable, Variable, float, float]]:
    """Neighbouring cutpoints of different recodes, if each belongs to one recode only: the lower first."""
    own = {cut: v for v in (first, second) for cut in v.cutpoints}
    shared = set(first.cutpoints) & set(second.cutpoints)
    for low, high in itertools.pairwise(sorted(own)):
        if not {low, high} & shared and own[low] is not own[high]:
            yield own[low], own[high], low, high


def _bins(variable: Variable, cut: float, *, over: bool) -> list[str]:
    """The bins of a number from a cutpoint on, or below it; bins stand in the order of the cutpoints, then missing."""
    place = variable.cutpoints.index(cut) + 1
    bins = [code.code for code in variable.codes or () if not code.missing]
    return bins[place:] if over else bins[:place]


def _counted(intruder: Intruder, shown: str, low: tuple[Variable, float], high: tuple[Variable, float]) -> Floats:
    """How many people lie between the cutpoints, in every class; NaN if both ways are refused."""
    looks = []
    for over in (False, True):
        tables = [
            intruder.table(shown, where={variable.name: _bins(variable, cut, over=over)})
            for variable, cut in (low, high)
        ]
        if (first := tables[0]) is not None and (second := tables[1]) is not None:
            looks.append((values(second) - values(first)) * (-1 if over else 1))
    if not looks:
        return np.full(len(codes(intruder.book, shown)), np.nan)
    same = np.all([look == 0 for look in looks], axis=0)
    return np.where(same, 0.0, np.maximum(np.rint(np.mean(looks, axis=0)), 1.0))
