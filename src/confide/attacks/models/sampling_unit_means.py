"""R16: errors by the design. How far apart are the means of two sampling units of a stratum?"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from confide.arrays import Floats
from confide.attacks.choosing import codes, number_secret
from confide.attacks.claims import Claims, SetFact, SetTargets
from confide.attacks.intruder import Intruder, universe, values
from confide.attacks.models.reading import Fit, fit_of, quoted
from confide.attacks.two_areas import Condition, TwoAreas, two_areas
from confide.model.catalog.dataset import Dataset
from confide.model.choices import CoefficientErrors
from confide.model.formula import read_formula
from confide.model.policy import Policy
from confide.model.request import Measure, RegressionRequest

__all__ = ["SamplingUnitMeans"]

CLOSE = 0.01
LEAST_LOOKS = 8


@dataclass(frozen=True)
class SamplingUnitMeans:
    """Read the means of a number in sampling units from a model of their strata with errors by the design.

    In y ~ stratum the variance of a class with two sampling units is (2 a)^2, where a is the share of the first in the stratum times
    the distance of its mean to that of the stratum: the error tells both means. It carries noise; so the model is asked for over
    random universes that differ in other strata, in which that class stays as it is, and variances are averaged.

    Where the noise of an error was drawn for all units of the model, that gave the error without it. It is drawn for the units
    of the class now, and stays the same.

    Tried: (1) one model over everyone; (2) the mean over random strata, kept; (3) with a covariate beside the strata: the same.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "design-errors"
    code: ClassVar = "R16"
    words: ClassVar = "means of sampling units from errors by the design, over many universes"
    knows: ClassVar = "which key names the sampling units"

    def wants(self, book: Dataset, policy: Policy) -> SetTargets:
        two_areas(book)
        number_secret(book, self.secret)
        return SetTargets()

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        areas, number = two_areas(intruder.book), number_secret(intruder.book, self.secret)
        parts = list(areas.parts(intruder.book, self.keys, coarsest=1))
        each = max(intruder.left // len(parts) - 2, LEAST_LOOKS)
        found: list[Claims] = []
        for part in parts:
            reading = _Reading(intruder, areas, number, part)
            reading.look(min(each, intruder.left - 2))
            found += [] if (claim := reading.claims()) is None else [claim]
            if found:
                yield Claims.joined(found)


@dataclass
class _Reading:
    """What models of one part of all tell: variances and levels of strata, look by look."""

    intruder: Intruder
    areas: TwoAreas
    number: str
    part: Condition
    variances: list[Floats] = field(default_factory=list)
    levels: list[Floats] = field(default_factory=list)

    def look(self, times: int) -> None:
        rng, strata = self.intruder.rng, np.array(self.areas.strata)
        held = self._largest()
        for _ in range(times):
            some = strata[(rng.random(len(strata)) < 0.7) | (strata == held)]
            if (fit := self._fit(tuple(some))) is not None:
                self._keep(fit)

    def claims(self) -> Claims | None:
        """The means of both sampling units of each stratum, on the sides where published ones say."""
        shares = self.areas.shares(self.intruder, self.part)
        table = self.intruder.table(self.areas.area, where=self.part, measure="mean", of=self.number)
        if not self.variances or shares is None or table is None:
            return None
        seen = np.isfinite(self.variances)
        variance, level = (np.where(seen, each, 0.0).sum(axis=0) for each in (self.variances, self.levels))
        looks = np.where(seen.any(axis=0), seen.sum(axis=0), np.nan)
        apart = np.sqrt(np.maximum(variance / looks, 0.0)) / 2 / shares
        published = self.areas.of(self.intruder, values(table, "mean"))
        upwards = np.where(published[0] >= published[1], 1.0, -1.0) * np.array([[1.0], [-1.0]])
        facts = [
            SetFact(universe({**self.part, self.areas.area: (pair[side],)}), Measure.MEAN, self.number)
            for side in (0, 1)
            for pair in self.areas.pairs.values()
        ]
        means = level / looks + upwards * apart
        return Claims.of(means.ravel(), facts=tuple(facts), guesses=published.ravel(), within=CLOSE)

    def _fit(self, strata: tuple[str, ...]) -> Fit | None:
        where = universe({**self.part, self.areas.stratum: strata})
        formula = read_formula(f"{quoted(self.number)} ~ {quoted(self.areas.stratum)}")
        request = RegressionRequest(self.intruder.book.name, formula, where, errors=CoefficientErrors.DESIGN)
        return fit_of(self.intruder.ask(request))

    def _keep(self, fit: Fit) -> None:
        """The variance and the mean of each stratum that has a coefficient: the reference's are in it."""
        name, base = self.areas.stratum, fit.errors["(Intercept)"] ** 2
        there = [fit.has(name, code) for code in self.areas.strata]
        pairs = zip(self.areas.strata, there, strict=True)
        both = [
            (fit.errors[f"{name}={c}"] ** 2 - base, fit.level(name, c)) if own else (np.nan, 0.0) for c, own in pairs
        ]
        self.variances.append(np.array([one for one, _ in both]))
        self.levels.append(np.array([two for _, two in both]))

    def _largest(self) -> str:
        """The stratum that is the reference wherever it is."""
        table = self.intruder.table(self.areas.stratum, where=self.part)
        if table is None:
            return self.areas.strata[0]
        counts = np.where(self.areas.within(self.intruder), np.nan_to_num(values(table)), -1.0)
        return codes(self.intruder.book, self.areas.stratum)[int(counts.argmax())]
