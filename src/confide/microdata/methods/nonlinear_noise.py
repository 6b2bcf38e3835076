"""Noise with nonlinear transformation: noise is added to normal scores, which are then brought back to the column's own values."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from scipy.special import ndtr, ndtri

from confide.arrays import Floats
from confide.errors import Mistake
from confide.microdata.method import Method
from confide.microdata.methods.gaussian import complete, must_vary, normals, root
from confide.microdata.methods.rank_swapping import ordered
from confide.microdata.records import Masked, Records, kind_of
from confide.microdata.synthesis.models import quantiles
from confide.model.parameter import parameter

__all__ = ["NonlinearNoise"]

SWEEPS = 10
"""How often the scores of equal values are drawn anew: after 5 the correlations of discrete columns no longer grow."""


@dataclass(frozen=True)
class NonlinearNoise(Method):
    """Noise addition with nonlinear transformation (Sullivan 1989): noise that leaves every column its own distribution.

    Promise: the distribution of a column stays, but for chance, whatever its shape, so that it may be discrete; no value
    lies outside the column's range, and a number that fewer than `least` records have lies between those there were.
    Correlations of normal scores stay on average. With F the distribution of a column and Phi the normal one, the score
    of a value is z = Phi^-1(F(x)), drawn within the step where values are equal; the masked value is
    F^-1(Phi((z + e) / sqrt(1 + k))), with e normal noise of covariance matrix k S, where S is that of the scores, and F
    made continuous between rare numbers. Categories must have an order. Missing values stay missing; S is of the records
    in which all columns are known. References: Domingo-Ferrer (2007), additive noise; Sullivan (1989); Brand (2002).

    >>> import pyarrow as pa
    >>> frame = pa.table({"children": [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2]})
    >>> NonlinearNoise(k=0.5).protect(frame, columns="children", teaching_seed=1).frame["children"].to_pylist()
    [0, 1, 0, 0, 1, 1, 2, 2, 0, 0, 2, 2, 2, 2, 2]
    """

    best_attack: ClassVar = "noise-covariance"
    takes: ClassVar = frozenset({"numbers", "categories"})
    draws: ClassVar = True
    mixes: ClassVar = True

    k: float = parameter(0.15, "Variance of the noise, as a share of that of the normal scores.", above=0)
    least: int = parameter(5, "A number that fewer records have is not one of those that come back.", low=2)

    def _mask(self, records: Records) -> Masked:
        before = np.column_stack([ordered(name, records.array(name)) for name in records.columns])
        whole = complete(before)
        columns: dict[str, Any] = {name: records.array(name) for name in records.columns}
        if not np.isnan(before).all():
            must_vary("NonlinearNoise", records.columns, before[whole], where=records.where)
            share = ndtr(self._scores(records, before))
            columns = {name: self._back(records, name, before[:, j], share[:, j]) for j, name in enumerate(columns)}
        return Masked(columns, {"complete": int(whole.sum())})

    def _scores(self, records: Records, before: Floats) -> Floats:
        """Normal scores of the values, with noise, scaled back."""
        scores = _latent(records, before)
        noise = normals(records, records.columns, len(records)) @ root(self.k * _covariances(scores)).matrix
        return np.asarray((scores + noise) / np.sqrt(1 + self.k))

    def _back(self, records: Records, name: str, before: Floats, share: Floats) -> Floats | pa.Array:
        """The values of a column below which these shares of it lie."""
        known, column = ~np.isnan(before), records.array(name)
        if known.sum() < self.least:
            raise Mistake(
                f"NonlinearNoise: column {name!r} has fewer than {self.least} known values{records.where}.",
                suggestions=["Leave it out, or take larger strata."],
            )
        if kind_of(name, column.type) == "categories":
            rows = np.flatnonzero(known)[np.argsort(before[known], kind="stable")]
            drawn = np.floor(np.nan_to_num(share) * len(rows)).astype(np.int64)
            return column.take(pa.array(rows[np.minimum(drawn, len(rows) - 1)], mask=~known))
        _, place, count = np.unique(before[known], return_inverse=True, return_counts=True)
        after = np.full(len(before), np.nan)
        after[known] = quantiles(share[known], before[known], count[place] < self.least)
        return after


def _latent(records: Records, values: Floats) -> Floats:
    """Normal scores: where values are equal, drawn within their step as the other columns let expect; NaN for missing.

    Scores drawn without a look at the other columns would take a tenth from the correlations of discrete ones. Those of one
    column at a time are drawn from their normal distribution given the others, cut to the step (Gibbs sampling, Hoff 2007).
    """
    steps = [_steps(column) for column in values.T]
    draws = [records.rng(name, "ties") for name in records.columns]
    scores = np.column_stack(
        [_between(low, high, 0.0, 1.0, rng) for (low, high), rng in zip(steps, draws, strict=True)]
    )
    for _ in range(SWEEPS if values.shape[1] > 1 else 0):
        for j, (low, high) in enumerate(steps):
            others = np.arange(len(steps)) != j
            matrix = _covariances(scores)
            slope = np.linalg.pinv(matrix[np.ix_(others, others)], hermitian=True) @ matrix[others, j]
            left = max(float(matrix[j, j] - matrix[j, others] @ slope), 1e-6)
            scores[:, j] = _between(low, high, np.nan_to_num(scores[:, others]) @ slope, left**0.5, draws[j])
    return scores


def _steps(values: Floats) -> tuple[Floats, Floats]:
    """Between which normal quantiles each value stands in its column; NaN for missing."""
    ordered = np.sort(values[~np.isnan(values)])
    ends = [np.searchsorted(ordered, values, side) / max(len(ordered), 1) for side in ("left", "right")]
    low, high = (np.where(np.isnan(values), np.nan, ndtri(end)) for end in ends)
    return low, high


def _between(low: Floats, high: Floats, mean: Floats | float, spread: float, rng: np.random.Generator) -> Floats:
    """A normal draw for each pair of ends, between them."""
    first, last = ndtr((low - mean) / spread), ndtr((high - mean) / spread)
    chance = np.clip(first + (last - first) * rng.random(len(low)), 1e-12, 1 - 1e-12)
    return np.asarray(np.clip(mean + spread * ndtri(chance), low, high))


def _covariances(scores: Floats) -> Floats:
    known = scores[complete(scores)]
    about = known - known.mean(axis=0)
    return np.asarray(about.T @ about / len(known))
