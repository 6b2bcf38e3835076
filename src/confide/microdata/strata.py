"""Cutting a file into strata and households, and putting what became of them together again."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from confide.arrays import Ints
from confide.errors import Mistake

__all__ = ["first_of_each", "must_agree", "numbered", "split"]


def numbered(table: pa.Table, names: Sequence[str]) -> Ints:
    """Which combination of values each record has: equal numbers for equal values; missing is a value of its own."""
    number = np.zeros(table.num_rows, np.int64)
    for name in names:
        column = table[name].combine_chunks() if table[name].num_chunks else table[name]
        column = column.cast(column.type.value_type) if pt.is_dictionary(column.type) else column
        codes = pc.dictionary_encode(column, null_encoding="encode")
        codes = codes.combine_chunks() if isinstance(codes, pa.ChunkedArray) else codes
        indices = codes.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        _, number = np.unique(number * (int(indices.max(initial=0)) + 1) + indices, return_inverse=True)
    return number


def split(table: pa.Table, by: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], Ints]]:
    """The strata: the values of `by`, and the places of the records that have them, in row order."""
    if not by:
        yield (), np.arange(table.num_rows)
        return
    number = numbered(table, by)
    order = np.argsort(number, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(number[order])) + 1):
        yield tuple(table[name][int(rows[0])].as_py() for name in by), rows


def first_of_each(household: Ints) -> tuple[Ints, Ints]:
    """The place of the first record of each household, in row order, and for each record its household's place there."""
    _, first, inverse = np.unique(household, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return first[order].astype(np.int64), place[inverse].astype(np.int64)


def must_agree(table: pa.Table, names: Sequence[str], first: Ints, member: Ints) -> None:
    """A Mistake if a column is not the same for all records of a household; it says where."""
    for name in names:
        number = numbered(table, [name])
        rows = np.flatnonzero(number != number[first][member])
        if len(rows):
            shown = ", ".join(str(row + 1) for row in rows[:5])
            raise Mistake(
                f"{name!r} differs within {len(np.unique(member[rows]))} households (first at record {shown}).",
                suggestions=["With household=, mask columns of households; mask those of persons in another step."],
            )
