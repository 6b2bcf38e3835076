"""Writing the store that `DuckDBEngine` reads, whole or not at all; and reading it back."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from confide.data.scratch import Scratch
from confide.engines import Coded, StoreFacts
from confide.engines.order import in_stored_order
from confide.errors import Fault
from confide.progress import current_progress
from confide.sources.sealed import open_sealed

__all__ = ["STORED_TOP", "pair_name", "read_store", "read_store_facts", "write_store", "write_store_facts"]

PAIR_ROWS = 1_000_000
"""Smaller files are scanned in a few milliseconds, so pairs are not worth the wait when they are ingested."""


WRITING = 1 << 31
"""Bytes of memory that DuckDB may take to write a store: records go to disk as they come, and in order."""

RECORDS = 0.6
"""The share of the time of writing a store that its records take; pairs and products take the rest."""

BATCH = 122_880
"""Records that are written at once: a row group of DuckDB."""

STORED_TOP = 3
"""So many of the largest contributions are stored for each cell of a pair."""


def pair_name(names: Sequence[str]) -> str:
    return json.dumps(sorted(names))


def write_store(coded: Coded, path: Path, *, pairs_from: int = PAIR_ROWS) -> None:
    """Write the coded records as a store; a crash or a full disk leaves the former one in place.

    Files of at least `pairs_from` records in which every record is a unit also get all one- and two-way tables, and the
    sums of products of their numbers.
    """
    pairs = coded.records.num_rows >= pairs_from and not coded.facts.several
    with _written(path) as db:
        _fill(db, coded, Scratch(path.parent), pairs=pairs)


def write_store_facts(facts: StoreFacts, path: Path) -> None:
    """Write a store that says what it is of and has no records, for these stand beside it."""
    with _written(path) as db:
        _describe(db, {"facts": facts.as_dict()})


@contextmanager
def _written(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A store to be filled, which takes its place once it is whole."""
    partial = path.with_name(path.name + ".partial")
    partial.unlink(missing_ok=True)
    try:
        with open_sealed(partial, memory=WRITING) as db:
            yield db
        os.replace(partial, path)
    except (duckdb.Error, pa.ArrowException, OSError, KeyError) as error:
        raise Fault(
            f"The store could not be written ({type(error).__name__}); the former one, if any, is untouched.",
            suggestions=["Check that the disk has room and that no server has the store open, then ingest again."],
        ) from None
    finally:
        partial.unlink(missing_ok=True)
        partial.with_name(partial.name + ".wal").unlink(missing_ok=True)


def _fill(db: duckdb.DuckDBPyConnection, coded: Coded, scratch: Scratch, *, pairs: bool) -> None:
    facts, progress = coded.facts, current_progress()
    # in order, so that the engine need not sort them, for which it takes memory for all
    ordered = in_stored_order(coded.records, scratch.keep)
    batches = ordered.to_batches(max_chunksize=BATCH)
    db.register("coded", pa.RecordBatchReader.from_batches(ordered.schema, batches))
    db.execute("CREATE TABLE records AS SELECT * FROM coded")
    progress.report(RECORDS)
    sizes = coded.sizes
    paired = {name: size for name, size in sizes.items() if name in facts.shown}
    signed = [name for name, column in facts.numbers.items() if _least(coded.records[column]) < 0]
    whole = [name for name, column in facts.numbers.items() if coded.records[column].null_count == 0]
    described = {
        "facts": facts.as_dict(),
        "sizes": sizes,
        "signed": signed,
        "whole": whole,
        "rows": coded.records.num_rows,
        "pairs": _fill_pairs(db, coded, paired, whole) if pairs else {},
        "squares": True,
        "basis": _fill_products(db, coded, paired) if pairs else [],
    }
    _describe(db, described)


def _describe(db: duckdb.DuckDBPyConnection, described: dict[str, Any]) -> None:
    db.execute("CREATE TABLE meta AS SELECT ? AS facts", [json.dumps(described)])


def _least(column: pa.ChunkedArray) -> int:
    return int(pc.min(column).as_py() or 0)


def _fill_pairs(
    db: duckdb.DuckDBPyConnection, coded: Coded, sizes: dict[str, int], whole: Sequence[str]
) -> dict[str, int]:
    """All one- and two-way tables of the whole file, one after the other in one table."""
    from confide.engines.duckdb.pair_tables import count_pairs, stored_pairs  # numba is slow to import

    tables = pa.concat_tables(count_pairs(coded, sizes, whole))
    db.register("counted", tables)
    db.execute("CREATE TABLE pairs AS SELECT * FROM counted ORDER BY pair, a, b")
    return {pair_name(by): number for number, by in enumerate(stored_pairs(sizes))}


def _fill_products(
    db: duckdb.DuckDBPyConnection, coded: Coded, sizes: dict[str, int]
) -> Sequence[tuple[str, str, float]]:
    """Sums of products of the numbers that are never missing: a row of the basis, or a class of a variable, each."""
    from confide.engines.duckdb.product_sums import sum_products  # numba is slow to import, and small files do without

    facts = coded.facts
    variables = [name for name, column in facts.values.items() if coded.records[column].null_count == 0]
    names = [
        "unit",
        *(["weight"] if facts.weighted else []),
        *facts.shown.values(),
        *facts.values.values(),
        *facts.forms.values(),
    ]
    stream = pa.RecordBatchReader.from_stream(db.sql(f"SELECT {', '.join(dict.fromkeys(names))} FROM records"))
    batches = ({name: part[name].to_numpy(zero_copy_only=False) for name in part.schema.names} for part in stream)
    found = sum_products(batches, facts, sizes=sizes, variables=variables)
    tables = {"": found.pairs, **{facts.classes[name]: rows for name, rows in found.classes.items()}}
    sums = pa.table(
        {
            "class": [name for name, rows in tables.items() for _ in rows],
            "place": [place for rows in tables.values() for place in range(len(rows))],
            "sums": [row.tolist() for rows in tables.values() for row in rows],
        }
    )
    db.register("sums", sums)
    db.execute("CREATE TABLE products AS SELECT * FROM sums")
    return found.basis.numbers


def read_store(path: Path) -> Coded:
    """The coded records of a store, as they were written."""
    return Coded(read_store_facts(path), _read(path, "SELECT * FROM records"))


def read_store_facts(path: Path) -> StoreFacts:
    """What a store says of itself."""
    [described] = _read(path, "SELECT facts FROM meta")["facts"].to_pylist()
    return StoreFacts(**json.loads(described)["facts"])


def _read(path: Path, sql: str) -> pa.Table:
    try:
        with open_sealed(path, read_only=True) as db:
            return db.sql(sql).to_arrow_table()
    except duckdb.Error as error:
        raise Fault(f"The store could not be read ({type(error).__name__}).") from None
