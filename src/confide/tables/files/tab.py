"""`.tab` tables of τ-ARGUS: a line for each cell, described by a `.rda` file beside it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from confide.data.frame import Frame
from confide.data.hierarchy import Hierarchy
from confide.data.text import write_text
from confide.errors import Mistake
from confide.tables.files.asc import described, read_asc
from confide.tables.files.hrc import write_hrc
from confide.tables.files.rda import Described, Rda, write_rda
from confide.tables.table.from_cells import CellLayout, table_of_cells
from confide.tables.table.table import Status, Table

__all__ = ["read_tab", "write_tab"]

ROLES = {"COSTVAR": "cost", "SHADOW": "absolute", "LOWERPL": "lower_protection", "UPPERPL": "upper_protection"}
"""Keywords of columns, and what a table calls them."""

LETTERS = {Status.SAFE: "S", Status.PRIMARY: "U", Status.SECONDARY: "M", Status.PUBLISHED: "P", Status.EMPTY: "E"}
OWN = {"SAFE": "S", "UNSAFE": "U", "PROTECT": "P"}
"""The letters that a description may replace by others."""


def read_tab(path: str | Path, *, rda: Rda | None = None, value: str | None = None) -> Table:
    """The table of a file; `value` says which column to take if there are several magnitudes.

    Promise: the values add up. The sums that rules compare contributors with are those of the shadow variable, if any.
    """
    rda = rda or described(path)
    numbers = ("NUMERIC", "FREQUENCY", "MAXSCORE", *ROLES)
    as_numbers = [
        replace(one, keywords={**one.keywords, "NUMERIC": ""}) if any(map(one.is_a, numbers)) else one
        for one in rda.variables
    ]
    frame = Frame.of(_own_letters(read_asc(path, rda=replace(rda, variables=tuple(as_numbers))), rda))
    by = rda.with_keyword("RECODEABLE")
    others = {role: rda.with_keyword(keyword)[0] for keyword, role in ROLES.items() if rda.with_keyword(keyword)}
    status = rda.with_keyword("STATUS")
    layout = CellLayout(
        by=by,
        value=_value(rda, value),
        frequency=next(iter(rda.with_keyword("FREQUENCY")), None),
        top=rda.with_keyword("MAXSCORE"),
        hierarchies={name: rda.hierarchy(name, frame.coded(name).codes) for name in by},
        columns={**others, **({"status": status[0]} if status else {})},
    )
    return table_of_cells(frame, layout)


def _value(rda: Rda, wanted: str | None) -> str | None:
    plain = [one.name for one in rda.variables if one.is_a("NUMERIC") and not any(map(one.is_a, ROLES))]
    if wanted is not None and wanted not in plain:
        raise Mistake(f"The table has no magnitude {wanted!r}.", suggestions=[f"It has {', '.join(plain) or 'none'}."])
    if wanted is None and len(plain) > 1:
        raise Mistake("The table has several magnitudes.", suggestions=[f"Say which: value='{plain[0]}'."])
    return wanted or next(iter(plain), None)


def _own_letters(table: pa.Table, rda: Rda) -> pa.Table:
    """The table with the usual letters for statuses where the description has others."""
    for name in rda.with_keyword("STATUS"):
        usual = {rda.keywords[keyword]: letter for keyword, letter in OWN.items() if keyword in rda.keywords}
        letters = [usual.get(letter, letter) for letter in table[name].to_pylist()]
        table = table.set_column(table.column_names.index(name), name, pa.array(letters))
    return table


def write_tab(table: Table, path: str | Path) -> None:
    """Write a table as τ-ARGUS reads it, with its description and the hierarchies of its variables beside it.

    The file has the true values of suppressed cells: it is for protecting a table, not for publishing it.
    """
    path = Path(path)
    columns: list[tuple[Described, Sequence[str]]] = []
    for name, hierarchy in zip(table.variables, table.hierarchies, strict=True):
        columns.append((_spanning(name, hierarchy, path), [_quoted(code) for code in table.codes(name)]))
    cells = table.contributions
    numbers: dict[str, tuple[str, NDArray[Any]]] = {table.measure: ("NUMERIC", table.value)}
    if (cells.units >= 0).all():
        numbers["frequency"] = ("FREQUENCY", cells.units)
    numbers |= {f"top{rank + 1}": ("MAXSCORE", column) for rank, column in enumerate(cells.top.T)}
    numbers |= {role: (keyword, getattr(table, role)) for keyword, role in ROLES.items() if role != "absolute"}
    if not np.isnan(cells.total).any():
        numbers["absolute"] = ("SHADOW", cells.total)
    for name, (keyword, column) in numbers.items():
        keywords = dict.fromkeys(["NUMERIC", keyword] if keyword in ROLES else [keyword], "")
        columns.append((Described(name, keywords=keywords), [_number(value) for value in column.tolist()]))
    letters = [LETTERS[Status(status)] for status in table.status.tolist()]
    columns.append((Described("status", keywords={"STATUS": ""}), letters))
    write_text(path, "".join(";".join(row) + "\n" for row in zip(*(texts for _, texts in columns), strict=True)))
    write_rda(Rda(tuple(one for one, _ in columns), {"SEPARATOR": ";"}), path.with_suffix(".rda"))


def _spanning(name: str, hierarchy: Hierarchy, path: Path) -> Described:
    file = path.with_name(f"{path.stem}_{name}.hrc")
    write_hrc(hierarchy, file)
    listed = {"HIERARCHICAL": "", "HIERCODELIST": file.name, "HIERLEADSTRING": "@"}
    return Described(name, keywords={"RECODEABLE": "", "TOTCODE": hierarchy.codes[0], **listed})


def _quoted(code: str) -> str:
    doubled = code.replace('"', '""')
    return f'"{doubled}"'


def _number(value: float) -> str:
    return f"{value:.17g}"
