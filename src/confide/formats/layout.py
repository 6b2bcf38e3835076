"""How a release lies on paper: row variables unrolled down the side, column variables and measures across the top."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from confide.arrays import Bools, Floats
from confide.formats.about import marks, plain, titles
from confide.model.release import Column, Dimension, Release

__all__ = ["Cross", "Heading", "cross", "places", "size", "without_zeros"]


@dataclass(frozen=True)
class Heading:
    """One heading over `span` columns, or beside `span` rows."""

    text: str
    span: int
    total: bool = False


@dataclass(frozen=True, eq=False)
class Cross:
    """A cross table: levels of headings along both edges, cells as matrices, totals flagged."""

    measure: str
    stubs: tuple[str, ...]
    head: tuple[tuple[Heading, ...], ...]
    side: tuple[tuple[Heading, ...], ...]
    values: Floats
    marks: NDArray[np.str_]
    totals: Bools
    decimals: tuple[int, ...]


def cross(release: Release, names: Sequence[str] = ()) -> Cross:
    """Lay out the named measures (all, if none is named); several stand side by side in the innermost columns."""
    columns = [release.columns[name] for name in names or release.columns]
    down, across = _edges(release)
    named = len(columns) > 1 or not across
    values = np.stack([column.values for column in columns], axis=-1)
    rows, leaves = size(release, len(columns))
    return Cross(
        measure="" if named else plain(columns[0].label or columns[0].name),
        stubs=tuple(_title(d) for d in down),
        head=_head(across, columns, named=named),
        side=_unroll(down),
        values=values.reshape(rows, leaves),
        marks=np.stack([marks(column) for column in columns], axis=-1).reshape(rows, leaves),
        totals=_totals(down)[:, None] | np.repeat(_totals(across), len(columns))[None, :],
        decimals=tuple(column.decimals for column in columns) * (leaves // len(columns)),
    )


def size(release: Release, measures: int = 1) -> tuple[int, int]:
    """Give the numbers of rows and columns of cells.

    The row count is that of the row variables; the column count that of the column variables times the measures.
    """
    down, across = _edges(release)
    return prod(len(d.codes) for d in down), prod(len(d.codes) for d in across) * measures


def without_zeros(table: Cross) -> Cross:
    """Leave out the rows and the columns in which every number is zero or does not apply.

    >>> one = (Heading("a", 1), Heading("b", 1))
    >>> marks, totals = np.full((2, 2), ""), np.zeros((2, 2), dtype=bool)
    >>> table = Cross("", ("x",), (one,), (one,), np.array([[0.0, 0.0], [0.0, 7.0]]), marks, totals, (0, 0))
    >>> without_zeros(table).values
    array([[7.]])
    """
    shown = (table.values != 0) & (table.marks != "z")
    down, across = shown.any(axis=1), shown.any(axis=0)
    cells = np.ix_(down, across)
    return replace(
        table,
        head=tuple(_kept(level, across) for level in table.head),
        side=tuple(_kept(level, down) for level in table.side),
        values=table.values[cells],
        marks=table.marks[cells],
        totals=table.totals[cells],
        decimals=tuple(np.asarray(table.decimals, dtype=int)[across].tolist()),
    )


def _kept(level: Sequence[Heading], keep: Bools) -> tuple[Heading, ...]:
    """Headings over what is kept of them."""
    ends = np.cumsum([heading.span for heading in level])
    spans = [int(part.sum()) for part in np.split(keep, ends[:-1])]
    return tuple(replace(heading, span=span) for heading, span in zip(level, spans, strict=True) if span)


def places(headings: Sequence[Heading]) -> dict[int, Heading]:
    """Give each heading by the row or column at which it starts.

    >>> places([Heading("a", 2), Heading("b", 1)])[2].text
    'b'
    """
    starts = np.cumsum([0, *(heading.span for heading in headings)]).tolist()
    return dict(zip(starts, headings, strict=False))


def _edges(release: Release) -> tuple[Sequence[Dimension], Sequence[Dimension]]:
    count = len(release.request.rows)
    return release.dimensions[:count], release.dimensions[count:]


def _head(across: Sequence[Dimension], columns: Sequence[Column], *, named: bool) -> tuple[tuple[Heading, ...], ...]:
    levels = _unroll(across, inner=len(columns))
    leaves = prod(len(d.codes) for d in across)
    if across:
        levels = ((Heading(" by ".join(map(_title, across)), leaves * len(columns)),), *levels)
    if named:
        levels = (*levels, tuple(Heading(title, 1) for title in titles(columns)) * leaves)
    return levels


def _unroll(dimensions: Sequence[Dimension], inner: int = 1) -> tuple[tuple[Heading, ...], ...]:
    """One level for each dimension; an outer heading spans all inner ones, an inner level repeats under each outer."""
    sizes = [len(d.codes) for d in dimensions]
    return tuple(
        _headings(dimension, span=prod(sizes[level + 1 :]) * inner) * prod(sizes[:level])
        for level, dimension in enumerate(dimensions)
    )


def _headings(dimension: Dimension, *, span: int) -> tuple[Heading, ...]:
    last = len(dimension.codes) - 1
    pairs = zip(dimension.codes, dimension.labels, strict=True)
    return tuple(
        Heading(plain(label.strip() or code), span, place == last) for place, (code, label) in enumerate(pairs)
    )


def _totals(dimensions: Sequence[Dimension]) -> Bools:
    flags = np.zeros([len(d.codes) for d in dimensions], dtype=bool)
    for axis in range(len(dimensions)):
        np.moveaxis(flags, axis, 0)[-1] = True
    return flags.ravel()


def _title(dimension: Dimension) -> str:
    return plain(dimension.label or dimension.name)
