"""Reading CSV and its relatives: separated by comma, semicolon, tab or bar; gzipped or not."""

import csv
import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from confide.errors import Mistake

__all__ = ["read_delimited"]

SEPARATORS = ",;\t|"
BLOCK = 1 << 24
"""A row longer than this many bytes is not read."""


def read_delimited(path: Path) -> pa.Table:
    """Every column as text, so that codes such as 007 stay what they are; empty fields are missing."""
    try:
        separator, names = _header(path)
        table = _rows(path, separator, names)
    except UnicodeDecodeError:
        raise Mistake(f"{path.name} is not UTF-8 text. Save it as UTF-8.") from None
    if table.num_rows and any("\n" in (value.as_py() or "") for value in (c[-1] for c in table.columns)):
        _check_quotes(path)
    return _decimal_points(table) if separator == ";" else table


def _check_quotes(path: Path) -> None:
    """A quote that is never closed swallows the rest of the file into the last field."""
    with _open(path) as file:
        if sum(line.count('"') for line in file) % 2:
            raise Mistake(f"A double quote in {path.name} is never closed, so rows run together. Nothing was read.")


def _header(path: Path) -> tuple[str, list[str]]:
    """The separator, which is the commonest in the header, and the names of the columns."""
    with _open(path) as file:
        first = file.readline()
        if not first.strip():
            raise Mistake(f"{path.name} is empty. Its first line must name the columns.")
        bare = "".join(first.split('"')[::2])
        separator = max(SEPARATORS, key=bare.count)
        file.seek(0)
        return separator, next(csv.reader(file, delimiter=separator))


def _open(path: Path) -> Any:
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    return opener(path, "rt", encoding="utf-8-sig", newline="")


def _rows(path: Path, separator: str, names: list[str]) -> pa.Table:
    broken: list[int] = []

    def note(row: Any) -> str:
        broken.append(row.number or 0)
        return "skip"

    try:
        table = pa.csv.read_csv(
            path,
            read_options=pa.csv.ReadOptions(use_threads=False, block_size=BLOCK),
            parse_options=pa.csv.ParseOptions(
                delimiter=separator,
                newlines_in_values=True,
                invalid_row_handler=note,
                ignore_empty_lines=len(names) > 1,
            ),
            convert_options=pa.csv.ConvertOptions(
                column_types={name: pa.string() for name in names}, strings_can_be_null=True, null_values=[""]
            ),
        )
    except pa.ArrowInvalid as error:
        if "UTF8" in str(error):
            raise Mistake(f"{path.name} is not UTF-8 text. Save it as UTF-8.") from None
        raise
    if broken:
        which = ", ".join(str(number) for number in broken[:5])
        raise Mistake(
            f"{len(broken)} rows of {path.name} do not have {len(names)} fields (first at row {which}). Nothing was read.",
            suggestions=["Mend or delete these rows; fields that hold the separator must stand in double quotes."],
        )
    return table


def _decimal_points(table: pa.Table) -> pa.Table:
    """Where semicolons separate, numbers may be written with a decimal comma: 12,5."""
    for place, name in enumerate(table.column_names):
        column = table[name]
        if (
            pc.any(pc.match_substring(column, ",")).as_py()
            and pc.all(pc.match_substring_regex(column, r"^\s*[+-]?\d+(,\d+)?\s*$")).as_py()
        ):
            table = table.set_column(place, name, pc.replace_substring(column, ",", "."))
    return table
