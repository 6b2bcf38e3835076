"""A release, of a table or of a model, as tidy CSV (RFC 4180 quoting, lines end in a newline)."""

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from confide.formats.about import NOT_APPLICABLE, marks, shown
from confide.formats.tidy import column_names, label_names, measure_names, places
from confide.model.model_release import ModelRelease, Value
from confide.model.release import Column, Release

__all__ = ["write_csv", "write_model_csv"]

NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
FORMULA = tuple("=+-@\t\r\n＝＋－＠")
"""First characters (full-width ones too) after which a spreadsheet may read a formula."""


def write_csv(release: Release) -> str:
    """Give one row a cell, margins included: code and label of each dimension, value and noise of each measure.

    Promise: a withheld number shows as its mark, such as [c]; no text can be taken for a formula.
    """
    labels = label_names(release)
    names = measure_names(release, taken=labels).values()
    header = [name for d, label in zip(release.dimensions, labels, strict=True) for name in (d.name, label)]
    header += [name for measure in names for name in (measure.value, measure.noise)]
    columns = [*_dimensions(release), *(texts for c in release.columns.values() for texts in _measure(c))]
    lines = [",".join(map(_field, header)), *map(",".join, zip(*columns, strict=True))]
    return "\n".join(lines) + "\n"


def write_model_csv(release: ModelRelease[Any]) -> str:
    """Give all grids one under the other: the first column, `table`, names the grid, then come the columns of all.

    Promise: a number that does not apply shows as [z]; a field is empty only where its grid has no such column.
    """
    named = {name: column_names(grid, taken=("table",)) for name, grid in release.grids.items()}
    header = dict.fromkeys(["table", *(column for columns in named.values() for column in columns)])
    lines = [",".join(map(_field, header))]
    for name, grid in release.grids.items():
        for row in grid.rows:
            cells = {"table": _field(name), **dict(zip(named[name], map(_value, row), strict=True))}
            lines.append(",".join(cells.get(column, "") for column in header))
    return "\n".join(lines) + "\n"


def _value(value: Value) -> str:
    if value is None:
        return NOT_APPLICABLE
    return _field(value) if isinstance(value, str) else repr(value)


def _dimensions(release: Release) -> Iterator[Sequence[str]]:
    for dimension, place in zip(release.dimensions, places(release), strict=True):
        for names in (dimension.codes, dimension.labels):
            fields = [_field(name) for name in names]
            yield [fields[p] for p in place.tolist()]


def _measure(column: Column) -> tuple[Sequence[str], Sequence[str]]:
    cells = zip(column.values.ravel().tolist(), marks(column).ravel().tolist(), strict=True)
    values = [shown(value, mark, column.decimals, thousands="") for value, mark in cells]
    return values, ["" if math.isnan(sd) else f"{sd:.6g}" for sd in column.noise.ravel().tolist()]


def _field(text: str) -> str:
    """Quote and defuse one text. A text that is just a number, such as the code -9, is left alone.

    Python's csv writer would leave a lone carriage return unquoted when lines end in a newline.

    >>> [_field(text) for text in ("=1+1", "a,b", "-9")]
    ["'=1+1", '"a,b"', '-9']
    """
    if text.startswith(FORMULA) and not NUMBER.fullmatch(text):
        text = f"'{text}"
    return '"' + text.replace('"', '""') + '"' if re.search('[",\r\n]', text) else text
