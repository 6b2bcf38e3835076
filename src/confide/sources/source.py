"""Reading microdata from wherever they are, as one Arrow table, with the value labels the file brings."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from confide.errors import Mistake, nearest
from confide.sources.by_column import ParquetColumns
from confide.sources.delimited import read_delimited
from confide.sources.dictionaries.entry import StudyFacts
from confide.sources.labelled import read_labelled
from confide.sources.origin import Origin, is_database
from confide.sources.sealed import open_sealed

__all__ = ["Source", "arrow_table", "read_source"]

KNOWN = "csv, tsv, txt, parquet, arrow, feather, duckdb, sav, zsav, por, dta, sas7bdat, xpt"


PARQUET = ("parquet", "pq")

_SHEET = "Save the sheet with the records as CSV (UTF-8)."
_TEXT = "If it is text with separators, call it .txt."
INSTEAD = {
    **dict.fromkeys(("xlsx", "xls", "xlsm", "ods"), _SHEET),
    **dict.fromkeys(("dat", "asc", "data"), _TEXT),
    "zip": "Unpack it first.",
}
"""What to do with files that are not read."""


@dataclass(frozen=True)
class Source:
    """A data file as read: its columns, and what the file itself says about them."""

    table: pa.Table
    labels: Mapping[str, str] = field(default_factory=dict)
    value_labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    missing: Mapping[str, Sequence[str]] = field(default_factory=dict)
    universes: Mapping[str, str] = field(default_factory=dict)
    """Whom each question was asked of."""
    study: StudyFacts = field(default_factory=StudyFacts)
    notes: Sequence[str] = ()
    """What the custodian should know of how it was read."""
    origin: Origin | None = None
    """The table it was read from, if it is one that changes."""


def read_source(
    source: Any, *, table: str | None = None, encoding: str | None = None, by_column: bool = False
) -> Source:
    """Microdata from a CSV, Parquet, Arrow, DuckDB, SPSS, Stata or SAS file, a folder of Parquet files, a Delta table, a table of a
    PostgreSQL (as `postgresql://host/name`), or a pandas, polars or Arrow frame.

    `encoding` is that of a text file that is not UTF-8. `by_column` leaves the columns of Parquet files on disk until they are
    asked for.
    """
    if is_database(source):
        return _checked(_database(source, table))
    if not isinstance(source, str | Path):
        return _checked(Source(arrow_table(source)))
    path = Path(source)
    if path.is_dir():
        return _checked(_folder(path, by_column))
    if not path.is_file():
        raise Mistake(f"There is no file {str(source)!r}.")
    kind = path.name.lower().removesuffix(".gz").rsplit(".", 1)[-1]
    try:
        if by_column and kind in PARQUET:
            return _checked(Source(ParquetColumns(path)))
        return _checked(_read(path, kind, table, encoding))
    except (pa.ArrowException, duckdb.Error, OSError, EOFError) as error:
        raise Mistake(f"{path.name} cannot be read as {kind}: {_reason(error)}") from None


def _read(path: Path, kind: str, table: str | None, encoding: str | None) -> Source:
    if kind in ("csv", "tsv", "txt"):
        found = read_delimited(path, encoding=encoding)
        return Source(found.table, notes=found.notes)
    if kind in PARQUET:
        return Source(pa.parquet.read_table(path))
    if kind in ("arrow", "feather", "ipc"):
        return Source(_arrow(path))
    if kind in ("duckdb", "db"):
        return Source(_duckdb(path, table))
    if kind in ("sav", "zsav", "por", "dta", "sas7bdat", "xpt"):
        return Source(*read_labelled(path, kind))
    instead = INSTEAD.get(kind)
    raise Mistake(
        f"Cannot tell what {path.name!r} is.", suggestions=[*filter(None, [instead]), f"Known endings: {KNOWN}."]
    )


def _reason(error: Exception) -> str:
    """The first words of a reader's complaint, without the row it quotes."""
    return str(error).split("\n")[0].split(": ", 2)[-1].split(". Row")[0][:200]


def arrow_table(source: Any) -> pa.Table:
    """A pandas, polars or Arrow frame, or columns by name, as an Arrow table."""
    if isinstance(source, pa.Table):
        return source
    if hasattr(source, "collect_schema") and hasattr(source, "collect"):
        raise Mistake(f"A {type(source).__name__} is not read yet.", suggestions=["Collect it first."])
    try:
        if hasattr(source, "columns") and hasattr(source, "index"):
            named = source.reset_index() if any(name is not None for name in source.index.names) else source
            _check_names([str(name) for name in named.columns])
            return pa.Table.from_pandas(named, preserve_index=False)
        if len(getattr(source, "shape", (0, 0))) == 1:
            raise TypeError  # a single column, which Arrow would say in words of its own
        return pa.table(source)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise Mistake(f"A column mixes kinds of values: {error.args[-1]}.", suggestions=["Make it all text."]) from None
    except (TypeError, ValueError, AttributeError, pa.ArrowException):
        raise Mistake(
            f"A {type(source).__name__} is not microdata.",
            suggestions=["Give a file name, or a pandas, polars or Arrow table."],
        ) from None


def _arrow(path: Path) -> pa.Table:
    """An Arrow file, or a stream written to a file."""
    try:
        return pa.feather.read_table(path)
    except pa.ArrowInvalid:
        with pa.ipc.open_stream(path) as stream:
            return stream.read_all()


def _duckdb(path: Path, table: str | None) -> pa.Table:
    with open_sealed(path, read_only=True) as db:
        names = [row[0] for row in db.execute("SELECT table_name FROM information_schema.tables ORDER BY 1").fetchall()]
        if table is None and len(names) == 1:
            table = names[0]
        if table is None or table not in names:
            hint = nearest(table or "", names) or ["It has " + (", ".join(names) or "none") + "."]
            raise Mistake(f"Say which table of {path.name} to read.", suggestions=hint)
        quoted = table.replace('"', '""')
        return db.sql(f'SELECT * FROM "{quoted}"').to_arrow_table()


def _database(address: str, name: str | None) -> Source:
    try:
        from confide.sources.database.reading import read_table
    except ImportError:  # also where psycopg is there and libpq is not
        hint = "pip install 'confide[postgres]'"
        raise Mistake("To read from PostgreSQL, the extra 'postgres' is needed.", suggestions=[hint]) from None
    return read_table(address, name)


def _folder(path: Path, by_column: bool) -> Source:
    """A Delta table, or Parquet files as Spark and others leave them in a folder."""
    if (path / "_delta_log").is_dir():
        from confide.sources.delta import read_delta

        return read_delta(path)
    parts = sorted(file for file in path.iterdir() if not file.name.startswith(("_", ".")))
    if not parts or any(part.is_dir() or part.suffix.lstrip(".").lower() not in PARQUET for part in parts):
        hint = "Give a file, a Delta table, or a folder with nothing but Parquet files, not parted by the values of a column."
        raise Mistake(f"{path.name!r} is a folder, and no table.", suggestions=[hint])
    try:
        read = ParquetColumns(*parts)
        return Source(read if by_column else pa.table({name: read[name] for name in read.column_names}))
    except (pa.ArrowException, OSError) as error:
        raise Mistake(f"{path.name} cannot be read as Parquet: {_reason(error)}") from None


def _checked(source: Source) -> Source:
    _check_names(source.table.column_names)
    if source.table.num_rows == 0:
        raise Mistake("The data have no records. There is nothing to describe or to ask about.")
    return source


def _check_names(names: list[str]) -> None:
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise Mistake(f"Column {twice[0][:60]!r} appears twice. Rename one of them.")
    if not names:
        raise Mistake("The data have no columns.")
    if any(not name.strip() for name in names):
        raise Mistake("A column has no name. The first line must name every column.")
    odd = [name for name in names if not name.isprintable() or len(name) > 100]
    if odd:
        raise Mistake(f"Rename column {odd[0][:60]!r}: a name has 1 to 100 printable characters, and no line breaks.")
