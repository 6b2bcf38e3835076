"""Reading CSV and its relatives: separated by comma, semicolon, tab or bar; gzipped or not."""

import codecs
import csv
import gzip
import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from confide.errors import Mistake

__all__ = ["LIKELY", "Delimited", "read_delimited"]

SEPARATORS = ",;\t|"
UTF_8 = "utf-8-sig"
"""UTF-8, with or without the mark that some programs begin it with."""

COMMON = "latin-1, cp1252 (Windows), utf-16"
LIKELY = "likely"
"""The encoding that a file seems to have, if it is not UTF-8."""

UNNAMED = "unnamed"
"""What the first column is called if it has no name, as the index that pandas writes."""

TRIED = 20
"""So many lines are looked at to find what separates their fields."""

BLOCK = 1 << 24
"""A row longer than this many bytes is not read."""


@dataclass(frozen=True)
class Delimited:
    """A text file as read, and what should be known of how it was."""

    table: pa.Table
    notes: tuple[str, ...] = ()


def read_delimited(path: Path, *, encoding: str | None = None) -> Delimited:
    """Every column as text, so that codes such as 007 stay what they are; empty fields are missing.

    Text is UTF-8. What is not is read by `encoding`, if that is named: so files of both kinds can be read side by side. With
    `LIKELY` it is read as what it seems to be, and a note says so.
    """
    codec = None if encoding in (None, LIKELY) else _codec(encoding or "")
    try:
        return Delimited(_read(path, UTF_8))
    except UnicodeError:
        if encoding is None:
            raise _not_utf_8(path) from None
    if codec is None:
        return _read_likely(path)
    try:
        return Delimited(_read(path, codec))
    except UnicodeError:
        raise Mistake(f"{path.name} is not text in {encoding}.", suggestions=[f"Others: {COMMON}."]) from None


def _read_likely(path: Path) -> Delimited:
    """Read as UTF-16 where every second byte is 0, else as what Windows writes, else as Latin-1, which every byte is."""
    for encoding in ("utf-16",) if _zeros(path) else ("cp1252", "latin-1"):
        try:
            note = f"{path.name} is not UTF-8. It was read as {encoding}: look whether accents are right."
            return Delimited(_read(path, encoding), (note,))
        except UnicodeError:
            continue
    raise _not_utf_8(path)


def _zeros(path: Path) -> bool:
    with _opener(path)(path, "rb") as file:
        return b"\0" in file.read(1000)


def _codec(encoding: str) -> str:
    try:
        "".encode(encoding)  # there are codecs of other things than text
        return codecs.lookup(encoding).name
    except LookupError:
        raise Mistake(f"There is no encoding {encoding!r}.", suggestions=[f"Common ones: {COMMON}."]) from None


def _read(path: Path, encoding: str) -> pa.Table:
    separator, names = _header(path, encoding)
    table = _rows(path, separator, names, encoding)
    if names and not names[0].strip() and UNNAMED not in names:
        table = table.rename_columns([UNNAMED, *table.column_names[1:]])
    if table.num_rows and any("\n" in (value.as_py() or "") for value in (c[-1] for c in table.columns)):
        _check_quotes(path, encoding)
    return _decimal_points(table) if separator == ";" else table


def _not_utf_8(path: Path) -> Mistake:
    """Where it begins not to be, and what it may be instead. Half of the bytes of UTF-16 are 0 in most languages."""
    with _opener(path)(path, "rb") as file:
        number, line = next((number, line) for number, line in enumerate(file, 1) if not _utf_8(line))
    likely = "utf-16" if b"\0" in line else "latin-1"
    return Mistake(
        f"{path.name} is not UTF-8 text (line {number}).",
        suggestions=["Save it as UTF-8.", f"Or say encoding={likely!r} where you mask, measure or protect it."],
    )


def _utf_8(line: bytes) -> bool:
    try:
        return "\0" not in line.decode()
    except UnicodeDecodeError:
        return False


def _check_quotes(path: Path, encoding: str) -> None:
    """A quote that is never closed swallows the rest of the file into the last field."""
    with _open(path, encoding) as file:
        if sum(line.count('"') for line in file) % 2:
            raise Mistake(f"A double quote in {path.name} is never closed, so rows run together. Nothing was read.")


def _header(path: Path, encoding: str) -> tuple[str, list[str]]:
    """The separator, which is the commonest in the header, and the names of the columns."""
    with _open(path, encoding) as file:
        first = file.readline()
        if "\0" in first:
            raise UnicodeError  # UTF-16 without a mark: every second byte is 0, which UTF-8 allows and nobody writes
        if not first.strip():
            raise Mistake(f"{path.name} is empty. Its first line must name the columns.")
        separator = _separator([first, *itertools.islice(file, TRIED)])
        file.seek(0)
        return separator, next(csv.reader(file, delimiter=separator))


def _separator(lines: list[str]) -> str:
    """The commonest in the header of those that every line has as often; of all, if none is so."""
    bare = ["".join(line.split('"')[::2]) for line in lines if line.strip()]
    steady = [s for s in SEPARATORS if bare[0].count(s) and len({line.count(s) for line in bare}) == 1]
    return max(steady or SEPARATORS, key=bare[0].count)


def _opener(path: Path) -> Any:
    return gzip.open if path.suffix.lower() == ".gz" else open


def _open(path: Path, encoding: str) -> Any:
    return _opener(path)(path, "rt", encoding=encoding, newline="")


def _rows(path: Path, separator: str, names: list[str], encoding: str) -> pa.Table:
    broken: list[int] = []

    def note(row: Any) -> str:
        broken.append(row.number or 0)
        return "skip"

    try:
        table = pa.csv.read_csv(
            path,
            read_options=pa.csv.ReadOptions(
                use_threads=False, block_size=BLOCK, encoding="utf8" if encoding == UTF_8 else encoding
            ),
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
            raise UnicodeError from None
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
