"""The order in which stores have records: by unit, and those of a unit by their keys. It says nothing of the file they came in."""

from functools import partial

import numpy as np
import pyarrow as pa

from confide.arrays import Narrow
from confide.data.ordering import ascending
from confide.data.scratch import IN_MEMORY, Keep
from confide.data.threads import cores_for, in_order

__all__ = ["in_stored_order", "stored_order"]

SIGN = np.uint64(1 << 63)
"""What makes signed numbers others that are in the same order without a sign."""


def stored_order(records: pa.Table) -> Narrow:
    """The rows of coded records, in the order of a store."""
    unit = records["unit"].to_numpy()
    order = ascending(unit.view(np.uint64) ^ SIGN)
    ordered = unit[order]
    if (ordered[1:] == ordered[:-1]).any():
        return np.lexsort((records["key"].to_numpy(), unit))
    return order


def in_stored_order(records: pa.Table, keep: Keep = IN_MEMORY.keep) -> pa.Table:
    """The records in the order of a store, each column put aside once it is; as they are, if they stand in it already.

    Whole columns are put in order one after the other: a third of the time of doing it batch by batch.
    """
    unit, key = records["unit"].to_numpy(), records["key"].to_numpy()
    if ((unit[1:] > unit[:-1]) | ((unit[1:] == unit[:-1]) & (key[1:] >= key[:-1]))).all():
        return records
    order = pa.array(stored_order(records))

    def column(name: str) -> pa.Array:
        return keep(records[name].take(order).combine_chunks())

    names = records.column_names
    ordered = in_order((partial(column, name) for name in names), cores=cores_for(len(unit)))
    return pa.table(dict(zip(names, ordered, strict=True)), schema=records.schema)
