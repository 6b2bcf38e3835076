"""Which format a file has, by how its name ends."""

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from confide.data.replacing import replacing
from confide.errors import Mistake
from confide.tables.files.jj import write_jj
from confide.tables.files.tab import write_tab
from confide.tables.table.table import Table

__all__ = [
    "FRAMES",
    "WORKING",
    "check_published",
    "check_target",
    "ending",
    "write_csv",
    "write_frame",
    "write_published",
    "write_working",
]

WORKING = (".tab", ".jj")
"""Endings of files that hold tables with their true values."""


def ending(path: str | Path) -> str:
    """How a file's name ends, without the sign that it is compressed.

    >>> ending("tables/Turnover.CSV.gz")
    '.csv'
    """
    return Path(str(path).lower().removesuffix(".gz")).suffix


def check_target(path: str | Path, *kinds: str) -> None:
    """A `Mistake` where a file cannot be written, before the work of making it begins."""
    path = Path(path)
    if path.suffix.lower() not in kinds:
        raise Mistake(f"Cannot write {path.name!r}.", suggestions=[f"Known endings: {', '.join(kinds)}."])
    if not path.parent.is_dir():
        raise Mistake(f"{str(path)!r} cannot be written (no such folder).")


def write_frame(frame: pa.Table, path: str | Path) -> None:
    """Write a frame as CSV, Parquet or Arrow."""
    check_target(path, *FRAMES)
    try:
        with replacing(path) as file:
            FRAMES[Path(path).suffix.lower()](frame, file)
    except OSError as error:
        raise Mistake(f"{str(path)!r} cannot be written ({error.strerror or 'no such folder'}).") from None


def write_published(table: Table, path: str | Path) -> None:
    """Write what others may see of a table."""
    check_published(path)
    write_frame(table.published(), path)


def check_published(path: str | Path) -> None:
    """A `Mistake` where a file cannot hold what others may see, and only that."""
    if ending(path) in WORKING:
        raise Mistake(
            f"{Path(path).name} would have the true values of suppressed cells in it.",
            suggestions=["Publish a .csv, .parquet or .arrow file; keep this one with --working."],
        )
    check_target(path, *FRAMES)


def write_working(table: Table, path: str | Path) -> None:
    """Write all that is known of a table, true values too: for τ-ARGUS (.tab), as a JJ instance, or as a frame."""
    if ending(path) == ".tab":
        write_tab(table, path)
    elif ending(path) == ".jj":
        write_jj(table, path)
    else:
        write_frame(table.to_arrow(), path)


def write_csv(frame: pa.Table, target: Any) -> None:
    """Write a frame as CSV, to a file or to something that takes bytes."""
    if isinstance(target, str | Path):
        with open(target, "wb") as file:
            write_csv(frame, file)
        return
    flat = [pa.string() if pa.types.is_dictionary(field.type) else field.type for field in frame.schema]
    plain = frame.cast(pa.schema(list(zip(frame.column_names, flat, strict=True))))
    # Arrow would put the names in quotes whether they need them or not.
    head = io.StringIO(newline="")
    csv.writer(head, lineterminator="\n").writerow(plain.column_names)
    target.write(head.getvalue().encode())
    pa.csv.write_csv(plain, target, pa.csv.WriteOptions(include_header=False, quoting_style="needed"))


FRAMES: dict[str, Callable[[pa.Table, Any], None]] = {
    ".csv": write_csv,
    ".parquet": pa.parquet.write_table,
    ".arrow": pa.feather.write_feather,
}
"""How frames are written, by the ending."""
