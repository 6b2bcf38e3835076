"""Whether an analyst would find the same coefficients: the overlap of confidence intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import ndtri, stdtrit

from confide.arrays import Bools, Floats
from confide.errors import Mistake
from confide.measures.pairs import Both, unpaired
from confide.measures.records import listed, weights_of
from confide.measures.utility.designs import ModelMatrix, chances

__all__ = ["RegressionOverlap", "regression_overlap"]

Family = Literal["gaussian", "binomial"]

DEPENDENT = 1e-9
"""A column of length 1 of which those before it leave less than this follows from them, and has no coefficient."""


@dataclass(frozen=True)
class RegressionOverlap:
    """Of each coefficient: estimate and standard error in both files, and the overlap of the intervals from 0 to 1.

    A coefficient that the released file cannot estimate is NaN there and overlaps with nothing.
    """

    names: tuple[str, ...]
    original: Floats
    original_error: Floats
    released: Floats
    released_error: Floats
    overlap: Floats

    @property
    def percent(self) -> float:
        """The mean overlap, in percent: 100 if every interval is the same. High is good."""
        return 100 * float(self.overlap.mean())

    @property
    def difference(self) -> Floats:
        """The change of each coefficient in standard errors of the original."""
        return np.asarray(np.abs(self.released - self.original) / self.original_error)


def regression_overlap(
    original: Any,
    released: Any,
    *,
    response: str,
    predictors: str | Sequence[str],
    family: Family = "gaussian",
    weight: str | None = None,
    confidence: float = 0.95,
) -> RegressionOverlap:
    """Confidence interval overlap (Karr et al. 2006): how much the same regression's intervals in both files have in common.

    The overlap is the mean of the common part's share of one interval and of the other, 0 if there is none. Records
    without a response are left out; a missing predictor is a category of its own, or the mean with a mark. Logistic
    regression ("binomial") takes a response of two values.

    >>> import pyarrow as pa
    >>> people = pa.table({"age": [20, 30, 40, 50], "pay": [1.0, 2.0, 2.5, 4.0]})
    >>> regression_overlap(people, people, response="pay", predictors="age").percent
    100.0
    """
    names = listed(predictors, "predictors")
    if response in names:
        raise Mistake(f"{response!r} is the response, so it cannot be a predictor.")
    if family not in ("gaussian", "binomial"):
        raise Mistake(f"The family is 'gaussian' or 'binomial', not {family!r}.")
    if not 0 < confidence < 1:
        raise Mistake(f"The confidence is between 0 and 1, not {confidence}.")
    outcomes = _outcome(unpaired(original, released, [response]).columns[0], family)
    design = ModelMatrix.of(unpaired(original, released, names))
    weights = weights_of(original, weight), weights_of(released, weight)
    fits = [
        _Fit.of(x, y, w, family, confidence)
        for x, y, w in zip((design.original, design.released), outcomes, weights, strict=True)
    ]
    return _compared(design.names, *fits)


def _outcome(column: Both, family: str) -> tuple[Floats, Floats]:
    """The response of both files as numbers; of two values the first in order is 0."""
    if family == "gaussian":
        if not column.numeric:
            raise Mistake(f"{column.name!r} holds categories.", suggestions=["Use family='binomial' if it has two."])
        return column.original, column.released
    sides = [
        side if column.numeric else np.where(side < 0, np.nan, side) for side in (column.original, column.released)
    ]
    values = np.unique(np.append(*sides))
    values = values[~np.isnan(values)]
    if len(values) != 2:
        raise Mistake(f"{column.name!r} has {len(values)} different values. A logistic regression needs two.")
    first, second = (np.where(np.isnan(side), np.nan, side == values[1]) for side in sides)
    return first, second


@dataclass(frozen=True)
class _Fit:
    estimate: Floats
    error: Floats
    reach: Floats
    known: Bools

    @classmethod
    def of(cls, design: Floats, outcome: Floats, weight: Floats | None, family: str, confidence: float) -> "_Fit":
        there = ~np.isnan(outcome)
        x, y = design[there], outcome[there]
        w = np.ones(len(y)) if weight is None else weight[there] / weight[there].mean()
        known = _estimable(x)
        size = np.full(design.shape[1], np.nan)
        estimate, error, reach = size.copy(), size.copy(), size.copy()
        if known.any():
            fit = _linear if family == "gaussian" else _logistic
            estimate[known], error[known], quantile = fit(x[:, known], y, w, 0.5 + confidence / 2)
            reach = quantile * error
        return cls(estimate, error, reach, known)


def _estimable(x: Floats) -> Bools:
    """The columns that are not combinations of those before them."""
    if not len(x):
        return np.zeros(x.shape[1], np.bool_)
    scaled = x / np.maximum(np.linalg.norm(x, axis=0), 1e-300)
    diagonal = np.zeros(x.shape[1])
    part = np.abs(np.diag(np.linalg.qr(scaled, mode="r")))
    diagonal[: len(part)] = part
    return np.asarray(diagonal > DEPENDENT)


def _linear(x: Floats, y: Floats, w: Floats, level: float) -> tuple[Floats, Floats, float]:
    root = np.sqrt(w)[:, None]
    q, r = np.linalg.qr(x * root)
    estimate = np.linalg.solve(r, q.T @ (y * root[:, 0]))
    free = max(0, len(y) - x.shape[1])
    residual = float((w * (y - x @ estimate) ** 2).sum())
    inverse = np.linalg.inv(r)
    error = np.sqrt((inverse**2).sum(axis=1) * (residual / free if free else 0.0))
    return estimate, error, float(stdtrit(free, level)) if free else 0.0


def _logistic(x: Floats, y: Floats, w: Floats, level: float) -> tuple[Floats, Floats, float]:
    probability = chances(x, y, w)
    weight = np.maximum(w * probability * (1 - probability), 1e-300)
    linear = np.log(probability / (1 - probability))
    estimate = np.linalg.lstsq(x, linear, rcond=None)[0]
    inverse = np.linalg.pinv((x * weight[:, None]).T @ x, hermitian=True)
    error = np.sqrt(np.maximum(np.diag(inverse), 0.0))
    return np.asarray(estimate, np.float64), np.asarray(error, np.float64), float(ndtri(level))


def _compared(names: tuple[str, ...], before: _Fit, after: _Fit) -> RegressionOverlap:
    keep = before.known
    low = np.maximum(before.estimate - before.reach, after.estimate - after.reach)
    high = np.minimum(before.estimate + before.reach, after.estimate + after.reach)
    common = np.maximum(high - low, 0.0)
    shares = [_share(common, 2 * fit.reach) for fit in (before, after)]
    same = np.isclose(before.estimate, after.estimate, rtol=1e-9, atol=1e-12)
    overlap = np.where((before.reach > 0) & (after.reach > 0), (shares[0] + shares[1]) / 2, same.astype(np.float64))
    overlap = np.where(after.known, overlap, 0.0)
    kept = tuple(name for name, known in zip(names, keep.tolist(), strict=True) if known)
    columns = (before.estimate, before.error, after.estimate, after.error, overlap)
    return RegressionOverlap(kept, *(column[keep] for column in columns))


def _share(common: Floats, length: Floats) -> Floats:
    return np.divide(common, length, out=np.zeros_like(common), where=length > 0)
