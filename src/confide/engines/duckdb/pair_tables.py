"""All tables of a file by one and two variables, in one pass over its records.

Counted are the crosses of a few bundles of variables; everything that a cell holds is a sum, an exclusive or, or the largest of
what finer cells hold, so that tables by any two of their variables follow. For files in which every record is a unit.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from confide.arrays import Ints
from confide.engines import Coded
from confide.engines.duckdb.bundles import PairBundle, find_bundles, parts
from confide.engines.duckdb.pair_kernels import AMOUNT, COUNTED, add_amounts, add_counts, merge_cells
from confide.engines.duckdb.store import STORED_TOP

__all__ = ["count_pairs", "stored_pairs"]

PAIR_CELLS = 100_000
"""Pairs of variables with more possible cells than this are not stored."""

CROSS_CELLS = 1 << 17
"""Two bundles with more cells than this are not crossed: their pairs of variables are counted by themselves."""

CELL_BYTES = 1 << 28
"""The cells that are counted in one pass take at most so much memory, or are those of one cross."""

THREADS = 2


def stored_pairs(sizes: Mapping[str, int]) -> list[tuple[str, ...]]:
    """The tables that are stored, by at most two variables in alphabetical order."""
    names = sorted(sizes)
    tables = ((), *((name,) for name in names), *itertools.combinations(names, 2))
    return [by for by in tables if prod(sizes[name] for name in by) <= PAIR_CELLS]


def count_pairs(coded: Coded, sizes: Mapping[str, int], numbers: Sequence[str]) -> Iterator[pa.Table]:
    """The stored tables, one after the other, in any order; `numbers` are those whose contributions are never missing."""
    work = _PairWork.of(coded, numbers)
    columns = {name: np.asarray(coded.records[column].to_numpy()) for name, column in coded.facts.shown.items()}
    wanted = stored_pairs(sizes)
    crosses = _crosses(find_bundles(columns, sizes, work.rows), wanted, sizes)
    places = {by: number for number, by in enumerate(wanted)}
    for group in _groups(crosses, len(numbers)):
        counted = work.count(list(group), columns)
        for cross, cells in zip(group, counted, strict=True):
            for by in group[cross]:
                yield _stored(cross.merged(by, cells, sizes), places[by], by, sizes, work.names)


@dataclass(frozen=True, eq=False)
class _PairCells:
    """What is counted in each cell, and what each amount adds up to there."""

    counts: Ints
    sums: Ints

    @classmethod
    def empty(cls, cells: int, amounts: int) -> "_PairCells":
        return cls(np.zeros((cells, COUNTED), np.int64), np.zeros((amounts, cells, AMOUNT), np.int64))


@dataclass(frozen=True, eq=False)
class _Cross:
    """Every combination of one bundle with every one of another."""

    one: PairBundle
    two: PairBundle

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self.one.names + self.two.names)

    @property
    def cells(self) -> int:
        return len(self.one.places) * len(self.two.places)

    def merged(self, by: Sequence[str], cells: _PairCells, sizes: Mapping[str, int]) -> _PairCells:
        """The cells of a table by some of the variables."""
        target = np.zeros(self.cells, np.int64)
        for name in by:
            target = target * sizes[name] + self._places(name)
        coarse = _PairCells.empty(prod(sizes[name] for name in by), len(cells.sums))
        merge_cells(cells.counts, cells.sums, target, coarse.counts, coarse.sums)
        return coarse

    def _places(self, name: str) -> Ints:
        if name in self.one.names:
            return np.repeat(self.one.places[:, self.one.names.index(name)], len(self.two.places))
        return np.tile(self.two.places[:, self.two.names.index(name)], len(self.one.places))


@dataclass(frozen=True, eq=False)
class _PairWork:
    """The columns that are added up."""

    rows: int
    names: Sequence[str]
    key: NDArray[Any]
    weight: Ints
    amounts: Sequence[Ints]
    shifts: Sequence[int]

    @classmethod
    def of(cls, coded: Coded, numbers: Sequence[str]) -> "_PairWork":
        def column(name: str) -> NDArray[Any]:
            return np.asarray(coded.records[name].to_numpy())

        facts, names = coded.facts, [coded.facts.numbers[name] for name in numbers]
        weight = column("weight") if facts.weighted else np.empty(0, np.int64)
        amounts = [column(name).astype(np.int64, copy=False) for name in names]
        shifts = [facts.shifts.get(name, 0) for name in numbers]
        return cls(coded.records.num_rows, names, column("key"), weight, amounts, shifts)

    def count(self, crosses: Sequence[_Cross], columns: Mapping[str, NDArray[Any]]) -> list[_PairCells]:
        """The cells of some crosses, each by one thread: no sum is of two parts."""
        found = [_PairCells.empty(cross.cells, len(self.amounts)) for cross in crosses]
        work = list(zip(crosses, found, strict=True))
        with ThreadPoolExecutor(THREADS) as pool:
            for done in [pool.submit(self._count, work[at::THREADS], columns) for at in range(THREADS)]:
                done.result()
        return found

    def _count(self, work: Sequence[tuple[_Cross, _PairCells]], columns: Mapping[str, NDArray[Any]]) -> None:
        bundles = {id(bundle): bundle for cross, _ in work for bundle in (cross.one, cross.two)}
        for start, stop in parts(self.rows):
            codes = {which: bundle.codes(columns, start, stop) for which, bundle in bundles.items()}
            for cross, cells in work:
                cell = (codes[id(cross.one)] * np.int32(len(cross.two.places)) + codes[id(cross.two)]).view(np.uint32)
                add_counts(cell, self.key[start:stop], self.weight[start:stop], cells.counts)
                for amount, shift, sums in zip(self.amounts, self.shifts, cells.sums, strict=True):
                    add_amounts(cell, amount[start:stop], shift, sums)


def _crosses(
    bundles: Sequence[PairBundle], wanted: Sequence[tuple[str, ...]], sizes: Mapping[str, int]
) -> dict[_Cross, list[tuple[str, ...]]]:
    """Crosses, each with the tables that are made of it: of all that have its variables, it has the fewest cells."""
    nothing, left = PairBundle.nothing(), set(wanted)
    able = [_Cross(one, two) for one, two in itertools.combinations(bundles, 2)]
    able = [cross for cross in able if cross.cells <= CROSS_CELLS]
    for by in wanted:
        if not any(set(by) <= cross.names for cross in able):
            within = next((bundle for bundle in bundles if set(by) <= set(bundle.names)), None)
            single = [PairBundle.of(name, sizes[name]) for name in by]
            able.append(_Cross(within, nothing) if within else _Cross(*[*single, nothing, nothing][:2]))
    found: dict[_Cross, list[tuple[str, ...]]] = {cross: [] for cross in able}
    for by in sorted(left):
        found[min((cross for cross in able if set(by) <= cross.names), key=lambda cross: cross.cells)].append(by)
    return {cross: tables for cross, tables in found.items() if tables}


def _groups(
    crosses: Mapping[_Cross, list[tuple[str, ...]]], amounts: int
) -> Iterator[dict[_Cross, list[tuple[str, ...]]]]:
    """Crosses whose cells fit into memory together."""
    group: dict[_Cross, list[tuple[str, ...]]] = {}
    size = 0
    for cross, tables in crosses.items():
        own = cross.cells * 8 * (COUNTED + AMOUNT * amounts)
        if group and size + own > CELL_BYTES:
            yield group
            group, size = {}, 0
        group[cross], size = tables, size + own
    yield group


def _stored(
    cells: _PairCells, number: int, by: Sequence[str], sizes: Mapping[str, int], names: Sequence[str]
) -> pa.Table:
    """The cells of a table that are not empty, as they are stored."""
    rows = np.flatnonzero(cells.counts[:, 0])
    counts = cells.counts[rows]
    width = sizes[by[1]] if len(by) == 2 else 1
    places = {"a": rows // width if by else rows, "b": rows % width if len(by) == 2 else 0 * rows}
    columns = {
        "pair": pa.array(np.full(len(rows), number, np.int32)),
        **{name: pa.array(place.astype(np.int32)) for name, place in places.items()},
        "records": pa.array(counts[:, 0]),
        "key": pa.array(counts[:, 1].astype(np.int32)),
        "weight": pa.array(counts[:, 2]),
    }
    for name, sums in zip(names, cells.sums[:, rows], strict=True):
        for place, part in enumerate(("total", "size", "square")):
            columns[f"{name}_{part}"] = pa.array(np.ascontiguousarray(sums[:, place]))
        columns[f"{name}_top"] = _tops(sums[:, STORED_TOP : 2 * STORED_TOP], counts[:, 0])
    return pa.table(columns)


def _tops(largest: Ints, records: Ints) -> pa.ListArray:
    """The largest contributions of each cell: no more than it has records."""
    there = np.arange(STORED_TOP) < records[:, None]
    offsets = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(largest[there]))
