"""R13: a diagnostic plot has as many points as there are units behind it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Floats
from confide.attacks.choosing import codes, keys, number_secret, size
from confide.attacks.claims import Claims, NotApplicable, SetFact, SetTargets
from confide.attacks.intruder import Intruder, universe, values
from confide.attacks.models.means import covariates
from confide.attacks.models.reading import quoted
from confide.model.catalog.dataset import Dataset, Variable
from confide.model.model_release import PLOT
from confide.model.policy import Policy

__all__ = ["PlotSizes"]

MOST_POINTS = 5000
"""No plot has more points, so universes stay below."""

ROUNDS = 5
"""So many questions for each bin: an error of 1.1 units a question is then below half a unit."""


@dataclass(frozen=True)
class PlotSizes:
    """Read exact counts of the bins of a number, within a class that has fewer units than a plot may have points.

    The points of a residual plot are as many as the units of its universe less those dropped, 2 to k of them, anew for
    every set of bins. So random halves of the bins are asked for, and the numbers of points solved for those of the bins
    by least squares with the published counts, whose noise is known.

    Tried: (1) one plot over each set, plus the mean number of drops: right in one of four. (2) Classes in place of bins: a
    class loses the same units in every union, so nothing averages. (3) Random halves of bins: kept. The statistic of a model
    with one predictor gives its correlation to three digits likewise, where correlations are rounded to two.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "plot-sizes"
    code: ClassVar = "R13"
    words: ClassVar = "exact counts from the number of points in diagnostic plots"
    knows: ClassVar = "nothing"

    def wants(self, book: Dataset, policy: Policy) -> SetTargets:
        self._binned(book)
        if not covariates(book, number_secret(book, self.secret)):
            raise NotApplicable("It needs a number that explains another, to have a plot.")
        return SetTargets()

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        book, binned = intruder.book, self._binned(intruder.book)
        held = _held(intruder, binned)
        table = intruder.table(binned, where=held)
        if table is None:
            return
        published = np.maximum(np.nan_to_num(values(table)), 0.0)
        facts = tuple(SetFact(universe({**held, binned: (code,)})) for code in codes(book, binned))
        chosen: list[Floats] = []
        points: list[float] = []
        while len(chosen) < ROUNDS * len(published):
            half = intruder.rng.permutation(len(published)) < len(published) // 2
            inside = tuple(code for code, here in zip(codes(book, binned), half, strict=True) if here)
            count = _points(intruder, number_secret(book, self.secret), {**held, binned: inside})
            if count is not None:
                chosen.append(half.astype(np.float64))
                points.append(count)
            if intruder.asked & (intruder.asked - 1) == 0 or len(chosen) == ROUNDS * len(published):
                found = _solved(
                    np.array(chosen).reshape(-1, len(published)), np.array(points), published, intruder.policy
                )
                yield Claims.of(np.round(found), facts=facts, guesses=published)

    def _binned(self, book: Dataset) -> str:
        found = [v.name for v in keys(book) if v.binned and size(v) > 3]
        if not (self.keys or found):
            raise NotApplicable("It needs a key in bins.")
        return self.keys[0] if self.keys else found[0]


def _solved(chosen: Floats, points: Floats, published: Floats, policy: Policy) -> Floats:
    """The counts that fit the numbers of points best, each point count with the noise of drops, each published one with its."""
    most = policy.drop.k
    drops, spread = ((2 + most) / 2, ((most - 1) ** 2 - 1) / 12) if most >= 2 else (0.0, 0.0)
    exact, noisy = 1 / max(spread, 1e-3) ** 0.5, 1 / (max(policy.counts.variance, 0.1) + 2) ** 0.5
    rows = np.vstack([chosen * exact, np.eye(len(published)) * noisy])
    return np.asarray(np.linalg.lstsq(rows, np.append((points + drops) * exact, published * noisy), rcond=None)[0])


def _points(intruder: Intruder, number: str, where: dict[str, tuple[str, ...]]) -> float | None:
    """How many points a plot over a universe has."""
    formula = f"{quoted(number)} ~ {quoted(covariates(intruder.book, number)[0])}"
    release = intruder.regression(formula, where=where, diagnostics=True)
    if release is None:
        return None
    sizes = [len(grid.rows) for name, grid in release.grids.items() if name == f"{PLOT}fitted"]
    return float(sizes[0]) if sizes and 0 < sizes[0] < MOST_POINTS else None


def _held(intruder: Intruder, binned: str) -> dict[str, tuple[str, ...]]:
    """The largest class of a coarse key that a plot can show all of: counts by one variable alone are no secret, and protected
    records keep them."""
    book = intruder.book
    best: tuple[float, dict[str, tuple[str, ...]]] = (0.0, {})
    for variable in _levels(book, binned):
        table = intruder.table(variable.name)
        if table is None:
            continue
        counts = np.nan_to_num(values(table))
        fits = np.where(counts < 0.98 * MOST_POINTS, counts, 0)
        if fits.max() > best[0]:
            best = float(fits.max()), {variable.name: (codes(book, variable.name)[int(fits.argmax())],)}
    return best[1]


def _levels(book: Dataset, binned: str) -> list[Variable]:
    """The keys that are no form of the number in bins, at each level, coarsest first; not too many of them."""
    found = {v.name: v for key in keys(book) for v in book.chain(key.name) if v.universe and not v.binned}
    return sorted((v for v in found.values() if v.name != binned), key=lambda v: (size(v), v.name))[:6]
