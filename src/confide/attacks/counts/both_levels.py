"""T23: households counted by way of the people in them."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from confide.arrays import Bools, Floats
from confide.attacks.choosing import codes, keys, named, size
from confide.attacks.claims import Claims, NotApplicable, SetTargets
from confide.attacks.codebook import read_codebook
from confide.attacks.counts.cell_facts import Schedule, cell_facts
from confide.attacks.intruder import Intruder, universe, values
from confide.errors import Mistake
from confide.model.catalog.dataset import Dataset, Variable
from confide.model.policy import Policy
from confide.model.request import TableRequest

__all__ = ["BothLevels"]

MOST_CLASSES = 30


@dataclass(frozen=True)
class BothLevels:
    """Find how many households of each size there are, from counts of households and of the people in them.

    There are k times as many people in households of k as households. People can be split in many more ways than households, as by
    sex or age; every split counts them anew, and the sums are averaged, as in T4.

    Where both levels count the same households they draw the same noise, so that one table of people tells nothing more than that
    of households. Splits of people do average their noise, down to the protected records.

    Tried: (1) one table of people by size; (2) random halves of keys of people, kept; (3) these together with the table of households,
    as one more look, kept.
    """

    keys: tuple[str, ...] = ()

    name: ClassVar = "both-levels"
    code: ClassVar = "T23"
    words: ClassVar = "counts of households from counts of the people in them, split in many ways"
    knows: ClassVar = "nothing"

    def wants(self, book: Dataset, policy: Policy) -> SetTargets:
        self._by(book)
        return SetTargets()

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        by, sized = self._by(intruder.book)
        table = intruder.table(by, sized.name)
        people = _people(intruder)
        own = np.arange(1, len(sized.cutpoints) + 1)
        if table is None or people is None:
            return
        splits = [v for v in keys(people) if v.name not in intruder.book.variables and 1 < size(v) <= MOST_CLASSES]
        published = np.nan_to_num(values(table))[:, : len(own)]
        looks, schedule = [published], Schedule(intruder)
        facts = np.array(cell_facts(intruder.book, (by, sized.name)), object).reshape(values(table).shape)
        while splits and intruder.left > 1 and not intruder.hopeless:
            split = splits[int(intruder.rng.integers(len(splits)))]
            half: Bools = intruder.rng.random(len(codes(people, split.name))) < 0.5
            parts = [
                _counts(intruder, people, (by, sized.name), {split.name: named(people, split.name, h)})
                for h in (half, ~half)
            ]
            if parts[0] is not None and parts[1] is not None:
                looks.append((parts[0] + parts[1])[:, : len(own)] / own)
            if schedule.due(2):
                found = np.round(np.mean(looks, axis=0))
                told = tuple(facts[:, : len(own)].ravel())
                yield Claims.of(found.ravel(), facts=told, guesses=published.ravel())

    def _by(self, book: Dataset) -> tuple[str, Variable]:
        """A key with classes, and how many people a household has."""
        sized = [v for v in book.variables.values() if _counts_people(v)]
        found = self.keys or tuple(v.name for v in keys(book) if not v.numeric and 1 < size(v) <= MOST_CLASSES)[:1]
        if "." not in book.name or not sized or not found:
            raise NotApplicable("It needs a level of households, with their size and a key.")
        return found[0], sized[0]


def _counts_people(variable: Variable) -> bool:
    """Whether it is a number of people with a class for each, as the size of a household is."""
    cuts = variable.cutpoints
    return (
        variable.classifies
        and variable.minimum == 1
        and cuts[:1] == (2,)
        and all(b - a == 1 for a, b in pairwise(cuts))
    )


def _people(intruder: Intruder) -> Dataset | None:
    """The public codebook of the people in the households."""
    try:
        return read_codebook(intruder.site.codebook(intruder.book.name.rpartition(".")[0]))
    except Mistake:
        return None


def _counts(intruder: Intruder, people: Dataset, by: tuple[str, str], where: dict[str, list[str]]) -> Floats | None:
    """How many people are in each cell; None if it is refused, and nobody if there are no classes."""
    if not all(where.values()):
        return None
    table = intruder.ask(TableRequest(people.name, by, (), universe(where)))
    return None if table is None else np.nan_to_num(values(table))
