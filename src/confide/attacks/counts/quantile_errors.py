"""T8d: standard errors of quantiles with two sampling units a stratum. How many of each lie below?"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Floats, Ints
from confide.attacks.choosing import codes, confidential, keys, size
from confide.attacks.claims import WITHIN, Claims, NotApplicable, SetFact, SetTargets
from confide.attacks.intruder import Intruder, universe, values
from confide.attacks.two_areas import TwoAreas, two_areas
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy
from confide.model.request import ErrorMeasure, Measure, TableRequest

__all__ = ["QuantileErrorCounts"]

QUANTILES = (Measure.P25, Measure.MEDIAN, Measure.P75)


@dataclass(frozen=True)
class QuantileErrorCounts:
    """Find how many of each sampling unit have a number below a cutpoint, from errors of quantiles by stratum.

    The error of a quantile is that of the share below it, over the density there, which published counts by bins tell. With two
    sampling units a stratum the former is twice the distance of one to what its share of the stratum would be: so the error tells
    how many of each are below.

    Tried: (1) the median alone; (2) the quartiles as well, which lie between other cutpoints: kept, as each is a fact of its own;
    (3) over the classes of another key too, kept.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "quantile-errors"
    code: ClassVar = "T8d"
    words: ClassVar = "counts by sampling unit from the standard errors of quantiles by stratum"
    knows: ClassVar = "which key names the sampling units"

    def wants(self, book: Dataset, policy: Policy) -> SetTargets:
        two_areas(book)
        _cut_number(book, self.secret)
        return SetTargets()

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        areas, number = two_areas(intruder.book), _cut_number(intruder.book, self.secret)
        others = [v.name for v in keys(intruder.book) if intruder.book.root(v.name) != intruder.book.root(areas.area)]
        named = self.keys or tuple(n for n in others if size(intruder.book.variable(n)) > 1)[-1:]
        parts: list[dict[str, tuple[str, ...]]] = [{}]
        parts += [{name: (code,)} for name in named for code in codes(intruder.book, name)]
        found: list[tuple[float, float, SetFact]] = []
        for part in parts:
            found += _read(intruder, areas, number, part)
            if found:
                claimed, guesses, facts = zip(*found, strict=True)
                yield Claims.of(np.array(claimed), facts=facts, guesses=np.array(guesses), within=WITHIN)


def _read(
    intruder: Intruder, areas: TwoAreas, number: str, part: dict[str, tuple[str, ...]]
) -> list[tuple[float, float, SetFact]]:
    """What is claimed of each area and quantile, what its own table says, and what of."""
    request = TableRequest(
        intruder.book.name, (areas.stratum,), (), universe(part), QUANTILES, number, error=(ErrorMeasure.SE,)
    )
    errors = intruder.ask(request)
    whole, fine = (intruder.table(by, number, where=part) for by in (areas.stratum, areas.area))
    shares = areas.shares(intruder, part)
    if errors is None or whole is None or fine is None or shares is None:
        return []
    variable = intruder.book.variable(number)
    bins = len(variable.cutpoints) + 1
    counts = np.nan_to_num(values(whole))[areas.within(intruder)][:, :bins]
    published = areas.of(intruder, np.cumsum(np.nan_to_num(values(fine))[:, :bins], axis=1))
    edges = np.array([np.nan, *variable.cutpoints, np.nan])
    found: list[tuple[float, float, SetFact]] = []
    for measure in QUANTILES:
        column, inside = errors.columns[measure.value], areas.within(intruder)
        error, noise = values(errors, f"{measure.value}_se")[inside], column.noise[:-1][inside]
        apart, last = _apart(counts, edges, measure, np.sqrt(np.maximum(error**2 - noise**2, 0.0)))
        for at, pair in enumerate(areas.pairs.values()):
            if not np.isfinite(apart[at]) or last[at] + 1 >= bins:
                continue
            expected = shares[:, at] * counts[at, : last[at] + 1].sum()
            own = published[:, at, last[at]]
            sign = np.where(own[0] - expected[0] >= own[1] - expected[1], 1.0, -1.0) * np.array([1.0, -1.0])
            below = variable.codes.names[: last[at] + 1] if variable.codes else ()
            for side in (0, 1):
                where = universe({**part, areas.area: (pair[side],), number: below})
                found.append((round(float(expected[side] + sign[side] * apart[at])), own[side], SetFact(where)))
    return found


def _apart(counts: Floats, edges: Floats, measure: Measure, error: Floats) -> tuple[Floats, Ints]:
    """How many more, or fewer, of a sampling unit are below than its share of the stratum, and the last bin that is below."""
    total = counts.sum(axis=1)
    below = np.cumsum(counts, axis=1)
    wanted = (measure.quantile or 0.0) * total
    place = np.minimum((below < wanted[:, None]).sum(axis=1), counts.shape[1] - 1)
    density = counts[np.arange(len(counts)), place] / (edges[place + 1] - edges[place])
    before = np.where(place > 0, np.take_along_axis(below, np.maximum(place - 1, 0)[:, None], axis=1)[:, 0], 0.0)
    after = np.take_along_axis(below, place[:, None], axis=1)[:, 0]
    last = np.where((wanted - before < after - wanted) & (place > 0), place - 1, place)
    return np.asarray(error * density / 2), np.asarray(last)


def _cut_number(book: Dataset, name: str) -> str:
    for variable in confidential(book):
        if name in ("", variable.name) and variable.measurable and variable.classifies:
            return variable.name
    raise NotApplicable("No confidential number is cut into bins.")
