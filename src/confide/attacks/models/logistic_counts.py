"""R12: exact counts from logits of a yes-or-no by classes, and from how uncertain these are said to be."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from confide.arrays import Bools, Floats
from confide.attacks.choosing import codes, keys, size
from confide.attacks.claims import Claims, NotApplicable, SetFact, SetTargets
from confide.attacks.intruder import Intruder, universe, values
from confide.attacks.models.reading import Fit, fit_of, quoted
from confide.model.catalog.dataset import Dataset, Role
from confide.model.policy import Policy

__all__ = [
    "CountReading",
    "LogisticCounts",
    "ModelledTable",
    "SharpErrors",
    "alike_parts",
    "class_predictors",
    "class_responses",
    "modelled_table",
    "small_counts",
    "unrelated",
]

SMALL = 30
"""Counts below this are claimed: those that a custodian would not have known exactly."""

MOST_CLASSES = 30


@dataclass(frozen=True)
class LogisticCounts:
    """Read the exact counts of a table of a response by a key, out of models of the response's classes.

    A model of one class variable says for each class b the logit of the share p of the response's class in b. The count is
    the protected size of b times p. With weights that is a sum of weights, which the mean weight of the part makes a count
    of, up to how weights vary; then the standard error helps, as its square is about 1 / (count (1 - p)), and the statistic,
    which is the estimate by the error, gives the latter to one more digit.

    Tried: (1) size times share over everyone, where weights vary by area: 24 % exact. (2) Within each class of the key that
    tells most of the weights: 72 %. (3) Also the squared standard error, sharpened by the statistic, and the published count,
    each by its precision: 94 %, kept. (4) The same over everyone: none, as weights that vary that much are not small errors.
    (5) Where the counts behind a model are those of the table, the errors less what the noise of the counts adds to them:
    no better than the table, with the first as with the second cell key.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "logistic-counts"
    code: ClassVar = "R12"
    words: ClassVar = "small counts from the logits of models of classes"
    knows: ClassVar = "nothing"

    def wants(self, book: Dataset, policy: Policy) -> SetTargets:
        if not class_responses(book, self.secret) or not class_predictors(book, self.keys):
            raise NotApplicable("It needs a key, and a variable with classes that is none.")
        return SetTargets()

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        book = intruder.book
        cells: list[CountReading] = []
        told = 10
        for part in alike_parts(intruder):
            for response in class_responses(book, self.secret):
                for predictor in class_predictors(book, self.keys):
                    if not unrelated(book, response, predictor, part):
                        continue
                    cells += _cells(intruder, response, predictor, part)
                    if cells and intruder.asked > 1.5 * told:
                        told = intruder.asked
                        yield small_counts(cells, intruder.policy.counts.variance + 0.5)
        if cells:
            yield small_counts(cells, intruder.policy.counts.variance + 0.5)


@dataclass(frozen=True)
class CountReading:
    """One count: what the table says, what the share says, and what the standard error says, with their errors."""

    fact: SetFact
    published: float
    by_share: float
    by_error: float
    vague: float
    """The relative error of `by_error`, from rounding."""


def small_counts(cells: list[CountReading], noise: float) -> Claims:
    """The likeliest whole number for each cell whose count is small; `noise` is the variance of the published counts."""
    cells = [cell for cell in cells if cell.by_error > 0]  # a standard error that is rounded to zero tells nothing
    share = np.array([c.by_share for c in cells])
    error = np.array([c.by_error for c in cells])
    rounding = np.array([c.vague for c in cells]) ** 2 * error**2
    vary = _varying(share, error, rounding)
    published = np.array([c.published for c in cells])
    readings = np.stack([share, error * (1 + vary), published])
    precision = 1 / np.stack([vary * share + 0.1**2, rounding, np.full(len(cells), noise)])
    best = (readings * precision).sum(axis=0) / precision.sum(axis=0)
    small: Bools = np.asarray(np.round(best) < SMALL)
    kept = [cell for cell, here in zip(cells, small, strict=True) if here]
    guesses = np.array([cell.published for cell in kept])
    return Claims.of(np.round(best[small]), facts=tuple(cell.fact for cell in kept), guesses=guesses)


def _varying(share: Floats, error: Floats, rounding: Floats) -> float:
    """The squared variation v of the weights: it moves a sum of k of them by sqrt(v k), and squared errors by 1 + v.

    It is seen from how shares and errors disagree beyond rounding; the median of a square is 0.455 of its mean.
    """
    near = error < 1.3 * SMALL
    if near.sum() < 5:
        return 0.01
    apart = np.median(((share - error) ** 2 / error)[near]) / 0.455 - np.median((rounding / error)[near])
    return float(max(apart, 1e-6))


def _cells(intruder: Intruder, response: str, predictor: str, part: dict[str, tuple[str, ...]]) -> list[CountReading]:
    """The cells of one table over one part, as far as models tell them."""
    frame = modelled_table(intruder, response, predictor, part)
    found: list[CountReading] = []
    for place, code in enumerate(codes(intruder.book, response)) if frame else ():
        formula = f"{quoted(response)}={quoted(code)} ~ {quoted(predictor)}"
        release = fit_of(intruder.regression(formula, where=part, family="binomial"))
        if release is not None and frame is not None:
            found += frame.cells(intruder.book, place, code, release, noise=_noise(intruder.policy))
    return found


def modelled_table(
    intruder: Intruder, response: str, predictor: str, part: dict[str, tuple[str, ...]]
) -> "ModelledTable | None":
    """The table that models are laid beside; None if it is refused."""
    measures = ("count", "weighted_count") if intruder.book.weight else ("count",)
    table = intruder.table(predictor, response, where=part, measure=measures)
    if table is None:
        return None
    missing = [code.missing for code in intruder.book.variable(response).codes or ()]
    # Who has no response is in the margin but not in a model.
    rows, units = (
        table.columns[m].values[:-1, -1] - np.nansum(values(table, m)[:, missing], axis=1)
        for m in (measures[-1], "count")
    )
    mean = float(np.nansum(rows) / np.nansum(units))
    return ModelledTable(predictor, response, part, rows / mean, values(table))


@dataclass(frozen=True)
class ModelledTable:
    """A table that models are laid beside: the sizes of its rows in mean weights, and its counts."""

    predictor: str
    response: str
    part: dict[str, tuple[str, ...]]
    sizes: Floats
    counts: Floats

    def cells(self, book: Dataset, place: int, code: str, fit: Fit, *, noise: float) -> list[CountReading]:
        errors = SharpErrors(fit)
        found = []
        for row, own in enumerate(codes(book, self.predictor)):
            if fit.has(self.predictor, own) and np.isfinite(self.sizes[row]):
                share = float(1 / (1 + np.exp(-fit.level(self.predictor, own))))
                variance, vague = errors.variance(f"{self.predictor}={own}")
                where = universe({**self.part, self.predictor: (own,), self.response: (code,)})
                count = self.sizes[row] * share
                by_error = errors.count(variance, share, noise=noise)
                published = float(np.nan_to_num(self.counts[row, place]))
                found.append(CountReading(SetFact(where), published, float(count), by_error, max(vague, 0.01)))
        return found


@dataclass(frozen=True)
class SharpErrors:
    """Standard errors as sharp as the estimate and the statistic together make them."""

    fit: Fit

    @property
    def correction(self) -> float:
        """Robust errors are larger by this for the columns of the model."""
        n = self.fit.statistics["n"]
        return n / max(n - len(self.fit.estimates), 1)

    @cached_property
    def reference(self) -> float:
        return self.fit.sharp_error("(Intercept)")[0] ** 2

    def count(self, variance: float, share: float, *, noise: float) -> float:
        """The count behind a logit: the variance is 1 / (count (1 - share)), and what a change of the counts adds to it."""
        plain = variance * (1 - share) / self.correction
        return float((1 + np.sqrt(1 + 4 * plain * noise * (1 + share**2) / (1 - share))) / (2 * plain))

    def variance(self, label: str) -> tuple[float, float]:
        """Of the logit of a class, and its relative error; the reference's, which is in the coefficient, is taken away."""
        middle, half = self.fit.sharp_error(label)
        own = max(middle**2 - self.reference, 0.1 * middle**2)
        return own, 2 * middle * half / own / 3**0.5


def _noise(policy: Policy) -> float:
    """The variance of the counts behind a model."""
    return policy.counts.variance if policy.counts.mechanism == "cell-key" else 0.0


def class_responses(book: Dataset, secret: str) -> list[str]:
    """Variables with classes that may stand left of the tilde."""
    if secret:
        return [secret]
    found = [v for v in book.variables.values() if v.classifies and v.role not in (Role.KEY, Role.IDENTIFIER)]
    return [v.name for v in sorted(found, key=lambda v: -size(v)) if 1 < size(v) <= MOST_CLASSES][:3]


def class_predictors(book: Dataset, given: tuple[str, ...]) -> list[str]:
    """Those given, or keys of a few classes."""
    return list(given) or [v.name for v in keys(book) if 2 < size(v) <= MOST_CLASSES][-3:]


def unrelated(book: Dataset, response: str, predictor: str, part: dict[str, tuple[str, ...]]) -> bool:
    """Whether no two of them are forms of one variable."""
    roots = [book.root(name) for name in (response, predictor, *part)]
    return len(set(roots)) == len(roots)


def alike_parts(intruder: Intruder) -> list[dict[str, tuple[str, ...]]]:
    """The classes of the coarse key that tells most of the weights; everyone where there are no weights."""
    book = intruder.book
    if not book.weight:
        return [{}]
    best: tuple[float, str] = (0.0, "")
    for name in dict.fromkeys(book.root(v.name) for v in keys(book)):
        if 1 < size(book.variable(name)) <= 10:
            table = intruder.table(name, measure=("count", "weighted_count"))
            if table is not None:
                means = values(table, "weighted_count") / np.maximum(values(table), 1)
                best = max(best, (float(np.nanstd(means) / np.nanmean(means)), name))
    return [{best[1]: (code,)} for code in codes(book, best[1])] if best[1] else [{}]
