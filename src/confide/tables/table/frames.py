"""Columns of a data frame or a data file as codes and as numbers, complete or not at all."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from confide.arrays import Floats, Ints
from confide.errors import Mistake, nearest
from confide.sources.columns import distinct, numbers, texts
from confide.sources.source import read_source

__all__ = ["Coded", "Frame"]


@dataclass(frozen=True, eq=False)
class Coded:
    """A column as the codes that stand in it, and the place of every record's among them."""

    codes: list[str]
    places: Ints


@dataclass(frozen=True, eq=False)
class Frame:
    """Records or cells, from a frame that speaks Arrow or a data file."""

    table: pa.Table

    @classmethod
    def read(cls, source: Any) -> "Frame":
        """From a pandas, polars or Arrow frame, columns by name, or a CSV, Parquet, Arrow, DuckDB, SPSS, Stata or SAS file."""
        return source if isinstance(source, Frame) else cls(read_source(source).table)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def coded(self, name: str, *, nothing: str | None = None) -> Coded:
        """A column of codes, in the order of its kind: numbers by size, text by letters. Spaces around do not matter.

        Where a code is missing it is `nothing`, if that is given.
        """
        found = distinct(name, self._column(name))
        text = texts(name, found.values).to_pylist()
        if (found.places < 0).any() or None in text:
            if nothing is None:
                raise Mistake(
                    f"Some rows have no code in {name!r}.",
                    suggestions=["Give them a code of their own, or leave these rows out."],
                )
            # A row without a value has the place -1: the last.
            text = [*(nothing if code is None else code for code in text), nothing]
        kept = sorted(set(text), key=None if pa.types.is_string(found.values.type) else _by_size)
        place = {code: number for number, code in enumerate(kept)}
        return Coded(kept, np.array([place[code] for code in text], dtype=np.int64)[found.places])

    def numbers(self, name: str, *, nothing: float | None = None) -> Floats:
        """A column of finite numbers; where one is missing it is `nothing`, if that is given."""
        column = self._column(name)
        read = numbers(column.combine_chunks() if column.num_chunks != 1 else column.chunk(0))
        if read is None or read[1]:
            raise Mistake(
                f"Column {name!r} holds something that is not a number.", suggestions=["Mend it, or name another."]
            )
        if nothing is not None:
            return np.where(np.isnan(read[0]), nothing, read[0])
        if not np.isfinite(read[0]).all():
            raise Mistake(
                f"Some rows have no number in {name!r}.",
                suggestions=["Give 0 where there is nothing, or leave these rows out."],
            )
        return read[0]

    def _column(self, name: str) -> pa.ChunkedArray:
        if name not in self.table.column_names:
            known = self.table.column_names
            raise Mistake(
                f"There is no column {name!r}.", suggestions=nearest(name, known) or [f"It has {', '.join(known)}."]
            )
        return self.table[name]


def _by_size(code: str) -> tuple[float, str]:
    try:
        return float(code), code
    except ValueError:
        return np.inf, code
