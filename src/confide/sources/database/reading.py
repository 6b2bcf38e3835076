"""A table of an agency's PostgreSQL as microdata: read in one state of the database, by a role that need do nothing else.

Promise: nothing is written there; records come in the order of the primary key if there is one; numbers are exactly what they are
in the table. `table_state` tells later, without reading it, whether it is still the same.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa
from psycopg import Connection, Error, errors, sql
from pyarrow import csv

from confide.errors import Fault, Mistake, nearest
from confide.sources.database.connecting import connect
from confide.sources.origin import Origin
from confide.sources.source import Source

__all__ = ["read_table", "table_origin"]

BLOCK = 1 << 24
"""Bytes that are read at once."""

_TYPES = {
    **dict.fromkeys(("smallint", "integer", "bigint"), pa.int64()),
    **dict.fromkeys(("real", "double precision"), pa.float64()),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp without time zone": pa.timestamp("us"),
}
"""What is not one of these is read as text, which is what a CSV file would have."""

_SETTINGS = (
    "SET datestyle = ISO; SET timezone = 'UTC'; SET intervalstyle = postgres; SET extra_float_digits = 1;"
    "SET bytea_output = hex; SET client_encoding = UTF8; BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
)
"""What a value looks like as text does not depend on who reads it."""

_TABLES = """
    SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname !~ '^(pg_|confide_|information_schema$)'
    AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT') ORDER BY 1
"""
_COLUMNS = """
    SELECT attname, format_type(atttypid, NULL), CASE WHEN atttypmod >= 4 THEN atttypmod - 4 END,
    col_description(attrelid, attnum) FROM pg_attribute
    WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
_KEY = """
    SELECT a.attname FROM pg_index i CROSS JOIN unnest(i.indkey) WITH ORDINALITY AS k(number, place)
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
    WHERE i.indrelid = %s::regclass AND i.indisprimary ORDER BY k.place
"""
_STATE = "SELECT count(*), coalesce(sum(hashtextextended(each::text, 0)::numeric), 0)::text FROM {} AS each"
"""Whichever way records lie, the same ones have the same sum."""


def read_table(database: str, table: str | None) -> Source:
    """The records of a table or a view, with the comments on its columns as their labels, and where they are from."""
    with _reading(database) as connection:
        name = _named(connection, table)
        columns = connection.execute(_COLUMNS, [name]).fetchall()
        key = [column for (column,) in connection.execute(_KEY, [name]).fetchall()]
        labels = {column: comment for column, _, _, comment in columns if comment}
        records = _records(connection, name, {column: _type(*kind) for column, *kind, _ in columns}, key)
        return Source(records, labels, origin=_origin(connection, database, name))


def table_origin(database: str, table: str) -> Origin:
    """What a table is now; the server looks at all of it, and nothing is read from there."""
    with _reading(database) as connection:
        return _origin(connection, database, _named(connection, table))


@contextmanager
def _reading(database: str) -> Iterator[Connection[Any]]:
    """A connection that sees one state of the database and cannot change it."""
    try:
        with connect(database, setting="The address of the data") as connection:
            connection.execute(_SETTINGS.encode())
            yield connection
    except errors.InsufficientPrivilege:
        hint = "Grant it USAGE on the schema and SELECT on the table."
        raise Mistake("The database does not let this role read the table.", suggestions=[hint]) from None
    except Error as error:
        raise Fault(
            f"The table could not be read from the database ({type(error).__name__}).",
            suggestions=["Check that it runs, and what the address and libpq's settings say."],
        ) from None


def _named(connection: Connection[Any], table: str | None) -> str:
    """The table as the database writes its name; the only one there is if none is named."""
    if table is not None:
        for asked in ("SELECT to_regclass(%s)::text", "SELECT to_regclass(quote_ident(%s))::text"):
            with suppress(errors.SyntaxError, errors.InvalidName), connection.transaction():
                [(found,)] = connection.execute(asked, [table]).fetchall()
                if found is not None:
                    return str(found)
    names = [name for (name,) in connection.execute(_TABLES).fetchall()]
    if table is None and len(names) == 1:
        return str(names[0])
    hint = nearest(table or "", names) or ["This role may read " + (", ".join(names) or "none") + "."]
    raise Mistake("Say which table of the database to read.", suggestions=hint)


def _records(connection: Connection[Any], name: str, types: dict[str, pa.DataType], key: list[str]) -> pa.Table:
    chosen = sql.SQL(", ").join(map(sql.Identifier, types))
    ordered = sql.SQL(" ORDER BY {}").format(sql.SQL(", ").join(map(sql.Identifier, key))) if key else sql.SQL("")
    query = sql.SQL("COPY (SELECT {} FROM {}{}) TO STDOUT (FORMAT csv)").format(chosen, _table(name), ordered)
    with connection.cursor().copy(query) as copy:
        return _parsed(_Stream(iter(copy)), types)


def _parsed(stream: "_Stream", types: dict[str, pa.DataType]) -> pa.Table:
    """What is empty and has no quotes round it is missing; an empty text has them."""
    if not stream.begun():
        return pa.table({name: pa.array([], kind) for name, kind in types.items()})
    try:
        return csv.read_csv(
            stream,
            csv.ReadOptions(column_names=list(types), block_size=BLOCK),
            csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            csv.ConvertOptions(
                column_types=types,
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                true_values=["t"],
                false_values=["f"],
            ),
        )
    except pa.ArrowInvalid:  # as for a date that is no day of our calendar; Arrow would quote it
        hint = (
            "Dates and times must be in the years 1 to 9999, numbers finite. Read a view that leaves out what is not."
        )
        raise Mistake("A value of the table cannot be read.", suggestions=[hint]) from None


def _type(kind: str, modifier: int | None) -> pa.DataType:
    """Decimals stay what they are: as floats, long numbers of people would be the same."""
    if kind == "numeric" and modifier is not None:
        precision, scale = modifier >> 16 & 0xFFFF, modifier & 0x7FF
        if 1 <= precision <= 38 and scale <= precision:
            return pa.decimal128(precision, scale)
    return _TYPES.get(kind, pa.string())


def _origin(connection: Connection[Any], database: str, name: str) -> Origin:
    [(records, found)] = connection.execute(sql.SQL(_STATE).format(_table(name))).fetchall()
    return Origin(database, name, f"{records} {found}")


def _table(name: str) -> sql.SQL:
    """A name that the database has written itself, with quotes where it needs them."""
    return sql.SQL(name)


class _Stream(io.RawIOBase):
    """What a COPY sends, as a file."""

    def __init__(self, blocks: Iterator[Any]) -> None:
        self._blocks, self._left = blocks, memoryview(b"")

    def begun(self) -> bool:
        """Whether there is anything in it."""
        if not self._left:
            self._left = memoryview(next(self._blocks, b""))
        return bool(self._left)

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        """As much as there is room for: a line a time would take long."""
        room, filled = memoryview(into).cast("B"), 0
        while filled < len(room) and self.begun():
            taken = min(len(room) - filled, len(self._left))
            room[filled : filled + taken] = self._left[:taken]
            self._left, filled = self._left[taken:], filled + taken
        return filled
