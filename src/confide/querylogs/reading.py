"""Reading query logs: lines of CSV, TSV or JSON, or any other table; what is broken is counted and never quoted."""

import csv
import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from confide.errors import Mistake, nearest
from confide.querylogs.fields import days_of
from confide.querylogs.log import QueryLog
from confide.sources.source import read_source

__all__ = ["PRESETS", "LogColumns", "ReadLog", "read_log"]

SEPARATORS = ",;\t|"
ROWS = 1 << 16
"""So many lines are held as Python objects at a time."""

REPLACED = "\ufffd"
"""Stands where bytes are no text in the encoding."""

Row = tuple[str | None, ...]


@dataclass(frozen=True, kw_only=True)
class LogColumns:
    """Which columns of a file are what in a log."""

    user: str = "user"
    query: str = "query"
    time: str | None = None
    click: str | None = None

    @property
    def names(self) -> list[str]:
        return [name for name in (self.user, self.query, self.time, self.click) if name is not None]


PRESETS = {
    "aol": LogColumns(user="AnonID", query="Query", time="QueryTime", click="ClickURL"),
    "ubi": LogColumns(user="client_id", query="user_query", time="timestamp"),
}
"""Columns of known logs: AOL's of 2006, and the queries of OpenSearch's User Behavior Insights."""


@dataclass(frozen=True)
class ReadLog:
    """A log, and how many lines of its file were broken and left out."""

    log: QueryLog
    bad: int = 0


def read_log(
    path: str | Path, columns: LogColumns | None = None, *, encoding: str | None = None, skip_bad: bool = False
) -> ReadLog:
    """Give the log in a file: CSV, TSV or JSON lines, gzipped or not, Parquet, or what else holds a table.

    Broken lines (fields too many or too few, an open quote, no JSON, bytes that are no text, no user, a time that is none)
    are a Mistake, or with `skip_bad` left out and counted. They are never quoted: a broken line is somebody's too.
    """
    path, columns = Path(path), columns or LogColumns()
    kind = path.name.lower().removesuffix(".gz").rsplit(".", 1)[-1]
    if kind in READERS and not path.is_file():
        raise Mistake(f"There is no file {str(path)!r}.")
    try:
        table, bad = READERS[kind](path, columns, encoding) if kind in READERS else (_table(path, columns), 0)
    except (OSError, EOFError, UnicodeError):
        raise Mistake(
            f"{path.name} cannot be read to its end.", suggestions=["Is it whole? Name its --encoding."]
        ) from None
    whole = _whole(table)
    bad += len(table) - len(whole)
    if bad and not skip_bad:
        raise Mistake(
            f"{bad:,} of {len(whole) + bad:,} lines of {path.name} are broken. Nothing was read.",
            suggestions=["Mend them, name the --encoding, or leave them out (--skip-bad)."],
        )
    if not len(whole):
        raise Mistake(f"{path.name} has no lines that can be read.")
    optional = {f"{role}s": whole[role] for role in ("time", "click") if role in whole.column_names}
    return ReadLog(QueryLog.of(whole["user"], whole["query"], **optional), bad)


def _roles(columns: LogColumns) -> list[str]:
    return [role for role in ("user", "query", "time", "click") if getattr(columns, role) is not None]


def _table(path: Path, columns: LogColumns) -> pa.Table:
    table = read_source(path).table
    _check_columns(columns, table.column_names, path)
    return pa.table([_text(table[name], name) for name in columns.names], names=_roles(columns))


def _text(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    try:
        return column.cast(pa.string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        raise Mistake(f"Column {name!r} holds {column.type}, which is no text.") from None


def _check_columns(columns: LogColumns, there: Iterable[str], path: Path) -> None:
    there = list(there)
    for name in columns.names:
        if name not in there:
            raise Mistake(
                f"{path.name} has no column {name!r}.",
                suggestions=[*nearest(name, there), "Name the columns, or a preset: " + ", ".join(PRESETS) + "."],
            )


def _whole(table: pa.Table) -> pa.Table:
    """Lines with a user and, where there are times, one that can be read or none."""
    good = pc.fill_null(pc.not_equal(pc.utf8_trim_whitespace(table["user"]), ""), False)
    if "time" in table.column_names:
        readable = pc.is_valid(days_of(table["time"]))
        good = pc.and_(good, pc.or_(readable, pc.fill_null(pc.equal(table["time"], ""), True)))
    return table.filter(good)


def _delimited(path: Path, columns: LogColumns, encoding: str | None) -> tuple[pa.Table, int]:
    with _open(path, encoding) as file:
        first = file.readline().rstrip("\n")
        if not first.strip():
            raise Mistake(f"{path.name} is empty. Its first line must name the columns.")
        separator = max(SEPARATORS, key=first.count)
        split = _splitter(separator)
        header = split(first) or []
        _check_columns(columns, header, path)
        places = [header.index(name) for name in columns.names]

        def parse(line: str) -> Row | None:
            fields = split(line)
            return None if fields is None or len(fields) != len(header) else tuple(fields[place] for place in places)

        return _gathered(file, parse, columns)


def _splitter(separator: str) -> Callable[[str], list[str] | None]:
    """How a line is cut; None of a line that cannot be. Where tabs separate, quotes are part of a query."""

    def split(line: str) -> list[str] | None:
        if separator == "\t" or '"' not in line:
            return line.split(separator)
        try:
            return next(csv.reader([line], delimiter=separator, strict=True))
        except csv.Error:
            return None

    return split


def _json_lines(path: Path, columns: LogColumns, encoding: str | None) -> tuple[pa.Table, int]:
    def parse(line: str) -> Row | None:
        try:
            found = json.loads(line)
        except ValueError:
            return None
        if not isinstance(found, dict) or any(isinstance(found.get(name), dict | list) for name in columns.names):
            return None
        return tuple(None if (value := found.get(name)) is None else str(value) for name in columns.names)

    with _open(path, encoding) as file:
        return _gathered(file, parse, columns)


def _gathered(lines: Iterator[str], parse: Callable[[str], Row | None], columns: LogColumns) -> tuple[pa.Table, int]:
    """All lines that can be parsed, and how many cannot; empty lines are neither."""
    schema = pa.schema([(role, pa.string()) for role in _roles(columns)])
    parts, bad = [], 0
    while some := list(islice(lines, ROWS)):
        texts = [line.rstrip("\n") for line in some if line.strip()]
        rows = [None if REPLACED in text or "\0" in text else parse(text) for text in texts]
        good = [row for row in rows if row is not None]
        bad += len(rows) - len(good)
        columns_of = zip(*good, strict=True) if good else ([] for _ in schema)
        parts.append(pa.table([pa.array(list(column), pa.string()) for column in columns_of], schema=schema))
    return (pa.concat_tables(parts) if parts else schema.empty_table()), bad


def _open(path: Path, encoding: str | None) -> Any:
    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        return opener(path, "rt", encoding=encoding or "utf-8-sig", errors="replace")
    except LookupError:
        raise Mistake(f"There is no encoding {encoding!r}.", suggestions=["Common ones: latin-1, cp1252."]) from None


READERS = {
    "csv": _delimited, "tsv": _delimited, "txt": _delimited, "jsonl": _json_lines, "ndjson": _json_lines,
}  # fmt: skip
"""How files of lines are read, by the ending; what is not here is read as a table."""
