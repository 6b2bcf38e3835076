"""From a tally to what kernels read, and from their sums to cells."""

from math import prod

import numpy as np
from numpy.typing import NDArray

from confide.arrays import Ints
from confide.engines.cells import bounded
from confide.engines.columns.needs import needs_of
from confide.engines.columns.parallel import HALVES, in_two
from confide.engines.columns.reading import Words
from confide.engines.columns.store import Bytes, ColumnsStore, MappedColumn
from confide.engines.columns.tallies import TallyPlan, TallySums, add_cells, tally_sums
from confide.engines.columns.universes import chosen_rows
from confide.model.evidence import Cells, Tally

__all__ = ["count_cells"]

DENSE_CELLS, DENSE_SHARE, DENSE_ALWAYS = 1 << 20, 2, 4096
"""Tables with more possible cells than this, or than so many times the records (if that is more than a few thousand), are
sorted first: sums for cells that are mostly empty would not fit the processor's caches, or the memory."""


def count_cells(store: ColumnsStore, tally: Tally, words: Words) -> Cells:
    """The cells of a tally over the records of a mask."""
    sizes = [store.sizes[name] for name in tally.by]
    cells = prod(sizes)
    dense = cells <= min(DENSE_CELLS, max(DENSE_ALWAYS, DENSE_SHARE * store.rows))
    if dense:
        digits = [(*_column(store, store.facts.classes[name]), store.sizes[name]) for name in tally.by]
        plan = _plan(store, tally, words, store.bytes, np.array(digits, np.int64).reshape(-1, 3))
        places = np.arange(cells)
    else:
        cell, places = _sorted_cells(store, tally.by, words)
        cells = len(places)
        plan = _plan(store, tally, words, cell, np.array([[0, 4, cells]], np.int64))
    halves = _summed(store, plan, cells, tally.top)
    return bounded(_read(store, tally, halves, places if not dense else None), tally)


def _plan(store: ColumnsStore, tally: Tally, words: Words, cells: Bytes, digits: Ints) -> TallyPlan:
    facts = store.facts
    return TallyPlan(
        bytes=store.bytes,
        cells=cells,
        digits=digits,
        words=words,
        needs=needs_of(store, tally.complete, tally.of),
        key=_named(store, "key"),
        weight=_named(store, "weight" if tally.weighted and facts.weighted else None),
        amount=_named(store, facts.numbers[tally.of] if tally.of else None),
        unit=_named(store, "unit" if facts.several else None),
        shift=facts.shifts.get(tally.of or "", 0),
    )


def _named(store: ColumnsStore, name: str | None) -> Ints:
    return np.array(_column(store, name) if name else (), np.int64)


def _column(store: ColumnsStore, name: str) -> tuple[int, int]:
    column: MappedColumn = store.column(name)
    return column.offset, column.kind


def _summed(store: ColumnsStore, plan: TallyPlan, cells: int, top: int) -> list[TallySums]:
    halves = [tally_sums(cells, plan, top) for _ in HALVES]

    def work(half: int, start: int, stop: int) -> None:
        add_cells(plan, start, stop, halves[half])

    if store.facts.several:
        units = store.units
        in_two(work, store.rows, lambda row: int(np.searchsorted(units, units[row])) if row < len(units) else row)
    else:
        in_two(work, store.rows)
    return halves


def _read(store: ColumnsStore, tally: Tally, halves: list[TallySums], places: Ints | None) -> Cells:
    """The cells that are not empty, in order."""
    one, other = halves
    records = (one.packed >> 32).astype(np.int64) + (other.packed >> 32).astype(np.int64)
    rows = np.flatnonzero(records)
    key = (one.packed[rows] ^ other.packed[rows]).astype(np.uint32).view(np.int32).astype(np.int64)
    records = records[rows]
    units = one.units[rows] + other.units[rows] if store.facts.several else records.copy()
    weight = one.weight[rows] + other.weight[rows] if len(one.weight) else records.copy()
    amounts = one.amounts[rows] + other.amounts[rows] if tally.of else np.zeros((len(rows), 3), np.int64)
    both = np.concatenate([one.top[rows], other.top[rows]], axis=1) if tally.of and tally.top else None
    top = None if both is None else np.ascontiguousarray(np.sort(both, axis=1)[:, : -tally.top - 1 : -1])
    if places is None:
        shape = [store.sizes[name] for name in tally.by]
        found = np.array(np.unravel_index(rows, shape), np.int64).T if shape else np.zeros((len(rows), 0), np.int64)
    else:
        found = places[rows]
    return Cells(
        by=tally.by,
        places=np.ascontiguousarray(found),
        records=records,
        units=units,
        key=key,
        weight=weight if tally.weighted else None,
        total=amounts[:, 0].copy() if tally.of else None,
        size=amounts[:, 1].copy() if tally.of else None,
        square=amounts[:, 2].copy() if tally.of else None,
        top=top,
    )


def _sorted_cells(store: ColumnsStore, by: tuple[str, ...], words: Words) -> tuple[Bytes, Ints]:
    """For each record the number of its cell among those that occur, in order; and the places of these."""
    rows = chosen_rows(words, 0, store.rows)
    cell, cells = np.zeros(len(rows), np.int64), 1
    first = np.zeros(0, np.int64)
    for name in by:
        code = store.array(store.facts.classes[name])[rows]
        _, first, cell = np.unique(cell * store.sizes[name] + code, return_index=True, return_inverse=True)
    cells = len(first)
    places = np.column_stack([store.array(store.facts.classes[name])[rows[first]] for name in by]).astype(np.int64)
    numbered: NDArray[np.uint32] = np.zeros(store.rows, np.uint32)
    numbered[rows] = cell
    whole = numbered.view(np.uint8)
    whole.setflags(write=False)  # as the columns themselves, so that kernels are compiled once
    return whole, places.reshape(cells, len(by))
