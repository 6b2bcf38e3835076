"""Whether a model can tell released records from original ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from confide.arrays import Floats
from confide.errors import Mistake
from confide.measures.pairs import unpaired
from confide.measures.utility.designs import ModelMatrix, chances

__all__ = ["Propensity", "propensity"]

MOST = 2000
"""A model of more columns than this takes too long and says little."""

DEPENDENT = 1e-9
"""Directions with less than this share of the largest variance are taken for rounding: k counts those that are not."""


@dataclass(frozen=True)
class Propensity:
    """The propensity score mean squared error, what it would be for a perfect synthetic file, and its spread there."""

    pmse: float
    expected: float
    deviation: float
    fair: float

    @property
    def ratio(self) -> float:
        """pMSE over its expectation: about 1 if the file was drawn from the right model, less if it was only masked."""
        return self.pmse / self.expected if self.expected else 0.0

    @property
    def standardised(self) -> float:
        """By how many standard deviations pMSE exceeds its expectation."""
        return (self.pmse - self.expected) / self.deviation if self.deviation else 0.0

    @property
    def percent(self) -> float:
        """pMSE in percent of its largest value: 0 if the files cannot be told apart, 100 if every record can."""
        return min(100.0, 100 * self.pmse / (self.fair * (1 - self.fair)))


def propensity(original: Any, released: Any, *, columns: str | Sequence[str], interactions: bool = False) -> Propensity:
    """pMSE of propensity scores (Woo et al. 2009; Snoke et al. 2018): how well a logistic model tells the files apart.

    pMSE is the mean of (p - c)² over the records of both files, where c is the share of released ones. For a synthetic file
    from the true model it has mean (k-1) (1-c)² c / N and standard deviation sqrt(2 (k-1)) (1-c)² c / N, with k independent
    columns of the model. With `interactions`, all products of two columns are in it. A missing value is a category.

    >>> import pyarrow as pa
    >>> people = pa.table({"sex": list("ffmm"), "pay": [1.0, 2.0, 3.0, 4.0]})
    >>> round(propensity(people, people, columns=["sex", "pay"]).pmse, 6)
    0.0
    """
    pair = unpaired(original, released, columns)
    design = ModelMatrix.of(pair)
    design = design.crossed() if interactions else design
    if len(design.names) > MOST:
        raise Mistake(f"The model has {len(design.names):,} columns, too many.", suggestions=["Name fewer columns."])
    outcome = np.repeat([0.0, 1.0], pair.rows)
    independent = _independent(np.vstack([design.original, design.released]))
    fair = pair.rows[1] / sum(pair.rows)
    pmse = float(np.mean((chances(independent, outcome) - fair) ** 2))
    unit = (1 - fair) ** 2 * fair / sum(pair.rows)
    others = independent.shape[1] - 1
    return Propensity(pmse, others * unit, sqrt(2 * others) * unit, fair)


def _independent(columns: Floats) -> Floats:
    """Independent columns that span the same: an intercept, then principal components of the standardised others."""
    rest = columns[:, 1:] - columns[:, 1:].mean(axis=0)
    spread = rest.std(axis=0)
    size = np.abs(columns[:, 1:]).max(axis=0, initial=0.0)
    rest = rest[:, spread > 1e-12 * size] / spread[spread > 1e-12 * size]
    values, vectors = np.linalg.eigh(rest.T @ rest / len(rest))
    keep = values > DEPENDENT * values.max(initial=0.0)
    return np.hstack([columns[:, :1], rest @ (vectors[:, keep] / np.sqrt(values[keep]))])
