"""The order in which stores have records: by unit, and those of a unit by their keys. It says nothing of the file they came in."""

import numpy as np
import pyarrow as pa

from confide.arrays import Ints

__all__ = ["stored_order"]


def stored_order(records: pa.Table) -> Ints:
    """The rows of coded records, in the order of a store."""
    unit, key = records["unit"].to_numpy(), records["key"].to_numpy()
    order = np.argsort(unit)
    ordered = unit[order]
    if (ordered[1:] == ordered[:-1]).any():
        return np.lexsort((key, unit))
    return order
