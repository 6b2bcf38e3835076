"""Linked tables: several tables of one measure as one set of cells and relations."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from confide.arrays import Ints
from confide.data.hierarchy import TOTAL, Hierarchy
from confide.errors import Mistake
from confide.tables.sensitivity import Contributions
from confide.tables.table.build import assemble, cell_numbers
from confide.tables.table.relations import Relations
from confide.tables.table.table import Status, Table

__all__ = ["linked"]

Array = NDArray[Any]

STRICTNESS = np.array([Status.SAFE, Status.EMPTY, Status.SECONDARY, Status.PUBLISHED, Status.PRIMARY])
"""What holds where tables differ on a cell: the last of these that one of them says."""

LARGEST = ("lower_bound", "lower_protection", "upper_protection", "sliding_protection", "cost")
"""Of what several tables say of one cell, the largest holds."""


def linked(tables: Sequence[Table]) -> Table:
    """The tables as one; cells with the same codes are one cell, and every relation of every table holds."""
    _check_measures(tables)
    variables = list(dict.fromkeys(name for table in tables for name in table.variables))
    hierarchies = [_merged([_hierarchy(t, name) for t in tables if name in t.variables]) for name in variables]
    places = np.concatenate([_places(table, variables, hierarchies) for table in tables])
    _, first, at = np.unique(cell_numbers(hierarchies, places), return_index=True, return_inverse=True)
    stacked = {name: np.concatenate([getattr(t, name) for t in tables]) for name in ("value", "upper_bound", *LARGEST)}
    _check_values(tables, stacked["value"], first, at)
    largest: dict[str, Any] = {name: _largest(stacked[name], at) for name in LARGEST}
    strict = np.argsort(STRICTNESS)[np.concatenate([table.status for table in tables])]
    return assemble(
        variables, hierarchies, places[first], stacked["value"][first],
        relations=_relations(tables, at),
        contributions=_contributions([table.contributions for table in tables], at),
        status=STRICTNESS[_largest(strict, at)].astype(np.int8),
        upper_bound=-_largest(-stacked["upper_bound"], at),
        measure=tables[0].measure,
        **largest,
    )  # fmt: skip


def _check_measures(tables: Sequence[Table]) -> None:
    if not tables:
        raise Mistake("There are no tables to link.")
    for table in tables:
        if table.measure != tables[0].measure:
            raise Mistake(
                f"Linked tables are of one measure; these are of {tables[0].measure!r} and {table.measure!r}.",
                suggestions=["Link tables of the same column."],
            )


def _check_values(tables: Sequence[Table], value: Array, first: Ints, at: Ints) -> None:
    shared = value[first][at]
    apart = np.abs(value - shared) > 1e-6 * np.maximum(1.0, np.abs(shared))
    if apart.any():
        cell = int(apart.argmax())
        sizes = np.cumsum([len(table) for table in tables])
        number = int(np.searchsorted(sizes, cell, side="right"))
        raise Mistake(
            f"The tables do not have the same value in {tables[number].name(cell - int(sizes[number]))}.",
            suggestions=["Make them from the same records, or give what differs another code."],
        )


def _hierarchy(table: Table, name: str) -> Hierarchy:
    return table.hierarchies[table.variables.index(name)]


def _merged(hierarchies: Sequence[Hierarchy]) -> Hierarchy:
    """The codes of all. Where they differ on what a code is a part of, one of them is shown; the relations have both."""
    roots = dict.fromkeys(hierarchy.codes[0] for hierarchy in hierarchies)
    total = TOTAL if TOTAL in roots else next(iter(roots))
    up: dict[str, str | None] = {}
    for hierarchy in hierarchies:
        for code, parent in zip(hierarchy.codes, hierarchy.parents, strict=True):
            if up.get(code) in (None, *roots):
                up[code] = hierarchy.codes[parent] if parent >= 0 else up.get(code)
    merged = Hierarchy.of(up, total=total)
    alone = {root for root in roots if root != total and up[root] is None}
    parents = (-1 if code in alone else parent for code, parent in zip(merged.codes, merged.parents, strict=True))
    return Hierarchy(merged.codes, tuple(parents))


def _places(table: Table, variables: Sequence[str], hierarchies: Sequence[Hierarchy]) -> Ints:
    """Where the cells of a table are in all variables; in those it does not have, at their total."""
    columns = []
    for name, hierarchy in zip(variables, hierarchies, strict=True):
        column = np.zeros(len(table), dtype=np.int64)
        if name in table.variables:
            place = np.array([hierarchy.places[code] for code in _hierarchy(table, name).codes])
            column = place[table.places[:, table.variables.index(name)]]
        columns.append(column)
    return np.column_stack(columns)


def _largest(column: Array, at: Ints) -> Array:
    """The largest entry of each cell."""
    order = np.lexsort((column, at))
    last = np.flatnonzero(np.diff(at[order], append=-1))
    largest: Array = column[order[last]]
    return largest


def _relations(tables: Sequence[Table], at: Ints) -> Relations:
    """The relations of all tables, each once."""
    apart = sparse.csr_array(sparse.block_diag([table.relations.matrix for table in tables]))
    together = sparse.csr_array((np.ones(len(at)), (np.arange(len(at)), at)))
    matrix = sparse.csr_array(apart @ together)
    matrix.sort_indices()
    rhs = np.concatenate([table.relations.rhs for table in tables])
    rows = zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)
    texts = [matrix.indices[start:end].tobytes() + matrix.data[start:end].tobytes() for start, end in rows]
    kept = np.sort(np.unique(np.array(texts, dtype=object), return_index=True)[1])
    return Relations(sparse.csr_array(matrix[kept]), rhs[kept])


def _contributions(parts: Sequence[Contributions], at: Ints) -> Contributions:
    """What the first table that knows the contributors of a cell says of them."""
    units = np.concatenate([part.units for part in parts])
    order = np.lexsort((np.arange(len(at)), units < 0, at))
    row = order[np.flatnonzero(np.diff(at[order], prepend=-1))]
    kept = max(part.top.shape[1] for part in parts)
    names = tuple(dict.fromkeys(name for part in parts for name in part.names or ()))
    weighted = any(part.weights is not None for part in parts)
    return Contributions(
        units[row],
        np.concatenate([part.total for part in parts])[row],
        np.concatenate([_padded(part.top, kept, 0.0) for part in parts])[row],
        weights=np.concatenate([_padded(_weights(part), kept, 0.0) for part in parts])[row] if weighted else None,
        holders=np.concatenate([_padded(_holders(part, names), kept, -1) for part in parts])[row],
        names=names or None,
    )


def _padded(columns: Array, width: int, nothing: float) -> Array:
    more = np.full((len(columns), width - columns.shape[1]), nothing, dtype=columns.dtype)
    return np.concatenate([columns, more], axis=1)


def _weights(part: Contributions) -> Array:
    return np.ones_like(part.top) if part.weights is None else part.weights


def _holders(part: Contributions, names: Sequence[str]) -> Array:
    """Whose the contributions are, by the numbers that all tables share; -1 where a table does not say."""
    if part.holders is None:
        return np.full(part.top.shape, -1)
    if part.names is None:
        return part.holders
    number = {name: place for place, name in enumerate(names)}
    shared = np.array([*(number[name] for name in part.names), -1])
    return shared[part.holders]
