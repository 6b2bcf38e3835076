"""Cells of crosses, and who is in them, a part of the records at a time: no array of all records is made to count.

The cells of a part stay in the processor's cache between being numbered and being counted.
"""

from collections.abc import Iterator
from functools import cached_property, lru_cache
from math import prod

import numpy as np

from confide.arrays import Floats, Ints, Narrow
from confide.engines import ALL, Coded
from confide.model.catalog.dataset import Dataset
from confide.records.sums import (
    add_counts,
    add_values,
    count_cross,
    cross_cells,
    part_cells,
    rows_of_few,
    rows_of_few_cross,
)

__all__ = ["PART", "UnitCells", "parts_of"]

PART = 1 << 16
"""Records that are looked at together."""


def parts_of(records: int, size: int | None = None) -> Iterator[slice]:
    """All records, part by part, or so many at a time."""
    step = PART if size is None else size
    return (slice(start, min(start + step, records)) for start in range(0, records, step))


class UnitCells:
    """Cells of crosses, and the units in each record's cell; by `cohorts`, each is parted by the update in which units came.

    `whole` are the cells that are not parted.
    """

    def __init__(self, coded: Coded, dataset: Dataset, *, cohorts: bool = False) -> None:
        self._records = coded.records.num_rows
        self._cohort = None if coded.cohort is None or not cohorts else coded.cohort.to_numpy()
        self._cohorts = 1 if self._cohort is None else int(self._cohort.max(initial=0)) + 1
        self.whole = self if self._cohort is None else UnitCells(coded, dataset)
        self._unit = np.unique(coded.units, return_inverse=True)[1] if coded.facts.several else None
        self._places = lru_cache(None)(coded.classes)
        self._size = lru_cache(None)(lambda name: len(dataset.variables[name].codes or ()))
        self.units = self._records if self._unit is None else int(self._unit.max(initial=-1)) + 1

    @cached_property
    def _nothing(self) -> Narrow:
        """The place of all records in a variable of one class."""
        return np.zeros(self._records, np.uint8)

    def size(self, names: tuple[str, ...]) -> int:
        """How many cells a cross has, empty ones too."""
        return self._cohorts * prod(map(self._size, names))

    def of(self, names: tuple[str, ...], rows: slice | Narrow = ALL) -> Ints:
        """The number of each record's cell, of all records or of some."""
        places, sizes = self._by_three(names, rows)
        cell = cross_cells(places[0], places[1], places[2], (sizes[1], sizes[2]))
        for more, size in zip(places[3:], sizes[3:], strict=True):
            part_cells(cell, more, size)
        if self._cohort is not None:
            cell += self._cohort[rows] * np.int64(prod(sizes))
        return cell

    def _by_three(self, names: tuple[str, ...], rows: slice | Narrow) -> tuple[list[Narrow], list[int]]:
        """The places of some records in each variable, and how many each has; three variables at least, if need be of one class."""
        lack = max(3 - len(names), 0)
        places = [self._places(name)[rows] for name in names] + [self._nothing[rows]] * lack
        return places, [self._size(name) for name in names] + [1] * lack

    def parts(self, names: tuple[str, ...]) -> Iterator[tuple[slice, Ints]]:
        """The cells of all records, part by part."""
        for part in parts_of(self._records):
            yield part, self.of(names, part)

    def _plain(self, names: tuple[str, ...]) -> bool:
        """Whether cells are those of three variables at most: records are then looked through at once, and no cell put down."""
        return len(names) <= 3 and self._cohort is None

    def counts(self, names: tuple[str, ...], rows: Narrow | None = None) -> Ints:
        """How many records each cell has, of all or of some."""
        counts = np.zeros(self.size(names), np.int64)
        if self._plain(names):
            (one, two, three), sizes = self._by_three(names, ALL if rows is None else rows)
            count_cross(counts, one, two, three, (sizes[1], sizes[2]))
            return counts
        for part in parts_of(self._records if rows is None else len(rows)):
            add_counts(counts, self.of(names, part if rows is None else rows[part]))
        return counts

    def few(self, names: tuple[str, ...], records: Ints, counts: Ints, most: int) -> Narrow:
        """The records in cells that count for at most so many; `records` has how many are in each cell."""
        found, done = int(records[counts <= most].sum()), 0
        rows = np.empty(found + 1, np.int32)
        if found and self._plain(names):
            (one, two, three), sizes = self._by_three(names, ALL)
            rows_of_few_cross(rows, counts, most, one, two, three, (sizes[1], sizes[2]))
            return rows[:found]
        for part, cell in self.parts(names) if found else ():
            done = rows_of_few(rows, done, cell, counts, most, part.start)
        return rows[:found]

    def alone(self, names: tuple[str, ...], most: int) -> Narrow:
        """The records whose cell has at most `most` units."""
        records = self.counts(names)
        if self._unit is None:
            return self.few(names, records, records, most)
        pairs = np.unique(self.of(names) * self.units + self._unit) // self.units
        return self.few(names, records, np.bincount(pairs, minlength=self.size(names)), most)

    def shares(self, names: tuple[str, ...], values: Floats) -> Iterator[tuple[slice, Floats]]:
        """The share of each record's unit in the sum over its cell, part by part."""
        total, own = np.zeros(self.size(names)), self._own(names, values)
        for part, cell in self.parts(names):
            add_values(total, cell, values[part])
        total = np.where(total > 0, total, 1.0)
        for part, cell in self.parts(names):
            yield part, np.asarray(own[part] / total[cell])

    def _own(self, names: tuple[str, ...], values: Floats) -> Floats:
        """What the unit of each record has in the record's cell."""
        if self._unit is None:
            return values
        pair = np.unique(self.of(names) * self.units + self._unit, return_inverse=True)[1].ravel()
        return np.asarray(np.bincount(pair, values)[pair], np.float64)
