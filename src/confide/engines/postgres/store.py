"""Writing the coded records into a schema of their own, whole or not at all; and taking them away.

A schema has `records`, numbered in the order of their units, and `meta`, what they say of themselves. Nothing in it is changed
once it is written: another vintage is another schema. A small file in the vintage's folder names it.
"""

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from psycopg import sql
from pyarrow import csv

from confide.data.private import only_mine
from confide.data.replacing import replacing
from confide.engines import Coded
from confide.engines.order import stored_order
from confide.engines.postgres.failures import writing_failures
from confide.errors import Fault
from confide.sources.database.connecting import Connection, connect

__all__ = ["FORMAT", "SchemaPointer", "read_pointer", "remove_postgres", "write_postgres"]

FORMAT = 1
"""The version of the layout; records with another are not read."""

BATCH = 1 << 16
"""Records that are sent at once."""


@dataclass(frozen=True)
class SchemaPointer:
    """Where the records of a vintage are: the schema, the mark that its `meta` must have, and the database they were written to."""

    schema: str
    mark: str
    database: str


def write_postgres(coded: Coded, path: Path, database: str) -> None:
    """Write the coded records into a new schema of the database, and at `path` which one it is.

    Promise: the schema appears whole, in one transaction. The file is there first, so that whoever is killed in
    between leaves a name by which the schema can be taken away.
    """
    pointer = SchemaPointer(f"confide_{secrets.token_hex(8)}", secrets.token_hex(16), database)
    with writing_failures():
        with only_mine(), replacing(path) as partial:
            partial.write_text(json.dumps({"format": FORMAT, **vars(pointer)}) + "\n", encoding="utf-8")
        try:
            with connect(database) as connection, connection.transaction():
                _fill(connection, coded, pointer)
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def read_pointer(path: Path) -> SchemaPointer:
    """What the file of a vintage names."""
    try:
        named = json.loads(path.read_text(encoding="utf-8"))
        if named.pop("format") != FORMAT:
            raise Fault(f"The store {path.name} was written by another version of Confide. Ingest the data again.")
        return SchemaPointer(**named)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Fault(f"The store {path.name} cannot be read ({type(error).__name__}). Ingest the data again.") from None


def remove_postgres(path: Path) -> None:
    """Take the records that a file names away from the database they were written to, and the file."""
    pointer = read_pointer(path)
    with writing_failures(), connect(pointer.database) as connection:
        connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(pointer.schema)))
    path.unlink()


def _fill(connection: Connection, coded: Coded, pointer: SchemaPointer) -> None:
    kinds = {name: _kind(coded, name) for name in coded.records.column_names}
    columns = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
    schema = sql.Identifier(pointer.schema)
    connection.execute(sql.SQL("CREATE SCHEMA {}").format(schema))
    connection.execute(sql.SQL("SET LOCAL search_path = {}").format(schema))
    _run(connection, f"CREATE TABLE records (record BIGINT, {columns})")
    # FREEZE: the table is of this transaction, so that no reader has to mark its pages later.
    with connection.cursor().copy("COPY records FROM STDIN (FORMAT csv, FREEZE)") as copy:
        for part in _parts(coded):
            copy.write(part)
    _run(connection, "ALTER TABLE records ADD PRIMARY KEY (record)")
    _run(connection, "CREATE INDEX ON records USING brin (unit)")
    described = {"facts": coded.facts.as_dict(), "sizes": coded.sizes, "kinds": kinds, "rows": coded.records.num_rows}
    _run(connection, "CREATE TABLE meta (format INTEGER, mark TEXT, described TEXT)")
    connection.execute("INSERT INTO meta VALUES (%s, %s, %s)", [FORMAT, pointer.mark, json.dumps(described)])
    for table in ("records", "meta"):
        _forbid_changes(connection, table)
    _run(connection, "ANALYZE records")


def _forbid_changes(connection: Connection, table: str) -> None:
    """Whoever changes a record by mistake is told so: answers that were given would not repeat."""
    text = "Records of Confide are not changed in place: ingest the data again."
    _run(
        connection,
        "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{text}'; END $$",
    )
    changes = "INSERT OR UPDATE OR DELETE OR TRUNCATE"
    _run(connection, f"CREATE TRIGGER refuse BEFORE {changes} ON {table} EXECUTE FUNCTION refuse()")


def _run(connection: Connection, statement: str) -> None:
    """A statement of ours: the columns are named by us."""
    connection.execute(statement.encode())


def _kind(coded: Coded, name: str) -> str:
    """Sums of products are made of numbers, so that these are wide; places and keys are as narrow as they may be."""
    if name == "key":
        return "INTEGER NOT NULL"
    if name in coded.facts.classes.values():
        wide = {1: "SMALLINT", 2: "INTEGER"}.get(coded.records[name].type.byte_width, "BIGINT")
        return f"{wide} NOT NULL"
    return "BIGINT" if coded.records[name].null_count else "BIGINT NOT NULL"


def _parts(coded: Coded) -> Iterator[Any]:
    """The records as lines, in the order of their units, with their numbers in front."""
    order = stored_order(coded.records)
    options = csv.WriteOptions(include_header=False, quoting_style="none")
    for start in range(0, coded.records.num_rows, BATCH):
        part = (
            coded.records.slice(start, BATCH)
            if order is None
            else coded.records.take(pa.array(order[start : start + BATCH]))
        )
        numbered = part.add_column(0, "record", pa.array(range(start, start + part.num_rows), pa.int64()))
        buffer = pa.BufferOutputStream()
        csv.write_csv(numbered, buffer, options)
        yield buffer.getvalue().to_pybytes()
