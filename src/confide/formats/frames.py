"""A release as a frame of pandas or polars: one row a cell, or wide as it lies on paper."""

from collections.abc import Sequence
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from confide.errors import Mistake
from confide.formats.arrow import to_arrow
from confide.formats.tidy import measure_names
from confide.model.release import Dimension, Release

__all__ = ["labelled", "library", "to_pandas", "to_polars", "to_wide"]


def library(name: str, *, needed: str, install: str = "") -> Any:
    """A library that is no part of Confide, or a Mistake that says how to come by it."""
    try:
        return import_module(name)
    except ImportError:
        raise Mistake(
            f"{needed} needs {name}, which is not installed: pip install {install or name}.",
            suggestions=["Without it there are .to_arrow(), .to_csv(), .to_json() and .to_xlsx()."],
        ) from None


def to_pandas(table: pa.Table) -> Any:
    """An Arrow table as a pandas frame."""
    library("pandas", needed=".to_pandas()")
    return table.to_pandas()


def to_polars(table: pa.Table) -> Any:
    """An Arrow table as a polars frame."""
    return library("polars", needed=".to_polars()").from_arrow(table)


def labelled(release: Release) -> pa.Table:
    """Give one row a cell as `to_arrow` does, with labels for codes."""
    table = to_arrow(release)
    for place, dimension in enumerate(release.dimensions):
        told = pa.DictionaryArray.from_arrays(
            table[dimension.name].combine_chunks().indices, pa.array(_told(dimension))
        )
        table = table.set_column(place, dimension.name, told)
    return table


def to_wide(release: Release, *, labels: bool) -> Any:
    """Give the table as it lies on paper: rows down, columns and then measures across, totals last; what is withheld is NaN."""
    pandas = library("pandas", needed=".to_pandas()")
    count = len(release.request.rows) or len(release.dimensions)
    down, across = release.dimensions[:count], release.dimensions[count:]
    names = [names.value for names in measure_names(release).values()]
    rows, leaves = (list(product(*(_told(d) if labels else d.codes for d in side))) for side in (down, across))
    columns = list(release.columns.values())
    values = np.stack([column.values for column in columns], axis=-1).reshape(len(rows), -1)
    whole = [column.decimals == 0 for column in columns] * len(leaves)
    heads = [(*leaf, name) for leaf in leaves for name in names]
    several = len(names) > 1 or not across
    cells = {place: _numbers(values[:, place], whole=whole[place]) for place in range(len(heads))}
    frame = pandas.DataFrame(cells)
    frame.index = _index(pandas, rows, [_title(d, labels=labels) for d in down])
    titles = [*(_title(d, labels=labels) for d in across), *(["measure"] if several else [])]
    frame.columns = _index(pandas, [head if several else head[:-1] for head in heads], titles)
    return frame


def _numbers(values: Any, *, whole: bool) -> Any:
    return values.astype(np.int64) if whole and np.isfinite(values).all() else values


def _index(pandas: Any, entries: Sequence[tuple[str, ...]], names: Sequence[str]) -> Any:
    if len(names) == 1:
        return pandas.Index([entry[0] for entry in entries], name=names[0])
    return pandas.MultiIndex.from_tuples(entries, names=names)


def _title(dimension: Dimension, *, labels: bool) -> str:
    return dimension.label if labels and dimension.label else dimension.name


def _told(dimension: Dimension) -> list[str]:
    """Labels, with codes beside those that two classes have."""
    pairs = zip(dimension.codes, dimension.labels, strict=True)
    return [
        label if label and dimension.labels.count(label) == 1 else f"{label} ({code})".strip() for code, label in pairs
    ]
