"""What a record must have to count: values that are there, and whose transformations are defined."""

from collections.abc import Iterable

import numpy as np

from confide.arrays import Ints
from confide.engines.columns.store import ColumnsStore
from confide.errors import Fault
from confide.model.design import Number
from confide.model.formula import Transform

__all__ = ["needs_of"]

_LEAST = {Transform.LOG: 1, Transform.SQRT: 0}


def needs_of(store: ColumnsStore, numbers: Iterable[Number], of: str | None = None) -> Ints:
    """Columns (offset, kind) with the least integer that a record must have there; those in which all have it are left out."""
    least: dict[str, int] = {}
    if of:
        least[store.facts.numbers[of]] = store.column(store.facts.numbers[of]).missing + 1
    for number in numbers:
        if number.variable not in store.facts.values:
            raise Fault(
                f"The store of {store.facts.dataset!r} was written before models were possible. Ingest the data again."
            )
        name = store.facts.value(number)
        lowest = _LEAST.get(number.transform, store.column(name).missing + 1)
        least[name] = max(lowest, least.get(name, lowest))
    needed = [(store.column(name), bound) for name, bound in least.items()]
    rows = [(column.offset, column.kind, bound) for column, bound in needed if column.least < bound]
    return np.array(rows, np.int64).reshape(-1, 3)
