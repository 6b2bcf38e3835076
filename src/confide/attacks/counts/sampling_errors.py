"""T6b: standard errors beside noisy counts. Which count has the error that is told?"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Floats
from confide.attacks.choosing import codes
from confide.attacks.claims import Claims, NotApplicable, SetTargets
from confide.attacks.counts.bounds import possible
from confide.attacks.counts.cell_facts import cell_facts
from confide.attacks.counts.keys import coarse_keys
from confide.attacks.intruder import Intruder, universe
from confide.model.catalog.dataset import Dataset
from confide.model.policy import CountRules, Policy
from confide.model.request import ErrorMeasure, Measure, TableRequest

__all__ = ["SamplingErrors", "solve_errors"]


@dataclass(frozen=True)
class SamplingErrors:
    """Find true counts from the standard errors that stand beside the published ones.

    Of a sample of N units, each drawn by itself, the variance of a count n is n (N - n) / (N - 1): the error of a small count tells
    the count, and that of nearly everybody tells how few the others are. Of all counts within reach of the published one, few have it.

    Against Confide it fails: the error is that of the published count, and where it is not, because of strata, sampling units or
    weights, it carries noise of its own. Before it did, the error of all but a few told how few they were in 91 to 98 of 100 cases
    (28 of 100 published counts are true).

    Tried: (1) the error of each cell of a table of two keys, for small cells; (2) that of a cell of nearly everybody, for the few
    others: both are kept, as one formula serves both.
    """

    keys: tuple[str, ...] = ()

    name: ClassVar = "sampling-errors"
    code: ClassVar = "T6b"
    words: ClassVar = "counts that fit the standard errors told beside them"
    knows: ClassVar = "nothing"

    def wants(self, book: Dataset, policy: Policy) -> SetTargets:
        if book.sampling is None:
            raise NotApplicable("How units were drawn is not declared, so that there are no standard errors.")
        self._by(book)
        return SetTargets()

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        by, book = self._by(intruder.book), intruder.book
        measure = (Measure.COUNT, Measure.WEIGHTED_COUNT) if book.weight else (Measure.COUNT,)
        request = TableRequest(book.name, by, (), universe({}), measure, error=(ErrorMeasure.SE,))
        table = intruder.ask(request)
        if table is None:
            return
        counts = table.columns["count"].values
        name = str(measure[-1])
        estimate, error = table.columns[name], table.columns[f"{name}_se"].values
        mean = np.where(counts > 0, estimate.values / np.maximum(counts, 1), 1.0)
        inner = tuple(slice(0, -1) for _ in by)
        parts = (counts[inner], (error / mean)[inner], (estimate.noise / mean)[inner])
        found = solve_errors(
            *(part.ravel() for part in parts), everyone=counts.ravel()[-1], rules=intruder.policy.counts
        )
        yield Claims.of(found, facts=cell_facts(book, by), guesses=counts[inner].ravel())

    def _by(self, book: Dataset) -> tuple[str, ...]:
        by = self.keys or tuple(v.name for v in coarse_keys(book) if len(codes(book, v.name)) > 1)[:2]
        if not by:
            raise NotApplicable("It needs a key with classes.")
        return by


def solve_errors(counts: Floats, errors: Floats, noise: Floats, *, everyone: float, rules: CountRules) -> Floats:
    """The true count of each cell, if one alone within reach of the published one has the error that is told; else NaN.

    >>> rules = CountRules(mechanism="cell-key", distance=3, variance=1.0, small=1)
    >>> solve_errors(np.array([25.0]), np.array([5.2]), np.zeros(1), everyone=1e6, rules=rules).tolist()
    [27.0]
    """
    found = np.full(counts.shape, np.nan)
    low, high = possible(counts, rules)
    for at in np.flatnonzero(np.isfinite(errors) & (errors > 0)):
        half = 0.5 * 10.0 ** (np.floor(np.log10(errors[at]) + 1e-9) - 1)
        own = np.arange(max(low[at], 1), high[at] + 1)
        expected = np.sqrt(own * np.maximum(everyone - own, 0.0) / max(everyone - 1, 1.0) + noise[at] ** 2)
        fits = own[np.abs(expected - errors[at]) <= half]
        if len(fits) == 1:
            found[at] = fits[0]
    return found
