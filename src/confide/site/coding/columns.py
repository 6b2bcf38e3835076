"""Columns as they are stored: fixed-point contributions, small integers for classes, and the mark of all of them."""

import hashlib
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from confide.arrays import Floats, Ints, Narrow
from confide.engines.order import stored_order
from confide.model.catalog.dataset import Variable
from confide.site.coding.keys import filled

__all__ = ["LARGEST", "bins", "contributions", "data_mark", "narrow", "small"]

PART = 1 << 18
"""Records whose contributions are made and added up at once."""

AT_ONCE = 1 << 17
"""Records that are put in order at once to be marked."""

LARGEST = 2**62
"""Sums of absolute contributions stay below this, so that they are exact in a signed 64-bit integer anywhere."""


def contributions(values: Floats, decimals: int, weight: Ints | None, weight_decimals: int) -> tuple[pa.Array, int]:
    """Weighted values as fixed-point integers, with as many decimals as keep every sum exact."""
    absent = np.isnan(values)
    places = 0 if weight is None else weight_decimals
    scale = decimals + places
    heaviest = 1 if weight is None else weight.max(initial=0)
    largest = max((float(np.fmax.reduce(np.abs(values[part]), initial=0.0)) for part in _parts(values)), default=0.0)
    size = largest * float(heaviest) / 10.0**places
    while size * 10.0**scale >= LARGEST:
        scale -= 1
    whole = np.empty(len(values), np.int64)
    while True:
        for part in _parts(values):
            present = np.where(absent[part], 0.0, values[part])
            if scale == decimals + places:
                whole[part] = np.rint(present * 10.0**decimals)
                whole[part] *= 1 if weight is None else weight[part]
            else:
                times = 1.0 if weight is None else weight[part] / 10.0**places
                whole[part] = np.rint(present * times * 10.0**scale)
        if _size(whole) < LARGEST:
            return pa.array(whole, mask=absent if absent.any() else None), scale
        scale -= 1


def _parts(values: Floats | Ints) -> Iterator[slice]:
    return (slice(start, min(start + PART, len(values))) for start in range(0, len(values), PART))


def _size(whole: Ints) -> int:
    """The sum of absolute values, exactly."""
    sizes = (np.abs(whole[part]) for part in _parts(whole))
    return sum((int((size >> 32).sum()) << 32) + int((size & 0xFFFFFFFF).sum()) for size in sizes)


def bins(variable: Variable, values: Floats) -> Narrow:
    """The bin of each number, and one more for what is missing."""
    cutpoints = np.array(variable.cutpoints, dtype=np.float64)
    places = np.empty(len(values), np.min_scalar_type(len(cutpoints) + 1))
    for part in _parts(values):
        found = np.searchsorted(cutpoints, values[part], side="right")
        places[part] = np.where(np.isnan(values[part]), len(cutpoints) + 1, found)
    return places


def small(places: Narrow, variable: Variable) -> pa.Array:
    """Places of a variable's codes, as narrow as its list of codes allows."""
    assert variable.codes is not None
    return pa.array(places.astype(np.uint8 if len(variable.codes) <= 255 else np.uint16))


def narrow(array: pa.Array) -> pa.Array:
    """Half as wide where every value fits."""
    bounds = pc.min_max(array)
    least, most = bounds["min"].as_py() or 0, bounds["max"].as_py() or 0
    return array.cast(pa.int32()) if least >= -(2**31) and most < 2**31 else array


def data_mark(records: pa.Table) -> str:
    """A fingerprint of the records that does not depend on their order."""
    order = stored_order(records)
    rows = None if order is None else pa.array(order)
    digest = hashlib.sha256()
    for name in records.column_names:
        column = pa.array(filled(records[name]))
        # some at a time, which stay in the processor's cache between being put in order and being read
        for start in range(0, len(column), AT_ONCE):
            some = column[start : start + AT_ONCE] if rows is None else column.take(rows[start : start + AT_ONCE])
            digest.update(some.to_numpy().data)
    return digest.hexdigest()[:16]
