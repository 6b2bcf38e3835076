"""Correlations from the sums of products of columns, the first of which is the intercept."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from confide.answering.regressions.fit import Unfit
from confide.answering.rounding import to_error
from confide.arrays import Floats
from confide.model.model_release import Grid

__all__ = ["Correlated", "correlate", "correlation_grid", "sampling_errors"]


CONSTANT = 1e-12
"""A variance below this share of the mean square is that of a constant."""


@dataclass(frozen=True)
class Correlated:
    """Weighted means, covariances (divided by the sum of weights) and correlations; not rounded, so they stay inside."""

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


MOST_DECIMALS = 4

LEAST_SHARE = 0.1
"""The share of the variance left unexplained is taken to be at least this, lest correlations near 1 have all their digits."""


def sampling_errors(correlations: Floats, n: int | Floats) -> Floats:
    """The standard errors (1 - r^2) / sqrt(n) of correlations over n units, never less than at r^2 = 0.9.

    >>> sampling_errors(np.array([0.0, 0.6, 1.0]), 400)
    array([0.05 , 0.032, 0.005])
    """
    return np.asarray(np.maximum(1 - correlations**2, LEAST_SHARE) / np.sqrt(np.maximum(n, 1)))


def correlation_grid(exact: Floats, *, labels: Sequence[str], n: int | Floats, title: str = "Correlations") -> Grid:
    """Give the table of correlations that may leave; `n` is the protected number of units, of all or of each two.

    Promise: nothing but the correlations is in it, to the second digit of their standard error and at most 4 decimals.
    """
    errors = np.maximum(sampling_errors(exact, n), 10.0 ** (1 - MOST_DECIMALS))
    shown = to_error(exact, errors, digits=MOST_DECIMALS + 1) + 0.0
    rows = tuple((label, *row) for label, row in zip(labels, shown.tolist(), strict=True))
    return Grid("correlations", title, ("variable", *labels), rows)
