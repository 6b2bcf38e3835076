"""Keys of units and records under the site's secret; the order of the file plays no part."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from confide.arrays import Ints
from confide.data.threads import in_parts
from confide.errors import Mistake
from confide.site.draws import record_keys
from confide.site.secret import Secret
from confide.sources.columns import each_text

__all__ = ["draw_keys", "filled", "unit_keys"]


def draw_keys(
    unit_column: str | None, table: pa.Table, columns: Mapping[str, pa.Array], secret: Secret
) -> tuple[pa.Array, pa.Array, bool]:
    """The key of each record's unit and of the record itself, and whether a unit has several records.

    Where no column names the unit, every record is one, and its coded content stands for it.
    """
    names = _Contents(columns) if unit_column is None else _Named(unit_column, table[unit_column])
    unit, key = _draw(names, secret)
    ordered = np.sort(unit)
    several = bool((ordered[1:] == ordered[:-1]).any())
    if several:
        turn = _turns(unit, columns)
        again = np.flatnonzero(turn)
        marked = [name + b"\0%d" % turn[i] for name, i in zip(names.of(again).to_pylist(), again, strict=True)]
        fresh, key[again] = record_keys(marked, secret)
        if unit_column is None:
            unit[again] = fresh
    return pa.array(unit), pa.array(key.view(np.int32)), several and unit_column is not None


def unit_keys(column: str, table: pa.Table, secret: Secret) -> pa.Array:
    """The key of what a column names, for each record."""
    return pa.array(_draw(_Named(column, table[column]), secret)[0])


def filled(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """The integers of a column, the least of all where none stands."""
    if column.null_count:
        column = column.cast(pa.int64()).fill_null(np.iinfo(np.int64).min)
    return np.asarray(column.to_numpy())


class _Names(Protocol):
    """What records are called before they have keys."""

    size: int

    def of(self, rows: slice | Ints) -> pa.Array:
        """The names of some records, as bytes."""


class _Named:
    """The names that a column has for units."""

    def __init__(self, name: str, column: pa.ChunkedArray) -> None:
        self.size, self._name, self._column = len(column), name, column

    def of(self, rows: slice | Ints) -> pa.Array:
        some = self._column[rows] if isinstance(rows, slice) else self._column.take(pa.array(rows))
        named = each_text(self._name, some)
        if named.null_count:
            absent = each_text(self._name, self._column).null_count
            raise Mistake(f"The unit {self._name!r} is missing in {absent} records. Every record needs one.")
        return named.cast(pa.binary())


class _Contents:
    """The coded contents of records, which stand for them where no column names the unit."""

    def __init__(self, columns: Mapping[str, pa.Array]) -> None:
        self._columns = [filled(column) for column in columns.values()]
        self.size = len(self._columns[0])

    def of(self, rows: slice | Ints) -> pa.Array:
        table = np.column_stack([column[rows].astype(np.int64) for column in self._columns])
        width = pa.binary(table.shape[1] * table.itemsize)
        return pa.Array.from_buffers(width, len(table), [None, pa.py_buffer(table.tobytes())]).cast(pa.binary())


def _draw(names: _Names, secret: Secret) -> tuple[Ints, NDArray[np.uint32]]:
    """The keys of all records."""
    unit, key = np.empty(names.size, np.int64), np.empty(names.size, np.uint32)

    def draw(start: int, stop: int) -> None:
        unit[start:stop], key[start:stop] = record_keys(names.of(slice(start, stop)), secret)

    in_parts(draw, names.size)
    return unit, key


def _turns(unit: Ints, columns: Mapping[str, pa.Array]) -> Ints:
    """For each record, how many records of its unit come before it when they are ordered by content."""
    contents = [filled(column) for column in columns.values()]
    order = np.lexsort([*contents, unit])
    starts = np.r_[True, unit[order][1:] != unit[order][:-1]]
    position = np.arange(len(order))
    turn = np.empty(len(order), dtype=np.int64)
    turn[order] = position - np.maximum.accumulate(np.where(starts, position, 0))
    return turn
