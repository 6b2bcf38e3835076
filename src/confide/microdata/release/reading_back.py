"""Reading back what was written, byte by byte: a value that was taken out may not stand anywhere in the file."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pyarrow.types as pt

from confide.errors import Fault

__all__ = ["is_text", "read_back", "values_of"]

LONG = 8
"""Texts of so many bytes are looked for in the bytes as they are. Shorter ones stand there by chance: of four bytes and 500
texts, in a file of 200 MB some twenty times."""

SEARCHED = 500
"""So many texts are looked for at a time (0.6 seconds in 200 MB), and 10 times so many at the most."""


def read_back(partial: Path, kind: str, written: pa.Table, gone: Mapping[str, pa.Array]) -> None:
    """A Fault if the file is not what was to be written, or holds a text that is gone from its column.

    Looked at are the values, the dictionaries and the statistics as they are decoded, what is beneath missing values, the
    metadata, and for longer texts all bytes.
    """
    for complaint in _complaints(partial, kind, written, gone):
        raise Fault(f"The file was read back, and {complaint}. It is not released.")


def _complaints(partial: Path, kind: str, written: pa.Table, gone: Mapping[str, pa.Array]) -> Iterator[str]:
    table = _read(partial, kind, written)
    if table.column_names != written.column_names or table.num_rows != written.num_rows:
        yield "it has other columns or records"
    if table.schema.metadata or any(field.metadata for field in table.schema):
        yield "it has metadata"
    for name in written.column_names:
        if kind != ".csv" and not _plain(table[name]).equals(_plain(written[name])):
            yield f"column {name!r} has other values"
        if name in gone and len(gone[name]) and pc.any(pc.is_in(_listed(table[name]), gone[name])).as_py():
            yield f"column {name!r} still lists what was taken out"
        if kind == ".arrow" and any(_beneath(chunk) for chunk in table[name].chunks):
            yield f"column {name!r} has something beneath its missing values"
    if kind == ".parquet":
        yield from _statistics(partial, gone)
    yield from _bytes(partial, written, gone)


def _read(partial: Path, kind: str, written: pa.Table) -> pa.Table:
    if kind == ".parquet":
        texts = [field.name for field in written.schema if is_text(field.type)]
        # pandas and Arrow would make an index of what they find in metadata; there is none
        return pq.read_table(partial, read_dictionary=texts)
    if kind == ".arrow":
        return pa.feather.read_table(partial)
    kinds = pa.csv.ConvertOptions(column_types=dict.fromkeys(written.column_names, pa.string()))
    return pa.csv.read_csv(
        partial,
        convert_options=kinds,
        parse_options=pa.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
    )


def is_text(kind: pa.DataType) -> bool:
    """Whether a column holds text."""
    return bool(pt.is_string(kind) or pt.is_large_string(kind))


def values_of(column: pa.ChunkedArray) -> pa.Array:
    """The different values that records have, as text."""
    found = _plain(column.unique() if not pt.is_dictionary(column.type) else column).unique()
    return found.drop_null().cast(pa.string())


def _plain(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """A column without a dictionary, and its text as one kind of text: Parquet knows no other."""
    column = column.cast(column.type.value_type) if pt.is_dictionary(column.type) else column
    return column.cast(pa.large_string()) if pt.is_string(column.type) else column


def _listed(column: pa.ChunkedArray) -> pa.Array:
    """All values that a column lists, whether a record has them or not."""
    if not pt.is_dictionary(column.type):
        return values_of(column)
    return pa.chunked_array([chunk.dictionary for chunk in column.chunks], column.type.value_type).cast(pa.string())


def _beneath(array: pa.Array) -> bool:
    """Whether an array has bytes where its values are missing."""
    array = array.indices if isinstance(array, pa.DictionaryArray) else array
    if not array.null_count:
        return False
    missing = ~array.is_valid().to_numpy(zero_copy_only=False)
    if is_text(array.type):
        width = np.int64 if pt.is_large_string(array.type) else np.int32
        ends = np.frombuffer(array.buffers()[1], width)[array.offset : array.offset + len(array) + 1]
        return bool(np.diff(ends)[missing].any())
    if array.type.bit_width < 8 or array.buffers()[1] is None:
        return False
    size = array.type.bit_width // 8
    raw = np.frombuffer(array.buffers()[1], np.uint8)[array.offset * size : (array.offset + len(array)) * size]
    return bool(raw.reshape(-1, size)[missing].any())


def _statistics(partial: Path, gone: Mapping[str, pa.Array]) -> Iterator[str]:
    """Parquet tells the least and the largest value of every column and part."""
    with pq.ParquetFile(partial) as file:
        about, names = file.metadata, file.schema_arrow.names
        if set(about.metadata or {}) - {b"ARROW:schema"}:
            yield "it has metadata"
        for part in range(about.num_row_groups):
            for place, name in enumerate(names):
                found = about.row_group(part).column(place).statistics
                ends = [str(found.min), str(found.max)] if found is not None and found.has_min_max else []
                if name in gone and pc.any(pc.is_in(pa.array(ends, pa.string()), gone[name])).as_py():
                    yield f"the statistics of column {name!r} tell what was taken out"


def _bytes(partial: Path, written: pa.Table, gone: Mapping[str, pa.Array]) -> Iterator[str]:
    """Texts that are gone and stand somewhere in the bytes, though no value or name that is there has them."""
    texts = sorted({text for values in gone.values() for text in _long(values)})[: 10 * SEARCHED]
    if not texts or not partial.stat().st_size:
        return
    with pa.memory_map(str(partial)) as opened:
        raw = opened.read_buffer()
        ends = pa.py_buffer(np.array([0, raw.size], np.int64).tobytes())
        whole = pa.LargeBinaryArray.from_buffers(pa.large_binary(), 1, [None, ends, raw])
        for first in range(0, len(texts), SEARCHED):
            some = texts[first : first + SEARCHED]
            if pc.match_substring_regex(whole, "|".join(map(re.escape, some)))[0].as_py():
                hits = [text for text in some if pc.match_substring(whole, text)[0].as_py()]
                if any(not _explained(text, written) for text in hits):
                    yield "its bytes hold what was taken out"


def _long(values: pa.Array) -> list[str]:
    """Those to look for: long, with a letter (digits stand in other numbers), and of one byte a character."""
    fit = pc.and_(pc.greater_equal(pc.binary_length(values), LONG), pc.string_is_ascii(values))
    fit = pc.and_(fit, pc.match_substring_regex(values, "[A-Za-z]"))
    found: list[str] = values.filter(fit)[: 10 * SEARCHED].to_pylist()
    return found


def _explained(text: str, written: pa.Table) -> bool:
    if any(text in name for name in written.column_names):
        return True
    texts = [field.name for field in written.schema if is_text(field.type) or pt.is_dictionary(field.type)]
    return any(pc.any(pc.match_substring(values_of(written[name]), text)).as_py() for name in texts)
