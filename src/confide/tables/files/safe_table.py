"""Tables as τ-ARGUS writes them when they are protected: in each line the codes of a cell, its value and its status."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from confide.data.frame import Frame
from confide.data.hierarchy import TOTAL
from confide.data.text import read_text
from confide.errors import Mistake
from confide.tables.table.from_cells import CellLayout, table_of_cells
from confide.tables.table.spanning import HierarchyLike
from confide.tables.table.table import Table

__all__ = ["read_safe_table", "saved_columns"]

EMPTY = "-"
"""What stands for the value of a cell that nobody is in."""


def read_safe_table(
    path: str | Path,
    *,
    by: Sequence[str],
    hierarchies: Mapping[str, HierarchyLike] | None = None,
    totals: str | Mapping[str, str] = TOTAL,
) -> Table:
    """The table with its pattern of suppression; `by` names the variables in the order of their codes.

    Promise: the values add up. Suppressed cells must be written with their values: without them nothing can be judged.
    """
    *codes, value, status = saved_columns(path, len(by))
    columns: dict[str, Sequence[str]] = dict(zip(by, codes, strict=True))
    columns |= {" value": ["0" if text.strip() == EMPTY else text for text in value], " status": status}
    layout = CellLayout(by, value=" value", hierarchies=hierarchies or {}, totals=totals, columns={"status": " status"})
    return table_of_cells(Frame.of(pa.table(columns)), layout)


def saved_columns(path: str | Path, variables: int) -> list[tuple[str, ...]]:
    """The columns of the file: so many of codes, the values and the statuses, as they are written."""
    rows = [row for row in csv.reader(read_text(path).splitlines()) if row]
    wrong = [number for number, row in enumerate(rows, 1) if len(row) != variables + 2]
    if wrong or not rows:
        where = f"Line {wrong[0]} of {Path(path).name}" if wrong else Path(path).name
        raise Mistake(f"{where} does not have {variables} codes, a value and a status.")
    return list(zip(*rows, strict=True))
