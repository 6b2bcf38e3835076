"""Totals and means of a table, from one sum, to the digits that their standard error supports."""

from dataclasses import dataclass

import numpy as np

from confide.answering.mechanisms.magnitudes import record_noise
from confide.answering.rounding import significant, to_error
from confide.answering.shield import Shield
from confide.answering.tables.counts import Counts, Marks
from confide.arrays import Floats
from confide.model.catalog.dataset import Variable
from confide.model.policy import Policy
from confide.model.release import Column

__all__ = ["LEAST_VARIATION", "Amounts", "amounts", "totals_and_means"]

LEAST_VARIATION = 0.1
"""The sampling error of a mean is taken to be at least that of numbers with this coefficient of variation.

Numbers all alike have none, and a mean of few with all its digits is the number itself."""


@dataclass(frozen=True)
class Amounts:
    """Numbers with the noise in them, their standard error (sampling error and noise), and marks."""

    values: Floats
    noise: Floats
    error: Floats
    marks: Marks

    def column(self, name: str, label: str, decimals: int, policy: Policy) -> Column:
        free = self.marks == ""
        error = self.error if policy.protects else np.zeros_like(self.error)
        rounded = to_error(self.values, error, digits=policy.output.digits)
        shown = np.where(free, np.round(rounded, decimals), np.nan)
        return Column(name, label, decimals, shown, self.marks, np.where(free, significant(self.noise, 3), np.nan))

    def fine(self, variable: Variable, policy: Policy) -> int:
        """The decimals that the largest of them leaves room for, at most two more than the number has."""
        largest = float(np.max(np.abs(self.values[self.marks == ""]), initial=1.0))
        return min(variable.decimals + 2, max(0, policy.output.digits - 1 - int(np.log10(largest))))


def amounts(variable: Variable, counts: Counts, shield: Shield) -> dict[str, Column]:
    """Totals and means: withheld where a unit could be estimated from them; where the count is zero, zero and none.

    Promise: their noise is what they are off by because of protection, as a standard deviation.
    """
    policy = shield.policy
    total, mean = totals_and_means(variable, counts, shield)
    fine = mean.fine(variable, policy)
    return {
        "total": total.column("total", f"Total of {variable.label}", variable.decimals, policy),
        "mean": mean.column("mean", f"Mean of {variable.label}", fine, policy),
    }


def totals_and_means(variable: Variable, counts: Counts, shield: Shield) -> tuple[Amounts, Amounts]:
    """Before they are rounded and their marked numbers taken out: for what is computed of them."""
    total = _totals(variable, counts, shield)
    return total, _means(total, counts, shield)


def _totals(variable: Variable, counts: Counts, shield: Shield) -> Amounts:
    cube, scales = counts.cube, counts.scales
    protected = shield.totals.protect(cube, variable.name, shield.draws, units=counts.judged, scale=scales.total)
    empty, square = counts.units == 0, scales.square(cube)
    own = record_noise(square, share=scales.noise)
    joined = np.hypot(protected.noise, own * scales.spreads(square.shape, means=False))
    # A count of zero may stand for one or two units: of these nothing is told.
    values, noise = (np.where(empty, 0.0, numbers) for numbers in (protected.values, joined))
    # Who is in a cell is chance too, so its total varies by the numbers themselves and not by their distance to the mean.
    error = np.hypot(noise, np.sqrt(square))
    return Amounts(values, noise, error, np.where(protected.withheld & ~empty, "c", ""))


def _means(total: Amounts, counts: Counts, shield: Shield) -> Amounts:
    weights, weight_noise = _divisor(counts, shield.policy)
    divisor = np.where(weights > 0, weights, 1.0)
    values = total.values / divisor
    scales = counts.scales
    of_total, of_mean = (scales.spreads(values.shape, means=means) for means in (False, True))
    beside = np.divide(
        of_mean, of_total, out=np.ones_like(of_mean), where=of_total > 0
    )  # none where balance left no noise
    noise = np.hypot(total.noise / divisor * beside, values * weight_noise / divisor)
    sampling = np.sqrt(_deviations(total, counts, shield.policy)) / divisor
    marks = np.where((counts.units == 0) | (weights <= 0), "z", total.marks)
    return Amounts(values, noise, np.hypot(noise, sampling), marks)


def _divisor(counts: Counts, policy: Policy) -> tuple[Floats, Floats]:
    """What a total is divided by, and its noise: the weights of the same records where these are protected themselves."""
    if policy.records.noise and policy.totals.mechanism == "none":
        exact = counts.exact_weights
        return exact, np.zeros_like(exact)
    return counts.weights()


def _deviations(total: Amounts, counts: Counts, policy: Policy) -> Floats:
    """The sum of squared distances to the mean, for as many units as there may be behind the protected number."""
    distance = 0 if policy.counts.mechanism == "none" else policy.counts.distance
    square = counts.scales.square(counts.cube)
    about_mean = square - total.values**2 / np.maximum(counts.units + distance, 1)
    return np.maximum(about_mean, LEAST_VARIATION**2 * square)
