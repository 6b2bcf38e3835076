"""Columns of one file or of two, read once: numbers as float64 with NaN where missing, categories as codes with -1.

What a column is, its type says: text, true or false, and dictionaries are categories; numbers and dates are numbers. No
number stands for a missing value: -999 is -999.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from confide.arrays import Floats, Ints
from confide.errors import Mistake
from confide.microdata.records import kind_of, numbers
from confide.microdata.released import frame_of

__all__ = ["FileColumn", "FileRecords", "codes_of", "listed", "weights_of"]


@dataclass(frozen=True)
class FileColumn:
    """A column as Arrow, without dictionaries; `order` has all its categories where it declares an order of them."""

    name: str
    array: pa.Array
    order: pa.Array | None
    kind: str

    @classmethod
    def of(cls, name: str, array: pa.Array) -> "FileColumn":
        """Read a column; NaN is missing, as null is."""
        kind, order = kind_of(name, array.type), None
        if pt.is_dictionary(array.type):
            order = array.dictionary if array.type.ordered else None
            array = array.cast(array.type.value_type)
        if pt.is_string_view(array.type):
            array = array.cast(pa.string())
        if pt.is_null(array.type):
            kind = "nothing"
        if pt.is_floating(array.type):
            array = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
        return cls(name, array, order, kind)

    def __len__(self) -> int:
        return len(self.array)

    @cached_property
    def numbers(self) -> Floats:
        """The values as float64, NaN where missing."""
        if self.kind == "nothing":
            return np.full(len(self), np.nan)
        return numbers(self.name, self.array)

    @cached_property
    def coded(self) -> tuple[Ints, pa.Array]:
        """A code for each record, -1 where missing, and the different values, sorted, that the codes stand for."""
        if self.kind == "nothing":
            return np.full(len(self), -1, np.int64), pa.array([], pa.string())
        coded = self.array.dictionary_encode()
        order = pc.sort_indices(coded.dictionary)
        rank = np.append(np.argsort(order.to_numpy()), -1)
        places = coded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        return rank[places].astype(np.int64), coded.dictionary.take(order)

    @cached_property
    def labels(self) -> list[str]:
        """The different values as text; a whole number has no decimal point, however it is stored."""
        return [_text(value) for value in self.coded[1].to_pylist()]


def _text(value: Any) -> str:
    return f"{value:.0f}" if isinstance(value, float) and value.is_integer() else str(value)


@dataclass(frozen=True)
class FileRecords:
    """Some columns of a file."""

    rows: int
    columns: dict[str, FileColumn]

    @classmethod
    def of(cls, frame: Any, names: Sequence[str]) -> "FileRecords":
        """Read some columns of a pandas, polars or Arrow frame, or of something released; an unknown one is a Mistake."""
        read = frame_of(frame)
        table = read.table(tuple(dict.fromkeys(names)))
        return cls(len(read), {name: FileColumn.of(name, _whole(table[name])) for name in table.column_names})


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks else pa.array([], column.type)


def listed(names: str | Sequence[str], what: str) -> tuple[str, ...]:
    """Names as a tuple: at least one, none twice. `what` says what they are for."""
    names = (names,) if isinstance(names, str) else tuple(names)
    if not names:
        raise Mistake(f"Name at least one column as {what}.")
    if not all(isinstance(name, str) for name in names):
        raise Mistake(f"Columns are named by text, not by numbers as in {names!r}.", suggestions=["Rename them."])
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise Mistake(f"Column {twice[0]!r} is named twice as {what}.")
    return names


def codes_of(frame: Any, names: Sequence[str]) -> Ints:
    """Columns of any kind as codes, one row a record: equal values have equal codes, sorted; -1 is missing."""
    read = FileRecords.of(frame, names)
    codes = np.empty((read.rows, len(names)), np.int64)
    for place, name in enumerate(names):
        codes[:, place] = read.columns[name].coded[0]
    return codes


def weights_of(frame: Any, weight: str | None) -> Floats | None:
    """A column of positive, known numbers; None if no column is named."""
    if weight is None:
        return None
    column = FileRecords.of(frame, [weight]).columns[weight]
    if column.kind == "categories":
        raise Mistake(f"Weight {weight!r} does not hold numbers.")
    bad = np.flatnonzero(~(column.numbers > 0))
    if len(bad):
        raise Mistake(f"Weight {weight!r} must be positive and known; it is not in record {bad[0] + 1}.")
    return column.numbers
