"""Top and bottom coding: the extremes of a number, or of an ordered category, are lumped together at a threshold."""

from dataclasses import dataclass
from math import ceil, floor
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from confide.arrays import Floats, Ints
from confide.errors import Mistake, nearest
from confide.microdata.hierarchies import texts
from confide.microdata.method import Method
from confide.microdata.methods.rank_swapping import ordered
from confide.microdata.records import Masked, Records, kind_of
from confide.model.parameter import parameter

__all__ = ["TopBottomCoding"]


@dataclass(frozen=True)
class TopBottomCoding(Method):
    """Top and bottom coding (Domingo-Ferrer 2007): a threshold replaces extreme values, so that nobody stands out by them.

    Promise: no value lies above the top or below the bottom threshold; others do not change. A threshold is given, or
    is the value above (below) which at most the given share of a stratum's known values lie. Categories must have an
    order; their threshold is a category, in which those beyond it are lumped together. Missing values stay missing.

    >>> import pyarrow as pa
    >>> TopBottomCoding(top=100).protect(pa.table({"age": [17, 103, 99]}), columns="age").frame["age"].to_pylist()
    [17, 100, 99]
    """

    takes: ClassVar = frozenset({"numbers", "categories"})
    best_attack: ClassVar = "own-list"

    top: float | str | None = parameter(None, "Values above this become this: a number, or an ordered category.")
    bottom: float | str | None = parameter(None, "Values below this become this.")
    top_share: float | None = parameter(
        None, "Or: at most this share of the values is cut at the top.", above=0, below=1
    )
    bottom_share: float | None = parameter(None, "Or: at most this share is cut at the bottom.", above=0, below=1)

    def _check(self) -> None:
        if {self.top, self.bottom, self.top_share, self.bottom_share} == {None}:
            raise Mistake("TopBottomCoding: say where to cut, by top, bottom, top_share or bottom_share.")
        if None not in (self.top, self.top_share) or None not in (self.bottom, self.bottom_share):
            raise Mistake("TopBottomCoding: give a threshold or a share, not both, for each end.")
        if isinstance(self.top, float) and isinstance(self.bottom, float) and self.bottom >= self.top:
            raise Mistake(f"TopBottomCoding: bottom must be less than top, not {self.bottom:g}.")
        if (self.top_share or 0) + (self.bottom_share or 0) >= 1:
            raise Mistake("TopBottomCoding: top_share and bottom_share must leave something between them.")

    def _mask(self, records: Records) -> Masked:
        columns: dict[str, Any] = {}
        report = {"top": 0, "bottom": 0}
        for name in records.columns:
            column = records.array(name)
            before = ordered(name, column)
            low, high = self._thresholds(name, column, before)
            after = np.clip(before, low, high)
            columns[name] = after if kind_of(name, column.type) == "numbers" else _lumped(column, after)
            report["top"] += int(np.sum(before > high))
            report["bottom"] += int(np.sum(before < low))
        return Masked(columns, report)

    def _thresholds(self, name: str, column: pa.Array, values: Floats) -> tuple[float, float]:
        """Between which values, or places of categories, a column stays as it is."""
        place = _number if kind_of(name, column.type) == "numbers" else _place
        ordered = np.sort(values[~np.isnan(values)])
        low = -np.inf if self.bottom is None else place(name, column, self.bottom)
        high = np.inf if self.top is None else place(name, column, self.top)
        if low >= high:
            raise Mistake(f"TopBottomCoding: in {name!r}, {self.bottom!r} does not come before {self.top!r}.")
        if self.top_share is not None and len(ordered):
            high = float(ordered[ceil(len(ordered) * (1 - self.top_share) - 1e-9) - 1])
        if self.bottom_share is not None and len(ordered):
            low = float(ordered[floor(len(ordered) * self.bottom_share + 1e-9)])
        return low, high


def _number(name: str, column: pa.Array, end: float | str) -> float:
    if isinstance(end, str):
        raise Mistake(f"Column {name!r} holds numbers, so a threshold must be one too, not {end!r}.")
    if end != floor(end) and pt.is_integer(column.type):
        raise Mistake(f"Column {name!r} holds whole numbers, so a threshold must be whole too, not {end:g}.")
    return end


def _place(name: str, column: pa.Array, end: float | str) -> float:
    """Where a category stands in the order that the column declares; codes are often written as numbers."""
    labels = list(texts(column.dictionary)) if pt.is_dictionary(column.type) else []
    word = end if isinstance(end, str) else f"{end:g}"
    if word not in labels and len(column) > column.null_count:
        hint = nearest(word, labels) or [f"It has {', '.join(labels)}."]
        raise Mistake(f"Column {name!r} has no category {word!r}.", suggestions=hint)
    return float(labels.index(word)) if word in labels else np.nan


def _lumped(column: pa.Array, after: Floats) -> pa.Array:
    """The column with categories at these places of its order."""
    if not pt.is_dictionary(column.type):
        return column  # nothing in it is known, or it would have had no order
    places: Ints = np.nan_to_num(after, nan=0).astype(np.int64)
    indices = pa.array(places, mask=np.isnan(after)).cast(column.type.index_type)
    return pa.DictionaryArray.from_arrays(indices, column.dictionary, ordered=True)
