"""The protected microdata that SAFE gives, and how far its tables are from the true ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from confide.arrays import Floats, Ints
from confide.errors import Mistake, nearest

__all__ = ["SafeBase", "combined"]


@dataclass(frozen=True, eq=False)
class SafeBase:
    """Protected microdata: one entry for each combination of codes, with the number of records before and now.

    `places[c, v]` is the place of the code of combination c in `codes[v]`; `weight` is what each of its records now
    weighs. `controlled` has the tables that were kept near the truth, by their variables. What others may have is
    `to_arrow` and `expand`. `before` is the truth, for the custodian, and so are `compare` and `deviations`: where a table
    has few cells, how far they deviate tells what they were.
    """

    by: tuple[str, ...]
    codes: tuple[tuple[str, ...], ...]
    places: Ints
    before: Ints
    count: Ints
    controlled: tuple[tuple[str, ...], ...]
    weight: Floats | None = None
    finished: bool = True
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        """The number of protected records."""
        return int(self.count.sum())

    def to_arrow(self) -> pa.Table:
        """One row for each combination that has records: its codes, their `count`, and what each weighs."""
        rows = np.flatnonzero(self.count)
        weight = {} if self.weight is None else {"weight": self.weight[rows]}
        return pa.table({**self._coded(rows), "count": self.count[rows], **weight})

    def expand(self) -> pa.Table:
        """One row for each protected record."""
        rows = np.repeat(np.arange(len(self.count)), self.count)
        weight = {} if self.weight is None else {"weight": self.weight[rows]}
        return pa.table({**self._coded(rows), **weight})

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def compare(self, *, by: Sequence[str]) -> pa.Table:
        """Any table of counts, controlled or not: the cells that had records, with the number before and now."""
        at = [self._variable(name) for name in by]
        _, first, cell = np.unique(combined(self.places[:, at]), return_index=True, return_inverse=True)
        before, now = (np.bincount(cell, counts).astype(np.int64) for counts in (self.before, self.count))
        return pa.table({**self._coded(first, at), "before": before, "count": now})

    @property
    def deviations(self) -> pa.Table:
        """How many cells of each controlled table deviate by how much: Tables 4 to 6 of Giessing and Höhne (2011).

        Columns: `table`, `dimension`, `deviation` (now less before) and `cells`; only cells that had records.
        """
        parts = [self._spread(by) for by in self.controlled]
        return pa.concat_tables(parts) if parts else self._spread(())

    @property
    def largest(self) -> int:
        """The largest absolute deviation in the controlled tables."""
        return int(np.abs(self.deviations["deviation"].to_numpy()).max(initial=0))

    @property
    def mean(self) -> float:
        """The mean absolute deviation of all cells of the controlled tables that had records."""
        found = self.deviations
        return float(np.average(np.abs(found["deviation"].to_numpy()), weights=found["cells"].to_numpy()))

    def report(self, path: str | Path) -> None:
        """Write a page about the deviations, with charts: for the custodian, true values are on it."""
        from confide.tables.reports.report import report_of

        report_of(self).write(path)

    def __repr__(self) -> str:
        left = "" if self.finished else "; not finished"
        return (
            f"SafeBase of {len(self):,} records by {' x '.join(self.by)}: {len(self.controlled)} controlled tables, "
            f"largest deviation {self.largest:,}, mean {self.mean:,.3f}{left}"
        )

    def _spread(self, by: tuple[str, ...]) -> pa.Table:
        cells = self.compare(by=by)
        moved, times = np.unique(cells["count"].to_numpy() - cells["before"].to_numpy(), return_counts=True)
        labels = {"table": [" x ".join(by)] * len(moved), "dimension": np.full(len(moved), len(by))}
        return pa.table({**labels, "deviation": moved, "cells": times})

    def _coded(self, rows: Ints, at: Sequence[int] | None = None) -> dict[str, pa.Array]:
        return {
            self.by[v]: pa.DictionaryArray.from_arrays(
                self.places[rows, v].astype(np.int32), pa.array(self.codes[v], pa.string())
            )
            for v in (range(len(self.by)) if at is None else at)
        }

    def _variable(self, name: str) -> int:
        if name not in self.by:
            raise Mistake(f"The base has no variable {name!r}.", suggestions=nearest(name, self.by))
        return self.by.index(name)


def combined(places: Ints) -> Ints:
    """A number for each row, equal where rows are equal, whatever the number of columns.

    >>> combined(np.array([[0, 5], [7, 1], [0, 5]])).tolist()
    [5, 43, 5]
    """
    numbers, span = np.zeros(len(places), dtype=np.int64), 1
    for column in places.T:
        size = int(column.max(initial=0)) + 1
        if span * size >= 2**62:
            found, numbers = np.unique(numbers, return_inverse=True)
            span = len(found)
        numbers = numbers * size + column
        span *= size
    return numbers
