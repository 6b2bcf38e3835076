"""An original and a released file side by side: the same columns, of the same kinds, with one list of categories."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from confide.arrays import Floats, Ints
from confide.errors import Mistake, nearest
from confide.measures.records import FileColumn, FileRecords, listed
from confide.microdata.released import frame_of

__all__ = ["Both", "Pair", "matched", "paired", "side_by_side", "unpaired"]


@dataclass(frozen=True)
class Both:
    """A column of both files: numbers (NaN is missing), or codes that point into `labels` (-1 is missing)."""

    name: str
    original: Any
    released: Any
    labels: tuple[str, ...] | None = None
    ordered: bool = False

    @property
    def numeric(self) -> bool:
        return self.labels is None


@dataclass(frozen=True)
class Pair:
    """Columns of both files. `truth` says which original record each released one comes from."""

    columns: tuple[Both, ...]
    rows: tuple[int, int]
    truth: Ints

    @cached_property
    def numeric(self) -> tuple[Both, ...]:
        return tuple(column for column in self.columns if column.numeric)

    @cached_property
    def categorical(self) -> tuple[Both, ...]:
        return tuple(column for column in self.columns if not column.numeric)

    def matrices(self) -> tuple[Floats, Floats]:
        """The numeric columns of each file as a matrix."""
        original = np.column_stack([column.original for column in self.numeric])
        return original, np.column_stack([column.released for column in self.numeric])


def paired(
    original: Any, released: Any, columns: str | Sequence[str], *, identifier: str | None = None, recoded: bool = False
) -> Pair:
    """Read columns of two files whose records belong together: row by row, or by an identifier that both have.

    With `recoded`, a column of other categories than the original's is allowed if each original value became one
    category: then the original is recoded in the same way, as an intruder would recode their own file.
    """
    before, after, truth = _files(original, released, columns, identifier)
    names = listed(columns, "columns to compare")
    both = [_both(before.columns[name], after.columns[name], truth if recoded else None) for name in names]
    return Pair(tuple(both), (before.rows, after.rows), truth)


def matched(original: Any, released: Any, columns: str | Sequence[str], *, identifier: str | None = None) -> Ints:
    """Which original record each released one comes from; the columns must be there, whatever they hold."""
    return _files(original, released, columns, identifier)[2]


def _files(
    original: Any, released: Any, columns: str | Sequence[str], identifier: str | None
) -> tuple[FileRecords, FileRecords, Ints]:
    names = listed(columns, "columns to compare")
    wanted = names if identifier is None else (*names, identifier)
    before, after = _read(original, wanted, "original"), _read(released, wanted, "released")
    return before, after, _truth(before, after, identifier)


def side_by_side(original: Any, released: Any, columns: str | Sequence[str], *, identifier: str | None = None) -> Pair:
    """Read columns of two files, recoded as in `paired` if it can be said which records belong together."""
    if identifier is not None or len(frame_of(original)) == len(frame_of(released)):
        return paired(original, released, columns, identifier=identifier, recoded=True)
    return unpaired(original, released, columns)


def unpaired(original: Any, released: Any, columns: str | Sequence[str]) -> Pair:
    """Read columns of two files whose records need not belong together; `truth` is empty."""
    names = listed(columns, "columns to compare")
    before, after = _read(original, names, "original"), _read(released, names, "released")
    both = [_both(before.columns[name], after.columns[name], None) for name in names]
    return Pair(tuple(both), (before.rows, after.rows), np.empty(0, np.int64))


def _read(frame: Any, names: Sequence[str], which: str) -> FileRecords:
    try:
        read = FileRecords.of(frame, names)
    except Mistake as mistake:
        raise Mistake(f"In the {which} file: {mistake.message}", suggestions=mistake.suggestions) from None
    if not read.rows:
        raise Mistake(f"The {which} file has no records.")
    return read


def _truth(original: FileRecords, released: FileRecords, identifier: str | None) -> Ints:
    if identifier is not None:
        return _matched(original.columns[identifier], released.columns[identifier])
    if original.rows != released.rows:
        raise Mistake(
            f"The original file has {original.rows:,} records, the released one {released.rows:,}.",
            suggestions=["Name the identifier that says which belong together; without one they cannot be compared."],
        )
    return np.arange(released.rows)


def _matched(original: FileColumn, released: FileColumn) -> Ints:
    name = original.name
    for which, column in (("original", original), ("released", released)):
        codes, values = column.coded
        if len(values) != len(codes):
            raise Mistake(f"Identifier {name!r} is missing or stands twice in the {which} file.")
    place = {label: place for place, label in enumerate(original.labels)}
    unknown = [label for label in released.labels if label not in place]
    if unknown:
        hint = nearest(unknown[0], place)
        raise Mistake(f"{len(unknown)} records of the released file have an unknown {name!r}.", suggestions=hint)
    row = np.empty(len(original), np.int64)
    row[original.coded[0]] = np.arange(len(original))
    found = np.array([place[label] for label in released.labels], np.int64)
    return row[found[released.coded[0]]]


def _both(original: FileColumn, released: FileColumn, truth: Ints | None) -> Both:
    kinds = {original.kind, released.kind} - {"nothing"}
    if kinds == {"numbers"}:
        return Both(original.name, original.numbers, released.numbers)
    labels = _labels(original, released)
    place = {label: place for place, label in enumerate(labels)}
    before, after = (_placed(column, place) for column in (original, released))
    strange = bool(set(released.labels) - set(original.labels))
    if len(kinds) > 1 or (strange and truth is not None):
        translated = None if truth is None else _recoded(before[truth], after, len(labels))
        if translated is not None:
            before = np.append(translated, -1)[before]
        elif len(kinds) > 1:
            raise Mistake(
                f"Column {original.name!r} holds {original.kind} in the original file, {released.kind} in the released.",
                suggestions=["Read both as text if it is a code, or leave it out."],
            )
    return Both(original.name, before, after, labels, original.order is not None)


def _labels(original: FileColumn, released: FileColumn) -> tuple[str, ...]:
    """The categories of both: as the original orders them, others behind."""
    declared = [] if original.order is None else [str(value) for value in original.order.to_pylist()]
    return tuple(dict.fromkeys([*declared, *original.labels, *released.labels]))


def _placed(column: FileColumn, place: dict[str, int]) -> Ints:
    codes = np.array([*(place[label] for label in column.labels), -1], np.int64)
    return np.asarray(codes[column.coded[0]], dtype=np.int64)


def _recoded(before: Ints, after: Ints, labels: int) -> Ints | None:
    """What each original category became, -1 if none; None if one became several."""
    known = (before >= 0) & (after >= 0)
    became = np.full(labels, -1, np.int64)
    became[before[known]] = after[known]
    return became if np.array_equal(became[before[known]], after[known]) else None
