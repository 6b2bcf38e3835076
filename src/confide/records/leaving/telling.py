"""What two versions of the data tell of those who left: who is alone among all that a table shows to have left a cell.

In a table of some keys by a confidential variable everybody differs who is gone, whose keys are others, or whose class or number is
another. Whoever left and is alone among these in their cell is told of; but not where they were alone among all: there they were
protected by themselves. Other changes hide nobody: who earns more is in the same cell of a table of illnesses.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from confide.arrays import Bools, Ints, Narrow
from confide.engines import Coded
from confide.model.catalog.dataset import Dataset, Role, Variable
from confide.model.policy import Policy
from confide.records.cells import UnitCells
from confide.records.exposure import LEAST_MEAN, Exposure, KeyCross, find_exposed
from confide.records.traits import class_number

__all__ = ["Versions", "exposed_to"]


def exposed_to(coded: Coded, dataset: Dataset, policy: Policy, most: int) -> Exposure:
    """Who is one of at most so many in a cross that passes; whatever they have of a total, so that nothing confidential decides."""
    rules = replace(policy.records, alone=max(policy.records.alone, most), dominance=1.0)
    return find_exposed(coded, dataset, replace(policy, records=rules))


@dataclass(frozen=True, eq=False)
class Versions:
    """The records of one level before an update and after it; `counted` are those before with the units that rules count."""

    before: Coded
    after: Coded
    counted: Coded
    dataset: Dataset
    policy: Policy
    _differs: dict[str, Bools] = field(default_factory=dict)

    def told(self, gone: Bools) -> Bools:
        """The records among those `gone` that are told of, in some cross that passes."""
        found, least = np.zeros(len(gone), bool), self.policy.records.alone
        for cross in self._crosses:
            left = gone.copy()
            for name in cross.names:
                left |= self.differs(name)
            rows = np.flatnonzero(left)
            alone = rows[self._company(cross.names, rows, rows) <= least]
            alone = alone[gone[alone] & ~found[alone]]
            if len(alone):
                alone = np.setdiff1d(alone, self._cells.alone(cross.names, least))
            for variable in self._secrets(cross) if len(alone) else ():
                shown = np.flatnonzero(left | self.differs(variable.name))
                found[alone[self._company(cross.names, alone, shown) <= least]] = True
        return found

    def differs(self, name: str) -> Bools:
        """The records whose unit is in both versions, with another class or number; of units with several records none."""
        if name not in self._differs:
            old, new = self._both
            there = np.zeros(len(self.before.units), bool)
            there[old] = _values(self.before, name)[old] != _values(self.after, name)[new]
            self._differs[name] = there
        return self._differs[name]

    def keys_differ(self) -> Bools:
        """The records whose unit is in both versions with another key."""
        found = np.zeros(len(self.before.units), bool)
        for name in {name for cross in self._crosses for name in cross.names}:
            found |= self.differs(name)
        return found

    @cached_property
    def _both(self) -> tuple[Ints, Ints]:
        """The rows of units that have one record in both versions."""
        first, second = (_alone(of.units) for of in (self.before, self.after))
        _, old, new = np.intersect1d(self.before.units[first], self.after.units[second], return_indices=True)
        return first[old], second[new]

    @cached_property
    def _crosses(self) -> tuple[KeyCross, ...]:
        return exposed_to(self.counted, self.dataset, self.policy, 0).crosses

    def _secrets(self, cross: KeyCross) -> list[Variable]:
        """The confidential variables of which a table by the cross would be answered."""
        room = self._cells.units / max(self.policy.tables.mean_cell, LEAST_MEAN)
        variables = [v for v in self.dataset.variables.values() if v.role is Role.CONFIDENTIAL]
        return [v for v in variables if v.measurable or (v.classifies and cross.cells * class_number(v) <= room)]

    @cached_property
    def _cells(self) -> UnitCells:
        return UnitCells(self.counted, self.dataset, cohorts=True)

    def _company(self, names: tuple[str, ...], rows: Narrow, among: Ints) -> Ints:
        """How many units of some records are in the cell of each row, its own counted in."""
        cells, wanted = self._cells.of(names, among), self._cells.of(names, rows)
        pairs = (
            np.unique(np.stack([cells, self.counted.units[among]]), axis=1)[0] if self.counted.facts.several else cells
        )
        found, counts = np.unique(pairs, return_counts=True)
        return np.asarray(counts[np.searchsorted(found, wanted)])


def _values(coded: Coded, name: str) -> Narrow:
    """The class of each record, or the number."""
    return coded.classes(name) if name in coded.facts.classes else np.nan_to_num(coded.numbers(name), nan=-np.inf)


def _alone(units: Ints) -> Ints:
    """The rows that are the only one of their unit."""
    _, first, sizes = np.unique(units, return_index=True, return_counts=True)
    return np.asarray(first[sizes == 1])
