"""Writing frames to files: CSV, Parquet or Arrow, by how the name ends."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather
import pyarrow.parquet

from confide.data.replacing import replacing
from confide.errors import Mistake

__all__ = ["FRAMES", "check_target", "csv_bytes", "write_frame"]

ROWS = 1 << 16
"""So many rows are made into text at a time."""


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


def csv_bytes(frame: pa.Table) -> bytes:
    """A frame as CSV: a line of names, a line a row, quotes only around what needs them (RFC 4180); missing is empty.

    >>> csv_bytes(pa.table({"code": ["007", "a,b", None], "n": [1.0, 2.5, 3.0]}))
    b'code,n\\n007,1\\n"a,b",2.5\\n,3\\n'
    """
    return b"".join(_pieces(frame))


def _pieces(frame: pa.Table) -> Iterator[bytes]:
    yield _lines([pa.array([name], pa.string()) for name in frame.column_names])
    for batch in frame.to_batches(max_chunksize=ROWS):
        yield _lines(batch.columns)


def _lines(columns: Sequence[pa.Array]) -> bytes:
    fields = [_fields(column) for column in columns]
    lines = pc.binary_join_element_wise(*fields, ",", null_handling="replace", null_replacement="")
    # The texts of an array lie one after the other in its last buffer.
    return bytes(pc.binary_join_element_wise(lines, "\n", "").buffers()[2])


def _fields(column: pa.Array) -> pa.Array:
    """Values as text, in quotes where they hold a comma, a quote or a line break; Arrow would quote all text or none."""
    text = column.cast(pa.string())
    unsafe = pc.match_substring_regex(text, '[",\r\n]')
    if not pc.any(unsafe).as_py():
        return text
    quoted = pc.binary_join_element_wise('"', pc.replace_substring(text, '"', '""'), '"', "")
    return pc.if_else(unsafe, quoted, text)


def _write_csv(frame: pa.Table, path: Path) -> None:
    with path.open("wb") as file:
        file.writelines(_pieces(frame))


def _write_arrow(frame: pa.Table, path: Path) -> None:
    """Not compressed, so that every reader of Arrow can map it into memory."""
    pa.feather.write_feather(frame, str(path), compression="uncompressed")


FRAMES: dict[str, Callable[[pa.Table, Any], None]] = {
    ".csv": _write_csv,
    ".parquet": pa.parquet.write_table,
    ".arrow": _write_arrow,
}
"""How frames are written, by the ending."""
