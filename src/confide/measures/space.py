"""Two files as points of one space, so that records can be compared by distance."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from confide.arrays import Bools, Floats
from confide.errors import Mistake, nearest
from confide.measures.pairs import Pair
from confide.measures.ranks import ranked

__all__ = ["SCALINGS", "Scaling", "Space"]

Scaling = Literal["standardised", "ranks", "range", "mahalanobis", "none"]
SCALINGS: tuple[str, ...] = get_args(Scaling)

SINGULAR = 1e-12
"""Directions with less than this share of the largest variance do not vary."""


@dataclass(frozen=True)
class Space:
    """Numbers as scaled coordinates, then categories as codes (`nominal`); NaN is missing.

    "standardised" divides by the original's standard deviation, "range" by its range, "ranks" takes the rank within
    each file, scaled to a standard deviation of 1, "mahalanobis" turns and scales by the original's covariance matrix,
    "none" leaves numbers as they are. What is constant in the original tells records not apart and is left out.
    """

    original: Floats
    released: Floats
    nominal: Bools

    @classmethod
    def of(cls, pair: Pair, scaling: Scaling) -> "Space":
        if scaling not in SCALINGS:
            hint = nearest(str(scaling), SCALINGS) or [f"Scalings: {', '.join(SCALINGS)}."]
            raise Mistake(f"There is no scaling {scaling!r}.", suggestions=hint)
        original, released = _numbers(pair, scaling) if pair.numeric else (np.empty((rows, 0)) for rows in pair.rows)
        before = np.column_stack([original, *(_coded(column.original) for column in pair.categorical)])
        after = np.column_stack([released, *(_coded(column.released) for column in pair.categorical)])
        nominal = np.arange(before.shape[1]) >= original.shape[1]
        return cls(before, after, nominal)


def _coded(codes: Floats) -> Floats:
    return np.where(codes < 0, np.nan, codes)


def _numbers(pair: Pair, scaling: str) -> tuple[Floats, Floats]:
    original, released = pair.matrices()
    if scaling == "mahalanobis":
        _must_be_complete(pair)
        return _whitened(original, released)
    if scaling == "ranks":
        return _ranked(original), _ranked(released)
    known = ~np.isnan(original).all(axis=0)
    original, released = original[:, known], released[:, known]
    low, high = np.nanmin(original, axis=0), np.nanmax(original, axis=0)
    keep = high > low
    original, released, low, high = original[:, keep], released[:, keep], low[keep], high[keep]
    if scaling == "none":
        return original, released
    unit = high - low if scaling == "range" else np.nanstd(original, axis=0)
    middle = np.nanmean(original, axis=0)
    return (original - middle) / unit, (released - middle) / unit


def _ranked(values: Floats) -> Floats:
    many = np.maximum(1, (~np.isnan(values)).sum(axis=0))
    ranks = np.column_stack([ranked(column) for column in values.T])
    return np.asarray((ranks - 0.5) / many * np.sqrt(12))


def _must_be_complete(pair: Pair) -> None:
    for column in pair.numeric:
        if np.isnan(column.original).any() or np.isnan(column.released).any():
            raise Mistake(
                f"Column {column.name!r} has missing values, and a Mahalanobis distance needs every value.",
                suggestions=["Use another scaling, or leave the column out."],
            )


def _whitened(original: Floats, released: Floats) -> tuple[Floats, Floats]:
    middle, spread = original.mean(axis=0), original.std(axis=0)
    keep = spread > 0
    scaled = [(side[:, keep] - middle[keep]) / spread[keep] for side in (original, released)]
    values, vectors = np.linalg.eigh(scaled[0].T @ scaled[0] / len(original))
    varies = values > SINGULAR * values.max(initial=0.0)
    turn = vectors[:, varies] / np.sqrt(values[varies])
    return scaled[0] @ turn, scaled[1] @ turn
