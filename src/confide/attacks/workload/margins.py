"""Margins that cannot be true beside their parts: what makes a reader distrust a table."""

from collections.abc import Iterator

import numpy as np

from confide.arrays import Bools
from confide.model.catalog.dataset import Dataset
from confide.model.release import Column, Release
from confide.model.request import Measure

__all__ = ["margins_outside"]

NAMES = {"count": "counts", "weighted_count": "weighted counts", "total": "totals", "mean": "means"}
"""What columns are called in a report; quantiles are called so."""


def margins_outside(release: Release, book: Dataset) -> Iterator[tuple[str, int, int]]:
    """By what is measured: how many margins lie outside the range of their parts, and of how many.

    The mean or quantile of a margin lies between the smallest and the largest of its parts; the count of a margin is no smaller than
    any part's, and so is the total of what is never negative. Margins of which a part is withheld are left out, and
    standard deviations.
    """
    for name, column in release.columns.items():
        if name not in NAMES and not (name in tuple(Measure) and Measure(name).quantile):
            continue  # a margin varies more than its parts where these lie apart
        if name == "total" and book.variable(release.request.of or "").signed:
            continue
        outside = of = 0
        between = name not in ("count", "weighted_count", "total")
        for axis in range(column.values.ndim):
            less, more, known = _beside(column, axis, mean=between)
            wrong = less | more if between else less
            outside, of = outside + int((wrong & known).sum()), of + int(known.sum())
        yield NAMES.get(name, "quantiles"), outside, of


def _beside(column: Column, axis: int, *, mean: bool) -> tuple[Bools, Bools, Bools]:
    """Of each margin along an axis: whether it is below its bounds, whether above, and whether all its parts are known."""
    values, marks = np.moveaxis(column.values, axis, -1), np.moveaxis(column.marks, axis, -1)
    parts, margin = values[..., :-1], values[..., -1]
    if mean:
        low = np.where(np.isfinite(parts), parts, np.inf).min(axis=-1)
        high = np.where(np.isfinite(parts), parts, -np.inf).max(axis=-1)
    else:
        low, high = np.where(np.isfinite(parts), parts, 0.0).max(axis=-1), np.full(margin.shape, np.inf)
    known = np.isfinite(margin) & np.isin(marks[..., :-1], ("", "z")).all(axis=-1) & np.isfinite(parts).any(axis=-1)
    return margin < low, margin > high, known
