"""`.asc` microdata of τ-ARGUS: fields in columns or between separators, described by a `.rda` file beside it."""

import csv
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from confide.data.frame import Frame
from confide.data.text import read_text, write_text
from confide.errors import Mistake
from confide.tables.files.rda import Described, Rda, read_rda, write_rda

__all__ = ["described", "read_asc", "write_asc"]

NUMBERS = ("NUMERIC", "WEIGHT", "RECORDKEY")
"""Keywords of variables that hold numbers; all others hold codes."""


def read_asc(path: str | Path, *, rda: Rda | None = None) -> pa.Table:
    """The records of a file, with the description given or the one beside the file.

    Promise: codes are texts without spaces around, numbers are floats; what the description calls missing is null in
    numbers, and stays a code in codes.
    """
    rda = rda or described(path)
    lines = [line for line in read_text(path).splitlines() if line.strip()]
    if not lines:
        raise Mistake(f"{Path(path).name} has no records.")
    columns = _fields(lines, rda, Path(path).name) if rda.separator else _columns(lines, rda)
    return pa.table({one.name: _values(one, columns[one.name]) for one in rda.variables})


def described(path: str | Path) -> Rda:
    """The description beside a file: the same name with the ending .rda, in whatever case."""
    path = Path(path)
    stem = path.name.lower().removesuffix(".gz").rsplit(".", 1)[0]
    beside = [one for one in path.parent.glob("*") if one.name.lower() == f"{stem}.rda"]
    if not beside:
        raise Mistake(
            f"There is no description {stem}.rda beside {path.name}.",
            suggestions=["Name the one to take, as in rda=read_rda('survey.rda')."],
        )
    return read_rda(beside[0])


def _columns(lines: list[str], rda: Rda) -> dict[str, pa.Array]:
    text = pa.array(lines)
    return {
        one.name: pc.utf8_trim_whitespace(
            pc.utf8_slice_codeunits(text, (one.start or 1) - 1, (one.start or 1) - 1 + (one.width or 0))
        )
        for one in rda.variables
    }


def _fields(lines: list[str], rda: Rda, name: str) -> dict[str, pa.Array]:
    rows = list(csv.reader(lines, delimiter=rda.separator or ","))
    wrong = [number for number, row in enumerate(rows, 1) if len(row) != len(rda.variables)]
    if wrong:
        raise Mistake(f"Record {wrong[0]} of {name} does not have {len(rda.variables)} fields.")
    columns = zip(*rows, strict=True)
    return {
        one.name: pa.array([field.strip() for field in column])
        for one, column in zip(rda.variables, columns, strict=True)
    }


def _values(one: Described, column: pa.Array) -> pa.Array:
    if not any(one.is_a(keyword) for keyword in NUMBERS):
        return column
    lost = pc.is_in(column, pa.array([*one.missing, ""], pa.string()))
    column = pc.if_else(lost, pa.scalar(None, pa.string()), pc.replace_substring(column, ",", "."))
    try:
        return column.cast(pa.float64())
    except pa.ArrowInvalid:
        raise Mistake(f"{one.name!r} holds something that is not a number.") from None


def write_asc(frame: object, path: str | Path, *, keywords: Mapping[str, Mapping[str, str]] | None = None) -> None:
    """Write records in columns, and their description beside them.

    Columns of numbers become NUMERIC and others RECODEABLE; `keywords` adds to that: {"w": {"WEIGHT": ""}}.
    """
    read = Frame.read(frame)
    variables, texts, start = [], [], 1
    for name in read.names:
        text, decimals = _written(read.column(name))
        width = max(1, *map(len, text)) if text else 1
        kind = {"RECODEABLE": ""} if decimals is None else {"NUMERIC": "", "DECIMALS": str(decimals)}
        variables.append(Described(name, start, width, (), {**kind, **(keywords or {}).get(name, {})}))
        texts.append([field.rjust(width) for field in text])
        start += width + 1
    write_text(path, "".join(" ".join(row) + "\n" for row in zip(*texts, strict=True)))
    write_rda(Rda(tuple(variables)), Path(path).with_suffix(".rda"))


def _written(column: pa.Array) -> tuple[list[str], int | None]:
    """A column as texts, and how many decimals its numbers have; None if it holds codes."""
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return ["" if value is None else str(value) for value in column.to_pylist()], None
    texts = ["" if value is None else f"{value:.15g}" for value in column.to_pylist()]
    return texts, max((len(text.partition(".")[2]) for text in texts if "e" not in text), default=0)
