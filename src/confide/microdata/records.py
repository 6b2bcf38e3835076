"""What a method sees, the records of one stratum, and what it gives back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from confide.arrays import Floats, Ints
from confide.data.release_key import ReleaseKey
from confide.errors import Mistake

__all__ = ["Categories", "Columns", "Masked", "NewRecords", "Records", "kind_of", "numbers", "restored"]

Columns = Mapping[str, Floats | pa.Array]

EXACT = 2**53
"""Beyond this, whole numbers are not exact as float64; they are codes and not amounts."""


def kind_of(name: str, type: pa.DataType) -> str:
    """Whether a column holds numbers (dates and times too) or categories (text, true or false)."""
    if pt.is_integer(type) or pt.is_floating(type) or pt.is_decimal(type) or pt.is_temporal(type):
        return "numbers"
    if pt.is_dictionary(type):
        return "categories"
    if pt.is_boolean(type) or pt.is_null(type) or any(test(type) for test in _TEXTS):
        return "categories"
    raise Mistake(f"Column {name!r} holds {type}, which cannot be masked.", suggestions=["Make it text or numbers."])


_TEXTS = (pt.is_string, pt.is_large_string, pt.is_string_view)


@dataclass(frozen=True)
class Categories:
    """A column as codes: `codes` point into `labels`, those that occur (-1 is missing).

    Labels stand in the order that the column declares (`ordered`), or else sorted.
    """

    codes: Ints
    labels: pa.Array
    ordered: bool
    source: pa.Array

    @classmethod
    def of(cls, column: pa.Array) -> "Categories":
        """The categories of a column of any kind; codes are often written as numbers."""
        column = pc.if_else(pc.is_nan(column), None, column) if pt.is_floating(column.type) else column
        coded = column if isinstance(column, pa.DictionaryArray) else column.dictionary_encode()
        places = coded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        used, codes = np.unique(places[places >= 0], return_inverse=True)
        labels, ordered = coded.dictionary.take(pa.array(used)), bool(coded.type.ordered)
        rank = np.arange(len(used))
        if not ordered and len(used):
            order = pc.sort_indices(labels)
            labels, rank = labels.take(order), np.argsort(order.to_numpy())
        whole = np.full(len(places), -1)
        whole[places >= 0] = rank[codes]
        return cls(whole, labels, ordered, column)

    def __len__(self) -> int:
        """How many categories there are."""
        return len(self.labels)

    def column(self, codes: Ints) -> pa.Array:
        """The column these codes stand for, of the same type."""
        values = self.labels.take(pa.array(codes, mask=codes < 0))
        if not isinstance(self.source, pa.DictionaryArray):
            return values
        places = pc.index_in(values, self.source.dictionary, skip_nulls=True).cast(self.source.type.index_type)
        return pa.DictionaryArray.from_arrays(places, self.source.dictionary, ordered=self.source.type.ordered)


@dataclass(frozen=True)
class Records:
    """The records of one stratum: at least one. Where households are kept together, one record a household.

    `columns` are the names to mask; `table` has those and what the method `reads`. `weights` are positive numbers, or
    None. `members`, where households are kept together, are all records, and for each the place of its household here.
    """

    table: pa.Table
    columns: tuple[str, ...]
    stratum: tuple[Any, ...] = ()
    key: ReleaseKey | None = None
    weights: Floats | None = None
    progress: Callable[[float], None] = field(default=lambda share: None)
    members: tuple[pa.Table, Ints] | None = None

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def where(self) -> str:
        """For messages: "" or " in stratum ('A', 3)"."""
        return f" in stratum {', '.join(map(str, self.stratum))}" if self.stratum else ""

    def rng(self, *words: str) -> np.random.Generator:
        """A stream of random numbers of its own for each key, stratum and words (say, the column)."""
        assert self.key is not None, "a method that draws declares `draws`, and so is given a key"
        return self.key.generator(self.stratum, words)

    def array(self, name: str) -> pa.Array:
        """A column as Arrow."""
        column = self.table[name]
        return column.combine_chunks() if column.num_chunks else pa.array([], column.type)

    def numbers(self, names: Sequence[str] | None = None) -> Floats:
        """Columns as float64, one row a record, one column each; missing is NaN."""
        wanted = self.columns if names is None else names
        matrix = np.empty((len(self), len(wanted)))
        for j, name in enumerate(wanted):
            matrix[:, j] = numbers(name, self.array(name))
        return matrix

    def categories(self, name: str) -> Categories:
        """A column as codes of categories."""
        return Categories.of(self.array(name))


@dataclass(frozen=True)
class NewRecords:
    """Records that were drawn instead of those there were.

    `rows`: from which record, by place, each takes the columns that are not drawn. `columns`: what is drawn, one value for
    each. `weight`: what each counts for, where there are weights.
    """

    rows: Ints
    columns: Columns
    weight: float


@dataclass(frozen=True)
class Masked:
    """What a method did to the records of one stratum.

    `columns`: the new values by name, either float64 with NaN for missing (made whole, decimal or a date again as the
    column is) or an Arrow array, one value for each record. `report`: facts; numbers are added up over strata. `rows`:
    which records are kept, by place, if not all. `factor`: by what the weight of each record is multiplied.
    `replicates`: further versions of `columns`. `zones`: the places of records that were masked apart from the others, if
    not all were masked together. `drawn`: versions of another kind, of new records, instead of all that.
    """

    columns: Columns
    report: Mapping[str, Any] = field(default_factory=dict)
    rows: Ints | None = None
    factor: Floats | None = None
    replicates: tuple[Columns, ...] = ()
    zones: tuple[Ints, ...] = ()
    drawn: tuple[NewRecords, ...] = ()


def numbers(name: str, column: pa.Array) -> Floats:
    """A column as float64; missing is NaN. Infinite values, and whole numbers too large to be exact, are a Mistake."""
    if pt.is_temporal(column.type):  # of nanoseconds some hundreds are lost, which nobody misses
        column = column.view(pa.int32() if column.type.bit_width == 32 else pa.int64())
    elif pt.is_integer(column.type) and len(column) > column.null_count:
        ends = pc.min_max(column).as_py()
        if max(-ends["min"], ends["max"]) > EXACT:
            raise Mistake(
                f"Column {name!r} has whole numbers beyond {EXACT:,}, too large to calculate with.",
                suggestions=["If they are codes, make them text."],
            )
    values = np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)
    if np.isinf(values).any():
        raise Mistake(f"Column {name!r} has infinite values.", suggestions=["Make them missing, or cap them."])
    return values


def restored(name: str, values: Floats, before: pa.Array) -> pa.Array:
    """Masked numbers as the column's own kind: whole numbers and dates are rounded, half to even.

    Missing becomes null, but a NaN that stood there stays. A value that the kind cannot hold is a Mistake.
    """
    missing, kind = np.isnan(values), before.type
    if pt.is_null(kind):
        return pa.nulls(len(values))
    if pt.is_floating(kind):
        nan = pc.is_nan(before).fill_null(False).to_numpy(zero_copy_only=False)
        return pa.array(values, mask=missing & ~nan).cast(kind, safe=False)
    try:
        if pt.is_decimal(kind):
            return pa.array(values, mask=missing).cast(kind, safe=False)
        whole = pa.array(np.rint(np.where(missing, 0.0, values)), mask=missing)
        if pt.is_temporal(kind):
            return whole.cast(pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)
        return whole.cast(kind)
    except pa.ArrowInvalid:
        raise Mistake(
            f"Column {name!r} holds {kind}, too narrow for its masked values.",
            suggestions=["Make it a wider kind first, such as float64."],
        ) from None
