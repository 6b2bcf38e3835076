"""Patterns of suppression that come without their table: read from what was published, and judged on the true table."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from confide.arrays import Bools
from confide.data.frame import Frame
from confide.errors import Mistake
from confide.tables.files.endings import ending
from confide.tables.files.safe_table import saved_columns
from confide.tables.files.tab import read_tab
from confide.tables.programs.deadline import Progress
from confide.tables.suppression.audit import Audit, Failure, audit
from confide.tables.suppression.protection import OUTSIDER
from confide.tables.table.build import cell_numbers
from confide.tables.table.spanning import places_of
from confide.tables.table.statuses import read_status
from confide.tables.table.table import Status, Table

__all__ = ["audit_pattern", "codes_in", "in_order", "read_pattern"]


MARKS = ("mark", "status")
"""Columns that say which cells are suppressed: as we write them, and as others do."""


def read_pattern(path: str | Path, table: Table) -> Bools:
    """Which cells of the table a file says to be suppressed.

    The file is a `.tab` table, a `.txt` as τ-ARGUS saves a protected table (codes, value, status), or a table with the
    variables as columns and one called mark or status. A mark beside a column `value` hides nothing unless that is empty.

    Promise: the file speaks of every cell that somebody is in, and of no other.
    """
    if ending(path) == ".tab":
        read = read_tab(path)
        return _suppressed(table, {name: read.codes(name) for name in read.variables}, read.suppressed.tolist())
    if ending(path) == ".txt":
        *codes, _, marks = saved_columns(path, len(table.variables))
        columns = {name: [code.strip() for code in some] for name, some in zip(table.variables, codes, strict=True)}
        return _suppressed(table, columns, [_hides(mark) for mark in marks])
    frame = Frame.read(path)
    column = next((name for name in MARKS if name in frame.names and name not in table.variables), None)
    if column is None:
        raise Mistake(
            f"{Path(path).name} does not say which cells are suppressed.", suggestions=["Name a column mark or status."]
        )
    columns = codes_in(frame, table)
    words = frame.coded(column, nothing="safe")
    hides = [_hides(word) for word in words.codes]
    # A table as it is published has marks beside its values; a value that was left there is seen by all.
    public = column == "mark" and "value" in frame.names
    gone = frame.column("value").is_null().to_pylist() if public else [True] * len(words.places)
    marked = [hides[place] for place in words.places.tolist()]
    return _suppressed(table, columns, [mark and left_out for mark, left_out in zip(marked, gone, strict=True)])


def codes_in(frame: Frame, table: Table) -> dict[str, list[str]]:
    """The codes of each row of a file in the variables of a table."""
    coded = {name: frame.coded(name) for name in table.variables}
    return {name: [column.codes[place] for place in column.places.tolist()] for name, column in coded.items()}


def _hides(mark: str) -> bool:
    return read_status(mark) in (Status.PRIMARY, Status.SECONDARY)


def _suppressed(table: Table, codes: Mapping[str, Sequence[str]], hidden: Sequence[bool]) -> Bools:
    """The marks in the order of the table's cells."""
    marks: Bools = in_order(table, codes, hidden, what="The pattern", nothing=False)
    return marks


def in_order(table: Table, codes: Mapping[str, Sequence[str]], said: Sequence[Any], *, what: str, nothing: Any) -> Any:
    """What a file says of the cells with these codes, in the order of the table's; `nothing` where nobody is in a cell.

    Promise: the file speaks of every cell that somebody is in, and of no other.
    """
    missing = [name for name in table.variables if name not in codes]
    if missing:
        raise Mistake(f"{what} has no variable {missing[0]!r}.")
    spans = zip(table.variables, table.hierarchies, strict=True)
    places = np.column_stack([places_of(name, codes[name], hierarchy) for name, hierarchy in spans])
    cells, there = (cell_numbers(table.hierarchies, some) for some in (table.places, places))
    found = dict(zip(there.tolist(), said, strict=True))
    unknown = ~np.isin(there, cells)
    if unknown.any():
        row = int(unknown.argmax())
        shown = ", ".join(f"{name}={codes[name][row]}" for name in table.variables)
        raise Mistake(f"{what} speaks of {shown}, which is no cell of the table.")
    silent = np.flatnonzero(~np.isin(cells, there) & (table.status != Status.EMPTY))
    if len(silent):
        raise Mistake(f"{what} says nothing of {table.name(int(silent[0]))}.")
    return np.array([found.get(cell, nothing) for cell in cells.tolist()])


def audit_pattern(
    table: Table,
    suppressed: Bools,
    *,
    attackers: str = "contributors",
    time_limit: float | None = 600.0,
    progress: Progress | None = None,
) -> Audit:
    """Judge a pattern on a table whose primary cells are marked, as `audit` does: a primary cell that is shown fails too.

    >>> from confide import tables
    >>> t = tables.Table.from_microdata({"sex": ["f", "m", "m", "m"]}, by=["sex"]).flag(tables.Threshold(2))
    >>> audit_pattern(t, np.array([False, False, True])).missed
    {1: 'shown'}
    """
    if np.shape(suppressed) != (len(table),):
        raise Mistake(f"A pattern says of each of the {len(table):,} cells whether it is suppressed.")
    shown = table.primary & ~suppressed
    clean = table.mark(np.flatnonzero(shown), Status.PUBLISHED)
    status = np.where(clean.status == Status.SECONDARY, Status.SAFE, clean.status)
    status = np.where(suppressed & (status != Status.PRIMARY), Status.SECONDARY, status)
    clean = replace(clean, status=status.astype(np.int8))
    judged = audit(clean, attackers=attackers, time_limit=time_limit, progress=progress)
    status = np.where(shown, Status.PRIMARY, status)
    failures = (*(Failure(cell, "shown", OUTSIDER) for cell in np.flatnonzero(shown).tolist()), *judged.failures)
    return replace(judged, table=replace(table, status=status.astype(np.int8)), failures=failures)
