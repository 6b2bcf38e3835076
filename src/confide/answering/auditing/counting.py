"""Which of the sets that questions isolate are small, by counts as rules see them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from confide.answering.auditing.system import QuestionSystem
from confide.answering.mechanisms.counts import CellKey
from confide.answering.mechanisms.decision import DecisionNoise
from confide.answering.universe.census import UnitSets
from confide.arrays import Bools, Ints
from confide.model.catalog.dataset import Dataset
from confide.model.evidence import Cells

__all__ = ["SMALL", "CountedCells", "Store"]

SMALL = 3
"""A set of at most so many units is small."""

KEPT = 64
"""So many tallies are kept: what one asker's questions need, another's often need too."""

EXACT = 1e-4
"""The variance of a count that is published as it is: not zero, so that least squares has something to divide by."""


@dataclass(frozen=True, eq=False)
class Store:
    """A data set as the auditor sees it: tallies of the whole file, and the noise of the counts that rules look at.

    Promise: whatever is made of them depends on the counts with that noise, on the codebook and on the questions alone.
    """

    dataset: Dataset
    tally: Callable[[tuple[str, ...]], Cells]
    decision: DecisionNoise
    counts: CellKey

    @cached_property
    def size(self) -> int:
        """How many units there are, about."""
        cells = self._kept(())
        return int(self.decision.units(UnitSets(cells.records, cells.units, cells.key)).sum())

    @cached_property
    def _kept(self) -> Callable[[tuple[str, ...]], Cells]:
        return lru_cache(maxsize=KEPT)(self.tally)

    @property
    def noise(self) -> float:
        """The variance of a published count."""
        return max(self.counts.spread**2, EXACT)

    @cached_property
    def shows(self) -> float:
        """How probably a count that gains one unit is published with another number."""
        if self.counts.matrix is None:
            return 1.0
        moves = self.counts.matrix.matrix[-1]
        return float(1 - moves[1:] @ moves[:-1])

    def sizes(self, system: QuestionSystem) -> Ints:
        """Units in each cell of a system, as rules see them; those of `apart` together."""
        keys = {name for key in system.groups for name in system.axes[key].columns}
        bare = QuestionSystem(system.questions, {k: system.axes[k] for k in system.groups}, system.groups, ())
        cells = self._cells(bare, tuple(sorted(keys)))
        return self.decision.units(_summed(cells.cell, cells, system.cells))

    def cells(self, system: QuestionSystem) -> "CountedCells":
        """The occupied cells of a system, class by class of `apart`."""
        return self._cells(system, system.columns)

    def small(self, sets: UnitSets) -> Bools:
        """Which sets hold 1 to SMALL units, as rules see them."""
        found = np.zeros(len(sets.units), dtype=bool)
        # Noise moves no count farther than its distance, and leaves zero alone: the others need no draw.
        near = np.flatnonzero((sets.units > 0) & (sets.units <= SMALL + self.decision.rules.noise_distance))
        seen = self.decision.units(UnitSets(sets.records[near], sets.units[near], sets.key[near]))
        found[near] = (seen >= 1) & (seen <= SMALL)
        return found

    def _cells(self, system: QuestionSystem, columns: tuple[str, ...]) -> "CountedCells":
        found = self._kept(columns)
        label, cell = system.place({name: found.places[:, at] for at, name in enumerate(columns)})
        kept = cell >= 0
        labels = np.unique(label[kept], return_inverse=True)[1]
        return CountedCells(labels.ravel(), cell[kept], found.records[kept], found.units[kept], found.key[kept])


@dataclass(frozen=True, eq=False)
class CountedCells:
    """Occupied cells of the store, in the terms of a system: the class of what is apart, the cell, and who is there.

    Where a unit may have several records, one in several cells counts in each.
    """

    label: Ints
    cell: Ints
    records: Ints
    units: Ints
    key: Ints

    def sets(self, chosen: Bools) -> UnitSets:
        """For each class, those in the chosen cells, together."""
        rows = chosen[self.cell]
        return _summed(self.label[rows], self.only(rows), int(self.label.max(initial=-1)) + 1)

    def each(self, owner: Ints, size: int) -> tuple[UnitSets, Ints]:
        """For each class and each of `size` sets, those in it; `owner` is the set of each cell, -1 for none. And the set of each."""
        rows = owner[self.cell] >= 0
        part = self.only(rows)
        index, place = np.unique(part.label * size + owner[part.cell], return_inverse=True)
        return _summed(place.ravel(), part, len(index)), np.asarray(index % size)

    def only(self, rows: Bools) -> "CountedCells":
        return CountedCells(self.label[rows], self.cell[rows], self.records[rows], self.units[rows], self.key[rows])


def _summed(index: Ints, cells: CountedCells, size: int) -> UnitSets:
    records, units, key = (np.zeros(size, dtype=np.int64) for _ in range(3))
    np.add.at(records, index, cells.records)
    np.add.at(units, index, cells.units)
    np.bitwise_xor.at(key, index, cells.key)
    return UnitSets(records, units, key)
