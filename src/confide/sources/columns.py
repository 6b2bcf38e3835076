"""A column of a data file as codes or as numbers, read the same way wherever it is looked at."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from confide.arrays import Floats, Ints
from confide.errors import Mistake

__all__ = [
    "LEADING_ZERO",
    "Distinct",
    "Typed",
    "blanked",
    "distinct",
    "each_text",
    "few_whole_numbers",
    "fits",
    "numbers",
    "texts",
    "typed",
]

NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$"
"""What is written like this is a number."""

LEADING_ZERO = r"^[+-]?0\d"
"""What is written like this is a code, as 007 is."""


FEW = 12
"""Codes are rarely more than this many where somebody took them for numbers; amounts rarely so few."""


@dataclass(frozen=True)
class Distinct:
    """The different values of a column, and where each record's stands among them (-1 where there is none)."""

    values: pa.Array
    places: Ints


def distinct(name: str, column: pa.ChunkedArray) -> Distinct:
    """The different values of a column; lists and other nested columns are a Mistake."""
    column = _readable(column)
    try:
        coded = column.unify_dictionaries() if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        raise Mistake(f"Column {name!r} holds {column.type}, neither codes nor numbers.") from None
    if not coded.num_chunks:
        return Distinct(pa.array([], pa.string()), np.empty(0, np.int64))
    indices = [
        pc.fill_null(chunk.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False) for chunk in coded.chunks
    ]
    # The last dictionary has every value: encoding extends it from chunk to chunk, unifying makes all the same.
    return Distinct(coded.chunks[-1].dictionary, np.concatenate(indices))


def each_text(name: str, column: pa.ChunkedArray) -> pa.StringArray:
    """The values of a column as codes, one for each record: for those that are nearly all different."""
    parts = [
        texts(name, chunk.dictionary).take(chunk.indices) if pa.types.is_dictionary(chunk.type) else texts(name, chunk)
        for chunk in _readable(column).chunks
    ]
    return pa.concat_arrays([pa.array([], pa.string()), *(part.cast(pa.string()) for part in parts)])


def _readable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column in a type that can be read as text and coded."""
    if pa.types.is_string_view(column.type) or pa.types.is_null(column.type):
        return column.cast(pa.string())
    return column.cast(pa.float32()) if pa.types.is_float16(column.type) else column


def texts(name: str, values: pa.Array) -> pa.StringArray:
    """Values as codes: whole numbers without a decimal point, no spaces around; what is empty or NaN is missing.

    >>> texts("x", pa.array([1.0, 2.5, float("nan")])).to_pylist()
    ['1', '2.5', None]
    """
    try:
        if pa.types.is_floating(values.type):
            values = pc.if_else(pc.is_nan(values), None, pc.add(values, pa.scalar(0, values.type)))
        text = values.cast(pa.string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        raise Mistake(f"Column {name!r} holds {values.type}, neither codes nor numbers.") from None
    if pa.types.is_floating(values.type) or pa.types.is_decimal(values.type):
        text = pc.replace_substring_regex(text, r"(\.\d*?)0+$", r"\1")
        text = pc.replace_substring_regex(text, r"\.$", "")
    text = pc.utf8_trim_whitespace(text)
    return pc.if_else(pc.equal(text, ""), None, text)


def numbers(values: pa.Array) -> tuple[Floats, list[str]] | None:
    """Values as floats, NaN where missing, and the texts among them that are no numbers; None if they are dates or the like.

    >>> numbers(pa.array(["1.5", " 2 ", "none"]))
    (array([1.5, 2. , nan]), ['none'])
    """
    if pa.types.is_temporal(values.type) or pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type):
        return None
    others: list[str] = []
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        text = pc.utf8_trim_whitespace(values)
        fits = pc.match_substring_regex(text, NUMBER)
        others = [t for t in pc.filter(text, pc.invert(pc.fill_null(fits, True))).to_pylist() if t]
        values = pc.if_else(fits, text, pa.scalar(None, text.type))
    try:
        read = values.cast(pa.float64(), safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return np.array(read.to_numpy(zero_copy_only=False), dtype=np.float64), others


@dataclass(frozen=True)
class Typed:
    """A column as what it holds, and what in it is text and no number."""

    column: pa.ChunkedArray
    others: pa.ChunkedArray


def typed(column: pa.ChunkedArray, *, amounts: bool = False) -> Typed:
    """A column of text as numbers, if every value is one.

    With leading zeros, or without any value, it stays text, unless these are `amounts`.

    >>> typed(pa.chunked_array([["1", "+2", None]])).column.to_pylist()
    [1, 2, None]
    >>> typed(pa.chunked_array([["007"]])).column.to_pylist()
    ['007']
    """
    if not pa.types.is_string(column.type):
        return Typed(column, pa.chunked_array([], pa.string()))
    text = pc.utf8_trim_whitespace(column)
    others = column.filter(pc.invert(pc.fill_null(pc.match_substring_regex(text, NUMBER), True)))
    coded = not amounts and pc.any(pc.match_substring_regex(text, LEADING_ZERO)).as_py()
    if column.null_count == len(column):
        return Typed(column.cast(pa.float64()) if amounts else column, others)
    if len(others) or coded:
        return Typed(column, others)
    bare = pc.replace_substring_regex(text, r"^\+", "")
    try:
        return Typed(bare.cast(pa.int64()), others)
    except pa.ArrowInvalid:
        return Typed(bare.cast(pa.float64()), others)


def few_whole_numbers(column: pa.ChunkedArray) -> int:
    """How many different whole numbers a column holds, if so few that they may be codes; else 0.

    >>> few_whole_numbers(pa.chunked_array([[1, 2] * 10])), few_whole_numbers(pa.chunked_array([[1, 2, 3]]))
    (2, 0)
    """
    if not pa.types.is_integer(column.type):
        return 0
    values = len(pc.unique(column.drop_null()))
    return values if 0 < values <= FEW and len(column) - column.null_count >= 10 * values else 0


def blanked(column: pa.ChunkedArray, missing: Sequence[str]) -> pa.ChunkedArray:
    """A column of text without the words that mean missing; other columns as they are."""
    if not missing or not pa.types.is_string(column.type):
        return column
    return pc.if_else(pc.is_in(column, pa.array(list(missing), pa.string())), None, column)


def fits(values: Floats, decimals: int) -> bool:
    """Whether so many decimals write the values to within a millionth of themselves, or of what is usual where they are small.

    >>> fits(np.array([0.1, 0.25]), 1), fits(np.array([0.1, 0.25]), 2)
    (False, True)
    """
    scaled = np.abs(values) * 10.0**decimals
    usual = min(1.0, float(scaled.mean())) if len(scaled) else 1.0
    return bool((np.abs(scaled - np.rint(scaled)) <= 1e-6 * np.maximum(scaled, usual)).all())
