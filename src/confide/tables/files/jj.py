"""JJ instances: cells by number, with bounds and protection levels, and the relations among them.

A file has a 0; the number of cells; for each its number, value, cost, status, lower and upper bound, and the lower, upper
and sliding protection; the number of relations; for each its right side, the number of its terms, and after a colon the
cells with their coefficients in brackets.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from confide.data.hierarchy import Hierarchy
from confide.data.text import read_text, write_text
from confide.errors import Mistake
from confide.tables.table.build import assemble
from confide.tables.table.relations import Relations
from confide.tables.table.statuses import read_status
from confide.tables.table.table import Status, Table

__all__ = ["read_jj", "write_jj"]

Line = tuple[int, list[str]]
T = TypeVar("T")

UNKNOWN = 1e15
"""A bound as large as this says nothing; the format has no word for that."""

NUMBERS = ("value", "cost", "lower_bound", "upper_bound", "lower_protection", "upper_protection", "sliding_protection")
LETTERS = {Status.SAFE: "s", Status.PRIMARY: "u", Status.SECONDARY: "m", Status.PUBLISHED: "z", Status.EMPTY: "z"}


def read_jj(path: str | Path) -> Table:
    """The table of a JJ file; its one variable is the number of the cell.

    Promise: the values fulfil the relations.
    """
    lines = [(number, line.split()) for number, line in enumerate(read_text(path).splitlines(), 1) if line.strip()]
    try:
        cells = _block(lines[1:])
        relations = _block(lines[2 + len(cells) :])
    except (IndexError, ValueError):
        raise Mistake(
            f"{Path(path).name} is not a JJ file: it does not say how many cells and relations it has."
        ) from None
    parsed = [_parsed(_cell, line) for line in cells]
    order = [number for number, _, _ in parsed]
    if order != list(range(len(order))):
        raise Mistake(f"The cells of {Path(path).name} are not numbered 0, 1, 2, and so on.")
    numbers = np.array([values for _, values, _ in parsed]).reshape(-1, len(NUMBERS))
    columns: dict[str, Any] = dict(zip(NUMBERS, numbers.T, strict=True))
    columns["lower_bound"] = np.where(columns["lower_bound"] <= -UNKNOWN, -np.inf, columns["lower_bound"])
    columns["upper_bound"] = np.where(columns["upper_bound"] >= UNKNOWN, np.inf, columns["upper_bound"])
    codes = Hierarchy(tuple(map(str, order)), (-1,) * len(order))
    return assemble(
        ["cell"], [codes], np.arange(len(order))[:, None], columns.pop("value"),
        status=np.array([status for _, _, status in parsed], dtype=np.int8),
        relations=_relations([_parsed(_relation, line) for line in relations], len(order)),
        measure="value",
        **columns,
    )  # fmt: skip


def _block(lines: Sequence[Line]) -> Sequence[Line]:
    """The lines that the number at their head announces."""
    count = int(lines[0][1][0])
    if count < 0 or len(lines) <= count:
        raise ValueError
    return lines[1 : count + 1]


def _parsed(parse: Callable[[list[str]], T], line: Line) -> T:
    number, words = line
    try:
        return parse(words)
    except (ValueError, IndexError, Mistake):
        raise Mistake(f"Line {number} of the JJ file cannot be read: {' '.join(words)[:80]!r}.") from None


def _cell(words: list[str]) -> tuple[int, list[float], Status]:
    return int(words[0]), [float(words[at]) for at in (1, 2, 4, 5, 6, 7, 8)], read_status(words[3])


def _relation(words: list[str]) -> tuple[float, list[int], list[float]]:
    terms = " ".join(words[words.index(":") + 1 :]).replace("(", " ").replace(")", " ").split()
    if len(terms) != 2 * int(words[1]):
        raise ValueError
    return float(words[0]), [int(cell) for cell in terms[::2]], [float(sign) for sign in terms[1::2]]


def _relations(read: Sequence[tuple[float, list[int], list[float]]], cells: int) -> Relations:
    columns = [cell for _, some, _ in read for cell in some]
    if columns and not 0 <= min(columns) <= max(columns) < cells:
        raise Mistake("A relation of the JJ file speaks of a cell that is not there.")
    rows = np.repeat(np.arange(len(read)), [len(some) for _, some, _ in read])
    signs = np.array([sign for _, _, some in read for sign in some])
    matrix = sparse.csr_array((signs, (rows, np.array(columns, dtype=np.int64))), shape=(len(read), cells))
    return Relations(matrix, np.array([right for right, _, _ in read]))


def write_jj(table: Table, path: str | Path) -> None:
    """Write a table as a JJ file: cells go by their order, what is not in the format is left out."""
    columns = [np.clip(getattr(table, name), -UNKNOWN, UNKNOWN).tolist() for name in NUMBERS]
    letters = [LETTERS[Status(status)] for status in table.status.tolist()]
    lines = ["0", str(len(table))]
    for number, (letter, value, cost, *rest) in enumerate(zip(letters, *columns, strict=True)):
        lines.append(" ".join([str(number), _number(value), _number(cost), letter, *map(_number, rest)]))
    matrix = table.relations.matrix
    lines.append(str(matrix.shape[0]))
    for row, right in enumerate(table.relations.rhs.tolist()):
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        terms = zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True)
        written = [f"{cell} ({_number(sign)})" for cell, sign in terms]
        lines.append(f"{_number(right)} {len(written)} : {' '.join(written)}")
    write_text(path, "\n".join(lines) + "\n")


def _number(value: float) -> str:
    """As short as it can be read back exactly."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
