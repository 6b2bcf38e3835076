"""What is asked of classes of records with equal keys: their size, and the confidential values in them."""

from dataclasses import dataclass

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.microdata.records import Categories
from confide.microdata.search.classes import patterns

__all__ = ["ClassCells", "Demands"]

BLOCK = 1 << 22
"""Shares of values by class that are held at once: 32 MB, where classes times values may be records squared."""


@dataclass(frozen=True)
class ClassCells:
    """A file as counts: `shown` are the patterns of its keys, `count` the records of each, `pattern` that of each record.

    `values` has a row for each pattern and confidential value that occur together: (pattern, value, records).
    `whole` is the distribution of the known values, and `ranked` says whether they have an order.
    """

    shown: Ints
    count: Ints
    pattern: Ints
    values: Ints
    whole: Floats
    ranked: bool

    @classmethod
    def of(cls, codes: Ints, confidential: Categories | None, *, ranked: bool) -> "ClassCells":
        shown, count, pattern = patterns(codes)
        value = np.full(len(codes), -1) if confidential is None else confidential.codes
        known = value >= 0
        pairs, times = np.unique(np.column_stack([pattern, value])[known], axis=0, return_counts=True)
        whole = np.bincount(value[known], minlength=0 if confidential is None else len(confidential))
        return cls(shown, count, pattern, np.column_stack([pairs, times]), whole / max(1, known.sum()), ranked)


@dataclass(frozen=True)
class Demands:
    """k records, so many different values, no farther from the whole."""

    k: int
    diversity: int | None = None
    closeness: float | None = None

    def violated(self, cells: ClassCells, number: Ints) -> Bools:
        """The classes that do not meet the demands; `number` is the class of each pattern.

        Missing values are no values. A class in which none is known gives nothing away.
        """
        size = np.bincount(number, cells.count)
        bad = size < self.k
        if self.diversity is None and self.closeness is None:
            return bad
        joined = number[cells.values[:, 0]] * len(cells.whole) + cells.values[:, 1]
        pairs, place = np.unique(joined, return_inverse=True)
        times = np.bincount(place, cells.values[:, 2]).astype(np.int64)
        which, value = np.divmod(pairs, max(1, len(cells.whole)))
        if self.diversity is not None:
            different = np.bincount(which, minlength=len(size))
            bad |= (different > 0) & (different < self.diversity)
        if self.closeness is not None:
            bad |= distances(cells, (which, value, times), len(size)) > self.closeness + 1e-12
        return bad


def distances(cells: ClassCells, found: tuple[Ints, Ints, Ints], classes: int) -> Floats:
    """The earth mover's distance of each class's values from those of the whole file, from 0 to 1.

    Of ranked values the mean shift in rank; of others half the sum of absolute differences (Li et al. 2007).
    """
    which, value, times = found
    far, width = np.zeros(classes), len(cells.whole)
    known = np.bincount(which, times, minlength=classes)
    step = max(1, BLOCK // max(1, width))
    for start in range(0, classes if width > 1 else 0, step):
        rows = slice(*np.searchsorted(which, [start, start + step]))
        part = np.zeros((min(step, classes - start), width))
        part[which[rows] - start, value[rows]] = times[rows] / known[which[rows]]
        apart = part - cells.whole
        block = (
            np.abs(np.cumsum(apart, axis=1)).sum(axis=1) / (width - 1)
            if cells.ranked
            else np.abs(apart).sum(axis=1) / 2
        )
        far[start : start + step] = np.where(known[start : start + step] > 0, block, 0.0)
    return far
