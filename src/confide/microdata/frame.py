"""Frames of any kind, read column by column as Arrow and given back as what they were.

Columns that are not masked are never touched: no conversion, no change of type.
"""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from confide.arrays import Ints
from confide.errors import Mistake, nearest

__all__ = ["Frame", "Released"]


@dataclass(frozen=True)
class Frame:
    """A pandas, polars or pyarrow frame, or anything else that speaks Arrow (given back as a pyarrow table)."""

    given: Any
    kind: str

    @classmethod
    def of(cls, given: Any) -> "Frame":
        """What was given, if it is a frame; of something released, its frame."""
        given = given.frame if isinstance(given, Released) else given
        frame = cls(given, kind) if (kind := _kind(given)) else cls(_arrow(given), "pyarrow")
        twice = [name for name, times in Counter(frame.names).items() if times > 1]
        if twice:
            raise Mistake(f"Column {twice[0]!r} appears twice. Rename one of them.")
        return frame

    def __len__(self) -> int:
        return len(self.given)

    @property
    def names(self) -> list[str]:
        return list(self.given.column_names if self.kind == "pyarrow" else self.given.columns)

    def table(self, names: Sequence[str]) -> pa.Table:
        """Some columns as Arrow; an unknown one is a Mistake."""
        known = self.names
        for name in names:
            if name not in known:
                raise Mistake(f"No column called {name!r}.", suggestions=nearest(str(name), map(str, known)))
        return pa.table({str(name): self._column(name) for name in names})

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


@dataclass(frozen=True, repr=False)
class Released:
    """A masked file: `frame`, of the kind that was given, and the `report` of what was done, for the custodian.

    It speaks Arrow, so whatever takes a frame takes it too. `replicates` has more than one frame only where a method
    releases several versions. The report is computed from the confidential file: do not publish it unread.
    """

    replicates: tuple[Any, ...]
    report: Mapping[str, Any]

    @property
    def frame(self) -> Any:
        return self.replicates[0]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        frame = Frame.of(self)
        return frame.table(frame.names).__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        facts = [(name, value) for name, value in self.report.items() if isinstance(value, int | float)]
        return f"Released({len(self.frame):,} records{''.join(f'; {name} {value:,.6g}' for name, value in facts)})"


def _kind(given: Any) -> str | None:
    """Whose data frame it is, if it is one; neither library is imported for that."""
    for name in ("pandas", "polars"):
        if name in sys.modules and isinstance(given, sys.modules[name].DataFrame):
            return name
    return None


def _arrow(given: Any) -> pa.Table:
    if hasattr(given, "collect_schema"):
        raise Mistake(f"A {type(given).__name__} is not read yet.", suggestions=["Collect it first."])
    try:
        table = given if isinstance(given, pa.Table) else pa.table(given)
    except (TypeError, ValueError, AttributeError, pa.ArrowException):
        raise Mistake(
            f"A {type(given).__name__} is not microdata.", suggestions=["Give a pandas, polars or Arrow table."]
        ) from None
    # Arrow cannot yet pick values out of views of text
    return table.cast(
        pa.schema([f.with_type(pa.large_string()) if pt.is_string_view(f.type) else f for f in table.schema])
    )


def _whole(column: Any) -> pa.Array:
    """One array of what may come in chunks."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return pa.array([], column.type) if column.num_chunks == 0 else column.combine_chunks()
