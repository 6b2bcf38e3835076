"""How likely each of the others exchanges a key: so that a count of every small cell may be another in the protected records.

The noise of an answer can be averaged out by asking for the same people in many ways; what then remains is the count of the
protected records. Where nobody in a cell exchanges a key that count is the true one, and so is the record found there. So every
cell of a cross that the rules let pass is to expect `records.cell_exchanges` that may change it: if one, whoever is alone there takes
part with the share `records.background_exposed`, each of ten with a tenth, and of large groups hardly anybody.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import numpy as np

from confide.arrays import Bools, Floats, Ints, Narrow
from confide.data.compiling import compiled
from confide.data.scratch import Scratch
from confide.model.policy import RecordRules
from confide.records.cells import UnitCells, parts_of

__all__ = ["Shares", "raise_shares"]

SURELY = 1 + 1e-6
"""A cell lacks no change that expects so many times what it should by the least shares there are: sums are not as inexact as that."""

Parts = Iterable[tuple[slice | Narrow, Ints]]
"""Records, some at a time, and their cells."""


class Shares:
    """The share of records that exchange, for each of some ways to do so; on disk if there are many."""

    def __init__(self, records: int, rules: RecordRules, scratch: Scratch) -> None:
        self._records, self._scratch = records, scratch
        self._most, self._wanted = rules.background_exposed, rules.cell_exchanges
        self._of: dict[int, Floats] = {}
        self._least: dict[int, float] = {}

    def of(self, way: int) -> Floats | None:
        """The shares of a way; None where nobody exchanges in it."""
        return self._of.get(way)

    def begin(self, way: int, usual: float, larger: float, single: Bools) -> None:
        """Set what the shares of a way are before any is raised: those of the `single` are larger, or the same."""
        if larger > 0:
            self._least[way] = usual
            shares = self._room(way)
            shares[:] = usual
            shares[single] = larger

    def small(self, cells: UnitCells, names: tuple[str, ...], able: Mapping[int, float]) -> Callable[[], Parts] | None:
        """The records of the cells of a cross that may expect too few changes, some at a time; None where there are none.

        Only records of small cells are looked at, if they are the fewer: a large one expects enough by the least shares of the ways
        that are `able` to change it.
        """
        counts = cells.counts(names)
        surely = sum(effect * self._least.get(way, 0.0) for way, effect in able.items())
        most_few = int(min(SURELY * self._wanted / surely, self._records)) if surely else self._records
        small = int(counts[counts <= most_few].sum())
        if small >= self._records / 2:
            return partial(cells.parts, names)
        rows = cells.few(names, counts, counts, most_few)
        cell = cells.of(names, rows)
        return (lambda: ((rows[part], cell[part]) for part in parts_of(len(rows)))) if small else None

    def raise_in(self, parts: Callable[[], Parts], size: int, able: Mapping[int, float]) -> None:
        """Raise the first of the ways that are `able` to change a cell of a cross of that size, where a cell expects too few."""
        first, *_ = able
        ways = [(self._room(first), able[first])]
        ways += [(self._of[way], effect) for way, effect in able.items() if way in self._of and way != first]
        raise_shares(ways, parts, np.full(size, self._wanted), self._most)

    def _room(self, way: int) -> Floats:
        if way not in self._of:
            self._of[way] = self._scratch.zeros(self._records, np.float64)
        return self._of[way]


def raise_shares(ways: list[tuple[Floats, float]], parts: Callable[[], Parts], missing: Floats, most: float) -> None:
    """Raise the shares of records that exchange, in cells that expect fewer changes than are `missing`, to no more than `most`.

    `missing` is changed in place. `ways` have shares, and how often an exchange changes a cell. The first is raised, by the same
    for all in a cell.
    """
    size = np.zeros(len(missing))
    (first, changes), *_ = ways
    for index, cell in parts():
        for shares, effect in ways:
            _take_off(missing, cell, shares[index], effect)
        _add(size, cell, changes)
    for index, cell in parts():
        raised = first[index]
        _raise(raised, cell, missing, size, most)
        if not isinstance(index, slice):
            first[index] = raised


@compiled
def _take_off(missing: Floats, cell: Ints, share: Floats, effect: float) -> None:  # pragma: no cover - compiled
    for i in range(len(cell)):
        missing[cell[i]] -= effect * share[i]


@compiled
def _add(size: Floats, cell: Ints, effect: float) -> None:  # pragma: no cover - compiled
    for i in range(len(cell)):
        size[cell[i]] += effect


@compiled
def _raise(
    share: Floats, cell: Ints, missing: Floats, size: Floats, most: float
) -> None:  # pragma: no cover - compiled
    for i in range(len(cell)):
        lacks = missing[cell[i]]
        if lacks > 0.0 and share[i] < most:
            share[i] = min(share[i] + lacks / size[cell[i]], most)
