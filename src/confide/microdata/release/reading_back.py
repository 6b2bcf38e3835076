"""Reading back what was written, byte by byte: a value that was taken out may not stand anywhere in the file."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pyarrow.types as pt

from confide.arrays import Ints
from confide.errors import Fault

__all__ = ["is_text", "read_back", "values_of"]

LONG = 8
"""Texts of so many bytes are looked for in the bytes of Parquet as they are. Shorter ones stand there by chance: of four
bytes and 500 texts, in a file of 200 MB some twenty times."""

SHORT = 4
"""Texts of so many bytes are looked for beside the columns, where a few kilobytes tell of the file; shorter ones are
parts of other words. As values of a column, texts of any length are looked for."""

SEARCHED = 500
"""So many texts are looked for at a time (0.6 seconds in 200 MB)."""

MOST = 10 * SEARCHED
"""So many long texts are looked for in all bytes of Parquet at the most."""


def read_back(partial: Path, kind: str, written: pa.Table, gone: Mapping[str, pa.Array]) -> None:
    """A Fault if the file is not what was to be written, or holds a text that is gone from its column.

    Looked at are the values, the dictionaries and the statistics as they are decoded, bytes that belong to no value, what
    stands beside the columns, and for longer texts all bytes of Parquet. All of these formats write text as UTF-8.
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
        if not _same(table[name], written[name], kind):
            yield f"column {name!r} has other values"
        if name in gone and len(gone[name]) and pc.any(pc.is_in(_listed(table[name]), gone[name])).as_py():
            yield f"column {name!r} still lists what was taken out"
        if kind == ".arrow" and (any(_beneath(chunk) for chunk in table[name].chunks) or _surplus(table[name].chunks)):
            yield f"column {name!r} has something beneath its missing values or beside its texts"
    if kind == ".parquet":
        yield from _statistics(partial, gone)
    yield from _bytes(partial, kind, written, gone)


def _read(partial: Path, kind: str, written: pa.Table) -> pa.Table:
    if kind == ".parquet":
        texts = [field.name for field in written.schema if is_text(field.type)]
        # pandas and Arrow would make an index of what they find in metadata; there is none
        return pq.read_table(partial, read_dictionary=texts)
    if kind == ".arrow":
        return pa.feather.read_table(partial)
    kinds = pa.csv.ConvertOptions(
        column_types={one.name: one.type if _is_number(one.type) else pa.string() for one in written.schema}
    )
    return pa.csv.read_csv(
        partial,
        convert_options=kinds,
        parse_options=pa.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
    )


def is_text(kind: pa.DataType) -> bool:
    """Whether a column holds text."""
    return bool(pt.is_string(kind) or pt.is_large_string(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pt.is_integer(kind) or pt.is_float32(kind) or pt.is_float64(kind))


def _same(found: pa.ChunkedArray, written: pa.ChunkedArray, kind: str) -> bool:
    """Whether a column has the values that were written; CSV knows no kinds but numbers, and nothing from an empty text."""
    if kind == ".csv" and not _is_number(written.type):
        return bool(pc.fill_null(_plain(written).cast(pa.string()), "").equals(pc.fill_null(found, "")))
    return bool(_plain(found).equals(_plain(written)))


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
        return bool(np.diff(_ends(array))[missing].any())
    if array.type.bit_width < 8 or array.buffers()[1] is None:
        return False
    size = array.type.bit_width // 8
    raw = np.frombuffer(array.buffers()[1], np.uint8)[array.offset * size : (array.offset + len(array)) * size]
    return bool(raw.reshape(-1, size)[missing].any())


def _surplus(chunks: Sequence[pa.Array]) -> bool:
    """Whether arrays have text that is none of their values.

    Arrow fills a part of a column up to 64 bytes with the beginning of the next, which is there as well.
    """
    following = b""
    for array in reversed([getattr(chunk, "dictionary", chunk) for chunk in chunks]):
        if not is_text(array.type) or not len(array):
            continue
        ends, text = _ends(array), array.buffers()[2] or pa.py_buffer(b"")
        if ends[0] or not following.startswith(bytes(text[ends[-1] :]).rstrip(b"\0")):
            return True
        following = (bytes(text[: min(64, ends[-1])]) + following)[:64]
    return False


def _ends(array: pa.Array) -> Ints:
    """Where each text begins, and where the last ends."""
    width = np.int64 if pt.is_large_string(array.type) else np.int32
    return np.frombuffer(array.buffers()[1], width)[array.offset : array.offset + len(array) + 1].astype(np.int64)


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


def _bytes(partial: Path, kind: str, written: pa.Table, gone: Mapping[str, pa.Array]) -> Iterator[str]:
    """Texts that are gone and stand in the bytes, though no value or name and no word of the format has them.

    A CSV has no bytes but those of its values and names, which are compared.
    """
    if kind == ".csv":
        return
    with pa.memory_map(str(partial)) as opened:
        raw = opened.read_buffer()
        beside = _beside_arrow(opened, raw) if kind == ".arrow" else _beside_parquet(raw)
        texts = _worth(gone)
        hits = _standing(beside, texts)
        if kind == ".parquet":
            hits += _anywhere(raw, texts.filter(pc.greater_equal(pc.binary_length(texts), LONG))[:MOST].to_pylist())
        own = _empty(written.schema, kind) if hits else b""
        if any(text.encode() not in own and not _explained(text, written) for text in hits):
            yield "its bytes hold what was taken out"


def _worth(gone: Mapping[str, pa.Array]) -> pa.Array:
    """Texts to look for: long enough, and with a letter (digits stand in other numbers)."""
    texts = pa.chunked_array(list(gone.values()), pa.string()).unique()
    texts = texts.filter(pc.greater_equal(pc.binary_length(texts), SHORT))
    return texts.filter(pc.match_substring_regex(texts, r"\pL"))


def _standing(beside: bytes, texts: pa.Array) -> list[str]:
    """The texts that stand in some bytes. Of a million texts few begin as any of the bytes do."""
    heads = pa.array({beside[first : first + SHORT] for first in range(len(beside))}, pa.binary())
    likely = texts.filter(pc.is_in(pc.binary_slice(texts.cast(pa.binary()), 0, SHORT), heads))
    return [text for text in likely.to_pylist() if text.encode() in beside]


def _beside_parquet(raw: pa.Buffer) -> bytes:
    """The end of the file, which tells of the columns: its length stands before the last word."""
    length = int.from_bytes(raw[raw.size - 8 : raw.size - 4], "little")
    return bytes(raw[raw.size - 8 - length :])


def _beside_arrow(opened: pa.MemoryMappedFile, raw: pa.Buffer) -> bytes:
    """All bytes that are no part of a column."""
    opened.seek(0)
    table = pa.ipc.open_file(opened).read_all()
    arrays = [chunk for column in table.columns for chunk in column.chunks]
    arrays += [array.dictionary for array in arrays if isinstance(array, pa.DictionaryArray)]
    buffers = [buffer for array in arrays for buffer in array.buffers() if buffer is not None]
    parts = sorted((buffer.address - raw.address, buffer.size) for buffer in buffers)
    ends = [0, *(first + size for first, size in parts)]
    return b"\0".join(
        bytes(raw[end:first]) for end, first in zip(ends, [*(p[0] for p in parts), raw.size], strict=True)
    )


def _anywhere(raw: pa.Buffer, texts: list[str]) -> Iterator[str]:
    ends = pa.py_buffer(np.array([0, raw.size], np.int64).tobytes())
    whole = pa.LargeBinaryArray.from_buffers(pa.large_binary(), 1, [None, ends, raw])
    for first in range(0, len(texts), SEARCHED):
        some = texts[first : first + SEARCHED]
        if pc.match_substring_regex(whole, "|".join(map(re.escape, some)))[0].as_py():
            yield from (text for text in some if pc.match_substring(whole, text)[0].as_py())


def _empty(schema: pa.Schema, kind: str) -> bytes:
    """A file of these columns without records: what the format itself says."""
    sink = pa.BufferOutputStream()
    if kind == ".parquet":
        pq.write_table(schema.empty_table(), sink)
    else:
        pa.feather.write_feather(schema.empty_table(), sink, compression="uncompressed")
    return bytes(sink.getvalue())


def _explained(text: str, written: pa.Table) -> bool:
    if any(text in name for name in written.column_names):
        return True
    texts = [field.name for field in written.schema if is_text(field.type) or pt.is_dictionary(field.type)]
    return any(pc.any(pc.match_substring(values_of(written[name]), text)).as_py() for name in texts)
