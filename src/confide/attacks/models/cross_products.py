"""R9: what may not be asked, solved from models that may."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from confide.arrays import Bools, Floats
from confide.attacks.choosing import codes, number_secret
from confide.attacks.claims import WITHIN, Claims, NotApplicable, SetFact, SetTargets
from confide.attacks.intruder import Intruder, universe, values
from confide.attacks.models.means import ask_means, class_key, covariates, mean_table
from confide.attacks.models.reading import Fit, fit_of, quoted
from confide.model.catalog.dataset import Dataset, Role
from confide.model.policy import Policy
from confide.model.request import Measure

__all__ = ["CrossProducts"]

SAME = 0.2
"""Models over numbers of people that differ by less than this share count as over the same people."""


@dataclass(frozen=True)
class CrossProducts:
    """Read the class means of a number that must not be related to these classes, by way of numbers that may.

    Gomatam et al. (2004): released models are equations in sums of products. Those of the sensitive y with the suppressed
    classes are in none of them, but y ~ x and x ~ classes are answered for other numbers x; what y has to do with the classes
    beyond x is bounded by what x leaves of y, and its middle, none, is the claim: mean of y = b0 + b mean of x. Where
    the policy names no sensitive and no suppressed variables, a confidential number and a key are taken, and never asked
    for together.

    Tried: (1) one x, that of the best fit: 10 % of the means within a tenth, as those who have none of x are others. (2) All x
    at once: refused for fitting too well. (3) One or two x, also over those who have some of x only, and of these the best
    fit over as many people as the classes hold: kept.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "cross-products"
    code: ClassVar = "R9"
    words: ClassVar = "refused class means from the sums of products that released models tell"
    knows: ClassVar = "nothing"

    def wants(self, book: Dataset, policy: Policy) -> SetTargets:
        if not _others(book, policy, self._number(book, policy)):
            raise NotApplicable("It needs a second number that may be related to both.")
        self._classes(book, policy)
        return SetTargets()

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        book, policy = intruder.book, intruder.policy
        number, classes = self._number(book, policy), self._classes(book, policy)
        every, others = codes(book, classes), _others(book, policy, number)
        means = {x: _class_means(intruder, x, classes, number) for x in others}
        usable = {x: found for x, found in means.items() if np.isfinite(found).any()}
        told = np.asarray(np.isfinite([*usable.values(), np.full(len(every), np.nan)]).any(axis=0))
        chosen = _best(intruder, number, usable, _people(intruder, classes, told))
        if chosen is None:
            return
        names, fit = chosen
        found = fit.intercept + sum((fit.estimates[x] * usable[x] for x in names), np.zeros(len(every)))
        there = np.isfinite(found)
        facts = [SetFact(universe({classes: (code,)}), Measure.MEAN, number) for code in every]
        kept = tuple(fact for fact, here in zip(facts, there, strict=True) if here)
        guesses = _published(intruder, number, classes)[there]
        yield Claims.of(found[there], facts=kept, guesses=guesses, within=WITHIN)

    def _number(self, book: Dataset, policy: Policy) -> str:
        return self.secret or policy.models.sensitive or number_secret(book)

    def _classes(self, book: Dataset, policy: Policy) -> str:
        named = [n for n in policy.models.suppressed if n in book.variables and book.variable(n).classifies]
        return (*self.keys, *named, class_key(book))[0]


def _published(intruder: Intruder, number: str, classes: str) -> Floats:
    """What anybody would take for the means: those published, where they may be asked for, else that of everyone."""
    everyone = np.full(len(codes(intruder.book, classes)), _everyone(intruder, number))
    if intruder.policy.models.suppressed:
        return everyone
    means = mean_table(intruder, classes, of=number)
    return np.where(np.isfinite(means), means, everyone)


def _others(book: Dataset, policy: Policy, number: str) -> list[str]:
    """Numbers that may be related both to the sensitive one and to the suppressed classes, and may be a response."""
    used = {number, *policy.models.suppressed}
    found = [v for v in book.variables.values() if v.measurable and v.name not in used]
    return [v.name for v in found if v.role not in (Role.KEY, Role.IDENTIFIER)]


def _class_means(intruder: Intruder, x: str, classes: str, number: str) -> Floats:
    """The means of a number by classes: of its model, with a covariate and its published means if that is refused alone."""
    every = codes(intruder.book, classes)
    fit = ask_means(intruder, x, classes)
    if fit is not None:
        return _levels(fit, classes, every)
    for covariate in covariates(intruder.book, number):
        fit = ask_means(intruder, x, classes, covariate) if covariate != x else None
        if fit is not None:
            return _levels(fit, classes, every) + fit.estimates[covariate] * mean_table(intruder, classes, of=covariate)
    return np.full(len(every), np.nan)


def _levels(fit: Fit, classes: str, every: tuple[str, ...]) -> Floats:
    return np.array([fit.level(classes, code) if fit.has(classes, code) else np.nan for code in every])


def _best(intruder: Intruder, number: str, usable: dict[str, Floats], people: float) -> tuple[list[str], Fit] | None:
    """Of the models of the sensitive number by one or two others, the best fit among those over as many as are in the classes."""
    singles = [([x], where) for x in usable for where in ({}, _some(intruder.book, x)) if where is not None]
    pairs: list[tuple[list[str], dict[str, tuple[str, ...]]]] = [(list(s), {}) for s in combinations(usable, 2)]
    found: list[tuple[list[str], Fit]] = []
    for names, where in [*singles, *pairs]:
        fit = fit_of(intruder.regression(f"{quoted(number)} ~ {' + '.join(map(quoted, names))}", where=where))
        if fit is not None:
            found.append((names, fit))
    away = [abs(np.log(fit.statistics["n"] / max(people, 1))) for _, fit in found]
    near = [one for one, distance in zip(found, away, strict=True) if distance <= min(away) + SAME]
    return max(near, key=lambda one: one[1].statistics["r_squared"], default=None)


def _some(book: Dataset, x: str) -> dict[str, tuple[str, ...]] | None:
    """Those who have some of a number: all its bins but the lowest; None where it has no bins."""
    variable = book.variable(x)
    return {x: codes(book, x)[1:]} if variable.classifies and variable.universe and len(codes(book, x)) > 1 else None


def _people(intruder: Intruder, classes: str, there: Bools) -> float:
    """How many are in the classes whose means are told."""
    table = intruder.table(classes)
    return 0.0 if table is None else float(np.nan_to_num(values(table))[there].sum())


def _everyone(intruder: Intruder, number: str) -> float:
    """The published mean of everyone, as an honest reader would take it for any class."""
    for variable in intruder.book.variables.values():
        if variable.classifies and variable.role is Role.KEY:
            table = intruder.table(variable.name, measure="mean", of=number)
            if table is not None:
                return float(np.nan_to_num(table.columns["mean"].values[-1]))
    return 0.0
