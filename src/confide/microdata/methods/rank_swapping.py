"""Rank swapping: values of a column are exchanged among records of nearly the same rank."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from confide.arrays import Floats
from confide.errors import Mistake
from confide.microdata.method import Method
from confide.microdata.records import Masked, Records, kind_of, numbers
from confide.microdata.search.exchange import pairs_near
from confide.model.parameter import parameter

__all__ = ["RankSwapping", "ordered"]


@dataclass(frozen=True)
class RankSwapping(Method):
    """Rank swapping (Moore 1996): records of nearly the same rank exchange values, so that a value may be another's.

    Promise: a column has the same values as before, and the ranks of two values that change places differ by at most
    p percent of the known values (by one, where that is less); equal values are ranked at random. Each column is swapped
    by itself. Categories must be ordered. Missing values stay missing. Reference: Domingo-Ferrer (2007).

    >>> import pyarrow as pa
    >>> frame = pa.table({"age": [21, 35, 44, 52, 67, 80]})
    >>> RankSwapping(p=34).protect(frame, columns="age", teaching_seed=1).frame["age"].to_pylist()
    [35, 21, 52, 44, 80, 67]
    """

    best_attack: ClassVar = "rank-windows"
    draws: ClassVar = True
    mixes: ClassVar = True
    takes: ClassVar = frozenset({"numbers", "categories"})

    p: float = parameter(15.0, "How far apart ranks may be, as a percentage of the values.", above=0, high=100)

    def _mask(self, records: Records) -> Masked:
        columns, swapped = {}, 0
        for number, name in enumerate(records.columns):
            column, rng = records.array(name), records.rng(name)
            values = ordered(name, column)
            known = np.flatnonzero(~np.isnan(values))
            shuffled = known[rng.permutation(len(known))]
            ranked = shuffled[np.argsort(values[shuffled], kind="stable")]
            partner = pairs_near(len(ranked), max(1, int(self.p * len(ranked) / 100)), rng)
            source = np.arange(len(values))
            source[ranked] = ranked[partner]
            columns[name] = column.take(pa.array(source))
            swapped += int(np.sum(source != np.arange(len(values))))
            records.progress((number + 1) / len(records.columns))
        return Masked(columns, {"swapped": swapped})


def ordered(name: str, column: pa.Array) -> Floats:
    """Numbers that sort as the column does, NaN for missing; a column of categories without order is a Mistake."""
    if not pa.types.is_dictionary(column.type) and kind_of(name, column.type) == "numbers":
        return numbers(name, column)
    if pa.types.is_dictionary(column.type) and column.type.ordered:
        return numbers(name, column.indices)
    if column.null_count == len(column):
        return np.full(len(column), np.nan)
    raise Mistake(
        f"Column {name!r} has categories without an order, so they have no ranks.",
        suggestions=["Declare their order, or use data-swapping or pram."],
    )
