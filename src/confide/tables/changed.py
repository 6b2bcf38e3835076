"""What a method that changes values gives: the new table, and how far it is from the old one."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from confide.arrays import Floats
from confide.tables.table.table import Status, Table

__all__ = ["Changed", "distribution"]


@dataclass(frozen=True, eq=False)
class Changed:
    """A `table` whose values were changed to protect it, and the one they are compared with.

    `finished` is False where a time limit or an interrupt ended the search: the table is the best found until then and
    keeps every promise. `notes` say in words what a reader of the table must know.
    """

    table: Table
    before: Table
    finished: bool = True
    notes: tuple[str, ...] = ()

    @classmethod
    def to(
        cls, value: Floats, *, of: Table, before: Table | None = None, finished: bool = True, notes: Iterable[str] = ()
    ) -> "Changed":
        """The table `of` which the values are new; nothing in it needs to be suppressed any more."""
        status = np.where(of.suppressed, Status.SAFE, of.status).astype(np.int8)
        table = replace(of, value=value, status=status)
        return cls(table, of if before is None else before, finished, tuple(notes))

    @property
    def deviations(self) -> Floats:
        """New value less old, cell by cell."""
        return self.table.value - self.before.value

    @property
    def largest(self) -> float:
        """The largest absolute deviation."""
        return float(np.abs(self.deviations).max(initial=0.0))

    @property
    def mean(self) -> float:
        """The mean absolute deviation of the cells that were not 0."""
        return float(np.abs(self.deviations[self.before.value != 0]).mean()) if self.before.value.any() else 0.0

    def distribution(self) -> pa.Table:
        """How many of the cells that were not 0 deviate by how much, as in Giessing and Höhne (2011), Table 5."""
        return distribution(self.deviations[self.before.value != 0])

    def report(self, path: str | Path) -> None:
        """Write a page about what was changed, with charts: for the custodian, true values are on it."""
        from confide.tables.reports.report import report_of

        report_of(self).write(path)

    def __repr__(self) -> str:
        left = "" if self.finished else "; not finished"
        return f"{self.table!r}: largest deviation {self.largest:,.10g}, mean {self.mean:,.3f}{left}"


def distribution(deviations: Floats) -> pa.Table:
    """Numbers of cells by deviation, rounded to whole numbers.

    >>> distribution(np.array([0.0, 1, 1, -2])).to_pylist()[-1]
    {'deviation': 1, 'cells': 2, 'percent': 50.0}
    """
    found, cells = np.unique(np.rint(deviations).astype(np.int64), return_counts=True)
    return pa.table({"deviation": found, "cells": cells, "percent": 100 * cells / max(1, len(deviations))})
