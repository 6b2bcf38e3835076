"""R12b: counts of a table from models of several classes: log odds, thresholds, hazards."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Floats
from confide.attacks.choosing import codes
from confide.attacks.claims import Claims, NotApplicable, SetFact, SetTargets
from confide.attacks.intruder import Intruder, universe, values
from confide.attacks.models.logistic_counts import (
    CountReading,
    ModelledTable,
    SharpErrors,
    alike_parts,
    class_predictors,
    class_responses,
    modelled_table,
    small_counts,
    unrelated,
)
from confide.attacks.models.reading import Fit, Released, by_response, fit_of, quoted
from confide.model.catalog.dataset import Dataset
from confide.model.formula import read_class, read_formula
from confide.model.policy import Policy
from confide.model.request import Family, RegressionRequest

__all__ = ["SeveralCounts"]


@dataclass(frozen=True)
class SeveralCounts:
    """Read the counts of a response by a key out of one model for all classes of the response.

    A multinomial model of one class variable is saturated: its log odds give the shares of every row. An ordered one tells by its
    thresholds how many of the reference are up to each class, and by one coefficient how other rows differ. A model of durations,
    of which the response is taken for one, and another class for what ends it, tells by its hazards how many of a class of the
    response have that other class too: a table of one variable more.

    Tried: (1) shares, and the errors of log odds, each by its precision, of the multinomial model: exact where counts are not
    protected, and where they are those of the table: kept. (2) Thresholds and hazards in the same way: the rows but the reference
    are off by as much as odds are not proportional, kept. (3) The published table moved to the margins that thresholds tell: the same.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""
    families: tuple[str, ...] = ("multinomial", "ordered", "survival")

    name: ClassVar = "several-counts"
    code: ClassVar = "R12b"
    words: ClassVar = "small counts from log odds, thresholds and hazards of models of several classes"
    knows: ClassVar = "nothing"

    def wants(self, book: Dataset, policy: Policy) -> SetTargets:
        if not _responses(book, self.secret) or not class_predictors(book, self.keys):
            raise NotApplicable("It needs a key, and a variable with three classes or more that is none.")
        return SetTargets()

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        book, told = intruder.book, 10
        cells: list[CountReading] = []
        for part in alike_parts(intruder):
            for response in _responses(book, self.secret):
                for predictor in class_predictors(book, self.keys):
                    if not unrelated(book, response, predictor, part):
                        continue
                    cells += _read(intruder, response, predictor, part, self.families)
                    if cells and intruder.asked > 1.5 * told:
                        told = intruder.asked
                        yield small_counts(cells, intruder.policy.counts.variance + 0.5)
        if cells:
            yield small_counts(cells, intruder.policy.counts.variance + 0.5)


def _responses(book: Dataset, secret: str) -> list[str]:
    return [name for name in class_responses(book, secret) if len(codes(book, name)) > 2]


def _read(
    intruder: Intruder, response: str, predictor: str, part: dict[str, tuple[str, ...]], families: tuple[str, ...]
) -> list[CountReading]:
    """The cells of one table over one part, as far as models tell them."""
    table = modelled_table(intruder, response, predictor, part)
    if table is None:
        return []
    read: dict[str, Callable[[Intruder, ModelledTable], list[CountReading]]] = {
        "multinomial": _by_odds,
        "ordered": _by_thresholds,
        "survival": _by_hazards,
    }
    return [cell for family in families for cell in read[family](intruder, table)]


def _model(intruder: Intruder, table: ModelledTable, family: Family, event: str = "") -> Released | None:
    formula = read_formula(f"{quoted(table.response)} ~ {quoted(table.predictor)}")
    ends = read_class(event) if event else None
    return intruder.ask(RegressionRequest(intruder.book.name, formula, universe(table.part), family, event=ends))


def _by_odds(intruder: Intruder, table: ModelledTable) -> list[CountReading]:
    """Whole rows: their size by shares, and by the error of each log odds.

    The variance of log odds is 1 / count + 1 / count of the class that they are against.
    """
    release = _model(intruder, table, Family.MULTINOMIAL)
    if release is None:
        return []
    book, found = intruder.book, list[CountReading]()
    fits = {code: fit for code, part in by_response(release).items() if (fit := fit_of(part)) is not None}
    base = [code for code in codes(book, table.response) if code not in fits][:1]
    for row, own in enumerate(codes(book, table.predictor)):
        odds = {c: fit.level(table.predictor, own) for c, fit in fits.items() if fit.has(table.predictor, own)}
        if not odds or not np.isfinite(table.sizes[row]):
            continue
        ratios = {code: float(np.exp(value)) for code, value in (odds | dict.fromkeys(base, 0.0)).items()}
        for code, ratio in ratios.items():
            count = float(table.sizes[row] * ratio / sum(ratios.values()))
            by_error, vague = _by_error(fits, code, f"{table.predictor}={own}", ratio)
            found.append(_reading(book, table, (own, code), count, (by_error or count, max(vague, 0.01))))
    return found


def _by_error(fits: dict[str, Fit], code: str, label: str, ratio: float) -> tuple[float, float]:
    """The count that an error tells, and its relative error; nothing and very vague for the class that others are against."""
    if code not in fits:
        return 0.0, 1.0
    variance, vague = SharpErrors(fits[code]).variance(label)
    return (1 + ratio) / variance, vague


def _by_thresholds(intruder: Intruder, table: ModelledTable) -> list[CountReading]:
    release = _model(intruder, table, Family.ORDERED)
    if release is None:
        return []
    rows = release.grids["thresholds"].rows
    names = [str(row[0]).split(" | ") for row in rows]
    shown = [names[0][0], *(name[-1] for name in names)]
    levels = np.array([float(row[1] or 0.0) for row in rows])
    found = []
    for own, (row, moved) in _rows(intruder.book, table, release).items():
        below = np.array([0.0, *(1 / (1 + np.exp(moved - levels))), 1.0])
        for code, share in zip(shown, np.diff(below), strict=True):
            count = float(table.sizes[row] * share)
            found.append(_reading(intruder.book, table, (own, code), count, (count, 1.0)))
    return found


def _by_hazards(intruder: Intruder, table: ModelledTable) -> list[CountReading]:
    """Who has a class of the response and another class: its hazard, times all who have that class of the response or a later one."""
    book = intruder.book
    taken = (table.response, table.predictor, *table.part)
    events = [name for name in class_responses(book, "") if book.root(name) not in map(book.root, taken)]
    if not events:
        return []
    event = f"{quoted(events[0])}={quoted(codes(book, events[0])[0])}"
    release = _model(intruder, table, Family.SURVIVAL, event)
    if release is None:
        return []
    hazards = {str(row[0]): float(row[4] or 0.0) for row in release.grids["hazards"].rows}
    joint = intruder.table(table.predictor, table.response, events[0], where=table.part)
    likely = table.counts * _share(intruder, events[0]) if joint is None else values(joint)[..., 0]
    found = []
    for own, (row, moved) in _rows(book, table, release).items():
        left = np.cumsum(np.nan_to_num(table.counts[row])[::-1])[::-1]
        for place, code in enumerate(codes(book, table.response)):
            if code in hazards:
                count = float(left[place] / (1 + np.exp(-hazards[code] - moved)))
                where = {**table.part, table.predictor: (own,), table.response: (code,)}
                fact = SetFact(universe({**where, events[0]: codes(book, events[0])[:1]}))
                found.append(CountReading(fact, round(float(np.nan_to_num(likely[row, place]))), count, count, 1.0))
    return found


def _share(intruder: Intruder, name: str) -> float:
    """Of all, who have the first class of a variable; a half if nobody may know."""
    table = intruder.table(name)
    counts = np.ones(2) if table is None else np.nan_to_num(values(table))
    return float(counts[0] / max(counts.sum(), 1.0))


def _rows(book: Dataset, table: ModelledTable, release: Released) -> dict[str, tuple[int, float]]:
    """The rows that have a coefficient, or are the one reference: their places, and what they are moved by."""
    moved = {str(row[0]): float(row[1] or 0.0) for row in release.grids["coefficients"].rows}
    labels = [f"{table.predictor}={own}" for own in codes(book, table.predictor)]
    alone = sum(label not in moved for label in labels) == 1
    sizes: Floats = table.sizes
    return {
        own: (row, moved.get(label, 0.0))
        for row, (own, label) in enumerate(zip(codes(book, table.predictor), labels, strict=True))
        if (label in moved or alone) and np.isfinite(sizes[row])
    }


def _reading(
    book: Dataset, table: ModelledTable, cell: tuple[str, str], count: float, by_error: tuple[float, float]
) -> CountReading:
    own, code = cell
    row, place = codes(book, table.predictor).index(own), codes(book, table.response).index(code)
    where = universe({**table.part, table.predictor: (own,), table.response: (code,)})
    return CountReading(SetFact(where), float(np.nan_to_num(table.counts[row, place])), count, *by_error)
