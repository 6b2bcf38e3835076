"""The file that `ColumnsEngine` reads: one array a column, mapped into memory; written whole or not at all.

    "confide columns"   columns, each from a multiple of 64 bytes on   the index, as JSON   its length and checksum   "columns end"

Records stand in the order of their units. Classes are unsigned integers of 1, 2 or 4 bytes, all else signed ones of 4 or 8, the
least of which stands for what is missing. Everything is little-endian.
"""

import json
import mmap
import struct
import sys
import zlib
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from confide.arrays import Ints
from confide.data.private import only_mine
from confide.data.replacing import replacing
from confide.data.threads import cores_for, in_order
from confide.engines import Coded, StoreFacts
from confide.engines.order import stored_order, taken
from confide.errors import Fault

__all__ = ["Bytes", "ColumnsStore", "MappedColumn", "write_columns"]

Bytes = NDArray[np.uint8]

FORMAT = 1
"""The version of the layout; a file with another is not read."""

ALIGNED = 64
_BEGIN, _END = b"confide columns\n".ljust(ALIGNED), b"columns end\n"
_LENGTH = struct.Struct("<QI")


@dataclass(frozen=True)
class MappedColumn:
    """Where a column stands, how wide its integers are, the least of them, and a checksum (CRC-32)."""

    offset: int
    width: int
    signed: bool
    least: int
    crc: int

    @property
    def kind(self) -> int:
        """The width, negative if there are negative numbers: what kernels are told."""
        return -self.width if self.signed else self.width

    @property
    def missing(self) -> int:
        """What stands for a missing value."""
        return -(1 << (8 * self.width - 1))


def write_columns(coded: Coded, path: Path) -> None:
    """Write the coded records as columns, for their owner to read; a crash or a full disk leaves the former file in place."""
    try:
        with only_mine(), replacing(path) as partial, partial.open("wb") as file:
            _write(file, coded)
    except (OSError, KeyError, pa.ArrowException) as error:
        raise Fault(
            f"The columns could not be written ({type(error).__name__}); the former ones, if any, are untouched.",
            suggestions=["Check that the disk has room, then ingest again."],
        ) from None


def _write(file: IO[bytes], coded: Coded) -> None:
    """One column after the other is made ready, on every core, and written: there is no second copy of the records."""
    facts, records, order = coded.facts, coded.records, stored_order(coded.records)
    classes, columns = set(facts.classes.values()), {}

    def ready(name: str) -> tuple[NDArray[Any], MappedColumn]:
        stored = _stored(records[name], is_class=name in classes, fixed=name in ("unit", "key"))
        stored = stored if order is None else taken(stored, order)
        least = int(stored.min(initial=0))
        return stored, MappedColumn(0, stored.itemsize, stored.dtype.kind == "i", least, zlib.crc32(stored.data))

    file.write(_BEGIN)
    each = in_order((partial(ready, name) for name in records.column_names), cores=cores_for(records.num_rows))
    for name, (stored, column) in zip(records.column_names, each, strict=True):
        file.write(bytes(-file.tell() % ALIGNED))
        columns[name] = vars(replace(column, offset=file.tell()))
        file.write(stored.data if len(stored) else b"")
    described = {"facts": facts.as_dict(), "sizes": coded.sizes, "columns": columns}
    index = {"format": FORMAT, "rows": records.num_rows, **described}
    text = json.dumps(index).encode()
    file.write(text + _LENGTH.pack(len(text), zlib.crc32(text)) + _END)


def _stored(column: pa.ChunkedArray, *, is_class: bool, fixed: bool) -> NDArray[Any]:
    """A column as narrow as it may be; `fixed` ones stay as they are."""
    if is_class or fixed:
        return np.ascontiguousarray(column.to_numpy())
    bounds = pc.min_max(column).as_py()
    narrow = (bounds["min"] or 0) > -(2**31) and (bounds["max"] or 0) < 2**31
    kind = np.int32 if narrow else np.int64
    if column.null_count:
        column = column.cast(pa.from_numpy_dtype(kind)).fill_null(int(np.iinfo(kind).min))
    return np.ascontiguousarray(column.to_numpy(), kind)


class ColumnsStore:
    """A file of columns, mapped into memory. What is read of it is checked first, each column when it is first asked for."""

    def __init__(self, path: Path) -> None:
        self._name = path.name
        self.bytes = self._mapped(path)
        index = self._index()
        try:
            self.rows: int = index["rows"]
            self.facts = StoreFacts(**index["facts"])
            self.sizes: dict[str, int] = index["sizes"]
            self._columns = {name: MappedColumn(**column) for name, column in index["columns"].items()}
        except (KeyError, TypeError):
            raise self._fault("was written by another version of Confide") from None
        self._checked: set[str] = set()
        if not {"unit", "key"} <= set(self._columns):
            raise self._fault("is damaged")

    def column(self, name: str) -> MappedColumn:
        """Where a column stands. Promise: its bytes are those that were written."""
        column = self._columns[name]
        if name not in self._checked:
            if zlib.crc32(self._part(column).data) != column.crc:
                raise self._fault("is damaged")
            self._checked.add(name)
        return column

    def read_all(self) -> None:
        """Read and check every column, as the questions after a start do one by one: from then on all are in memory that fit."""
        for name in self._columns:
            self.column(name)

    def array(self, name: str) -> NDArray[Any]:
        """The integers of a column."""
        column = self.column(name)
        return self._part(column).view(f"<{'i' if column.signed else 'u'}{column.width}")

    @property
    def units(self) -> Ints:
        return self.array("unit")

    def coded(self) -> Coded:
        """The records, as they were written."""
        wide = {"weight", *self.facts.numbers.values()}
        narrow = {"key", *self.facts.classes.values()}
        found: dict[str, pa.Array] = {}
        for name, column in self._columns.items():
            values = self.array(name)
            missing = None if name in narrow or name == "unit" else values == column.missing
            found[name] = pa.array(values.astype(np.int64) if name in wide else values, mask=missing)
        return Coded(self.facts, pa.table(found))

    @property
    def size(self) -> int:
        """Bytes of memory that the columns take once all have been read."""
        return len(self.bytes)

    def _part(self, column: MappedColumn) -> Bytes:
        return self.bytes[column.offset : column.offset + column.width * self.rows]

    def _mapped(self, path: Path) -> Bytes:
        if sys.byteorder != "little":
            raise Fault("Columns are read on little-endian machines only.", suggestions=['Set engine = "duckdb".'])
        try:
            with path.open("rb") as file:
                return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
        except FileNotFoundError:
            raise self._fault("is missing") from None
        except (OSError, ValueError) as error:  # an empty file cannot be mapped
            raise self._fault(f"cannot be opened ({type(error).__name__})") from None

    def _index(self) -> dict[str, Any]:
        """What the file says of itself, from its end."""
        end = len(self.bytes) - len(_END) - _LENGTH.size
        if self.bytes[: len(_BEGIN)].tobytes() != _BEGIN:
            raise self._fault("is not a file of columns")
        if end < len(_BEGIN) or self.bytes[end + _LENGTH.size :].tobytes() != _END:
            raise self._fault("is cut off")
        length, crc = _LENGTH.unpack(self.bytes[end : end + _LENGTH.size].tobytes())
        text = self.bytes[max(end - length, 0) : end].tobytes()
        if zlib.crc32(text) != crc:
            raise self._fault("is damaged")
        index: dict[str, Any] = json.loads(text)
        if index["format"] != FORMAT:
            raise self._fault("was written by another version of Confide")
        return index

    def _fault(self, what: str) -> Fault:
        return Fault(f"The store {self._name} {what}. Ingest the data again.")
