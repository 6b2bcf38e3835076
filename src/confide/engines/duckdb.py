"""The default engine: a DuckDB file beside the site, scanned in this process.

The file holds `records` sorted by unit key, `pairs` (every one- and two-way table of the whole file, so that the
commonest questions and most universe checks need no scan) and, where a unit is a record, `large_*` (the records with the
largest contributions to each number, in which the top contributors of most cells are found).
"""

import itertools
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from confide.engines import Coded, Facts
from confide.engines.sql import inside, listed, over_records, over_units, where
from confide.errors import Fault
from confide.model.evidence import Box, Cells, Tally

__all__ = ["DuckDBEngine", "write_store"]

Ints = NDArray[np.int64]
Columns = list[Any]

PAIR_CELLS = 100_000
"""Pairs of variables with more possible cells than this are not stored."""

LARGE_SHARE = 50
"""One record in so many counts as large."""

PERFECT_BITS = 18
"""Largest group key, in bits, for which a table indexed by the key itself is faster than hashing (measured)."""


class DuckDBEngine:
    """Answers tallies from a store written by `write_store`; safe to share among threads."""

    def __init__(self, path: Path) -> None:
        try:
            self._db = duckdb.connect(str(path), read_only=True)
            [(meta,)] = self._db.execute("SELECT facts FROM meta").fetchall()
            described = json.loads(meta)
        except (duckdb.Error, ValueError, OSError) as error:
            raise Fault(
                f"The store {path.name} cannot be opened ({type(error).__name__}). Ingest the data again."
            ) from None
        self.facts = Facts(**described["facts"])
        self._sizes: dict[str, int] = described["sizes"]
        self._signed: dict[str, bool] = described["signed"]
        self._pairs: dict[str, int] = described["pairs"]
        self._rows: int = described["rows"]

    def tally(self, tally: Tally) -> Cells:
        if self.facts.several:
            return self._cells(tally, self._run(over_units(tally, self.facts), tally))
        plain = replace(tally, without=(), top=0)
        cells = self._stored(plain) or self._scanned(plain)
        if tally.without:
            cells = _subtract(cells, self._scanned(plain, only=f"unit IN ({listed(tally.without)})"))
        return replace(cells, top=self._top(tally, cells)) if tally.top else cells

    def units(self, within: Sequence[Box], *, low: int, high: int) -> Ints:
        condition = f" AND {inside(within, self.facts)}" if within else ""
        sql = f"SELECT DISTINCT unit FROM records WHERE unit BETWEEN {low} AND {high}{condition} ORDER BY unit"
        return np.asarray(self._run(sql)[0], dtype=np.int64)

    def close(self) -> None:
        self._db.close()

    def _scanned(self, tally: Tally, *, only: str = "") -> Cells:
        signed = tally.of is not None and self._signed[tally.of]
        return self._cells(tally, self._run(over_records(tally, self.facts, signed=signed, only=only), tally))

    def _stored(self, tally: Tally) -> Cells | None:
        """The answer from `pairs`, where it holds it."""
        names = sorted({*tally.by, *(name for box in tally.within for name, _ in box)})
        pair = self._pairs.get(json.dumps(names))
        if pair is None or tally.of:
            return None
        columns = dict(zip(names, "ab", strict=False))
        facts = replace(self.facts, classes=columns)
        by = ", ".join(columns[name] for name in tally.by)
        picks = "CAST(sum(records) AS BIGINT), bit_xor(key)" + (
            ", CAST(sum(weight) AS BIGINT)" if tally.weighted else ""
        )
        sql = f"SELECT {by}{', ' if by else ''}{picks} FROM pairs{where(tally, facts, f'pair = {pair}')}"
        return self._cells(tally, self._run(sql + (f" GROUP BY {by}" if by else "")))

    def _top(self, tally: Tally, cells: Cells) -> Ints:
        """The largest contributions: from the large records, and from all records where those do not suffice."""
        assert tally.of is not None and cells.size is not None
        found = self._largest(tally, cells, f"large_{self.facts.numbers[tally.of]}", "")
        needed = np.minimum(cells.records, tally.top)
        lacking = ((found > 0).sum(axis=1) < needed) & (cells.size > 0)
        if lacking.any():
            index = _index(cells.places[lacking], self._widths(tally.by))
            only = f"{self._index_sql(tally.by)} IN ({listed(index)})" if tally.by else "TRUE"
            found = np.where(lacking[:, None], self._largest(tally, cells, "records", only), found)
        return found

    def _largest(self, tally: Tally, cells: Cells, table: str, only: str) -> Ints:
        assert tally.of is not None
        by = [self.facts.classes[name] for name in tally.by]
        drops = [f"unit NOT IN ({listed(tally.without)})"] if tally.without else []
        picks = [*by, f"max(abs({self.facts.numbers[tally.of]}), {tally.top})"]
        sql = f"SELECT {', '.join(picks)} FROM {table}{where(tally, self.facts, *drops, *filter(None, [only]))}"
        *places, largest = self._run(sql + (f" GROUP BY {', '.join(by)}" if by else ""), tally)
        widths = self._widths(tally.by)
        rows = {place: row for row, place in enumerate(_index(cells.places, widths))}
        top = np.zeros((len(cells.records), tally.top), dtype=np.int64)
        for place, values in zip(_index(_matrix(places, len(largest)), widths), largest, strict=True):
            if values is not None and place in rows:
                top[rows[place], : len(values)] = values
        return top

    def _widths(self, by: Sequence[str]) -> list[int]:
        return [self._sizes[name] for name in by]

    def _index_sql(self, by: Sequence[str]) -> str:
        sql = "CAST(0 AS BIGINT)"
        for name in by:
            sql = f"({sql} * {self._sizes[name]} + {self.facts.classes[name]})"
        return sql

    def _run(self, sql: str, tally: Tally | None = None) -> Columns:
        """The columns of an answer. Our own statement on our own store: an error is ours, and shows nothing of the data."""
        bits = sum(int(size + 1).bit_length() for size in self._widths(tally.by)) if tally else 64
        fits = bits <= PERFECT_BITS and self._rows >> 4 > 1 << bits
        try:
            with self._db.cursor() as cursor:
                if fits:
                    cursor.execute(f"SET perfect_ht_threshold = {PERFECT_BITS}")
                answer = cursor.execute(sql).fetchnumpy()
        except duckdb.Error as error:
            raise Fault(f"The engine failed ({type(error).__name__}).") from None
        return list(answer.values())

    def _cells(self, tally: Tally, columns: Columns) -> Cells:
        width = len(tally.by)
        places, rest = columns[:width], iter(columns[width:])
        records = _ints(next(rest))
        key = _ints(next(rest))
        weight = _ints(next(rest)) if tally.weighted else None
        total = _ints(next(rest)) if tally.of else None
        size = _ints(next(rest, total)) if tally.of else None
        units = _ints(next(rest, records))
        top = _padded(next(rest), tally.top) if tally.top else None
        cells = Cells(tally.by, _matrix(places, len(records)), records, units, key, weight, total, size, top)
        return _sorted(cells, records > 0)


def _ints(column: Any) -> Ints:
    filled = np.ma.filled(column, 0) if isinstance(column, np.ma.MaskedArray) else column
    return np.asarray(filled, dtype=np.int64)


def _matrix(places: Sequence[Any], rows: int) -> Ints:
    return np.column_stack([_ints(p) for p in places]) if places else np.zeros((rows, 0), dtype=np.int64)


def _padded(lists: Any, width: int) -> Ints:
    rows = [list(values) + [0] * (width - len(values)) if values is not None else [0] * width for values in lists]
    return np.array(rows, dtype=np.int64).reshape(-1, width)


def _index(places: Ints, widths: Sequence[int]) -> list[int]:
    index = np.zeros(len(places), dtype=np.int64)
    for column, width in zip(places.T, widths, strict=True):
        index = index * width + column
    return index.tolist()


def _map(cells: Cells, change: Callable[[Ints], Ints]) -> Cells:
    names = ("places", "records", "units", "key", "weight", "total", "size", "top")
    changed = {name: None if (a := getattr(cells, name)) is None else change(a) for name in names}
    return replace(cells, **changed)  # type: ignore[arg-type]  # the fields are arrays or None, as before


def _sorted(cells: Cells, keep: NDArray[np.bool_]) -> Cells:
    order = np.lexsort(cells.places.T[::-1]) if cells.by else np.arange(len(cells.records))
    rows = order[keep[order]]
    return _map(cells, lambda array: array[rows])


def _subtract(cells: Cells, dropped: Cells) -> Cells:
    """The cells without some of their units."""
    rows = {tuple(place): row for row, place in enumerate(cells.places.tolist())}
    at = [rows[tuple(place)] for place in dropped.places.tolist()]
    left = _map(cells, np.copy)
    left.key[at] ^= dropped.key
    for name in ("records", "units", "weight", "total", "size"):
        if (array := getattr(left, name)) is not None:
            array[at] -= getattr(dropped, name)
    return _map(left, lambda array: array[left.records > 0])


def write_store(coded: Coded, path: Path) -> None:
    """Write the coded records as a store, whole or not at all: a crash or a full disk leaves the old store in place."""
    partial = path.with_name(path.name + ".partial")
    partial.unlink(missing_ok=True)
    try:
        with duckdb.connect(str(partial)) as db:
            _fill(db, coded)
        os.replace(partial, path)
    except (duckdb.Error, OSError) as error:
        raise Fault(
            f"The store could not be written ({type(error).__name__}); the former one, if any, is untouched.",
            suggestions=["Check that the disk has room and that no server has the store open, then ingest again."],
        ) from None
    finally:
        partial.unlink(missing_ok=True)


def _fill(db: duckdb.DuckDBPyConnection, coded: Coded) -> None:
    facts = coded.facts
    db.register("coded", coded.records)
    db.execute("CREATE TABLE records AS SELECT * FROM coded ORDER BY unit, key")
    sizes = {
        name: int(pa.compute.max(coded.records[column]).as_py() or 0) + 1 for name, column in facts.classes.items()
    }
    signed = {name: _negative(coded.records[column]) for name, column in facts.numbers.items()}
    if not facts.several:
        for column in facts.numbers.values():
            _fill_large(db, column)
    described = {
        "facts": facts.as_dict(),
        "sizes": sizes,
        "signed": signed,
        "rows": coded.records.num_rows,
        "pairs": {} if facts.several else _fill_pairs(db, facts, sizes),
    }
    db.execute("CREATE TABLE meta AS SELECT ? AS facts", [json.dumps(described)])


def _negative(column: pa.ChunkedArray) -> bool:
    return bool((pa.compute.min(column).as_py() or 0) < 0)


def _fill_large(db: duckdb.DuckDBPyConnection, column: str) -> None:
    edge = f"(SELECT quantile_disc(abs({column}), {1 - 1 / LARGE_SHARE}) FROM records WHERE {column} <> 0)"
    db.execute(f"CREATE TABLE large_{column} AS SELECT * FROM records WHERE abs({column}) >= {edge} AND {column} <> 0")


def _fill_pairs(db: duckdb.DuckDBPyConnection, facts: Facts, sizes: dict[str, int]) -> dict[str, int]:
    weight = "CAST(sum(weight) AS BIGINT)" if facts.weighted else "count(*)"
    kinds = "pair INTEGER, a USMALLINT, b USMALLINT, records BIGINT, key INTEGER, weight BIGINT"
    db.execute(f"CREATE TABLE pairs ({kinds})")
    names = sorted(facts.classes)
    wanted = [(), *((name,) for name in names), *itertools.combinations(names, 2)]
    stored: dict[str, int] = {}
    for by in wanted:
        if np.prod([sizes[name] for name in by]) > PAIR_CELLS:
            continue
        columns = [facts.classes[name] for name in by]
        picks = ", ".join([*columns, *["0"] * (2 - len(by))])
        group = f" GROUP BY {', '.join(columns)}" if columns else ""
        sql = f"SELECT {len(stored)}, {picks}, count(*), bit_xor(key), {weight} FROM records{group} HAVING count(*) > 0"
        db.execute(f"INSERT INTO pairs {sql}")
        stored[json.dumps(list(by))] = len(stored)
    return stored
