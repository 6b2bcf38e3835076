"""Correlations from the sums of products of columns, the first of which is the intercept."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10

import numpy as np

from confide.answering.regressions.fit import Unfit
from confide.arrays import Floats
from confide.model.model_release import Grid

__all__ = ["Correlated", "correlate", "correlation_grid", "decimals"]


CONSTANT = 1e-12
"""A variance below this share of the mean square is that of a constant."""


@dataclass(frozen=True)
class Correlated:
    """Weighted means, covariances (divided by the sum of weights) and correlations; exact, so they stay inside."""

    means: Floats
    covariances: Floats
    correlations: Floats


def correlate(gram: Floats, *, columns: Sequence[int]) -> Correlated:
    """Give the correlations of the columns at these places; a constant among them raises `Unfit`.

    Of numbers with means far from 0 take the gram of shifted ones, which have the same correlations.

    >>> correlate(np.array([[4.0, 2, 2], [2, 2, 2], [2, 2, 2]]), columns=[1, 2]).correlations.tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    if not (gram[0, 0] > 0 and np.all(np.isfinite(gram))):
        raise Unfit
    own = list(columns)
    means = gram[0, own] / gram[0, 0]
    products = gram[np.ix_(own, own)] / gram[0, 0]
    covariances = products - np.outer(means, means)
    variances = np.diag(covariances)
    if not np.all(variances > CONSTANT * np.diag(products)):
        raise Unfit
    unit = 1 / np.sqrt(variances)
    correlations = np.clip(covariances * unit[:, None] * unit, -1, 1)
    np.fill_diagonal(correlations, 1.0)
    return Correlated(means, covariances, correlations)


def decimals(n: int) -> int:
    """How many decimals a correlation over n units may have: half the digits of n, from 1 to 4.

    The rounding unit is then 1 to 10 times 1/sqrt(n), the sampling error; with more decimals the correlations of
    indicators can be turned back into tables.

    >>> [decimals(n) for n in (30, 9_999, 10_000, 10**6, 10**10)]
    [1, 1, 2, 3, 4]
    """
    return max(1, min(4, floor(log10(max(n, 1)) / 2)))


def correlation_grid(correlated: Correlated, *, labels: Sequence[str], n: int) -> Grid:
    """Give the table of correlations that may leave; `n` is the protected number of units.

    Promise: nothing but the correlations, to `decimals(n)`, is in it.
    """
    rounded = np.round(correlated.correlations, decimals(n)) + 0.0
    rows = tuple((label, *row) for label, row in zip(labels, rounded.tolist(), strict=True))
    return Grid("correlations", "Correlations", ("variable", *labels), rows)
