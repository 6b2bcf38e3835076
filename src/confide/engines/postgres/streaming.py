"""Records as arrays: the server packs many of them into one value a column, so that nothing is read one by one.

Rows of COPY cost 1.4 microseconds each in the client, packed ones less than a tenth of that (measured with 5 columns).
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.sources.database.connecting import Connection

__all__ = ["read_records"]

BATCH = 1 << 16
"""Record numbers that a batch spans."""

HEADER = 20
"""Bytes before the elements of an array of one dimension, each of which has its length in front (see array_send)."""

MISSING = -(2**63)
"""What stands for a missing number: numbers are far from it."""

_TYPES = {"SMALLINT": ">i2", "INTEGER": ">i4", "BIGINT": ">i8"}

Arrays = dict[str, NDArray[Any]]


def read_records(connection: Connection, kinds: Mapping[str, str], only: str, span: range) -> Iterator[Arrays]:
    """Columns of the records that meet a condition, in the order of their numbers, in batches, the first of them empty.

    `span` has the numbers to look at. Values are NaN where they are missing.
    """
    yield {name: _array(None, kind) for name, kind in kinds.items()}
    packed = {**kinds, "record": "BIGINT NOT NULL"}
    names = ", ".join(f"{_value(name, kind)} AS {name}" for name, kind in packed.items())
    arrays = ", ".join(f"array_send(array_agg({name}))" for name in packed)
    for start in span[::BATCH]:
        condition = f"record BETWEEN {start} AND {min(start + BATCH, span.stop) - 1} AND {only}"
        ordered = f"SELECT {names} FROM records WHERE {condition} ORDER BY record"
        found = connection.execute(f"SELECT {arrays} FROM ({ordered}) AS part".encode(), binary=True).fetchone()
        batch = {name: _array(data, kind) for data, (name, kind) in zip(found or (), packed.items(), strict=True)}
        yield _in_order(batch.pop("record"), batch)


def _value(name: str, kind: str) -> str:
    return name if _filled(kind) else f"coalesce({name}, {MISSING})"


def _array(data: bytes | None, kind: str) -> NDArray[Any]:
    element = np.dtype(_TYPES[kind.split()[0]])
    packed = np.frombuffer(data or b"", np.dtype([("length", ">i4"), ("value", element)]), offset=HEADER if data else 0)
    values = packed["value"].astype(element.newbyteorder("="))
    return values if _filled(kind) else np.where(values == MISSING, np.nan, values)


def _in_order(number: NDArray[Any], batch: Arrays) -> Arrays:
    """SQL promises no order to aggregates; servers keep that of a sorted subquery, and this is for one that does not."""
    if (number[1:] > number[:-1]).all():
        return batch
    order = np.argsort(number)
    return {name: values[order] for name, values in batch.items()}


def _filled(kind: str) -> bool:
    return kind.endswith("NOT NULL")
