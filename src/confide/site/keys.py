"""Keys of units and records under the site's secret; the order of the file plays no part."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from confide.arrays import Ints
from confide.errors import Mistake
from confide.site.draws import record_keys
from confide.site.secret import Secret
from confide.sources.columns import distinct, texts

__all__ = ["draw_keys", "filled", "unit_keys"]


def draw_keys(
    unit_column: str | None, table: pa.Table, columns: Mapping[str, pa.Array], secret: Secret
) -> tuple[pa.Array, pa.Array, bool]:
    """The key of each record's unit and of the record itself, and whether a unit has several records.

    Where no column names the unit, every record is one, and its coded content stands for it.
    """
    names = _contents(columns) if unit_column is None else _unit_names(unit_column, table[unit_column])
    unit, key = record_keys(names, secret)
    ordered = np.sort(unit)
    several = bool((ordered[1:] == ordered[:-1]).any())
    if several:
        turn = _turns(unit, columns)
        again = np.flatnonzero(turn)
        fresh, key[again] = record_keys([names[i] + b"\0%d" % turn[i] for i in again], secret)
        if unit_column is None:
            unit[again] = fresh
    return pa.array(unit), pa.array(key.view(np.int32)), several and unit_column is not None


def unit_keys(column: str, table: pa.Table, secret: Secret) -> pa.Array:
    """The key of what a column names, for each record."""
    return pa.array(record_keys(_unit_names(column, table[column]), secret)[0])


def filled(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """The integers of a column, the least of all where none stands."""
    return np.asarray((column.fill_null(np.iinfo(np.int64).min) if column.null_count else column).to_numpy())


def _unit_names(name: str, column: pa.ChunkedArray) -> list[bytes]:
    found = distinct(name, column)
    names = [*texts(name, found.values).to_pylist(), None]
    absent = int(np.isin(found.places, [i for i, text in enumerate(names[:-1]) if text is None] + [-1]).sum())
    if absent:
        raise Mistake(f"The unit {name!r} is missing in {absent} records. Every record needs one.")
    encoded = [(text or "").encode() for text in names]
    return [encoded[place] for place in found.places.tolist()]


def _contents(columns: Mapping[str, pa.Array]) -> list[bytes]:
    table = np.column_stack([filled(column).astype(np.int64) for column in columns.values()])
    return [row.tobytes() for row in np.ascontiguousarray(table)]


def _turns(unit: Ints, columns: Mapping[str, pa.Array]) -> Ints:
    """For each record, how many records of its unit come before it when they are ordered by content."""
    contents = [filled(column) for column in columns.values()]
    order = np.lexsort([*contents, unit])
    starts = np.r_[True, unit[order][1:] != unit[order][:-1]]
    position = np.arange(len(order))
    turn = np.empty(len(order), dtype=np.int64)
    turn[order] = position - np.maximum.accumulate(np.where(starts, position, 0))
    return turn
