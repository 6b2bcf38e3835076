"""The order in which stores have records: by unit, and those of a unit by their keys. It says nothing of the file they came in."""

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from confide.arrays import Narrow
from confide.data.compiling import compiled
from confide.data.ordering import SIGN, ascending
from confide.data.scratch import IN_MEMORY, Keep
from confide.data.threads import cores_for, in_order

__all__ = ["in_stored_order", "put_in_order", "stored_order", "taken"]


def stored_order(records: pa.Table) -> Narrow | None:
    """The rows of coded records, in the order of a store; None where they stand in it already."""
    unit, key = records["unit"].to_numpy(), records["key"].to_numpy()
    if ((unit[1:] > unit[:-1]) | ((unit[1:] == unit[:-1]) & (key[1:] >= key[:-1]))).all():
        return None
    order = ascending(unit.view(np.uint64) ^ SIGN)
    ordered = unit[order]
    return np.lexsort((key, unit)) if (ordered[1:] == ordered[:-1]).any() else order


def in_stored_order(records: pa.Table, keep: Keep = IN_MEMORY.keep) -> pa.Table:
    """The records in the order of a store, each column put aside once it is; as they are, if they stand in it already."""
    order = stored_order(records)
    return records if order is None else put_in_order(records, order, keep)


def put_in_order(records: pa.Table, order: Narrow, keep: Keep = IN_MEMORY.keep) -> pa.Table:
    """Rows in an order, each column put aside once it is."""
    names = records.column_names
    ordered = in_order((partial(_taken, records[name], order, keep) for name in names), cores=cores_for(len(order)))
    return pa.table(dict(zip(names, ordered, strict=True)), schema=records.schema)


def _taken(column: pa.ChunkedArray, order: Narrow, keep: Keep) -> pa.Array:
    if column.null_count or not pa.types.is_integer(column.type):
        return keep(column.take(pa.array(order)).combine_chunks())
    return keep(pa.array(taken(column.to_numpy(), order)))


def taken(values: NDArray[Any], order: Narrow) -> NDArray[Any]:
    """Values in an order: half the time that libraries take, which look at every place before they go there."""
    found = np.empty(len(order), values.dtype)
    _take(found, values, order)
    return found


@compiled
def _take(found: NDArray[Any], values: NDArray[Any], order: Narrow) -> None:  # pragma: no cover - compiled
    for i in range(len(order)):
        found[i] = values[order[i]]
