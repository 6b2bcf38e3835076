"""R6: cell means by a model with all interactions of its classes, and by one that a covariate hides."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Floats
from confide.attacks.choosing import codes, keys, number_secret, size
from confide.attacks.claims import Claims, NotApplicable, SetFact, SetTargets
from confide.attacks.intruder import Intruder, universe
from confide.attacks.models.means import covariates, mean_table
from confide.attacks.models.reading import Fit, fit_of, quoted
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy
from confide.model.request import Measure

__all__ = ["Saturated"]

CLOSE = 0.01
MOST_CELLS = 200


@dataclass(frozen=True)
class Saturated:
    """Read the means of a number in the cells of two keys from the coefficients of a*b.

    Tried: (1) y ~ a*b, a table by another name: refused where the policy knows it. (2) y ~ a*b + x: the rule asks whether
    the predictors are classes alone, so x lets it pass; the means of x in the cells are taken from its own such model, or
    as the overall mean: kept. (3) Differences of such models over U and U without the target: see boxes, which does that
    with fewer columns.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "saturated"
    code: ClassVar = "R6"
    words: ClassVar = "cell means from a model with all interactions, and a covariate beside them"
    knows: ClassVar = "nothing"

    def wants(self, book: Dataset, policy: Policy) -> SetTargets:
        number_secret(book, self.secret)
        self._pairs(book)
        return SetTargets()

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        number = number_secret(intruder.book, self.secret)
        found, guesses = np.zeros(0), np.zeros(0)
        facts: tuple[SetFact, ...] = ()
        for pair in self._pairs(intruder.book):
            means = _cell_means(intruder, number, pair)
            there = np.isfinite(means)
            if there.any():
                found = np.append(found, means[there])
                facts += tuple(
                    fact for fact, here in zip(_facts(intruder, number, pair), there.flat, strict=True) if here
                )
                guesses = np.append(guesses, mean_table(intruder, *pair, of=number)[there])
                yield Claims.of(found, facts=facts, guesses=guesses, within=CLOSE)

    def _pairs(self, book: Dataset) -> list[tuple[str, str]]:
        names = self.keys or tuple(dict.fromkeys(book.root(v.name) for v in keys(book) if not v.measurable))
        sizes = {name: size(book.variable(name)) for name in names}
        found = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :] if sizes[a] * sizes[b] <= MOST_CELLS]
        if not found:
            raise NotApplicable("It needs two keys with few classes.")
        return sorted(found, key=lambda pair: sizes[pair[0]] * sizes[pair[1]])[:6]


def _cell_means(intruder: Intruder, number: str, pair: tuple[str, str]) -> Floats:
    """The means in the cells, NaN where a cell has no coefficients of its own."""
    a, b = pair
    crossed = f"{quoted(a)}*{quoted(b)}"
    shape = tuple(len(codes(intruder.book, name)) for name in pair)
    plain = fit_of(intruder.regression(f"{quoted(number)} ~ {crossed}"))
    if plain is not None:
        return _cells(plain, intruder.book, pair)
    for covariate in covariates(intruder.book, number):
        fit = fit_of(intruder.regression(f"{quoted(number)} ~ {crossed} + {quoted(covariate)}"))
        if fit is not None:
            middle = mean_table(intruder, *pair, of=covariate)
            return _cells(fit, intruder.book, pair) + fit.estimates[covariate] * middle
    return np.full(shape, np.nan)


def _cells(fit: Fit, book: Dataset, pair: tuple[str, str]) -> Floats:
    """Intercept, both coefficients and that of the cell; what is absorbed is not told apart, so a cell needs all of its own.

    The class without a coefficient is the reference if it is the only one.
    """
    first, second = (_effects(fit, book, name) for name in pair)
    a, b = pair
    label = f"{a}={{}}:{b}={{}}" if f"{a}" < f"{b}" else f"{b}={{1}}:{a}={{0}}"
    joint = np.array([
        [fit.estimates.get(label.format(one, two), 0.0) for two in codes(book, b)] for one in codes(book, a)
    ])  # fmt: skip
    return np.asarray(fit.intercept + first[:, None] + second[None, :] + joint)


def _effects(fit: Fit, book: Dataset, name: str) -> Floats:
    """The coefficients of the classes: 0 for the reference, NaN for classes that share it with others."""
    every = codes(book, name)
    found = np.array([fit.estimates.get(f"{name}={code}", np.nan) for code in every])
    return np.where(np.isnan(found), 0.0, found) if np.isnan(found).sum() == 1 else found


def _facts(intruder: Intruder, number: str, pair: tuple[str, str]) -> list[SetFact]:
    a, b = pair
    book = intruder.book
    return [
        SetFact(universe({a: (one,), b: (two,)}), Measure.MEAN, number)
        for one in codes(book, a)
        for two in codes(book, b)
    ]
