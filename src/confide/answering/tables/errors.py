"""Standard errors of a table's numbers: what sampling and protection make together, and how far they may be relied on.

Promise: errors tell no more of a count than the count beside them. That of a count or a share is of the number as published,
and what the design makes of it carries noise as counts do, drawn for the same units; that of a mean is as of the published
units; that of a small cell tells nothing of how its own units were drawn. Errors have two digits. Where the largest
contribution makes up most of an error, and records carry no noise, it is withheld.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.special import ndtri

from confide.answering.rounding import significant
from confide.answering.shield import Shield
from confide.answering.tables.amounts import LEAST_VARIATION, Amounts, totals_and_means
from confide.answering.tables.counts import Counts, Marks
from confide.answering.tables.largest import hides_largest
from confide.answering.tables.sampling import SampledSums, SampleVariances
from confide.arrays import Bools, Floats, Ints
from confide.model.catalog.dataset import Variable
from confide.model.catalog.sampling import SampleDesign
from confide.model.release import Column, wholes
from confide.model.request import TableRequest

__all__ = ["TableErrors"]

LEAST_OWN = 10
"""From so many units on, as published, the error of a cell is of its own sampling units: of fewer they are known badly, and would
tell how these few live together."""

SENSITIVE = 2.0
"""The noise of a variance, as a multiple of what the noise of counts makes of it. A variance is a sum of squares by sampling
unit, often of the few who are not in a cell: with 1 it would be a second look at their number, as good as their published count."""

ROUNDING = 1e-12
"""A share of less, or of less than this from all, is nobody's or everybody's."""

DIGITS = 2
MOST_DECIMALS = 6


@dataclass(frozen=True)
class TableErrors:
    """What the errors of a table are computed from: the question, the design, and the numbers of units with their weights."""

    request: TableRequest
    design: SampleDesign
    variances: SampleVariances
    shield: Shield
    counts: Counts
    sampled: SampledSums
    everyone: int | None = None
    """The published number of units in the sample, if each was drawn by itself and weighs the same: then counts tell their errors."""

    def of_count(self, column: Column) -> list[Column]:
        """The error of a count or weighted count, or of its share if percentages are asked for."""
        if self.request.percent:
            return self._of_share(column)
        if self.everyone is not None:
            sampling = self._simple(column.values, self.everyone)
            return _shown(column, np.sqrt(sampling + column.noise**2), column.values > 0, self.design)
        units, exact = self.counts.cube.units, self.counts.exact_weights
        simple = np.where(self._own, exact, 1.0) ** 2 / np.maximum(units, 1)
        variance = self._noisy(self.variances.sums(self.sampled.weight), self.sampled.weight, units)
        effect = np.where(self._own, variance / simple, self.variances.kish)
        sampling = effect * column.values**2 / np.maximum(self.counts.units, 1)
        return _shown(column, np.sqrt(sampling + column.noise**2), column.values > 0, self.design)

    def _of_share(self, column: Column) -> list[Column]:
        """The effect of the design on a share, times the error that a simple sample of the published units has."""
        part, noise = self._part(column.values, column.noise, column.marks)
        weight, places = self.sampled.weight, self._places
        own = self._effect(weight, weight[places], self.counts.cube.units, self._wholes(self.counts.cube.units))
        effect = np.where(np.isnan(own), self.variances.kish, own)
        units = np.maximum(self._wholes(self.counts.units), 1)
        inside = np.clip(part, 0.5 / units, 1 - 0.5 / units)
        error = np.hypot(np.sqrt(effect * inside * (1 - inside) / units), noise)
        return self._shown_share(column, part, error, part > 0)

    def effect_below(self, part: csr_array, purpose: str) -> Floats:
        """The effect of the design on the share that some of each cell have of it; NaN where that is nobody, everybody, or of few.

        Its noise is drawn for a purpose: what two of them are off by says nothing of each other.
        """
        if self.everyone is not None:
            return np.ones(self._shape)
        cube, whole = self.counts.cube, self.sampled.weight
        inside = self._cells(_row_sums(part) / np.where(_row_sums(whole) > 0, _row_sums(whole), 1.0))
        return self._effect(part, whole, inside * cube.units, cube.units, purpose)

    def _effect(
        self, part: csr_array, whole: csr_array, inside: Floats | Ints, units: Floats | Ints, purpose: str = ""
    ) -> Floats:
        """What the design makes of the variance of shares, beside a simple sample of so many; NaN where it is not told.

        `inside` are the units of the part, `units` those of the whole.
        """
        bottom = np.where(_row_sums(whole) > 0, _row_sums(whole), 1.0)
        true = self._cells(_row_sums(part) / bottom)
        simple = true * (1 - true) / np.maximum(units, 1)
        share = csr_array(diags_array(1 / bottom) @ part)
        variance = self._noisy(self.variances.ratios(part, whole), share, inside, purpose)
        own = self._own & (true * (1 - true) > ROUNDING)
        return np.asarray(np.where(own, variance / np.where(own, simple, 1.0), np.nan))

    @staticmethod
    def _simple(counts: Floats, everyone: int) -> Floats:
        """The variance of counts of a simple sample of so many: n (N - n) / (N - 1)."""
        return counts * np.maximum(everyone - counts, 0.0) / max(everyone - 1, 1)

    def _noisy(self, variance: Floats, added: csr_array, units: Floats | Ints, purpose: str = "") -> Floats:
        """Variances with noise, the same for the same units: `SENSITIVE` times that of counts, times what a unit more makes of them.

        With u what a unit usually adds, and z the most that a sampling unit has, that is (z + u)^2 - z^2 with u in z.
        """
        cube, spread = self.counts.cube, self.counts.spread
        if self.everyone is not None or not np.any(spread):
            return self._cells(variance)
        usual = np.sqrt(self._cells(np.asarray(added.power(2).sum(axis=1)).ravel()) / np.maximum(units, 1))
        largest = self._cells(np.asarray(abs(added).max(axis=1).toarray()).ravel())
        uniform = self.shield.draws.totals(f"\x1fdesign{purpose}", cube.records, cube.units, cube.key, draws=1)[:, 0]
        drawn = ndtri(np.clip(uniform, 1e-9, 1 - 1e-9)).reshape(self._shape)
        sensitivity = np.maximum(2 * largest - usual, usual) * usual
        return np.asarray(np.abs(self._cells(variance) + SENSITIVE * spread * sensitivity * drawn))

    def of_amounts(self, variable: Variable, columns: Mapping[str, Column]) -> Iterator[tuple[str, list[Column]]]:
        """The errors of totals and means, whichever of them is there."""
        total, mean = totals_and_means(variable, self.counts, self.shield)
        if "total" in columns:
            yield "total", self._of_total(columns["total"], total)
        if "mean" in columns:
            yield "mean", self._of_mean(columns["mean"], mean)

    def of_ratio(self, column: Column, found: Amounts, over: "TableErrors") -> list[Column]:
        """The error of the ratio of two totals; of few units in either, as if these were independent."""
        assert self.sampled.total is not None and over.sampled.total is not None
        variance = self._cells(self.variances.ratios(self.sampled.total, over.sampled.total))
        own = self._own & (over.counts.units >= LEAST_OWN)
        error = np.where(own, np.hypot(found.noise, np.sqrt(variance)), found.error)
        size = self._cells(np.asarray(over.sampled.total.sum(axis=1)).ravel())
        told = hides_largest(variance * size**2, self._largest, self.shield)
        return _shown(column, error, told, self.design)

    def _of_total(self, column: Column, total: Amounts) -> list[Column]:
        assert self.sampled.total is not None
        variance = self._cells(self.variances.sums(self.sampled.total))
        told = hides_largest(variance, self._largest, self.shield)
        if not self.request.percent:
            error = np.where(self._own, np.hypot(total.noise, np.sqrt(variance)), total.error)
            return _shown(column, error, told, self.design)
        part, noise = self._part(total.values, total.noise, column.marks)
        shares = self._cells(self.variances.ratios(self.sampled.total, self.sampled.total[self._places]))
        whole = np.abs(self._wholes(total.values))
        small = total.error / np.where(whole > 0, whole, 1.0)
        error = np.hypot(np.where(self._own, np.sqrt(shares), small), noise)
        return self._shown_share(column, part, error, told & (self._wholes(told) > 0))

    def _of_mean(self, column: Column, mean: Amounts) -> list[Column]:
        assert self.sampled.total is not None
        weights = np.where(self._own, self.counts.exact_weights, 1.0)
        variance = self._cells(self.variances.ratios(self.sampled.total, self.sampled.weight))
        least = LEAST_VARIATION**2 * self.counts.scales.square(self.counts.cube) / weights**2
        published = self.counts.cube.units / np.maximum(self.counts.units, 1)
        error = np.hypot(mean.noise, np.sqrt(np.maximum(variance, least) * published))
        usual = mean.values * weights / np.maximum(self.counts.cube.units, 1)
        told = hides_largest(np.maximum(variance, least) * weights**2, self._largest - np.abs(usual), self.shield)
        return _shown(column, np.where(self._own, error, mean.error), told, self.design)

    def of_deviation(self, column: Column, found: Amounts) -> list[Column]:
        """The error of a standard deviation: that of a simple sample, times the effect that the design has on the mean."""
        assert self.sampled.total is not None
        weights, units = np.where(self._own, self.counts.exact_weights, 1.0), self.counts.cube.units
        variance = self._cells(self.variances.ratios(self.sampled.total, self.sampled.weight))
        there = found.values > 0
        effect = np.where(there, variance * units / np.where(there, found.values, 1.0) ** 2, 1.0)
        effect = np.where(self._own, effect, self.variances.kish)
        sampling = np.maximum(found.error**2 - found.noise**2, 0.0)
        told = hides_largest(variance * weights**2, self._largest, self.shield)
        return _shown(column, np.sqrt(found.noise**2 + effect * sampling), told, self.design)

    def of_quantile(self, column: Column, error: Floats) -> list[Column]:
        """The error of a quantile that was read off its distribution."""
        return _shown(column, error, np.ones(self._shape, dtype=bool), self.design)

    @property
    def _shape(self) -> tuple[int, ...]:
        return self.counts.units.shape

    @property
    def _own(self) -> Bools:
        """The cells whose errors are of their own sampling units."""
        return np.asarray((self.counts.units >= LEAST_OWN) & (self.counts.exact_weights > 0))

    @property
    def _largest(self) -> Floats:
        assert self.counts.cube.top is not None
        return np.asarray(self.counts.cube.top[..., 0] / 10.0**self.counts.scales.total)

    def _cells(self, flat: Floats) -> Floats:
        return flat.reshape(self._shape)

    def _wholes(self, values: Floats | Ints | Bools) -> Floats:
        assert self.request.percent is not None
        return wholes(np.asarray(values), self.request, self.request.percent)

    @property
    def _places(self) -> Ints:
        """The number of the cell that is the whole of each."""
        return np.asarray(self._wholes(np.arange(np.prod(self._shape)).reshape(self._shape)).ravel(), dtype=np.int64)

    def _part(self, values: Floats, noise: Floats, marks: Marks) -> tuple[Floats, Floats]:
        """The share of each cell in its whole and its noise; 0 where there is none."""
        values, noise = (np.where(marks == "", numbers, 0.0) for numbers in (values, noise))
        whole = self._wholes(values)
        divisor = np.where(whole > 0, whole, 1.0)
        part = np.where(whole > 0, values / divisor, 0.0)
        return part, np.hypot(noise, part * self._wholes(noise)) / divisor

    def _shown_share(self, column: Column, part: Floats, error: Floats, told: Bools) -> list[Column]:
        whole = np.isin(np.arange(part.size), self._places).reshape(self._shape)
        gone = self._wholes(np.where(column.marks == "", column.values, 0.0)) <= 0
        marks = np.where(column.marks == "", np.where(gone, "x", ""), column.marks)
        values = np.where(marks == "", np.round(100 * part, 1), np.nan)
        label = f"{column.label}, % of {self.request.percent}"
        share = Column(f"{column.name}_percent", label, 1, values, marks, np.where(marks == "", 0.0, np.nan))
        return _shown(share, np.where(whole, 0.0, 100 * error), told | whole, self.design)


def _shown(column: Column, error: Floats, told: Bools, design: SampleDesign) -> list[Column]:
    """The error of a column, and the reliability that its ratio to the number has: 1, 2 or 3. Of a zero, or where there is none (NaN),
    nothing is told."""
    free, zero = column.marks == "", (column.values == 0) | np.isnan(error)
    error = significant(np.where(free & ~zero, error, 0.0), DIGITS)
    marks = np.where(free, np.where(zero, "x", np.where(told, "", "c")), column.marks)
    clear = marks == ""
    ratio = 100 * error / np.where(clear, np.abs(column.values), 1.0)
    reliability = 1.0 + (ratio > design.caution) + (ratio > design.unreliable)
    parts = (("se", "standard error", _decimals(error[clear]), error), ("reliability", "reliability", 0, reliability))
    return [
        replace(
            column,
            name=f"{column.name}_{name}",
            label=f"{column.label}, {words}",
            decimals=decimals,
            values=np.where(clear, values, np.nan),
            marks=marks,
            noise=np.where(clear, 0.0, np.nan),
        )
        for name, words, decimals, values in parts
    ]


def _row_sums(rows: csr_array) -> Floats:
    return np.asarray(rows.sum(axis=1), dtype=np.float64).ravel()


def _decimals(errors: Floats) -> int:
    """The decimals that the smallest of some errors needs."""
    least = float(np.min(errors[errors > 0], initial=100.0))
    return int(np.clip(DIGITS - 1 - np.floor(np.log10(least)), 0, MOST_DECIMALS))
