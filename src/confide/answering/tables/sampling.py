"""The sampling variances of sums and ratios by cell, from what each sampling unit of the design adds to it.

Promise: everything comes from the records that all answers come from. What leaves is made of it in `errors`.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array

from confide.arrays import Bools, Floats, Ints
from confide.model.catalog.sampling import LoneUnits
from confide.model.evidence import Cells
from confide.site.coding.clusters import read_factors

__all__ = ["Linearised", "Replicated", "SampleVariances", "SampledSums", "variances_of"]


@dataclass(frozen=True, eq=False)
class SampledSums:
    """What sampling units add to each cell and margin of a table: weights, and contributions to totals. A row a cell."""

    weight: csr_array
    total: csr_array | None

    @classmethod
    def of(cls, cells: Cells, shape: Sequence[int], clusters: int, *, weight: int, total: int) -> "SampledSums":
        """From a tally by the table's variables and the sampling unit, last; the scales are decimal places."""
        assert cells.weight is not None
        rows = cells.places[:, :-1]
        sums = None if cells.total is None else _expanded(rows, cells.places[:, -1], cells.total, shape, clusters)
        weights = _expanded(rows, cells.places[:, -1], cells.weight, shape, clusters)
        return cls(weights / 10.0**weight, None if sums is None else sums / 10.0**total)


def _expanded(places: Ints, cluster: Ints, values: Ints, shape: Sequence[int], clusters: int) -> csr_array:
    """The sums of all cells and margins, the total in the last place of each axis; margins are sums of cells."""
    rows = []
    for kept in itertools.product((True, False), repeat=len(shape)):
        at = [places[:, a] if keep else np.full(len(places), shape[a] - 1) for a, keep in enumerate(kept)]
        rows.append(np.ravel_multi_index(at, tuple(shape)))
    parts = len(rows)
    entries = (np.tile(values.astype(np.float64), parts), (np.concatenate(rows), np.tile(cluster, parts)))
    return csr_array(entries, shape=(int(np.prod(shape)), clusters))


class SampleVariances(Protocol):
    """The variances that sampling makes, a row of sums each."""

    @property
    def kish(self) -> float:
        """What weights that are not all alike make of a variance, in the whole sample (Kish's effect)."""

    @property
    def clusters(self) -> int:
        """How many sampling units there are."""

    def sums(self, added: csr_array) -> Floats:
        """Of the sums over all sampling units."""

    def ratios(self, added: csr_array, to: csr_array) -> Floats:
        """Of one sum over another; 0 where the other is 0."""

    def covariance(self, added: Floats) -> Floats:
        """Of several sums, from what each sampling unit, a row, adds to them."""

    def freedom(self, there: Bools) -> int:
        """The degrees of freedom that some of the sampling units have."""


@dataclass(frozen=True, eq=False)
class Linearised:
    """Taylor linearisation: the variation of sampling units about the mean of their stratum.

    With n of them in stratum h, drawn with fraction f, and z what each adds, the variance is the sum over strata of
    (1 - f) n / (n - 1) sum (z - mean of z)^2; of a ratio r = y / x, z is (y - r x) / x (Woodruff 1971; Lumley 2004). One alone
    in its stratum is compared with the mean over all, if the design wants it so.
    """

    strata: Ints
    fractions: Floats
    single: LoneUnits
    kish: float

    @property
    def clusters(self) -> int:
        return len(self.strata)

    def sums(self, added: csr_array) -> Floats:
        sampled = np.bincount(self.strata, minlength=len(self.fractions))
        several = sampled > 1
        finite = 1 - self.fractions
        factor = np.where(several, finite * sampled / np.maximum(sampled - 1, 1), 0.0)
        places = (np.arange(self.clusters), self.strata)
        by_stratum = added @ csr_array((np.ones(self.clusters), places), shape=(self.clusters, len(sampled)))
        squares, means = added.power(2) @ factor[self.strata], by_stratum.power(2) @ (factor / np.maximum(sampled, 1))
        alone = np.where(several, 0.0, finite)[self.strata]
        return np.maximum(np.asarray(squares - means) + self._lone(added, alone), 0.0)

    def _lone(self, added: csr_array, alone: Floats) -> Floats:
        """The squared distances to the mean over all of those who are alone in their stratum."""
        if self.single is not LoneUnits.CENTRE:
            return np.zeros(added.shape[0])
        mean = np.asarray(added.sum(axis=1)).ravel() / self.clusters
        return np.asarray(added.power(2) @ alone - 2 * mean * (added @ alone) + mean**2 * alone.sum())

    def ratios(self, added: csr_array, to: csr_array) -> Floats:
        top, bottom = (np.asarray(each.sum(axis=1)).ravel() for each in (added, to))
        there = bottom != 0
        divisor = np.where(there, bottom, 1.0)
        linear = added - _times(top / divisor, to)
        return np.where(there, self.sums(_times(1 / divisor, linear)), 0.0)

    def covariance(self, added: Floats) -> Floats:
        sampled = np.bincount(self.strata, minlength=len(self.fractions))
        means = np.zeros((len(sampled), added.shape[1]))
        np.add.at(means, self.strata, added)
        several, finite = sampled > 1, 1 - self.fractions
        means = np.where(several[:, None], means / np.maximum(sampled, 1)[:, None], added.mean(axis=0))
        lone = finite if self.single is LoneUnits.CENTRE else np.zeros(len(finite))
        factor = np.where(several, finite * sampled / np.maximum(sampled - 1, 1), lone)
        apart = added - means[self.strata]
        return np.asarray((apart * factor[self.strata, None]).T @ apart)

    def freedom(self, there: Bools) -> int:
        return int(there.sum()) - len(np.unique(self.strata[there]))


@dataclass(frozen=True, eq=False)
class Replicated:
    """Replicate weights: the squared deviations of what they give from the estimate, times what their method says."""

    factors: Floats
    multiplier: float
    kish: float

    @property
    def clusters(self) -> int:
        return len(self.factors)

    def sums(self, added: csr_array) -> Floats:
        return self._spread(added @ self.factors, np.asarray(added.sum(axis=1)).ravel())

    def ratios(self, added: csr_array, to: csr_array) -> Floats:
        top, bottom = (np.asarray(each.sum(axis=1)).ravel() for each in (added, to))
        tops, bottoms = added @ self.factors, to @ self.factors
        whole = _ratio(top, bottom)
        return self._spread(np.where(bottoms != 0, _ratio(tops, bottoms), whole[:, None]), whole)

    def covariance(self, added: Floats) -> Floats:
        """One step from the estimate in each replicate, and no new fit (Rao and Tausi 2004)."""
        apart = (self.factors - 1).T @ added
        return np.asarray(self.multiplier * apart.T @ apart)

    def freedom(self, there: Bools) -> int:
        return min(int(self.factors.shape[1]), int(there.sum())) - 1

    def _spread(self, replicates: Floats, estimate: Floats) -> Floats:
        return np.asarray(self.multiplier * ((replicates - estimate[:, None]) ** 2).sum(axis=1))


def variances_of(facts: Mapping[str, Any]) -> SampleVariances:
    """How a store says that its units were drawn."""
    if "factors" in facts:
        return Replicated(read_factors(dict(facts)), facts["multiplier"], facts["kish"])
    single = LoneUnits(facts["single"])
    return Linearised(np.array(facts["strata"]), np.array(facts["fractions"]), single, facts["kish"])


def _times(factors: Floats, rows: csr_array) -> csr_array:
    """Each row times its factor."""
    return csr_array(rows.multiply(factors[:, None]))


def _ratio(top: Floats, bottom: Floats) -> Floats:
    there: Bools = bottom != 0
    return np.asarray(np.where(there, top / np.where(there, bottom, 1.0), 0.0))
