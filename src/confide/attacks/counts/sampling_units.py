"""T6c: standard errors of counts with two sampling units a stratum. How many of a cell are in each?"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Floats
from confide.attacks.choosing import codes, keys, size
from confide.attacks.claims import Claims, NotApplicable, SetFact, SetTargets
from confide.attacks.intruder import Intruder, universe, values
from confide.attacks.two_areas import TwoAreas, two_areas
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy
from confide.model.request import ErrorMeasure, Measure, TableRequest

__all__ = ["SamplingUnitCounts"]

LEAST_OWN = 10
"""Of fewer the error is not of their own sampling units, as the code of Confide tells."""

MOST_CLASSES = 20
"""The table has a key of so many classes at most beside strata: its cells are small, but not all of them too small."""


@dataclass(frozen=True)
class SamplingUnitCounts:
    """Find the counts of a table by sampling units from the errors of the table by their strata.

    Where a stratum has two sampling units the variance of a count is (z1 - z2)^2, and the count is z1 + z2: both together tell z1
    and z2, whether or not anybody may ask for a table that fine.

    Against Confide it fails, for a variance carries noise of twice what a unit more makes of it.

    Tried, about 20,000 people: (1) one table, and tables over each class of another key: kept. (2) Least squares of variances over
    random universes, about what the shares of sampling units let expect, for counts by sampling unit, age and income, a table that
    is refused: with 400 questions less often right than those shares; with 2,000, 62 of 100 instead of 57 on true records, where only
    counts have noise, and on protected ones 52 instead of 55.
    """

    keys: tuple[str, ...] = ()

    name: ClassVar = "sampling-units"
    code: ClassVar = "T6c"
    words: ClassVar = "counts by sampling unit from the standard errors of counts by stratum"
    knows: ClassVar = "which key names the sampling units"

    def wants(self, book: Dataset, policy: Policy) -> SetTargets:
        self._by(book)
        return SetTargets()

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        areas, by, others = self._by(intruder.book)
        found: list[tuple[float, float, SetFact]] = []
        parts: list[dict[str, tuple[str, ...]]] = [{}]
        parts += [{name: (code,)} for name in others for code in codes(intruder.book, name)]
        for part in parts:
            found += _read(intruder, areas, by, part)
            if found and part in (parts[0], parts[-1]):
                claimed, guesses, facts = zip(*found, strict=True)
                yield Claims.of(np.array(claimed), facts=facts, guesses=np.array(guesses))

    def _by(self, book: Dataset) -> tuple[TwoAreas, str, tuple[str, ...]]:
        """The areas, the key of the table, and one whose classes are looked at one by one."""
        areas = two_areas(book)
        others = [v.name for v in keys(book) if book.root(v.name) != book.root(areas.area)]
        chosen = self.keys or tuple(name for name in others if 1 < size(book.variable(name)) <= MOST_CLASSES)
        if not chosen:
            raise NotApplicable("It needs a key beside the areas.")
        return areas, chosen[0], chosen[-1:] if len(chosen) > 1 else ()


def _read(
    intruder: Intruder, areas: TwoAreas, by: str, part: dict[str, tuple[str, ...]]
) -> list[tuple[float, float, SetFact]]:
    """Of every cell by area whose stratum tells of it: what is claimed, what its own table says or its share, and what of."""
    looked, fine = _look(intruder, areas, by, part), intruder.table(areas.area, by, where=part)
    shares = areas.shares(intruder, part)
    if looked is None or shares is None:
        return []
    counts, apart = looked
    likely = counts * shares[..., None] if fine is None else areas.of(intruder, np.nan_to_num(values(fine)))
    first = (counts + np.where(likely[0] >= likely[1], 1.0, -1.0) * np.minimum(apart, counts)) / 2
    claimed, guessed = np.round([first, counts - first]), np.round(likely)
    found = []
    for side, stratum, at in zip(*np.nonzero(np.isfinite(claimed)), strict=True):
        own = areas.pairs[areas.strata[stratum]][side]
        where = universe({**part, areas.area: (own,), by: (codes(intruder.book, by)[at],)})
        found.append((float(claimed[side, stratum, at]), float(guessed[side, stratum, at]), SetFact(where)))
    return found


def _look(
    intruder: Intruder, areas: TwoAreas, by: str, where: dict[str, tuple[str, ...]]
) -> tuple[Floats, Floats] | None:
    """Counts by stratum and key, and how far the two sampling units are apart; NaN for cells that tell nothing of it."""
    measure = (Measure.COUNT, Measure.WEIGHTED_COUNT) if intruder.book.weight else (Measure.COUNT,)
    table = intruder.ask(
        TableRequest(intruder.book.name, (areas.stratum, by), (), universe(where), measure, error=(ErrorMeasure.SE,))
    )
    if table is None:
        return None
    inside, name = areas.within(intruder), str(measure[-1])
    counts, estimate, error = (values(table, each)[inside] for each in ("count", name, f"{name}_se"))
    noise = table.columns[name].noise[:-1, :-1][inside]
    weight = np.where(counts > 0, estimate / np.maximum(counts, 1), 1.0)
    apart = np.sqrt(np.maximum(error**2 - noise**2, 0.0)) / weight
    own = counts >= LEAST_OWN
    return np.where(own, counts, np.nan), np.where(own, apart, np.nan)
