"""The default engine: a DuckDB file beside the site, scanned in this process.

The file holds `records`, sorted by unit key, and, in large files in which every record is a unit, `pairs`: every one- and
two-way table of the whole file, and `products`: sums of products of its numbers, so that the commonest questions and most
universe checks need no scan.
"""

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa

from confide.arrays import Floats, Ints
from confide.cache import Cache
from confide.cancellation import current_cancellation
from confide.engines import StoreFacts
from confide.engines.cells import bounded
from confide.engines.duckdb.coarser import coarsen, each_array, finest, weigh
from confide.engines.duckdb.dialect import DUCKDB
from confide.engines.duckdb.failures import failures
from confide.engines.duckdb.products import Basis, Products
from confide.engines.duckdb.store import STORED_TOP, pair_name
from confide.engines.duckdb.stored import StoredTable, less, stored_moments
from confide.engines.sql import defined, inside, listed, over_records, over_units, present, where
from confide.errors import Fault
from confide.model.design import Number
from confide.model.evidence import Box, Cells, Moments, Rows, Spread, Step, Tally
from confide.model.formula import Transform
from confide.sources.sealed import open_sealed

if TYPE_CHECKING:
    from confide.engines.sums.kernels import Batch, Layout

__all__ = ["DuckDBEngine"]

Columns = list[Any]

PERFECT_BITS = 18
"""Largest group key, in bits, for which a table indexed by the key itself is faster than hashing (measured)."""


KEPT = 64_000_000
"""Bytes of tables that are kept for the next time they are asked for; the data do not change."""

KEPT_CELLS = 1 << 14
"""Tables with more possible cells are not kept, nor are counts of a universe taken from them: the universe is scanned. Up to
here the whole file takes 1.1 to 1.9 times what a part takes, and then all its parts take nothing; totals take up to 3 times."""


class DuckDBEngine:
    """Answers tallies from a store written by `write_store`; safe to share among threads."""

    def __init__(self, path: Path) -> None:
        try:
            self._db = open_sealed(path, read_only=True)
            [(meta,)] = self._db.execute("SELECT facts FROM meta").fetchall()
            described = json.loads(meta)
            self.facts = StoreFacts(**described["facts"])
            if "rows" not in described:
                raise Fault(
                    f"The store {path.name} has no records: they were ingested for columns. Ingest the data again."
                )
            self._sizes: dict[str, int] = described["sizes"]
            self._signed: set[str] = set(described["signed"])
            self._whole: set[str] = set(described["whole"])
            self._pairs: dict[str, int] = described["pairs"]
            self._squares: bool = described.get("squares", False)  # not in the pairs of older stores
            self._basis = Basis(tuple((v, t, c) for v, t, c in described["basis"]))
            self._rows: int = described["rows"]
        except (duckdb.Error, ValueError, KeyError, TypeError, OSError) as error:
            raise Fault(
                f"The store {path.name} cannot be opened ({type(error).__name__}). Ingest the data again."
            ) from None
        self._kept: Cache[Tally, Cells] = Cache(KEPT, weigh=weigh)

    def tally(self, tally: Tally) -> Cells:
        tally = replace(tally, complete=tuple(n for n in tally.complete if not self._defined_for_all(n)))
        if self.facts.several:
            drops = [f"unit NOT IN ({listed(tally.without)})"] if tally.without else []
            there = [*present(tally.of, self.facts), *defined(tally.complete, self.facts)]
            condition = where(tally, self.facts, self._sizes, *there, *drops)
            sql = over_units(tally, self.facts, condition, dialect=DUCKDB)
            return bounded(self._cells(tally, self._run(sql, tally)), tally)
        brief = replace(tally, share=0.0, top=1 if tally.share and tally.top else tally.top)
        cells = self._counted(replace(brief, without=()))
        cells = self._dropped(cells, brief) if tally.without else cells
        return self._completed(cells, tally) if tally.share and tally.top else cells

    def units(self, within: Sequence[Box], *, low: int, high: int) -> Ints:
        condition = f" AND {inside(within, self.facts, self._sizes)}" if within else ""
        sql = f"SELECT DISTINCT unit FROM records WHERE unit BETWEEN {low} AND {high}{condition} ORDER BY unit"
        return np.asarray(self._run(sql)[0], dtype=np.int64)

    def moments(self, step: Step) -> Moments:
        whole = replace(step, without=())
        found = stored_moments(whole, self._products, self._stored_tables) if self._pairs else None
        if found is None:
            return self._summed(step)
        return less(found, self._summed(whole, f"unit IN ({listed(step.without)})")) if step.without else found

    def spread(self, step: Step, inverse: Floats) -> Spread:
        from confide.engines.sums import batches
        from confide.engines.sums import stream as models

        layout = batches.lay_out(step.design)
        return models.spread(step, layout, self._batches(step, layout), inverse)

    def rows(self, step: Step, inverse: Floats, *, low: int, high: int) -> Rows:
        from confide.engines.sums import batches
        from confide.engines.sums import stream as models

        layout = batches.lay_out(step.design)
        return models.rows(step, layout, self._batches(step, layout, f"unit BETWEEN {low} AND {high}"), inverse)

    def close(self) -> None:
        self._db.close()

    def _summed(self, step: Step, *only: str) -> Moments:
        from confide.engines.sums import batches
        from confide.engines.sums import stream as models

        layout = batches.lay_out(step.design)
        return models.moments(step, layout, self._batches(step, layout, *only), several=self.facts.several)

    def _defined_for_all(self, number: Number) -> bool:
        """Whether a number is there in every record: only then do stored tables tell of the records that have it."""
        anything = number.transform in (Transform.NONE, Transform.SQUARE)
        return self._basis.has(number) or (anything and number.variable in self._whole)

    def _counted(self, tally: Tally) -> Cells:
        """The answer from a table of the whole file, where it is stored or costs little more than a part; kept if small."""
        whole = finest(tally)
        stored, few = self._is_stored(whole), prod(self._sizes[name] for name in whole.by) <= KEPT_CELLS
        table = whole if stored or (few and not tally.of) else tally
        cells = self._kept.get(table)
        if cells is None:
            cells = self._stored(whole) if stored else self._scanned(table)
            if few:
                self._kept.put(table, cells)
        return coarsen(cells, tally) if table is whole else cells

    def _scanned(self, tally: Tally, *only: str) -> Cells:
        there = present(tally.of, self.facts) if tally.of not in self._whole else []
        there += defined(tally.complete, self.facts)
        condition = where(tally, self.facts, self._sizes, *there, *only)
        sql = over_records(tally, self.facts, condition, signed=tally.of in self._signed, dialect=DUCKDB)
        return self._cells(tally, self._run(sql, tally))

    def _is_stored(self, whole: Tally) -> bool:
        """Whether `pairs` hold a table of the whole file."""
        if whole.complete or whole.top > STORED_TOP or pair_name(whole.by) not in self._pairs:
            return False
        return not whole.of or (whole.of in self._whole and self._squares)

    def _stored(self, table: Tally) -> Cells:
        """A table of the whole file by variables in alphabetical order, from `pairs`."""
        picks = [*"ab"[: len(table.by)], "records", "key", *(["weight"] if table.weighted else [])]
        if table.of:
            number = self.facts.numbers[table.of]
            picks += [f"{number}_{part}" for part in ("total", "size", "square")]
            picks += [f"{number}_top[1:{table.top}]"] if table.top else []
        pair = self._pairs[pair_name(table.by)]
        return self._cells(table, self._run(f"SELECT {', '.join(picks)} FROM pairs WHERE pair = {pair}"))

    def _stored_tables(self, wanted: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], StoredTable] | None:
        """Whole tables from `pairs`, many at once; None if one of them is not there."""
        numbered = {tuple(sorted(names)): self._pairs.get(pair_name(names), -1) for names in wanted}
        if -1 in numbered.values():
            return None
        pairs = listed(numbered.values())
        sql = f"SELECT pair, a, b, records, key, weight FROM pairs WHERE pair IN ({pairs}) ORDER BY pair, a, b"
        pair, *columns = map(_ints, self._run(sql))
        tables = {}
        for names, number in numbered.items():
            a, b, records, key, weight = (
                column[slice(*np.searchsorted(pair, [number, number + 1]))] for column in columns
            )
            tables[names] = StoredTable(a, b, records, key, weight / 10.0**self.facts.weight_decimals)
        return tables

    @cached_property
    def _products(self) -> Products:
        name, sums = self._run('SELECT "class", sums FROM products ORDER BY "class", place')
        tables = {each: np.stack([sums[row] for row in np.flatnonzero(name == each)]) for each in set(name)}
        classes = {variable: tables[column] for variable, column in self.facts.shown.items()}
        return Products(self._basis, tables[""], classes)

    def _dropped(self, cells: Cells, tally: Tally) -> Cells:
        """The cells without some of their units: their aggregates are subtracted."""
        some = replace(tally, without=(), top=len(tally.without) if tally.top else 0)
        gone = self._scanned(some, f"unit IN ({listed(tally.without)})")
        rows = {tuple(place): row for row, place in enumerate(cells.places.tolist())}
        at = np.array([rows[tuple(place)] for place in gone.places.tolist()], dtype=np.int64)
        left = each_array(cells, np.copy)
        left.key[at] ^= gone.key
        for name in ("records", "units", "weight", "total", "size", "square"):
            if (array := getattr(left, name)) is not None:
                array[at] -= getattr(gone, name)
        if left.top is not None and gone.top is not None:
            touched = at[(gone.top[:, 0] > 0) & (gone.top[:, 0] >= left.top[at, -1])]
            self._renew_top(left, touched, tally)
        return each_array(left, lambda array: array[left.records > 0])

    def _renew_top(self, cells: Cells, rows: Ints, tally: Tally) -> None:
        """Ask again for the largest contributions of the cells that lost one of them."""
        rows = rows[cells.records[rows] > 0]
        if not len(rows):
            return
        boxes = tuple(
            tuple((name, (int(place),)) for name, place in zip(tally.by, cells.places[row], strict=True))
            for row in rows
        )
        only = [inside(boxes, self.facts, self._sizes)] if tally.by else []
        drops = [f"unit NOT IN ({listed(tally.without)})"] if tally.without else []
        again = self._scanned(replace(tally, without=()), *only, *drops)
        assert cells.top is not None and again.top is not None
        cells.top[np.sort(rows)] = again.top

    def _batches(self, step: Step, layout: "Layout", *only: str) -> "Iterator[Batch]":
        """The records of a model in their stored order (DuckDB preserves it unless told otherwise), at least one batch."""
        from confide.engines.sums.batches import columns_of, read_batch

        columns = columns_of(step, self.facts)
        conditions = [*([inside(step.within, self.facts, self._sizes)] if step.within else []), *only]
        condition = " WHERE " + " AND ".join(conditions) if conditions else ""
        cancellation = current_cancellation()
        with failures(), self._db.cursor() as cursor, cancellation.interrupting(cursor.interrupt):
            found = cursor.sql(f"SELECT {', '.join(columns)} FROM records{condition}")
            stream = pa.RecordBatchReader.from_stream(found)
            for part in itertools.chain([pa.RecordBatch.from_pylist([], schema=stream.schema)], stream):
                cancellation.pause()
                arrays = {name: part[name].to_numpy(zero_copy_only=False) for name in columns}
                yield read_batch(arrays, step, self.facts, layout.sizes)

    def _completed(self, cells: Cells, tally: Tally) -> Cells:
        """All the largest contributions from the very largest: a second scan only for cells in which they matter."""
        assert cells.top is not None and cells.size is not None
        top = np.repeat(cells.top, tally.top, axis=1)
        matters = cells.top[:, 0] > tally.share * cells.size
        few = matters & (cells.records <= 2)
        top[few, 1:] = 0
        if tally.top > 1:
            top[few, 1] = cells.size[few] - cells.top[few, 0]
        rows = np.flatnonzero(matters & ~few)
        found = replace(cells, top=top)
        self._renew_top(found, rows, replace(tally, share=0.0))
        return found

    def _run(self, sql: str, tally: Tally | None = None) -> Columns:
        """The columns of an answer. Our statement on our store: an error is ours, and shows nothing of the data."""
        bits = sum(int(self._sizes[name] + 1).bit_length() for name in tally.by) if tally else 64
        fits = bits <= PERFECT_BITS and self._rows >> 4 > 1 << bits
        with failures(), self._db.cursor() as cursor:
            if fits:
                cursor.execute(f"SET perfect_ht_threshold = {PERFECT_BITS}")
            with current_cancellation().interrupting(cursor.interrupt):
                answer = cursor.execute(sql).fetchnumpy()
        return list(answer.values())

    def _cells(self, tally: Tally, columns: Columns) -> Cells:
        width = len(tally.by)
        places, rest = columns[:width], iter(columns[width:])
        records, key = _ints(next(rest)), _ints(next(rest))
        weight = _ints(next(rest)) if tally.weighted else None
        total = _ints(next(rest)) if tally.of else None
        size = _ints(next(rest)) if tally.of else None
        square = _ints(next(rest)) if tally.of else None
        top = _padded(next(rest), tally.top) if tally.top else None
        units = _ints(next(rest, records))
        matrix = np.column_stack([_ints(p) for p in places]) if width else np.zeros((len(records), 0), dtype=np.int64)
        order = np.lexsort(matrix.T[::-1]) if width else np.arange(len(records))
        rows = order[records[order] > 0]
        cells = Cells(tally.by, matrix, records, units, key, weight, total, size, square, top)
        return each_array(cells, lambda array: array[rows])


def _ints(column: Any) -> Ints:
    return np.asarray(np.ma.filled(column, 0), dtype=np.int64)


def _padded(lists: Any, width: int) -> Ints:
    """Lists of at most `width` numbers as rows, filled up with zeros; a single number need not be in a list."""
    if lists.dtype != object:
        return _ints(lists)[:, None]
    rows: list[Any] = [values if np.ndim(values) else () for values in lists]
    lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    padded = np.zeros((len(rows), width), dtype=np.int64)
    if lengths.any():
        padded[np.arange(width) < lengths[:, None]] = np.concatenate(rows)
    return padded
