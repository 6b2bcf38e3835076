"""T3: repeat and average. The same question again and again."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Floats
from confide.attacks.claims import Claims, NotApplicable, SetTargets
from confide.attacks.counts.cell_facts import Schedule, cell_facts
from confide.attacks.counts.keys import coarse_keys
from confide.attacks.intruder import Intruder, values
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy

__all__ = ["Repeating"]

LEAST, MOST = 3, 60
"""Fewer than three answers show no spread; if the third is as the first, nothing is drawn afresh."""


@dataclass(frozen=True)
class Repeating:
    """Find the true counts of a table by asking for it many times and averaging.

    Against every policy of Confide it fails, since nothing is drawn when a question is asked: all draws come from the secret
    and the set of records. It says so after a few questions, and works where a server draws afresh.

    Tried: (1) the same words; (2) the same table with its variables in another order; (3) with a second measure beside
    the count. All three are asked in turn.
    """

    keys: tuple[str, ...] = ()

    name: ClassVar = "repeating"
    code: ClassVar = "T3"
    words: ClassVar = "the same question many times, averaged"
    knows: ClassVar = "nothing"

    def wants(self, book: Dataset, policy: Policy) -> SetTargets:
        self._by(book)
        return SetTargets()

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        by = self._by(intruder.book)
        facts, schedule = cell_facts(intruder.book, by), Schedule(intruder)
        found: list[Floats] = []
        while intruder.left > 0 and len(found) < MOST:
            table = _asked(intruder, by, len(found) % 3)
            if table is None:
                return
            found.append(table)
            drawn = np.stack(found)
            if len(found) == LEAST and (drawn == drawn[0]).all():
                yield Claims(drawn[0], np.zeros(len(facts), bool), facts, drawn[0])
                return
            if len(found) >= LEAST and schedule.due(1):
                yield Claims.of(np.rint(drawn.mean(axis=0)), facts=facts, guesses=drawn[0])

    def _by(self, book: Dataset) -> tuple[str, ...]:
        found = [v.name for v in coarse_keys(book)]
        if len(found) < 2:
            raise NotApplicable("It needs a table of two keys.")
        return self.keys or (found[0], found[-1])


def _asked(intruder: Intruder, by: tuple[str, ...], way: int) -> Floats | None:
    """The counts of the table, asked in one of three ways that make no difference to an honest reader."""
    words = by[::-1] if way == 1 else by
    measure = ("count", "weighted_count") if way == 2 and intruder.book.weight else "count"
    table = intruder.table(*words, measure=measure)
    if table is None:
        return None
    counts = values(table)
    return np.asarray((counts.T if way == 1 else counts).ravel())
