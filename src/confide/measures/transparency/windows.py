"""Windows that the true record must lie in: one for each key, known from how the file was masked."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from scipy.special import ndtri

from confide.arrays import Floats, Ints
from confide.measures.pairs import Both, unpaired
from confide.measures.ranks import ranked
from confide.measures.transparency.knowledge import Knowledge

__all__ = ["ComparedKeys", "Windows", "compared", "linked_within"]


@dataclass(frozen=True, eq=False)
class ComparedKeys:
    """Keys as numbers, one column each: of the `targets` and of the `released` records. Categories are codes."""

    names: tuple[str, ...]
    targets: Floats
    released: Floats
    ranked: tuple[bool, ...]
    """Whether the key has an order: numbers, and categories that declare one."""

    def rank(self, key: int) -> Floats:
        """The rank that each target's value has among the released ones, the middle one of equal values."""
        values, wanted = np.sort(self.released[~np.isnan(self.released[:, key]), key]), self.targets[:, key]
        first, last = np.searchsorted(values, wanted, "left"), np.searchsorted(values, wanted, "right")
        return np.where(np.isnan(wanted), np.nan, (first + last + 1) / 2)

    def in_scores(self, names: Sequence[str]) -> "ComparedKeys":
        """These keys as normal scores of their place among the released values."""
        targets, released = self.targets.copy(), self.released.copy()
        for j in (self.names.index(name) for name in names):
            many = max(1, int((~np.isnan(self.released[:, j])).sum()))
            released[:, j] = ndtri((ranked(self.released[:, j]) - 0.5) / many)
            targets[:, j] = ndtri(np.clip((self.rank(j) - 0.5) / many, 0.25 / many, 1 - 0.25 / many))
        return replace(self, targets=targets, released=released)


def compared(released: pa.Table, known: Knowledge) -> ComparedKeys:
    """All keys of both; a missing value is NaN."""
    columns = unpaired(released, known.targets, known.keys).columns
    targets, there = (
        np.column_stack([_numbers(column, side) for column in columns]) for side in ("released", "original")
    )
    ranked = tuple(column.numeric or column.ordered for column in columns)
    return ComparedKeys(known.keys, targets, there, ranked)


def _numbers(column: Both, side: str) -> Floats:
    values = np.asarray(getattr(column, side), np.float64)
    return values if column.numeric else np.where(values < 0, np.nan, values)


@dataclass(frozen=True, eq=False)
class Windows:
    """From `low` to `high`, one row a target, one column a key; what is missing on either side rules nothing out."""

    keys: ComparedKeys
    low: Floats
    high: Floats

    @classmethod
    def exact(cls, keys: ComparedKeys) -> "Windows":
        """Every key must be what it is; to be widened where it was masked."""
        low, high = (np.where(np.isnan(keys.targets), end, keys.targets) for end in (-np.inf, np.inf))
        return cls(keys, low, high)

    def inside(self, target: int) -> Ints:
        """The released records in all windows of a target."""
        released = self.keys.released
        out = (released < self.low[target]) | (released > self.high[target])
        return np.flatnonzero(~out.any(axis=1))


def linked_within(windows: Windows, evidence: Callable[[int, Ints], Floats], rng: np.random.Generator) -> Ints:
    """The record with the most evidence among those in all windows of each target, ties by chance; -1 where none is."""
    found = np.full(len(windows.low), -1, np.int64)
    for target in range(len(found)):
        rows = windows.inside(target)
        if len(rows):
            weight = evidence(target, rows)
            found[target] = rng.choice(rows[weight >= weight.max() - 1e-9])
    return found
