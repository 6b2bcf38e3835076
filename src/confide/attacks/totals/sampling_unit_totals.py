"""B7: standard errors of totals and means with two sampling units a stratum. What has each of them?"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Floats
from confide.attacks.choosing import number_secret
from confide.attacks.claims import Claims, SetFact, SetTargets
from confide.attacks.intruder import Intruder, universe, values
from confide.attacks.two_areas import Condition, TwoAreas, two_areas
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy
from confide.model.request import ErrorMeasure, Measure, TableRequest

__all__ = ["SamplingUnitTotals"]

CLOSE = 0.01


@dataclass(frozen=True)
class SamplingUnitTotals:
    """Find the totals and means of a number by sampling units from the errors of those by their strata.

    Where a stratum has two sampling units the variance of a total is (t1 - t2)^2, and the total is t1 + t2. That of a mean is
    (2 a)^2, where a is the share of the first in the stratum times the distance of its mean to that of the stratum.

    Against Confide it fails, for what the variance tells is of protected records, and the table by areas tells as much.

    Tried: (1) the strata alone; (2) by the classes of two keys, kept: fewer units, further apart; (3) the mean of what the two
    errors say, which is right less often than the better of them where these carry noise.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "sampling-unit-totals"
    code: ClassVar = "B7"
    words: ClassVar = "totals and means by sampling unit from the standard errors of those by stratum"
    knows: ClassVar = "which key names the sampling units"

    def wants(self, book: Dataset, policy: Policy) -> SetTargets:
        two_areas(book)
        number_secret(book, self.secret)
        return SetTargets()

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        areas, number = two_areas(intruder.book), number_secret(intruder.book, self.secret)
        found: list[Claims] = []
        for part in areas.parts(intruder.book, self.keys, coarsest=2):
            found += _read(intruder, areas, number, part)
            if found:
                yield Claims.joined(found)


def _read(intruder: Intruder, areas: TwoAreas, number: str, part: Condition) -> list[Claims]:
    """What the errors by stratum say of totals and means by area, beside what the table by area does."""
    measure, where = (Measure.TOTAL, Measure.MEAN), universe(part)
    table = intruder.ask(
        TableRequest(intruder.book.name, (areas.stratum,), (), where, measure, number, error=(ErrorMeasure.SE,))
    )
    shares = areas.shares(intruder, part)
    if table is None or shares is None:
        return []
    inside, found = areas.within(intruder), []
    fine = intruder.ask(TableRequest(intruder.book.name, (areas.area,), (), where, measure, number))
    for name, likely, apart in (("total", shares, 0.5), ("mean", np.ones_like(shares), 0.5 / shares)):
        level, error = (values(table, each)[inside] for each in (name, f"{name}_se"))
        noise = table.columns[name].noise[:-1][inside]
        half = apart * np.sqrt(np.maximum(error**2 - noise**2, 0.0))
        guesses = level * likely if fine is None else areas.of(intruder, values(fine, name))
        upwards = np.where(guesses[0] >= guesses[1], 1.0, -1.0) * np.array([[1.0], [-1.0]])
        middle: Floats = level / 2 if name == "total" else level
        facts = [
            SetFact(universe({**part, areas.area: (pair[side],)}), Measure(name), number)
            for side in (0, 1)
            for pair in areas.pairs.values()
        ]
        claimed = middle + upwards * half
        found.append(Claims.of(claimed.ravel(), facts=tuple(facts), guesses=guesses.ravel(), within=CLOSE))
    return found
