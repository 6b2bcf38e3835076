"""Information loss between 0 and 100: how surprising the released statistics are, given the original sample."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import erf

from confide.arrays import Floats
from confide.errors import Mistake
from confide.measures.pairs import unpaired
from confide.measures.records import weights_of
from confide.measures.utility.moments import FileMoments

__all__ = ["ProbabilisticLoss", "probabilistic_loss"]

LEVELS = np.arange(1, 20) / 20
"""Quantiles at 5, 10, ... 95 percent."""


@dataclass(frozen=True)
class ProbabilisticLoss:
    """The loss of each kind of statistic, in percent; NaN for those that one column does not have."""

    quantiles: float
    means: float
    variances: float
    covariances: float
    correlations: float

    @property
    def percent(self) -> float:
        """The mean of all kinds."""
        return float(np.nanmean([self.quantiles, self.means, self.variances, self.covariances, self.correlations]))


def probabilistic_loss(
    original: Any, released: Any, *, columns: str | Sequence[str], weight: str | None = None
) -> ProbabilisticLoss:
    """Probabilistic information loss, PIL (Mateo-Sanz et al. 2005): from 0 to 100, changes seen against sampling error.

    The loss of a statistic is 100 times the probability that a standard normal variable is smaller in size than their
    difference divided by the original's standard error: 0 if nothing changed, 68 at one standard error, 100 far out.
    Standard errors are asymptotic and free of distributions (quantiles by Woodruff's intervals). Files need not have the
    same records. Reference: Mateo-Sanz, Domingo-Ferrer and Sebé (2005).

    >>> import pyarrow as pa
    >>> original = pa.table({"pay": [1.0, 2.0, 3.0, 4.0, 5.0]})
    >>> probabilistic_loss(original, original, columns="pay").percent
    0.0
    """
    pair = unpaired(original, released, columns)
    for column in pair.categorical:
        raise Mistake(f"Column {column.name!r} holds categories. These measures are about numbers.")
    sides = zip(pair.matrices(), (weights_of(original, weight), weights_of(released, weight)), strict=True)
    before, after = (
        _Sample(values, weights, which)
        for (values, weights), which in zip(sides, ("original", "released"), strict=True)
    )
    pairs = [_pair_losses(before, after, i, j) for i, j in combinations(range(before.values.shape[1]), 2)]
    both = np.mean(pairs, axis=0) if pairs else np.full(2, np.nan)
    return ProbabilisticLoss(
        _quantile_loss(before, after), *_column_losses(before, after), float(both[0]), float(both[1])
    )


class _Sample:
    """The numbers of a file, and moments of its complete records."""

    def __init__(self, values: Floats, weight: Floats | None, which: str) -> None:
        self.values = values
        self.weight = np.ones(len(values)) if weight is None else weight
        self.moments = FileMoments.of(values, weight, which)
        share = self.moments.weight
        self.size = float(share.sum() ** 2 / (share**2).sum())  # as many records of equal weight say as much

    def moment(self, *powers: tuple[int, int]) -> float:
        """A central moment of columns to powers, given as (column, power)."""
        product = np.ones(len(self.moments.values))
        for column, power in powers:
            product = product * self.moments.centred[:, column] ** power
        return float(np.average(product, weights=self.moments.weight))

    def quantiles(self, column: int, levels: Floats) -> Floats:
        """Values below which the given shares of the weight lie, between two values in proportion."""
        known = ~np.isnan(self.values[:, column])
        values, place = np.unique(self.values[known, column], return_inverse=True)
        weight = np.bincount(place, self.weight[known])  # equal values together, or their order would matter
        reached = (np.cumsum(weight) - weight / 2) / weight.sum()
        return np.asarray(np.interp(levels, reached, values))


def _loss(apart: Any, error: Any) -> Any:
    """100 P(|Z| < apart / error); where there is no error, any difference is a total loss."""
    apart = np.abs(np.asarray(apart, np.float64))
    ratio = np.divide(apart, error, out=np.where(apart > 0, np.inf, 0.0), where=np.asarray(error) > 0)
    return 100 * erf(ratio / np.sqrt(2))


def _quantile_loss(before: _Sample, after: _Sample) -> float:
    losses = []
    half = np.sqrt(LEVELS * (1 - LEVELS) / before.size)
    for column in range(before.values.shape[1]):
        low, high = (before.quantiles(column, np.clip(LEVELS + sign * half, 0, 1)) for sign in (-1, 1))
        apart = before.quantiles(column, LEVELS) - after.quantiles(column, LEVELS)
        losses.append(_loss(apart, (high - low) / 2).mean())
    return float(np.mean(losses))


def _column_losses(before: _Sample, after: _Sample) -> tuple[float, float]:
    """The losses of means and of variances."""
    means, variances = [], []
    for i in range(before.values.shape[1]):
        square, fourth = before.moment((i, 2)), before.moment((i, 4))
        means.append(_loss(before.moments.mean[i] - after.moments.mean[i], np.sqrt(square / before.size)))
        error = np.sqrt(max(0.0, fourth - square**2) / before.size)
        variances.append(_loss(before.moments.covariance[i, i] - after.moments.covariance[i, i], error))
    return float(np.mean(means)), float(np.mean(variances))


def _pair_losses(before: _Sample, after: _Sample, i: int, j: int) -> tuple[float, float]:
    """The losses of a covariance and of a correlation."""
    product, crossed = before.moment((i, 1), (j, 1)), before.moment((i, 2), (j, 2))
    error = np.sqrt(max(0.0, crossed - product**2) / before.size)
    covariance = _loss(before.moments.covariance[i, j] - after.moments.covariance[i, j], error)
    r = before.moments.correlation[i, j]
    apart = r - after.moments.correlation[i, j]
    return float(covariance), float(_loss(apart, np.sqrt(_correlation_variance(before, i, j, r) / before.size)))


def _correlation_variance(sample: _Sample, i: int, j: int, r: float) -> float:
    """n times the asymptotic variance of a correlation, by standardised moments so that r may be 0."""
    spread = [np.sqrt(sample.moment((k, 2))) or 1.0 for k in (i, j)]

    def standard(a: int, b: int) -> float:
        return sample.moment((i, a), (j, b)) / (spread[0] ** a * spread[1] ** b)

    crossed = standard(2, 2)
    bent = r**2 / 4 * (standard(4, 0) + standard(0, 4) + 2 * crossed)
    return float(max(0.0, crossed + bent - r * (standard(3, 1) + standard(1, 3))))
