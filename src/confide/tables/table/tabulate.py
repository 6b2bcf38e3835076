"""From records to cells: sums, numbers of contributors and the largest of them, in the inner cells and in every total."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from confide.arrays import Floats, Ints
from confide.data.hierarchy import Hierarchy
from confide.tables.table.build import cell_numbers

__all__ = ["TableRecords", "Tabulated", "tabulate"]


@dataclass(frozen=True, eq=False)
class TableRecords:
    """Microdata: the places of every record's codes, what it contributes, with what weight, and whose it is."""

    places: Ints
    amount: Floats
    weight: Floats | None = None
    holder: Ints | None = None


@dataclass(frozen=True, eq=False)
class Tabulated:
    """The cells somebody is in, in the order of their numbers, with what `Contributions` say of them."""

    number: Ints
    value: Floats
    units: Ints
    total: Floats
    top: Floats
    weights: Floats
    holders: Ints


@dataclass(frozen=True, eq=False)
class _Entries:
    """Contributions, each of one holder to one group of records."""

    group: Ints
    amount: Floats
    weighted: Floats
    holder: Ints

    def of(self, rows: Ints, group: Ints) -> "_Entries":
        return _Entries(group, self.amount[rows], self.weighted[rows], self.holder[rows])

    def joined(self) -> "_Entries":
        """One entry for each holder in each group, the sum of what they contribute to it."""
        both = self.group * (self.holder.max(initial=0) + 1) + self.holder
        order = np.argsort(both, kind="stable")
        starts = np.flatnonzero(np.diff(both[order], prepend=-1))
        amount, weighted = (np.add.reduceat(column[order], starts) for column in (self.amount, self.weighted))
        return _Entries(self.group[order[starts]], amount, weighted, self.holder[order[starts]])

    def largest(self, most: int) -> tuple["_Entries", Ints]:
        """The largest entries of each group, in decreasing order, and the rank of each from 0."""
        # In two steps, because numbers without ties are sorted much faster than two columns are.
        place = np.empty(len(self.group), dtype=np.int64)
        place[np.argsort(-np.abs(self.amount), kind="stable")] = np.arange(len(place))
        order = np.argsort(self.group * len(place) + place)
        group = self.group[order]
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        rank = np.arange(len(group)) - np.repeat(starts, np.diff(starts, append=len(group)))
        kept = rank < most
        return self.of(order[kept], group[kept]), rank[kept]


def tabulate(records: TableRecords, hierarchies: Sequence[Hierarchy], *, top: int) -> Tabulated:
    """The cells of every combination of codes and totals in which there are records.

    Promise: a holder counts once in each cell, with the sum of their records in it; without holders every record is one.
    """
    number, group = np.unique(cell_numbers(hierarchies, records.places), return_inverse=True)
    inner = np.column_stack(np.unravel_index(number, [len(hierarchy.codes) for hierarchy in hierarchies]))
    entries = _entries(records, group, top)
    weighted = records.amount if records.weight is None else records.amount * records.weight
    sums = tuple(_sums(column, group, len(number)) for column in (weighted, np.abs(weighted), np.ones(len(group))))
    levels = product(*(range(hierarchy.ancestors.shape[1]) for hierarchy in hierarchies))
    parts = []
    for depths in levels:
        above = [hierarchy.ancestors[inner[:, v], depths[v]] for v, hierarchy in enumerate(hierarchies)]
        cells = np.column_stack(above)
        there = (cells >= 0).all(axis=1)
        numbers = np.where(there, cell_numbers(hierarchies, cells), -1)
        parts.append(_level(numbers, sums, entries, top=top, holding=records.holder is not None))
    return _joined(parts)


def _entries(records: TableRecords, group: Ints, top: int) -> _Entries:
    weighted = records.amount if records.weight is None else records.amount * records.weight
    if records.holder is not None:
        return _Entries(group, records.amount, weighted, records.holder).joined()
    # TableRecords do not meet again in totals as those of a holder do: what is not among the largest here is not there.
    return _Entries(group, records.amount, weighted, np.arange(len(group))).largest(top)[0]


def _level(numbers: Ints, sums: tuple[Floats, ...], entries: _Entries, *, top: int, holding: bool) -> Tabulated:
    """The totals of groups of records; `numbers` has the cell each group belongs to, or -1."""
    inside = np.flatnonzero(numbers >= 0)
    cell, at = np.unique(numbers[inside], return_inverse=True)
    place = np.full(len(numbers), -1)
    place[inside] = at
    rows = np.flatnonzero(place[entries.group] >= 0)
    here = entries.of(rows, place[entries.group[rows]])
    value, total, units = (_sums(column[inside], at, len(cell)) for column in sums)
    if holding:
        here = here.joined()
        total = _sums(np.abs(here.weighted), here.group, len(cell))
        units = _sums(np.ones(len(here.group)), here.group, len(cell))
    most, rank = here.largest(top)
    amounts, weights = np.zeros((2, len(cell), top))
    holders = np.full((len(cell), top), -1)
    amounts[most.group, rank] = np.abs(most.amount)
    weights[most.group, rank] = np.abs(most.weighted) / np.where(most.amount == 0, 1.0, np.abs(most.amount))
    holders[most.group, rank] = most.holder
    return Tabulated(cell, value, units.astype(np.int64), total, amounts, weights, holders)


def _sums(column: Floats, group: Ints, groups: int) -> Floats:
    return np.asarray(np.bincount(group, column, minlength=groups), dtype=np.float64)


def _joined(parts: Sequence[Tabulated]) -> Tabulated:
    joined = {name: np.concatenate([vars(part)[name] for part in parts]) for name in vars(parts[0])}
    order = np.argsort(joined["number"])
    return Tabulated(**{name: column[order] for name, column in joined.items()})
