"""Synthesis from tables: records drawn from the table that has the file's margins and knows no more."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from typing import ClassVar

import numpy as np

from confide.arrays import Floats, Ints
from confide.data.proportional_fitting import margin, proportionally_fitted
from confide.data.release_key import ReleaseKey
from confide.errors import Mistake, nearest
from confide.microdata.method import Method
from confide.microdata.records import Columns, Masked, NewRecords, Records
from confide.microdata.synthesis.pool import RecordPool
from confide.model.parameter import parameter

__all__ = ["TableSynthesis"]

CELLS = 1 << 23
"""The table of all columns may have so many cells: 64 MB for each copy of it."""


@dataclass(frozen=True)
class TableSynthesis(Method):
    """Log-linear synthesis by iterative proportional fitting (Deming and Stephan 1940): categories drawn from fitted tables.

    Promise: each record is drawn by itself from one table of all the columns, and the table depends on the file only through
    `margins`, tables of some of the columns: it has them exactly and is as even as it can be otherwise. So tables within a
    margin stay on average, and what the file says beyond them is not in what is drawn. Numbers are taken as codes. Missing
    values are a category of their own: whether one is missing is drawn too. With weights the margins are weighted counts.
    References: Domingo-Ferrer (2007), synthetic microdata; Deming and Stephan (1940).

    >>> import pyarrow as pa
    >>> people = pa.table({"sex": list("fm") * 50, "job": ["cook", "smith"] * 50})
    >>> drawn = TableSynthesis(size=4).protect(people, columns=["sex", "job"], teaching_seed=1).frame
    >>> set(zip(*drawn.to_pydict().values())) <= {("f", "cook"), ("m", "smith")}, len(drawn)
    (True, 4)
    """

    best_attack: ClassVar = "membership"
    takes: ClassVar = frozenset({"numbers", "categories"})
    keeps: ClassVar = frozenset({"rows", "types"})
    draws: ClassVar = True
    mixes: ClassVar = True
    weighs: ClassVar = True

    margins: tuple[tuple[str, ...], ...] = parameter(
        (), "Tables to keep, by their columns; those of all pairs, if none are named."
    )
    versions: int = parameter(1, "How many versions of the file to draw.", low=1, high=1000)
    size: int | None = parameter(
        None, "How many new records to draw, in each stratum; as many as there are, if not said.", low=1
    )

    def drawing(self, key: ReleaseKey) -> ReleaseKey:
        """More versions leave the first ones as they were."""
        return Method.drawing(replace(self, versions=1), key)

    def _mask(self, records: Records) -> Masked:
        coded = [records.categories(name) for name in records.columns]
        shape = tuple(len(one) + 1 for one in coded)
        if prod(shape) > CELLS:
            raise Mistake(
                f"TableSynthesis: the table of {', '.join(records.columns)} has {prod(shape):,} cells, too many{records.where}.",
                suggestions=["Draw fewer columns, make them coarser, or use synthesis."],
            )
        # the code -1 of a missing value is the last of its column
        codes = np.column_stack([np.where(one.codes < 0, len(one), one.codes) for one in coded])
        table = self._table(records, codes, shape)
        size = len(records) if self.size is None else self.size
        pool = RecordPool.of(records, None)
        versions: list[Columns] = []
        for version in range(self.versions):
            drawn = _drawn(table, size, records.rng("records", str(version)))
            new = np.where(drawn == np.array(shape) - 1, -1, drawn)
            versions.append({one: coded[j].column(new[:, j]) for j, one in enumerate(records.columns)})
            records.progress((version + 1) / self.versions)
        if self.size is None:
            return Masked(versions[0], {"cells": table.size}, replicates=tuple(versions[1:]))
        rows = np.zeros(size, np.int64)
        return Masked({}, {"drawn": size}, drawn=tuple(NewRecords(rows, one, pool.people / size) for one in versions))

    def _table(self, records: Records, codes: Ints, shape: tuple[int, ...]) -> Floats:
        weights = np.ones(len(records)) if records.weights is None else records.weights
        kept: dict[tuple[int, ...], Floats] = {
            axes: margin(codes[:, axes], weights, tuple(shape[axis] for axis in axes))
            for axes in self._axes(records.columns)
        }
        return proportionally_fitted(kept, shape)

    def _axes(self, columns: Sequence[str]) -> list[tuple[int, ...]]:
        """Which columns the margins have; every column is in one."""
        for name in (name for one in self.margins for name in one):
            if name not in columns:
                raise Mistake(
                    f"TableSynthesis: {name!r} is not among the columns to draw.", suggestions=nearest(name, columns)
                )
        named = [tuple(sorted({columns.index(name) for name in one})) for one in self.margins if one]
        pairs = list(combinations(range(len(columns)), 2)) if not self.margins else named
        return [*pairs, *((j,) for j in range(len(columns)) if not any(j in axes for axes in pairs))]


def _drawn(table: Floats, size: int, rng: np.random.Generator) -> Ints:
    """Codes of so many records, each drawn by itself with the chances of the cells."""
    below = np.cumsum(table)
    place = np.searchsorted(below, rng.random(size) * below[-1], side="right")
    return np.column_stack(np.unravel_index(np.minimum(place, table.size - 1), table.shape)).astype(np.int64)
