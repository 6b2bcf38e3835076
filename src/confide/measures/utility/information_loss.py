"""How much numbers, and what is computed from them, differ: the information loss of Domingo-Ferrer and Torra."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.arrays import Floats
from confide.errors import Mistake
from confide.measures.pairs import Pair, paired
from confide.measures.records import weights_of
from confide.measures.utility.moments import FileMoments

__all__ = ["Discrepancies", "Discrepancy", "discrepancies"]

FLOOR = 0.01


@dataclass(frozen=True)
class Discrepancy:
    """How far a matrix is from the original: mean square error, mean absolute error, mean variation (a share)."""

    square: float
    absolute: float
    variation: float


@dataclass(frozen=True)
class Discrepancies:
    """The discrepancy of the values X, their means, covariances V, variances S, correlations R, of the correlations with
    principal components RF, the communalities C, and the score coefficients F."""

    values: Discrepancy
    means: Discrepancy
    covariances: Discrepancy
    variances: Discrepancy
    correlations: Discrepancy
    loadings: Discrepancy
    communalities: Discrepancy
    scores: Discrepancy

    @property
    def loss(self) -> float:
        """IL of the score, in percent: the mean of five parts, the last the absolute error of correlations."""
        four = (self.values, self.means, self.covariances, self.variances)
        return 100 / 5 * (sum(part.variation for part in four) + self.correlations.absolute)


def discrepancies(
    original: Any,
    released: Any,
    *,
    columns: str | Sequence[str],
    weight: str | None = None,
    identifier: str | None = None,
    floor: float = FLOOR,
) -> Discrepancies:
    """Information loss of numbers (Domingo-Ferrer, Mateo-Sanz and Torra 2001): values and matrices, by three discrepancies.

    The mean variation divides each difference by the original's absolute value, or by `floor` units if that is more, so
    that a zero does no harm: the unit is the column's standard deviation for values and means, the product of two for
    covariances, and 1 for all else (1 too for a constant column). Components are weighted by their variances, whose mean
    is 1, and turned to face the original's. Values are compared where both are known; the matrices come from the complete
    records of each file. Reference: the survey's table, with its fifth term over i < j; Domingo-Ferrer, Mateo-Sanz and
    Torra (2001).

    >>> import pyarrow as pa
    >>> original = pa.table({"a": [1.0, 2.0, 3.0], "b": [2.0, 1.0, 4.0]})
    >>> released = pa.table({"a": [1.0, 2.0, 3.0], "b": [2.0, 2.0, 4.0]})
    >>> found = discrepancies(original, released, columns=["a", "b"])
    >>> round(found.values.variation, 4), round(found.loss, 2)
    (0.1667, 16.13)
    """
    if floor < 0 or not np.isfinite(floor):
        raise Mistake(f"The floor is 0 or more, not {floor}.")
    pair = paired(original, released, columns, identifier=identifier)
    for column in pair.categorical:
        raise Mistake(f"Column {column.name!r} holds categories. These measures are about numbers.")
    matrices = pair.matrices()
    weights = weights_of(original, weight), weights_of(released, weight)
    before, after = (FileMoments.of(*side) for side in zip(matrices, weights, ("original", "released"), strict=True))
    return _compared(_values(pair, weights[0], before, floor), before, after, floor)


def _compared(values: Discrepancy, before: FileMoments, after: FileMoments, floor: float) -> Discrepancies:
    unit = np.where(before.deviation > 0, before.deviation, 1.0)
    upper, above = np.triu_indices(len(unit)), np.triu_indices(len(unit), 1)
    sign, importance = after.facing(before), np.broadcast_to(before.components[0], before.loadings.shape)

    def part(a: Floats, b: Floats, scale: Any = 1.0, share: Any = 1.0) -> Discrepancy:
        return _discrepancy(a, b, floor * scale, share)

    return Discrepancies(
        values,
        part(before.mean, after.mean, unit),
        part(before.covariance[upper], after.covariance[upper], np.outer(unit, unit)[upper]),
        part(np.diag(before.covariance), np.diag(after.covariance), unit**2),
        part(before.correlation[above], after.correlation[above]),
        part(before.loadings, after.loadings * sign, 1.0, importance),
        part(before.communalities, after.communalities),
        part(before.scores, after.scores * sign, 1.0, importance),
    )


def _values(pair: Pair, weight: Floats | None, before: FileMoments, floor: float) -> Discrepancy:
    original, released = pair.matrices()
    original = original[pair.truth]
    there = ~np.isnan(original) & ~np.isnan(released)
    unit = np.broadcast_to(np.where(before.deviation > 0, before.deviation, 1.0), there.shape)
    share = np.ones(len(there)) if weight is None else weight[pair.truth]
    return _discrepancy(
        original[there], released[there], floor * unit[there], np.broadcast_to(share[:, None], there.shape)[there]
    )


def _discrepancy(a: Floats, b: Floats, least: Any, share: Any) -> Discrepancy:
    """The three means over all entries, each weighing its share; of no entries at all, as of one column's R, they are 0."""
    share = np.broadcast_to(np.asarray(share, np.float64), a.shape)
    if not a.size or not share.sum():
        return Discrepancy(0.0, 0.0, 0.0)
    apart = np.abs(a - b)
    scale = np.maximum(np.abs(a), least)
    relative = np.divide(apart, scale, out=np.where(apart > 0, np.inf, 0.0), where=scale > 0)
    square, absolute, variation = (float(np.average(each, weights=share)) for each in (apart**2, apart, relative))
    return Discrepancy(square, absolute, variation)
