"""A Delta table on a disk as microdata, in its newest version."""

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from confide.errors import Mistake
from confide.sources.origin import Origin
from confide.sources.source import Source

if TYPE_CHECKING:
    from deltalake import DeltaTable

__all__ = ["delta_origin", "read_delta"]


def read_delta(folder: Path) -> Source:
    """The records of a table and which version of it they are; a Mistake if the extra 'delta' is not there, or the table is none."""
    table, origin = _opened(folder)
    from deltalake import QueryBuilder
    from deltalake.exceptions import DeltaError

    try:
        # Not `to_pyarrow_table`: it ends the process now and then where a file is missing.
        read = pa.table(QueryBuilder().register("records", table).execute("SELECT * FROM records"))
    except (DeltaError, pa.ArrowException) as error:
        raise _unread(folder, error) from None
    plain = [pa.string() if pa.types.is_string_view(kind) else kind for kind in read.schema.types]
    return Source(read.cast(pa.schema(zip(read.column_names, plain, strict=True))), origin=origin)


def delta_origin(folder: Path) -> Origin:
    """What a table is now; none of its records are looked at."""
    return _opened(folder)[1]


def _opened(folder: Path) -> "tuple[DeltaTable, Origin]":
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError
    except ImportError:
        hint = "pip install 'confide[delta]'"
        raise Mistake("To read a Delta table, the extra 'delta' is needed.", suggestions=[hint]) from None
    try:
        table = DeltaTable(str(folder.resolve()))
        return table, Origin(str(folder.resolve()), "", f"{table.metadata().id} {table.version()}")
    except DeltaError as error:
        raise _unread(folder, error) from None


def _unread(folder: Path, error: Exception) -> Mistake:
    hint = "Look at the table with whatever wrote it, or give a folder of Parquet files."
    return Mistake(f"{folder.name} cannot be read as a Delta table ({type(error).__name__}).", suggestions=[hint])
