"""B5: a covariate beside the classes of a model, and the total of a class that is withheld follows."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from confide.arrays import Bools, Floats
from confide.attacks.choosing import codes, confidential, size
from confide.attacks.claims import WITHIN, Claims, NotApplicable, SetFact, SetTargets
from confide.attacks.intruder import Intruder, Where, universe, values
from confide.model.catalog.dataset import Dataset, Role
from confide.model.formula import Factor, Formula, write_formula
from confide.model.policy import Policy
from confide.model.request import Measure

__all__ = ["WithheldTotals"]

LOOKS = 40
"""A model is asked for so often, each time over another half of the classes: it is rounded anew, with another slope."""

FEW = 4
"""Of so few classes there are no halves worth asking for."""

ROUNDED = 0.03
"""Coefficients are rounded to a tenth of a standard error: this share of it is the spread of the rounding."""

ROUGHLY = 0.01
"""So well the mean of the covariate is known from tables, as measured."""

ROUNDS = 5


@dataclass(frozen=True)
class WithheldTotals:
    """Work out totals that a table withholds.

    A model of classes alone is refused where their totals are withheld; with a covariate beside them it is not. Least squares
    with a column for each class fits the mean of each class exactly: mean y = b0 + b_c + g mean x. Over random halves
    of the classes the slope g differs and the means stay, so that many models are lines that meet in both means: the rounding
    of coefficients is averaged away, and the noise in the mean of x, which tables give by adding up cells, is too. Totals
    count as targets where some model of their classes is answered.

    Tried, on the withheld totals of 100,000 establishments under `standard`, right within 10 %: (1) x ~ class for the means of
    x, as first published: x is a key here, and keys may not be a response. (2) The published means of x: 47 %, for their noise
    counts where g mean x is much larger than mean y. (3) All pairs of numbers, solved together: 67 %. (4) Sums of cells for
    the mean of x, and one class left out at a time: 67 %, for 1 % of noise was left in the mean of x. (5) Random halves of
    the classes: 27 of 30, kept.
    """

    secret: str = ""

    name: ClassVar = "withheld-totals"
    code: ClassVar = "B5"
    words: ClassVar = "totals that are withheld, from models with a covariate beside the classes"
    knows: ClassVar = "nothing"

    def wants(self, book: Dataset, policy: Policy) -> SetTargets:
        if not self._responses(book) or len(_numbers(book)) < 2 or not _classes(book):
            raise NotApplicable("It needs two numbers, one of them confidential, and a variable with classes.")
        return SetTargets()

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        found = _Found()
        for classes in _classes(intruder.book):
            covariates: dict[str, Floats] = {}
            for response in self._responses(intruder.book):
                shown = _shown(intruder, classes, response)
                if shown is not None and shown.withheld.any():
                    means = _class_means(intruder, classes, response, covariates)
                    found.add(intruder, classes, response, shown, means)
            if found.facts:
                yield found.claims()

    def _responses(self, book: Dataset) -> list[str]:
        return [v.name for v in confidential(book) if v.measurable and self.secret in ("", v.name)]


@dataclass(frozen=True, eq=False)
class _Shown:
    """Totals by classes as published: the weights of the classes, the mean over all, and what is withheld."""

    weights: Floats
    overall: float
    withheld: Bools


@dataclass
class _Found:
    """The totals worked out so far."""

    facts: list[SetFact] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    guesses: list[float] = field(default_factory=list)

    def add(self, intruder: Intruder, classes: str, of: str, shown: _Shown, means: Floats) -> None:
        names = codes(intruder.book, classes)
        for place in np.flatnonzero(shown.withheld & np.isfinite(means)):
            self.facts.append(SetFact(universe({classes: [names[place]]}), Measure.TOTAL, of))
            self.values.append(float(shown.weights[place] * means[place]))
            self.guesses.append(float(shown.weights[place] * shown.overall))

    def claims(self) -> Claims:
        guesses = np.array(self.guesses)
        return Claims.of(np.array(self.values), facts=tuple(self.facts), guesses=guesses, within=WITHIN)


def _shown(intruder: Intruder, classes: str, of: str) -> _Shown | None:
    table = intruder.table(classes, measure=("weighted_count", "total", "mean"), of=of)
    if table is None:
        return None
    weights = values(table, "weighted_count")
    withheld = (table.columns["total"].marks[:-1] == "c") & (weights > 0)
    return _Shown(weights, float(table.columns["mean"].values[-1]), np.asarray(withheld))


def _class_means(intruder: Intruder, classes: str, response: str, covariates: dict[str, Floats]) -> Floats:
    """The mean response of each class by the first covariate with which a model is answered; NaN where there is none."""
    names = codes(intruder.book, classes)
    for covariate in _numbers(intruder.book):
        first = _look(intruder, classes, response, covariate, {}) if covariate != response else None
        if first is None:
            continue
        if covariate not in covariates:
            covariates[covariate] = _covariate_means(intruder, classes, covariate)
        looks = [first]
        for _ in range(LOOKS if len(names) > FEW else 0):
            half = [name for name in names if intruder.rng.random() < 0.5]
            again = _look(intruder, classes, response, covariate, {classes: half}) if half else None
            looks += [again] if again is not None else []
        return np.array([_meeting(looks, covariates[covariate], place) for place in range(len(names))])
    return np.full(len(names), np.nan)


@dataclass(frozen=True, eq=False)
class _Look:
    """One model: the level of each class that has a column of its own, the slope of the covariate, and both errors."""

    levels: Floats
    slope: float
    errors: Floats
    slope_error: float


def _look(intruder: Intruder, classes: str, response: str, covariate: str, where: Where) -> _Look | None:
    formula = Formula(Factor(response), ((Factor(classes),), (Factor(covariate),)))
    model = intruder.regression(write_formula(formula), where=where)
    if model is None:
        return None
    numbers = {str(row[0]): (float(row[1] or 0), float(row[2] or 0)) for row in model.grids["coefficients"].rows}
    names = codes(intruder.book, classes)
    effects = np.array([numbers.get(f"{classes}={name}", (np.nan, np.nan)) for name in names])
    (intercept, error), (slope, slope_error) = numbers["(Intercept)"], numbers[covariate]
    return _Look(intercept + effects[:, 0], slope, np.hypot(error, effects[:, 1]), slope_error)


def _meeting(looks: list[_Look], means: Floats, place: int) -> float:
    """Where the lines of all looks meet: mean response = level + slope times mean covariate, the latter known roughly."""
    seen = [look for look in looks if np.isfinite(look.levels[place])]
    if not seen or not np.isfinite(means[place]):
        return float("nan")
    levels, slopes = np.array([look.levels[place] for look in seen]), np.array([look.slope for look in seen])
    errors = [np.hypot(look.errors[place], look.slope_error * means[place]) for look in seen]
    rounding = ROUNDED * np.array(errors) + 1e-9 * np.abs(levels)
    design = np.column_stack([np.ones(len(seen)), -slopes])
    prior = np.array([[0.0, 1.0]]) / (ROUGHLY * means[place])
    weights = 1 / rounding
    for _ in range(ROUNDS):
        rows = np.vstack([design * weights[:, None], prior])
        known = np.append(levels * weights, 1 / ROUGHLY)
        found = np.linalg.lstsq(rows, known)[0]
        # A giant may be among the units that were dropped for one look: far lines count little.
        off = np.abs(design @ found - levels) / rounding
        weights = 1 / (rounding * np.sqrt(np.maximum(off / 2, 1.0)))
    return float(found[0])


def _covariate_means(intruder: Intruder, classes: str, of: str) -> Floats:
    """The mean of a number in each class, from all tables by the classes and one more variable.

    Each cell has noise of its own, so that of a sum over many cells cancels. What is withheld counts as the rest of its class.
    """
    told: list[tuple[Floats, Floats]] = []
    for other in ["", *_classes(intruder.book)]:
        if other and intruder.book.root(other) == intruder.book.root(classes):
            continue
        by = (classes, other) if other else (classes,)
        table = intruder.table(*by, measure=("weighted_count", "total"), of=of)
        if table is not None:
            weights, totals = values(table, "weighted_count"), values(table, "total")
            noise = table.columns["total"].noise[tuple(slice(0, -1) for _ in by)]
            told.append(_summed(weights, totals, noise))
    if not told:
        return np.full(len(codes(intruder.book, classes)), np.nan)
    means, precision = (np.array(part) for part in zip(*told, strict=True))
    known = np.sum(precision, axis=0)
    unknown = np.full(len(known), np.nan)
    return np.asarray(np.divide(np.nansum(means * precision, axis=0), known, out=unknown, where=known > 0))


def _summed(weights: Floats, totals: Floats, noise: Floats) -> tuple[Floats, Floats]:
    """Means over the cells of each class that are told, and one over their variances."""
    width = int(np.prod(weights.shape[1:], dtype=int))
    weights, totals, noise = (part.reshape(-1, width) for part in (weights, totals, noise))
    known = np.isfinite(totals) & (weights > 0)
    weight = np.where(known, weights, 0.0).sum(axis=1)
    total, spread = (np.where(known, part, 0.0) for part in (totals, noise))
    lost = 1 - weight / np.maximum(np.where(np.isfinite(weights), weights, 0.0).sum(axis=1), 1e-12)
    means = total.sum(axis=1) / np.maximum(weight, 1e-12)
    # What is withheld may have another mean, by as much as the mean itself.
    variance = (np.sqrt((spread**2).sum(axis=1)) / np.maximum(weight, 1e-12)) ** 2 + (lost * means) ** 2
    return means, np.where(weight > 0, 1 / np.maximum(variance, 1e-12 * means**2 + 1e-300), 0.0)


def _numbers(book: Dataset) -> list[str]:
    """Keys first: they are less skewed than what is confidential, so that models with them are answered more often."""
    found = [v for v in book.variables.values() if v.measurable and v.role is not Role.IDENTIFIER]
    return [v.name for v in sorted(found, key=lambda v: v.role is not Role.KEY)]


def _classes(book: Dataset) -> list[str]:
    found = [v for v in book.variables.values() if v.role is Role.KEY and v.classifies and not v.binned]
    return [v.name for v in sorted(found, key=lambda v: (-size(v), v.name)) if size(v) > 1]
