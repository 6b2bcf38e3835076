"""Frames of any kind and data files: read column by column, as Arrow, codes or numbers, and given back as what they were.

Columns that nobody asks for are never touched: no conversion, no change of type.
"""

import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from confide.arrays import Floats, Ints
from confide.errors import Mistake, nearest
from confide.sources.columns import distinct, numbers, texts
from confide.sources.source import arrow_table, read_source

__all__ = ["CodedColumn", "Frame"]


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """A column as the codes that stand in it, and the place of every record's among them."""

    codes: list[str]
    places: Ints


@dataclass(frozen=True, eq=False)
class Frame:
    """A pandas, polars or pyarrow frame, or anything else that speaks Arrow (given back as a pyarrow table)."""

    given: Any
    kind: str

    @classmethod
    def of(cls, given: Any) -> "Frame":
        """What was given, if it is a frame, to be given back as its own kind."""
        frame = cls(given, kind) if (kind := _kind(given)) else cls(_arrow(given), "pyarrow")
        twice = [name for name, times in Counter(frame.names).items() if times > 1]
        if twice:
            raise Mistake(f"Column {twice[0]!r} appears twice. Rename one of them.")
        return frame

    @classmethod
    def read(cls, source: Any, *, encoding: str | None = None) -> "Frame":
        """From a file too: CSV, Parquet, Arrow, DuckDB, SPSS, Stata or SAS. The named index of a pandas frame is columns.

        `encoding` says how the letters of a CSV file are written, if not as UTF-8.
        """
        return source if isinstance(source, Frame) else cls(read_source(source, encoding=encoding).table, "pyarrow")

    def __len__(self) -> int:
        return len(self.given)

    @property
    def names(self) -> list[str]:
        return list(self.given.column_names if self.kind == "pyarrow" else self.given.columns)

    def table(self, names: Sequence[str]) -> pa.Table:
        """Some columns as Arrow; an unknown one is a Mistake."""
        return pa.table({str(name): self.column(name) for name in names})

    def column(self, name: str) -> pa.Array:
        """A column as Arrow; an unknown one is a Mistake."""
        known = self.names
        if name not in known:
            offers = nearest(str(name), map(str, known)) or [f"It has {', '.join(map(str, known))}."]
            raise Mistake(f"No column called {name!r}.", suggestions=offers)
        return self._column(name)

    def coded(self, name: str, *, nothing: str | None = None) -> CodedColumn:
        """A column of codes: ordered categories as declared, others as people count: 1, 2, 10. Spaces around do not matter.

        Where a code is missing it is `nothing`, if that is given.
        """
        column = self.column(name)
        found = distinct(name, pa.chunked_array([column]))
        text = texts(name, found.values).to_pylist()
        if (found.places < 0).any() or None in text:
            if nothing is None:
                raise Mistake(
                    f"Some rows have no code in {name!r}.",
                    suggestions=["Give them a code of their own, or leave these rows out."],
                )
            # A row without a value has the place -1: the last.
            text = [*(nothing if code is None else code for code in text), nothing]
        kept = sorted(set(text), key=_declared(column) or (_by_size if _is_number(found.values.type) else _naturally))
        place = {code: number for number, code in enumerate(kept)}
        return CodedColumn(kept, np.array([place[code] for code in text], dtype=np.int64)[found.places])

    def numbers(self, name: str, *, nothing: float | None = None) -> Floats:
        """A column of finite numbers; where one is missing it is `nothing`, if that is given."""
        read = numbers(self.column(name))
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

    def _column(self, name: str) -> pa.Array:
        if self.kind == "pyarrow":
            return _whole(self.given[name])
        if self.kind == "polars":
            return _whole(self.given[name].to_arrow())
        try:
            return _whole(pa.array(self.given[name], from_pandas=True))
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise Mistake(
                f"Column {name!r} mixes kinds of values: {error.args[0]}.", suggestions=["Make it all text."]
            ) from None

    def replaced(self, columns: Mapping[str, pa.Array], rows: Ints | None = None) -> Any:
        """The frame as its own kind, with some columns new and, where `rows` are given, those records only.

        New columns have one value for each row that stays. Records that are picked are numbered anew: an index left
        behind would say where they stood in the confidential file.
        """
        if self.kind == "pyarrow":
            table = self.given if rows is None else self.given.take(pa.array(rows))
            for name, array in columns.items():
                table = table.set_column(table.column_names.index(name), name, array)
            return table
        if self.kind == "polars":
            frame = self.given if rows is None else self.given[rows]
            return frame.with_columns([self._polars(name, array) for name, array in columns.items()])
        frame = self.given if rows is None else self.given.iloc[rows].reset_index(drop=True)
        return frame.assign(**{name: self._pandas(name, array, frame.index) for name, array in columns.items()})

    def _polars(self, name: str, array: pa.Array) -> Any:
        series, before = sys.modules["polars"].Series(name, array), self.given[name]
        return series.cast(before.dtype) if array.type == self._column(name).type else series

    def _pandas(self, name: str, array: pa.Array, index: Any) -> Any:
        pandas, dtype = sys.modules["pandas"], self.given[name].dtype
        if array.type != self._column(name).type:
            return pandas.Series(array.to_pandas().array, index)
        if isinstance(array, pa.DictionaryArray):
            codes = array.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
            return pandas.Series(pandas.Categorical.from_codes(codes, dtype=dtype), index)
        if array.null_count and dtype.kind in "iub":  # numpy's own whole numbers cannot be missing, Int64 can
            dtype = self.given[name].head(0).convert_dtypes().dtype
        values = (
            dtype.__from_arrow__(array) if hasattr(dtype, "__from_arrow__") else array.to_pandas().astype(dtype).array
        )
        return pandas.Series(values, index, dtype=dtype)


def _kind(given: Any) -> str | None:
    """Whose data frame it is, if it is one; neither library is imported for that."""
    for name in ("pandas", "polars"):
        if name in sys.modules and isinstance(given, sys.modules[name].DataFrame):
            return name
    return None


def _arrow(given: Any) -> pa.Table:
    table = arrow_table(given)
    # Arrow cannot yet pick values out of views of text
    return table.cast(
        pa.schema([f.with_type(pa.large_string()) if pt.is_string_view(f.type) else f for f in table.schema])
    )


def _whole(column: Any) -> pa.Array:
    """One array of what may come in chunks."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return pa.array([], column.type) if column.num_chunks == 0 else column.combine_chunks()


def _is_number(kind: pa.DataType) -> bool:
    return bool(pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind))


def _declared(column: pa.Array) -> Callable[[str], tuple[int, str]] | None:
    """The place of a code among ordered categories, if the column has such."""
    if not (pt.is_dictionary(column.type) and column.type.ordered):
        return None
    place = {str(code).strip(): number for number, code in enumerate(column.dictionary.to_pylist())}
    return lambda code: (place.get(code, len(place)), code)


def _naturally(code: str) -> tuple[list[tuple[bool, int, str]], str]:
    """Digits in a text count as the number they are.

    >>> sorted(["10-19", "5-9", "250+", "a"], key=_naturally)
    ['5-9', '10-19', '250+', 'a']
    """
    parts = re.findall(r"[0-9]{1,18}|[^0-9]+", code)
    return [(not part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts], code


def _by_size(code: str) -> tuple[float, str]:
    try:
        return float(code), code
    except ValueError:
        return np.inf, code
