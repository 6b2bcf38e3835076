"""Drafting `dataset.toml` from a data file: a start that works, for the custodian to read and mend.

A draft lists the codes it saw. What is published is what the file declares, so complete the lists where classes are missing.
"""

import json
import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from confide.errors import Mistake
from confide.queries.cutpoints import minimum_width
from confide.site.sources import Source

__all__ = ["draft_dataset"]

FEW = 12
"""A number with at most so many different values is drafted as categorical."""

MANY = 1000
"""A text with more different values than this is drafted as an identifier."""

_UNIT = re.compile(r"(^|_)(id|pid|key|ident|identifier)$", re.IGNORECASE)
_WEIGHT = re.compile(r"^(w|weight|wgt|wt|pweight|.*_(weight|wgt))$", re.IGNORECASE)


@dataclass(frozen=True)
class _Column:
    """A column as the draft sees it: numbers if it is numeric, and its different values as text."""

    name: str
    numbers: NDArray[np.float64] | None
    places: NDArray[np.int64]
    values: list[str]
    missing: int
    labels: dict[str, str]

    @property
    def categorical(self) -> bool:
        return bool(self.labels) or (len(self.values) <= (FEW if self.numbers is not None else MANY))


def draft_dataset(source: Source, *, name: str) -> str:
    """The text of a `dataset.toml` for the data."""
    columns = [_column(n, source) for n in source.table.column_names]
    rows = source.table.num_rows
    weight = next((c.name for c in columns if c.numbers is not None and _WEIGHT.match(c.name)), None)
    unit = next((c.name for c in columns if _UNIT.search(c.name) and not c.missing), None)
    described = [c for c in columns if c.name not in (weight, unit)]
    parents = _parents([c for c in described if c.categorical and len(c.values) > 1], rows)
    lines = [
        "# Drafted from the data. Read it through: what stands here is public.",
        f"title = {_text(name)}",
        'source = ""',
        'period = ""',
        f"unit = {_text(unit)}" if unit else '# unit = "..."   # the column that names whom a record is about',
        f"weight = {_text(weight)}" if weight else '# weight = "..."   # the column of survey weights',
    ]
    if weight:
        [column] = [c for c in columns if c.name == weight]
        lines.append(f"weight_decimals = {_decimals(column.numbers, most=6)}")
    for column in columns:
        if column.name not in (weight,):
            lines += ["", *_section(column, source, parents, identifier=column.name == unit)]
    return "\n".join(lines) + "\n"


def _column(name: str, source: Source) -> _Column:
    column = source.table[name]
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    missing = column.null_count
    numbers = _numbers(column)
    texts = pc.utf8_trim_whitespace(_whole(column).cast(pa.string())).combine_chunks()
    coded = texts.dictionary_encode() if not isinstance(texts, pa.ChunkedArray) else texts.chunk(0).dictionary_encode()
    values = [str(value) for value in coded.dictionary.to_pylist()]
    order = sorted(range(len(values)), key=lambda i: _key(values[i]))
    rank = np.empty(len(values) + 1, dtype=np.int64)
    rank[order] = np.arange(len(values))
    rank[-1] = len(values)
    places = rank[pc.fill_null(coded.indices, len(values)).to_numpy(zero_copy_only=False)]
    return _Column(name, numbers, places, [values[i] for i in order], missing, dict(source.value_labels.get(name, {})))


def _whole(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_floating(column.type) and pc.all(pc.equal(pc.floor(column), column)).as_py():
        return column.cast(pa.int64())
    return column


def _key(value: str) -> tuple[int, float, str]:
    try:
        return (0, float(value), value)
    except ValueError:
        return (1, 0.0, value)


def _numbers(column: pa.ChunkedArray) -> NDArray[np.float64] | None:
    """The values that are there, if they are all numbers written without leading zeros."""
    if pa.types.is_boolean(column.type) or pa.types.is_temporal(column.type) or column.null_count == len(column):
        return None
    text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if text and pc.any(pc.match_substring_regex(column, r"^\s*0\d")).as_py():
        return None
    try:
        return np.asarray(column.drop_null().cast(pa.float64()).to_numpy(), dtype=np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _decimals(numbers: NDArray[np.float64] | None, *, most: int) -> int:
    assert numbers is not None
    for decimals in range(most):
        scaled = numbers * 10.0**decimals
        if (np.abs(scaled - np.rint(scaled)) <= 1e-6 * np.maximum(1, np.abs(scaled))).all():
            return decimals
    return most


def _parents(columns: list[_Column], rows: int) -> dict[str, tuple[str, dict[str, str]]]:
    """For each column, the finest other column that it determines: its next coarser level."""
    found = {}
    for fine in columns:
        if len(fine.values) > rows / 20 or len(fine.values) < 5:
            continue
        coarser = [c for c in columns if 1 < len(c.values) < len(fine.values) and not c.missing and not fine.missing]
        for coarse in sorted(coarser, key=lambda c: -len(c.values)):
            pairs = np.unique(fine.places * (len(coarse.values) + 1) + coarse.places)
            if len(pairs) == len(fine.values):
                up = {
                    fine.values[p // (len(coarse.values) + 1)]: coarse.values[p % (len(coarse.values) + 1)]
                    for p in pairs
                }
                found[fine.name] = (coarse.name, up)
                break
    return found


def _section(
    column: _Column, source: Source, parents: dict[str, tuple[str, dict[str, str]]], *, identifier: bool
) -> list[str]:
    head = [f"[variables.{_text(column.name)}]", f"label = {_text(source.labels.get(column.name, column.name))}"]
    if identifier or (column.numbers is None and not column.categorical):
        return [*head, 'kind = "categorical"', 'role = "identifier"   # never shown, never asked for']
    if column.categorical:
        return [*head, *_categories(column, parents)]
    return [*head, *_number(column)]


def _categories(column: _Column, parents: dict[str, tuple[str, dict[str, str]]]) -> list[str]:
    lines = ['kind = "categorical"', 'role = "key"   # identifier, key, confidential or other']
    parent, up = parents.get(column.name, (None, {}))
    if parent:
        lines.append(f"parent = {_text(parent)}   # every code lies within one code of it")
    if column.missing:
        lines.append('missing = ["NA"]')
    codes = dict.fromkeys([*column.labels, *column.values])
    if not codes:
        raise Mistake(f"Column {column.name!r} has no values at all. Leave it out of the data.")
    lines.append(f"[variables.{_text(column.name)}.codes]")
    for code in codes:
        label = column.labels.get(code, code)
        entry = f"{{ label = {_text(label)}, parent = {_text(up[code])} }}" if code in up else _text(label)
        lines.append(f"{_text(code)} = {entry}")
    return lines


def _number(column: _Column) -> list[str]:
    numbers = column.numbers
    assert numbers is not None
    decimals = _decimals(numbers, most=4)
    lines = ['kind = "numeric"', 'role = "confidential"', f"decimals = {decimals}"]
    if (numbers >= 0).all():
        lines.append("minimum = 0")
    if column.missing:
        lines.append('missing = [""]')
    cuts = _nice_cutpoints(numbers, decimals)
    if cuts:
        lines.append(f"cutpoints = {json.dumps(cuts)}")
    return lines


def _nice_cutpoints(numbers: NDArray[np.float64], decimals: int) -> list[float]:
    """Cutpoints with about a tenth of the records between them, at round numbers."""
    if len(numbers) < 100:
        return []
    cuts = minimum_width(numbers, minimum=max(30, len(numbers) // 10)).cutpoints
    exponents = [np.floor(np.log10(abs(c))) if c else 0 for c in cuts]
    rounded = [
        round(float(c), int(max(-e + 1, 0)) if e < 1 else int(1 - e)) for c, e in zip(cuts, exponents, strict=True)
    ]
    low = 0.0 if (numbers >= 0).all() else -np.inf
    exact = sorted({round(c, decimals) for c in rounded if c > low})
    return [int(c) if c == int(c) else c for c in exact]


def _text(text: str | None) -> str:
    """A TOML string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
