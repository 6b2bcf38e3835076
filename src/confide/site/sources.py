"""Reading microdata from wherever they are, as one Arrow table, with the value labels the file brings."""

import csv
import gzip
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from confide.errors import Mistake

__all__ = ["Source", "read_source"]


@dataclass(frozen=True)
class Source:
    """A data file as read: its columns, and what the file itself says about them."""

    table: pa.Table
    labels: Mapping[str, str] = field(default_factory=dict)
    value_labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def read_source(source: Any, *, table: str | None = None) -> Source:
    """Microdata from a CSV, Parquet, Arrow, DuckDB, SPSS, Stata or SAS file, or a pandas, polars or Arrow frame."""
    if not isinstance(source, str | Path):
        return _checked(Source(_frame(source)))
    path = Path(source)
    if not path.is_file():
        raise Mistake(f"There is no file {str(source)!r}.")
    kind = path.name.lower().removesuffix(".gz").rsplit(".", 1)[-1]
    try:
        return _checked(_read(path, kind, table))
    except (pa.ArrowException, duckdb.Error, OSError, UnicodeDecodeError) as error:
        raise Mistake(f"{path.name} cannot be read as {kind}: {_reason(error)}") from None


def _read(path: Path, kind: str, table: str | None) -> Source:
    if kind in ("csv", "txt"):
        return Source(_csv(path))
    if kind in ("parquet", "pq"):
        return Source(pa.parquet.read_table(path))
    if kind in ("arrow", "feather", "ipc"):
        return Source(pa.feather.read_table(path))
    if kind in ("duckdb", "db"):
        return Source(_duckdb(path, table))
    if kind in ("sav", "zsav", "por", "dta", "sas7bdat", "xpt"):
        return _labelled(path, kind)
    known = "csv, txt, parquet, arrow, feather, duckdb, sav, zsav, por, dta, sas7bdat, xpt"
    raise Mistake(f"Cannot tell what {path.name!r} is.", suggestions=[f"Known endings: {known}."])


def _reason(error: Exception) -> str:
    """The first words of a reader's complaint, without the row it quotes."""
    return str(error).split("\n")[0].split(": ", 2)[-1].split(". Row")[0][:200]


def _frame(source: Any) -> pa.Table:
    if isinstance(source, pa.Table):
        return source
    try:
        return pa.table(source) if hasattr(source, "__arrow_c_stream__") else pa.Table.from_pandas(source)
    except (TypeError, ValueError, AttributeError, pa.ArrowException):
        raise Mistake(
            f"A {type(source).__name__} is not microdata.",
            suggestions=["Give a file name, or a pandas, polars or Arrow table."],
        ) from None


def _csv(path: Path) -> pa.Table:
    """Every column as text, so that codes such as 007 stay what they are; empty fields are missing."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
        try:
            first = file.readline()
        except UnicodeDecodeError:
            raise Mistake(f"{path.name} is not UTF-8 text. Save it as UTF-8.") from None
    if not first.strip():
        raise Mistake(f"{path.name} is empty. Its first line must name the columns.")
    comma = max(",;\t|", key=first.count)
    names = next(csv.reader([first], delimiter=comma))
    _check_names(names)
    broken: list[int] = []

    def note(row: Any) -> str:
        broken.append(row.number or 0)
        return "skip"

    table = pa.csv.read_csv(
        path,
        read_options=pa.csv.ReadOptions(use_threads=False),
        parse_options=pa.csv.ParseOptions(delimiter=comma, newlines_in_values=True, invalid_row_handler=note),
        convert_options=pa.csv.ConvertOptions(
            column_types={name: pa.string() for name in names}, strings_can_be_null=True, null_values=[""]
        ),
    )
    if broken:
        which = ", ".join(str(number) for number in broken[:5])
        raise Mistake(
            f"{len(broken)} rows of {path.name} do not have {len(names)} fields (first at line {which}). Nothing was read.",
            suggestions=["Mend or delete these rows; fields that hold the separator must stand in double quotes."],
        )
    return table


def _duckdb(path: Path, table: str | None) -> pa.Table:
    with duckdb.connect(str(path), read_only=True) as db:
        names = [row[0] for row in db.execute("SELECT table_name FROM information_schema.tables ORDER BY 1").fetchall()]
        if table is None and len(names) == 1:
            table = names[0]
        if table is None or table not in names:
            raise Mistake(f"Say which table of {path.name} to read.", suggestions=["It has " + ", ".join(names) + "."])
        quoted = table.replace('"', '""')
        return db.execute(f'SELECT * FROM "{quoted}"').to_arrow_table()


def _labelled(path: Path, kind: str) -> Source:
    """SPSS, Stata and SAS files with their variable and value labels."""
    try:
        import pyreadstat
    except ImportError:
        raise Mistake(f"Reading {path.name} needs the extra 'spss': pip install 'confide[spss]'.") from None
    reader = {"sav": "sav", "zsav": "sav", "por": "por", "dta": "dta", "sas7bdat": "sas7bdat", "xpt": "xport"}[kind]
    try:
        frame, meta = getattr(pyreadstat, f"read_{reader}")(str(path))
    except Exception as error:  # pyreadstat has no common exception class
        raise Mistake(f"{path.name} cannot be read as {kind} ({type(error).__name__}).") from None
    labels = {name: text for name, text in (meta.column_names_to_labels or {}).items() if text}
    values = {
        name: {_code(value): str(text) for value, text in pairs.items()}
        for name, pairs in meta.variable_value_labels.items()
    }
    return Source(pa.Table.from_pandas(frame, preserve_index=False), labels, values)


def _code(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _checked(source: Source) -> Source:
    _check_names(source.table.column_names)
    return source


def _check_names(names: list[str]) -> None:
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise Mistake(f"Column {twice[0]!r} appears twice. Rename one of them.")
    if not names or any(not name.strip() for name in names):
        raise Mistake("A column has no name. The first line must name every column.")
