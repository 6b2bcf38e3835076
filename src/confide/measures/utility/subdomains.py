"""Analytic validity: whether means and covariances hold in parts of the file, and not only in the whole."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.arrays import Floats, Ints
from confide.errors import Mistake
from confide.measures.pairs import Pair, unpaired
from confide.measures.records import listed, weights_of
from confide.measures.risk.classes import class_of

__all__ = ["Subdomains", "subdomains"]

FLOOR = 0.01


@dataclass(frozen=True)
class Subdomains:
    """Every part of the original file: its categories, how many records it has in each file, and how far it moved.

    `means` and `covariances` are mean variations: the mean of |x - x'| / |x|, as shares. A part that is not in the released
    file, or too small there for covariances, has lost them: its variation is 1.
    """

    by: tuple[str, ...]
    parts: tuple[tuple[str, ...], ...]
    original: Ints
    released: Ints
    means: Floats
    covariances: Floats

    @property
    def percent(self) -> float:
        """The mean variation of means and covariances over all parts, in percent."""
        return 50 * float(self.means.mean() + self.covariances.mean())

    def valid(self, percent: float = 10) -> float:
        """The percentage of parts whose means vary by at most so many percent."""
        return 100 * float(np.mean(self.means <= percent / 100))


def subdomains(
    original: Any,
    released: Any,
    *,
    by: str | Sequence[str],
    columns: str | Sequence[str],
    weight: str | None = None,
    minimum: int = 10,
) -> Subdomains:
    """Analytic validity (Winkler 1999): means and covariances compared in every part with `minimum` original records.

    Parts are the combinations of categories of `by` that an analyst of each file sees. Divisions are by the original's
    absolute value, but at least 1 percent of the part's standard deviations. Reference: the survey's analytic validity,
    after Winkler (1999).

    >>> import pyarrow as pa
    >>> people = pa.table({"sex": list("ffmm"), "pay": [1.0, 3.0, 2.0, 6.0]})
    >>> found = subdomains(people, people, by="sex", columns="pay", minimum=2)
    >>> found.parts, found.percent
    ((('f',), ('m',)), 0.0)
    """
    names, numbers = listed(by, "parts"), listed(columns, "columns to compare")
    domains, values = unpaired(original, released, names), unpaired(original, released, numbers)
    for column in values.categorical:
        raise Mistake(f"Column {column.name!r} holds categories. Means are about numbers.")
    codes = [np.column_stack([_codes(column, side) for column in domains.columns]) for side in (0, 1)]
    number = class_of(np.vstack(codes))
    sides = number[: domains.rows[0]], number[domains.rows[0] :]
    chosen = np.flatnonzero(np.bincount(sides[0], minlength=int(number.max()) + 1) >= minimum)
    if not len(chosen):
        raise Mistake(
            f"No part has {minimum} records.", suggestions=["Lower the minimum, or use fewer columns for parts."]
        )
    before, after = (
        _Parts.of(matrix, side, weights_of(frame, weight), int(number.max()) + 1)
        for matrix, side, frame in zip(values.matrices(), sides, (original, released), strict=True)
    )
    many = [np.bincount(side, minlength=int(number.max()) + 1)[chosen].astype(np.int64) for side in sides]
    means, covariances = _variations(before, after, chosen)
    return Subdomains(names, _labels(domains, sides[0], chosen), many[0], many[1], means, covariances)


def _codes(column: Any, side: int) -> Ints:
    values = column.released if side else column.original
    if not column.numeric:
        return np.asarray(values, dtype=np.int64)
    known = np.unique(np.append(column.original, column.released))
    return np.where(np.isnan(values), -1, np.searchsorted(known, values)).astype(np.int64)


def _labels(pair: Pair, number: Ints, chosen: Ints) -> tuple[tuple[str, ...], ...]:
    first = np.unique(number, return_index=True)
    row = dict(zip(first[0].tolist(), first[1].tolist(), strict=True))
    rows = [row[part] for part in chosen.tolist()]
    columns = [_shown(column, rows) for column in pair.columns]
    return tuple(zip(*columns, strict=True))


def _shown(column: Any, rows: Sequence[int]) -> list[str]:
    if column.numeric:
        return [f"{column.original[row]:g}" for row in rows]
    return ["missing" if column.original[row] < 0 else column.labels[column.original[row]] for row in rows]


@dataclass(frozen=True)
class _Parts:
    """Means (one row a part) and covariances (one row a part, one column a pair); NaN where there are too few values."""

    means: Floats
    covariances: Floats

    @classmethod
    def of(cls, values: Floats, number: Ints, weight: Floats | None, parts: int) -> "_Parts":
        width = values.shape[1]
        w = np.ones(len(values)) if weight is None else weight
        means = np.stack([_mean(values[:, j], number, w, parts) for j in range(width)], axis=1)
        apart = values - means[number]
        first, second = np.triu_indices(width)
        pairs = [_covariance(apart[:, i] * apart[:, j], number, w, parts) for i, j in zip(first, second, strict=True)]
        return cls(means, np.stack(pairs, axis=1))


def _mean(values: Floats, number: Ints, w: Floats, parts: int) -> Floats:
    known = ~np.isnan(values)
    mass = np.bincount(number[known], w[known], minlength=parts)
    total = np.bincount(number[known], (w * values)[known], minlength=parts)
    return np.asarray(np.divide(total, mass, out=np.full(parts, np.nan), where=mass > 0))


def _covariance(product: Floats, number: Ints, w: Floats, parts: int) -> Floats:
    known = ~np.isnan(product)
    count = np.bincount(number[known], minlength=parts)
    mean = _mean(product, number, w, parts)
    return np.asarray(np.where(count > 1, mean * count / np.maximum(count - 1, 1), np.nan))


def _variations(before: _Parts, after: _Parts, chosen: Ints) -> tuple[Floats, Floats]:
    width = before.means.shape[1]
    first, second = np.triu_indices(width)
    variance = np.nan_to_num(before.covariances[chosen][:, first == second])
    unit = np.where(variance > 0, np.sqrt(variance), 1.0)
    means = _variation(before.means[chosen], after.means[chosen], FLOOR * unit)
    return means, _variation(
        before.covariances[chosen], after.covariances[chosen], FLOOR * unit[:, first] * unit[:, second]
    )


def _variation(a: Floats, b: Floats, least: Floats) -> Floats:
    """The mean of |a - b| / max(|a|, least) over each row's statistics that the original has; 1 where the other lacks it."""
    there = ~np.isnan(a)
    ratio = np.where(np.isnan(b), 1.0, np.abs(a - b) / np.maximum(np.abs(a), least))
    total = np.where(there, ratio, 0.0).sum(axis=1)
    return np.asarray(total / np.maximum(1, there.sum(axis=1)))
