"""R16b: errors by the design of models of classes. How many of a class are in each of two sampling units of a stratum?"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Floats
from confide.attacks.choosing import codes, size
from confide.attacks.claims import Claims, NotApplicable, SetFact, SetTargets
from confide.attacks.intruder import Intruder, universe, values
from confide.attacks.models.logistic_counts import unrelated
from confide.attacks.models.reading import Fit, Released, by_response, fit_of, quoted
from confide.attacks.two_areas import Condition, TwoAreas, two_areas
from confide.model.catalog.dataset import Dataset, Role
from confide.model.choices import CoefficientErrors
from confide.model.formula import read_formula
from confide.model.policy import Policy
from confide.model.request import Family, RegressionRequest

__all__ = ["SamplingUnitClasses"]


@dataclass(frozen=True)
class SamplingUnitClasses:
    """Read the counts of classes in sampling units from models of a response by their strata, with errors by the design.

    In class ~ stratum the logit has the variance (2 a)^2 where a stratum has two sampling units: a = d / (p (1 - p)), p is the share
    of the class in the stratum, and d is what the first sampling unit has more of it than shares let expect, as a share of the
    stratum. Odds of a class k against the reference 0, in a multinomial model, have a = |d_k / p_k - d_0 / p_0|: as these d sum to
    0, d_0 / p_0 is the sum of all p a with their signs, times -1. Signs are those that published counts have.

    Against Confide it fails, for the variance carries noise that is drawn for the units and outcomes of the coefficient.

    Tried: (1) a binomial model of each class: kept. (2) Multinomial models, one for all classes: claims less, as often right.
    (3) Within the classes of a key as well: kept, smaller sets.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""
    family: str = "binomial"

    name: ClassVar = "design-errors-of-classes"
    code: ClassVar = "R16b"
    words: ClassVar = "counts of classes in sampling units from errors by the design of models of classes"
    knows: ClassVar = "which key names the sampling units"

    def wants(self, book: Dataset, policy: Policy) -> SetTargets:
        two_areas(book)
        if not _responses(book, self.secret):
            raise NotApplicable("It needs a variable with classes that is no key.")
        return SetTargets()

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        book, areas = intruder.book, two_areas(intruder.book)
        found: list[Claims] = []
        for part in areas.parts(book, self.keys, coarsest=1):
            for response in _responses(book, self.secret):
                if unrelated(book, response, areas.area, part):
                    found += _Reading(intruder, areas, response, part).claims(Family(self.family))
            if found:
                yield Claims.joined(found)


def _responses(book: Dataset, secret: str) -> list[str]:
    """The variables with the fewest classes that may stand left of the tilde: most strata have a coefficient for each class."""
    found = [v for v in book.variables.values() if v.classifies and v.role in (Role.CONFIDENTIAL, Role.OTHER)]
    return [secret] if secret else [v.name for v in sorted(found, key=size) if size(v) > 1][:3]


@dataclass(frozen=True)
class _Reading:
    """What models of one response in one part of all tell of sampling units."""

    intruder: Intruder
    areas: TwoAreas
    response: str
    part: Condition

    def claims(self, family: Family) -> list[Claims]:
        """The counts of every class in both sampling units of each stratum that has a coefficient."""
        shares, table = (
            self.areas.shares(self.intruder, self.part),
            self.intruder.table(self.areas.stratum, self.response, where=self.part),
        )
        if shares is None or table is None:
            return []
        counts = np.nan_to_num(values(table))[self.areas.within(self.intruder)]
        fine = self.intruder.table(self.areas.area, self.response, where=self.part)
        likely = (
            shares[..., None] * counts if fine is None else self.areas.of(self.intruder, np.nan_to_num(values(fine)))
        )
        more = likely[0] - shares[0][:, None] * counts
        read = self._by_odds if family is Family.MULTINOMIAL else self._by_logits
        first = shares[0][:, None] * counts + read(counts, more)
        claimed = np.round([first, counts - first])
        return [Claims.of(claimed.ravel(), facts=self._facts(), guesses=np.round(likely).ravel())]

    def _by_odds(self, counts: Floats, more: Floats) -> Floats:
        """What the first sampling unit has more of each class, by one model for all of them; NaN where it says nothing."""
        release = self._ask(quoted(self.response), Family.MULTINOMIAL)
        if release is None:
            return np.full_like(counts, np.nan)
        fits = {code: fit for code, part in by_response(release).items() if (fit := fit_of(part)) is not None}
        shown = codes(self.intruder.book, self.response)
        [base] = [place for place, code in enumerate(shown) if code not in fits][:1] or [0]
        sizes = counts.sum(axis=1, keepdims=True)
        parts = np.where(counts > 0, counts / np.maximum(sizes, 1), np.nan)
        ahead = np.where(counts > 0, more / np.maximum(counts, 1), 0.0)
        apart = np.zeros_like(counts)
        for place, code in enumerate(shown):
            if code in fits:
                upwards = np.where(ahead[:, place] >= ahead[:, base], 0.5, -0.5)
                apart[:, place] = upwards * self._errors(fits[code])
        reference = -np.nansum(parts * apart, axis=1, keepdims=True)
        return np.asarray(sizes * parts * (apart + reference))

    def _by_logits(self, counts: Floats, more: Floats) -> Floats:
        """The same by a model of a yes or no for each class."""
        found = np.full_like(counts, np.nan)
        sizes = np.maximum(counts.sum(axis=1), 1)
        for place, code in enumerate(codes(self.intruder.book, self.response)):
            if (fit := fit_of(self._ask(f"{quoted(self.response)}={quoted(code)}", Family.BINOMIAL))) is not None:
                share = counts[:, place] / sizes
                upwards = np.where(more[:, place] >= 0, 0.5, -0.5)
                found[:, place] = upwards * self._errors(fit) * sizes * share * (1 - share)
        return found

    def _errors(self, fit: Fit) -> Floats:
        """The standard error of the level of each stratum, less what the reference adds to it; NaN where it has none."""
        name, base = self.areas.stratum, fit.errors["(Intercept)"] ** 2
        squares = [fit.errors[f"{name}={c}"] ** 2 - base if fit.has(name, c) else np.nan for c in self.areas.strata]
        return np.sqrt(np.maximum(squares, 0.0))

    def _ask(self, response: str, family: Family) -> Released | None:
        formula = read_formula(f"{response} ~ {quoted(self.areas.stratum)}")
        return self.intruder.ask(
            RegressionRequest(
                self.intruder.book.name, formula, universe(self.part), family, errors=CoefficientErrors.DESIGN
            )
        )

    def _facts(self) -> tuple[SetFact, ...]:
        return tuple(
            SetFact(universe({**self.part, self.areas.area: (pair[side],), self.response: (code,)}))
            for side in (0, 1)
            for pair in self.areas.pairs.values()
            for code in codes(self.intruder.book, self.response)
        )
