"""Audits of tables whose values were changed by no more than everybody knows (Giessing and Höhne 2011, section 5).

Whoever knows how far a cell can have moved knows an interval for each, and that the true table adds up: linear programs
tell what is left of the intervals.
"""

from pathlib import Path
from typing import Any

import numpy as np

from confide.arrays import Floats
from confide.data.frame import Frame
from confide.errors import Mistake
from confide.tables.changed import Changed
from confide.tables.programs.deadline import Deadline, Progress
from confide.tables.suppression.audit import Audit, Ends, narrow
from confide.tables.suppression.patterns import codes_in, in_order
from confide.tables.suppression.problem import SuppressionProblem
from confide.tables.table.given import given_table
from confide.tables.table.table import Table

__all__ = ["audit_changed", "read_changed"]


def read_changed(path: str | Path, table: Table) -> Floats:
    """The values that a file publishes for the cells of a table: its variables as columns, and one called `value`.

    Promise: the file speaks of every cell that somebody is in, and of no other.
    """
    frame = Frame.read(path)
    said = frame.numbers("value").tolist()
    values: Floats = in_order(table, codes_in(frame, table), said, what=Path(path).name, nothing=0.0).astype(np.float64)
    return values


def audit_changed(
    table: Table,
    changed: Table | Changed | Floats,
    *,
    D: float | None = None,
    base: float | None = None,
    time_limit: float | None = 600.0,
    progress: Progress | None = None,
) -> Audit:
    """Judge a rounded, adjusted or perturbed table: which primary cells an outsider knows too well who knows how far values move.

    `table` is the true one, with its primary cells marked, and `changed` what is published: a result, a table, or a value for
    each cell. Everybody knows that no value has moved by more than `D`, or that all were rounded to multiples of `base`, that the true
    table adds up, its bounds, and, if no zero was changed, that what is not 0 was not 0 before.

    Promise: the intervals are those of the linear relaxation, rounded inwards for counts. A level is asked for as far as what is
    known before anything is published allows. Contributors who know what they gave are not looked at. Cells that are not decided when
    the time limit, in seconds, is over count as not protected.
    Reference: Giessing and Höhne (2011), SORT special issue, section 5: restoring additivity.

    >>> from confide import tables
    >>> t = tables.Table.from_cells({"sex": ["f", "m"], "n": [1, 1]}, by=["sex"], frequency="n").flag(tables.Threshold(3))
    >>> audit_changed(t, np.array([0.0, 3, 3]), D=2).verdict
    'Audit of 3 changed cells: FAILED for 3 of 3 primary cells.'
    """
    table = given_table(table)
    if not table.primary.any():
        raise Mistake(
            "No cell is primary, so every table would pass.",
            suggestions=["Mark cells first, by a rule that finds some."],
        )
    table.check()
    value = _values(table, changed)
    known = _prior(table, value)
    far = _farthest(table, value, D, base)
    problem = SuppressionProblem(
        table.relations, table.value, np.maximum(known, value - far), np.minimum(table.upper_bound, value + far),
        table.primary, table.upper_protection, np.minimum(table.lower_protection, table.value - known),
        table.sliding_protection, table.costs("cells"), np.zeros(len(table), dtype=np.bool_),
        whole=table.is_count, name=table.name,
    )  # fmt: skip
    deadline = Deadline(limit=time_limit, progress=progress)
    ends = Ends(problem, np.ones(len(table), dtype=np.bool_), lambda: deadline, progress)
    with deadline.running():
        failures = sorted(narrow(problem, *ends.both), key=lambda failure: failure.cell)
    return Audit(table, ends, tuple(failures), "changed")


def _values(table: Table, changed: Any) -> Floats:
    """What is published, in the order of the table's cells."""
    if isinstance(changed, Changed):
        changed = changed.table
    if not isinstance(changed, Table):
        values = np.asarray(changed, dtype=np.float64)
        if values.shape != table.value.shape or not np.isfinite(values).all():
            raise Mistake(f"What is published has a number for each of the {len(table):,} cells.")
        return values
    codes = {name: changed.codes(name) for name in changed.variables}
    values = in_order(table, codes, changed.value.tolist(), what="The changed table", nothing=0.0)
    return np.asarray(values, dtype=np.float64)


def _prior(table: Table, value: Floats) -> Floats:
    """The least that each cell can be as is known beforehand; counts that are not 0 were not 0 if zeros stay what they are."""
    zeros = table.value == 0
    if table.is_count and (value[zeros] == 0).all():
        return np.maximum(table.lower_bound, np.where(value != 0, 1.0, 0.0))
    return table.lower_bound


def _farthest(table: Table, value: Floats, D: float | None, base: float | None) -> float:
    """How far a value may have moved; a `Mistake` if one has moved farther."""
    if (D is None) == (base is None):
        raise Mistake("Say how far values move: D, or the base they were rounded to.", suggestions=["D=5", "base=3"])
    far = float(D) if D is not None else float(base or 0.0) - (1.0 if table.is_count else 0.0)
    if not 0 <= far < np.inf:
        raise Mistake("How far values move is a number of 0 or more, and a base is 1 or more for counts.")
    moved = np.abs(value - table.value)
    if (moved > far * (1 + 1e-9) + 1e-9).any():
        cell = int(moved.argmax())
        raise Mistake(
            f"{table.name(cell)} has moved by {moved[cell]:,.10g}, and values are said to move by at most {far:,.10g}."
        )
    return far
