"""Putting a table together: cells in their order, the relations that follow from the codes, and what is left unsaid."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from scipy import sparse

from confide.arrays import Floats, Ints
from confide.data.hierarchy import Hierarchy
from confide.errors import Mistake
from confide.tables.sensitivity import Contributions
from confide.tables.table.relations import Relations
from confide.tables.table.table import Status, Table

__all__ = ["assemble", "cell_numbers", "every_cell", "relate"]


MOST_CELLS = 20_000_000
"""More cells than this are not laid out in full."""


def assemble(
    variables: Sequence[str],
    hierarchies: Sequence[Hierarchy],
    places: Ints,
    value: Floats,
    *,
    additive: bool = True,
    **columns: Any,
) -> Table:
    """A table of these cells, in the order of their codes. Columns of a `Table` that are not given say nothing special.

    So do entries that are NaN. Promise: unless it need not be `additive`, the values add up as the codes say, or as
    `relations` say if they are given.

    >>> t = assemble(["sex"], [Hierarchy.flat("fm")], np.array([[1], [2], [0]]), np.array([4.0, 5, 9]))
    >>> t.value.tolist(), t.relations.residuals(t.value).tolist()
    ([9.0, 4.0, 5.0], [0.0])
    """
    value = np.asarray(value, dtype=np.float64)
    order = np.argsort(cell_numbers(hierarchies, places), kind="stable")
    given = {name: _reordered(column, order) for name, column in columns.items()}
    value, places = value[order], places[order]
    if not np.isfinite(value).all():
        raise Mistake("Some values are too large to be added up.", suggestions=["Give them in a larger unit."])
    plain = {
        "contributions": Contributions(np.full(len(value), -1), np.abs(value), np.zeros((len(value), 0))),
        "relations": given.get("relations") or relate(hierarchies, places),
        "status": np.full(len(value), Status.SAFE, dtype=np.int8),
        "lower_bound": np.full(len(value), -np.inf if (value < 0).any() else 0.0),
        "upper_bound": np.full(len(value), np.inf),
        "cost": np.where(value == 0, np.min(np.abs(value), initial=1.0, where=value != 0), np.abs(value)),
        **{f"{side}_protection": np.zeros(len(value)) for side in ("lower", "upper", "sliding")},
    }
    said = {name: _said(column, plain.get(name)) for name, column in given.items()}
    table = Table(tuple(variables), tuple(hierarchies), places, value, **{**plain, **said})
    if additive:
        table.check()
    return table


def _said(column: Any, plain: Any) -> Any:
    if isinstance(column, np.ndarray) and column.dtype == np.float64:
        return np.where(np.isnan(column), plain, column)
    return column


def _reordered(column: Any, order: Ints) -> Any:
    if isinstance(column, np.ndarray):
        return column[order]
    if isinstance(column, Contributions):
        return Contributions(**{name: _reordered(part, order) for name, part in vars(column).items()})
    if isinstance(column, Relations):
        return Relations(sparse.csr_array(column.matrix[:, order]), column.rhs)
    return column


def cell_numbers(hierarchies: Sequence[Hierarchy], places: Ints) -> Ints:
    """The number of each cell among all that the codes span: the last variable runs fastest."""
    sizes = [len(hierarchy.codes) for hierarchy in hierarchies]
    if prod(sizes) >= 2**63:
        raise Mistake("These variables span more cells than can be numbered.", suggestions=["Leave variables out."])
    numbers = np.zeros(len(places), dtype=np.int64)
    for size, column in zip(sizes, places.T, strict=True):
        numbers = numbers * size + column
    return numbers


def every_cell(hierarchies: Sequence[Hierarchy]) -> Ints:
    """The places of all cells that the codes span."""
    sizes = [len(hierarchy.codes) for hierarchy in hierarchies]
    if prod(sizes) > MOST_CELLS:
        raise Mistake(
            "These variables span too many cells to lay them all out.",
            suggestions=["Give empty=False to keep only the cells somebody is in, or coarser variables."],
        )
    return np.indices(sizes).reshape(len(sizes), -1).T


def relate(hierarchies: Sequence[Hierarchy], places: Ints) -> Relations:
    """The relations among these cells: every total with those of its parts that are cells too.

    A part that is no cell counts as nothing, as empty cells that were left out do.
    """
    numbers = cell_numbers(hierarchies, places)
    order = np.argsort(numbers)
    rows, columns, count = [], [], 0
    for variable, hierarchy in enumerate(hierarchies):
        above = np.array(hierarchy.parents)[places[:, variable]]
        totals = places.copy()
        totals[:, variable] = above
        wanted = np.where(above >= 0, cell_numbers(hierarchies, totals), -1)
        at = np.minimum(np.searchsorted(numbers, wanted, sorter=order), len(order) - 1)
        part = np.flatnonzero((above >= 0) & (numbers[order[at]] == wanted))
        total = order[at[part]]
        summed, row = np.unique(total, return_inverse=True)
        rows += [np.arange(len(summed)) + count, row + count]
        columns += [summed, part]
        count += len(summed)
    return _relations(rows, columns, shape=(count, len(places)))


def _relations(rows: Sequence[Ints], columns: Sequence[Ints], *, shape: tuple[int, int]) -> Relations:
    signs = [np.full(len(part), -1.0 if number % 2 == 0 else 1.0) for number, part in enumerate(columns)]
    entries = (np.concatenate(signs), (np.concatenate(rows), np.concatenate(columns)))
    return Relations(sparse.csr_array(entries, shape=shape), np.zeros(shape[0]))
