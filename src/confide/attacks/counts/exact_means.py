"""T6: exact means beside noisy counts. Which counts give the mean of the margin from the means of its parts?"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Floats
from confide.attacks.choosing import codes, keys, number_secret
from confide.attacks.claims import Claims, NotApplicable, Sets
from confide.attacks.counts.bounds import possible
from confide.attacks.counts.cell_facts import cell_facts
from confide.attacks.counts.pairs import coarse_keys
from confide.attacks.intruder import Intruder
from confide.model.catalog.dataset import Dataset
from confide.model.policy import CountRules, Policy
from confide.model.release import Release

__all__ = ["ExactMeans"]

TOLERANCE = 1e-4
"""Ratios of counts that differ by less than this share are taken for the same."""


@dataclass(frozen=True)
class ExactMeans:
    """Find true counts from the means of two parts and of their whole.

    m = (W1 m1 + W2 m2) / (W1 + W2) gives the ratio of the weights, and beside the published weighted counts the ratio of the
    true counts. Of all pairs of counts within reach of the published ones, few have it.

    Against every policy of Confide it fails: a mean is the protected total divided by the protected count, so the ratio it
    gives is that of the published counts.

    Tried: (1) ratios alone; (2) ratios, with the published sum of the two as a third bound: kept; (3) without weights, where
    the data set has none: the same formula.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "exact-means"
    code: ClassVar = "T6"
    words: ClassVar = "counts that fit the means of two parts and of their whole"
    knows: ClassVar = "nothing"

    def wants(self, book: Dataset, policy: Policy) -> Sets:
        self._by(book)
        number_secret(book, self.secret)
        return Sets()

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        by = self._by(intruder.book)
        secret = number_secret(intruder.book, self.secret)
        table = intruder.table(*by, measure=("count", "weighted_count", "mean"), of=secret)
        if table is not None:
            claimed = np.array([solve(*line, intruder.policy.counts) for line in _lines(table)])
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


def _lines(table: Release) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Counts, weighted counts and means of each group: both parts and the whole."""
    columns = [table.columns[name].values for name in ("count", "weighted_count", "mean")]
    for line in range(len(columns[0]) - 1):
        yield columns[0][line], columns[1][line], columns[2][line]


def solve(counts: Floats, weights: Floats, means: Floats, rules: CountRules) -> tuple[float, float]:
    """The two true counts, if only one pair within reach of the published ones fits; else NaN."""
    nothing = (np.nan, np.nan)
    first, second, whole = means
    if not np.isfinite(means).all() or first == whole or (counts[:2] <= 0).any() or (weights[:2] <= 0).any():
        return nothing
    ratio = (whole - second) / (first - whole) * (counts[0] / counts[1]) * (weights[1] / weights[0])
    low, high = possible(counts, rules)
    one, other = np.meshgrid(*(np.arange(max(low[i], 1), high[i] + 1) for i in (0, 1)), indexing="ij")
    fits = (np.abs(one / other / ratio - 1) < TOLERANCE) if ratio > 0 else np.zeros(one.shape, bool)
    fits &= (one + other >= low[2]) & (one + other <= high[2])
    return (float(one[fits][0]), float(other[fits][0])) if fits.sum() == 1 else nothing
