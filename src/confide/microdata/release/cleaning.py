"""What a file betrays beside its values, taken out: order, index, dictionaries, decimals, metadata, hidden values."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from confide.arrays import Floats, Ints
from confide.microdata.records import Categories

__all__ = ["INDEX", "cleaned", "decimals_of"]

INDEX = "__index_level_"
"""How the columns begin in which pandas keeps an index without a name."""

MOST = 6
"""Numbers with more decimals are measurements, not written figures: all digits of them are alike."""

FEW = 1000
"""So many values tell quickly that a column has more decimals."""


def cleaned(table: pa.Table, order: Ints, decimals: Mapping[str, int]) -> pa.Table:
    """The records in another order, every column built anew from the values that are in it.

    Promise: dictionaries list no category that no record has; beneath a missing value stands nothing; NaN and missing are
    one; numbers have at most so many `decimals`; there is no metadata and no index.
    """
    names = [name for name in table.column_names if not name.startswith(INDEX)]
    columns = [_column(_whole(table[name]), order, decimals.get(name)) for name in names]
    return pa.table(columns, schema=pa.schema([pa.field(n, c.type) for n, c in zip(names, columns, strict=True)]))


def decimals_of(column: pa.ChunkedArray) -> int | None:
    """With how many decimals the numbers of a column are written; None if that cannot be said."""
    if not pt.is_floating(column.type):
        return 0 if pt.is_integer(column.type) else None
    values = np.asarray(column.drop_null().to_numpy(), np.float64)
    values = values[np.isfinite(values)]
    few = values[:FEW]
    return next((digits for digits in range(MOST + 1) if _fit(few, digits) and _fit(values, digits)), None)


def _fit(values: Floats, digits: int) -> bool:
    """Whether so many decimals write the values, to within what floats leave open."""
    scaled = np.abs(values) * 10.0**digits
    return bool((np.abs(scaled - np.rint(scaled)) <= 1e-9 * np.maximum(1.0, scaled)).all())


def _whole(column: pa.ChunkedArray) -> pa.Array:
    column = column.unify_dictionaries()
    return column.combine_chunks() if column.num_chunks else pa.array([], column.type)


def _column(column: pa.Array, order: Ints, decimals: int | None) -> pa.Array:
    if pt.is_dictionary(column.type):
        return _categories(Categories.of(column), order)
    if pt.is_floating(column.type):
        column = _rounded(column, decimals)
    return _placed(column, order)


def _placed(column: pa.Array, order: Ints) -> pa.Array:
    """The values in their new order. They are taken from those that are known, so that nothing is beneath the missing."""
    if pt.is_null(column.type) or not column.null_count:
        return column.take(pa.array(order))
    known = column.is_valid().to_numpy(zero_copy_only=False)
    place = np.where(known, np.cumsum(known) - 1, 0)[order]
    return column.drop_null().take(pa.array(place, mask=~known[order]))


def _categories(found: Categories, order: Ints) -> pa.Array:
    codes = found.codes[order]
    indices = pa.array(np.maximum(codes, 0).astype(np.int32), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(indices, found.labels, ordered=found.ordered)


def _rounded(column: pa.Array, decimals: int | None) -> pa.Array:
    """Numbers with so many decimals; no NaN, and no zero below zero, which would tell from which side it was rounded."""
    values: Floats = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    missing = np.isnan(values)
    if decimals is not None:
        values = np.round(values, decimals)
    return pa.array(np.where(missing, 0.0, values + 0.0), mask=missing).cast(column.type, safe=False)
