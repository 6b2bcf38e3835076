"""Columns of text that hold numbers, for files whose columns nobody has described."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["blanked", "not_numbers", "read_numbers"]

NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$"
"""What is written like this is a number."""

LEADING_ZERO = r"^[+-]?0\d"
"""What is written like this is a code, as 007 is."""


def blanked(column: pa.ChunkedArray, missing: Sequence[str]) -> pa.ChunkedArray:
    """A column of text without the words that mean missing; other columns as they are."""
    if not missing or not pa.types.is_string(column.type):
        return column
    return pc.if_else(pc.is_in(column, pa.array(list(missing), pa.string())), None, column)


def not_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """What in a column of text is no number."""
    fits = pc.match_substring_regex(pc.utf8_trim_whitespace(column), NUMBER)
    return column.filter(pc.invert(pc.fill_null(fits, True)))


def read_numbers(column: pa.ChunkedArray, *, codes: bool) -> pa.ChunkedArray:
    """A column of text that is numbers as numbers. Where it may hold `codes`, one with leading zeros stays text.

    >>> read_numbers(pa.chunked_array([["1", "+2", None]]), codes=True).to_pylist()
    [1, 2, None]
    >>> read_numbers(pa.chunked_array([["007"]]), codes=True).to_pylist()
    ['007']
    """
    text = pc.utf8_trim_whitespace(column)
    if codes and pc.any(pc.match_substring_regex(text, LEADING_ZERO)).as_py():
        return column
    bare = pc.replace_substring_regex(text, r"^\+", "")
    try:
        return bare.cast(pa.int64())
    except pa.ArrowInvalid:
        return bare.cast(pa.float64())
