"""T6: exact means beside noisy counts. Which counts give the mean of the margin from the means of its parts?"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Floats
from confide.attacks.choosing import codes, keys, number_secret
from confide.attacks.claims import Claims, NotApplicable, SetTargets
from confide.attacks.counts.bounds import possible
from confide.attacks.counts.cell_facts import cell_facts
from confide.attacks.counts.keys import coarse_keys
from confide.attacks.intruder import Intruder
from confide.model.catalog.dataset import Dataset
from confide.model.policy import CountRules, Policy
from confide.model.release import Release

__all__ = ["ExactMeans"]


@dataclass(frozen=True)
class ExactMeans:
    """Find true counts from the means of two parts and of their whole.

    m = (W1 m1 + W2 m2) / (W1 + W2) gives the ratio of the weights, and beside the published weighted counts the ratio of the
    true counts. Of all pairs of counts within reach of the published ones, few have it.

    Against every policy of Confide it fails: a mean is the protected total divided by the protected count, so the ratio it
    gives is that of the published counts.

    Tried: (1) a fixed tolerance of 1e-4: no pair or several fit; (2) the tolerance that follows from the decimals of the means
    and the rounding of the weighted counts: kept. With weights the latter is wide, so that few counts are certain, and
    without weights nearly all are; (3) the published sum of the two as a third bound: kept.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "exact-means"
    code: ClassVar = "T6"
    words: ClassVar = "counts that fit the means of two parts and of their whole"
    knows: ClassVar = "nothing"

    def wants(self, book: Dataset, policy: Policy) -> SetTargets:
        self._by(book)
        number_secret(book, self.secret)
        return SetTargets()

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        by = self._by(intruder.book)
        secret = number_secret(intruder.book, self.secret)
        measures = ("count", "weighted_count", "mean") if intruder.book.weight else ("count", "mean")
        table = intruder.table(*by, measure=measures, of=secret)
        if table is not None:
            claimed = np.array([solve(line, intruder.policy.counts) for line in _lines(table)])
            guesses = table.columns["count"].values[:-1, :-1].ravel()
            yield Claims.of(claimed.ravel(), facts=cell_facts(intruder.book, by), guesses=guesses)

    def _by(self, book: Dataset) -> tuple[str, str]:
        pairs = [v.name for v in keys(book) if len(codes(book, v.name)) == 2]
        others = [v.name for v in coarse_keys(book) if v.name not in pairs]
        if len(self.keys) == 2:
            return self.keys[0], self.keys[1]
        if not pairs or not others:
            raise NotApplicable("It needs a key of two classes, and another.")
        return others[0], pairs[0]


@dataclass(frozen=True, eq=False)
class Line:
    """Counts, weighted counts and means of a group: both parts, then the whole. `half` is half a unit of the last decimal."""

    counts: Floats
    weights: Floats
    means: Floats
    half: float

    @property
    def sound(self) -> bool:
        """Whether the means tell the ratio of the weights: the whole lies between its parts."""
        full = np.isfinite(self.means).all() and (self.counts[:2] > 0).all() and (self.weights[:2] > 0).all()
        return bool(full) and min(self.means[:2]) < self.means[2] < max(self.means[:2])

    @property
    def ratio(self) -> float:
        """Of the true counts of the two parts."""
        first, second, whole = self.means
        moved = (self.counts[0] / self.counts[1]) * (self.weights[1] / self.weights[0])
        return float((whole - second) / (first - whole) * moved)

    @property
    def tolerance(self) -> float:
        """How far off that may be, as a share of it: by the decimals of the means and the rounding of the weights."""
        first, second, whole = self.means
        means = 2 * self.half * (1 / abs(whole - second) + 1 / abs(first - whole))
        grain = np.maximum(10 ** np.floor(np.log10(self.weights[:2] / self.counts[:2]) + 1e-9), 1.0)
        rounded = (self.weights[:2] != self.counts[:2]).any()
        return float(means + ((0.5 * grain / self.weights[:2]).sum() if rounded else 0.0))


def _lines(table: Release) -> Iterator[Line]:
    counts, mean = table.columns["count"].values, table.columns["mean"]
    weights = table.columns["weighted_count"].values if "weighted_count" in table.columns else counts
    for place in range(len(counts) - 1):
        yield Line(counts[place], weights[place], mean.values[place], 0.5 * 10.0**-mean.decimals)


def solve(line: Line, rules: CountRules) -> tuple[float, float]:
    """The two true counts, if only one pair within reach of the published ones fits; else NaN."""
    if not line.sound:
        return np.nan, np.nan
    low, high = possible(line.counts, rules)
    one, other = np.meshgrid(*(np.arange(max(low[i], 1), high[i] + 1) for i in (0, 1)), indexing="ij")
    fits = np.abs(one / other / line.ratio - 1) < line.tolerance
    fits &= (one + other >= low[2]) & (one + other <= high[2])
    return (float(one[fits][0]), float(other[fits][0])) if fits.sum() == 1 else (np.nan, np.nan)
