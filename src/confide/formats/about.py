"""The words around an answer that text, HTML and Excel share: shown numbers, legend, and whether totals add."""

import unicodedata
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.model.model_release import ModelRelease, Value
from confide.model.release import MARKS, Column, Release

__all__ = [
    "NOT_APPLICABLE",
    "adding",
    "legend",
    "marks",
    "model_legend",
    "plain",
    "shown",
    "shown_value",
    "subject",
    "titles",
]

NOT_APPLICABLE = "[z]"
"""What stands in a grid where a number does not apply."""

JOINERS = "\u200c\u200d"
"""Formatting characters that scripts and emoji need; the others can hide or reorder text."""


def plain(text: str) -> str:
    """Give the text with control, bidirectional and other invisible characters replaced, so that it shows as one line.

    >>> plain("a" + chr(0x202E) + "b" + chr(10) + "c")
    'a\ufffdb c'
    """
    return text if text.isascii() and text.isprintable() else "".join(map(_harmless, text))


def _harmless(char: str) -> str:
    category = unicodedata.category(char)
    if char.isspace() or category in ("Zl", "Zp"):
        return " "
    invisible = category in ("Cc", "Cs", "Cf") and char not in JOINERS
    return "\ufffd" if invisible or char in "\ufffe\uffff" else char


def marks(column: Column) -> NDArray[np.str_]:
    """Give the mark of every cell; a missing number without a mark is not available, never blank."""
    return np.where(np.isnan(column.values) & (column.marks == ""), "x", column.marks)


def shown(value: float, mark: str, decimals: int, *, thousands: str = ",") -> str:
    """Give what stands in a cell: the number, or the mark in square brackets.

    >>> shown(1234.5, "", 1), shown(float("nan"), "c", 0)
    ('1,234.5', '[c]')
    """
    return f"[{mark}]" if mark else f"{value:z{thousands}.{decimals}f}"


def shown_value(value: Value, *, thousands: str = ",") -> str:
    """Give what stands in a cell of a grid: the text, the number as it was rounded, or the mark that none applies.

    >>> shown_value(1234.5), shown_value(12000.0), shown_value(2e-16), shown_value(None), shown_value("age")
    ('1,234.5', '12,000', '2e-16', '[z]', 'age')
    """
    if value is None:
        return NOT_APPLICABLE
    if isinstance(value, str):
        return plain(value)
    return f"{value:z{thousands}.15g}" if abs(value) < 1e15 else f"{value:.15g}"


def subject(release: ModelRelease[Any]) -> str:
    """Say what was asked: the formula and family of a model, or the variables of a correlation."""
    return plain(release.request.title)


def model_legend(release: ModelRelease[Any]) -> tuple[tuple[str, str], ...]:
    """Explain the mark of numbers that do not apply, if there is one."""
    values = (value for grid in release.grids.values() for row in grid.rows for value in row)
    return ((NOT_APPLICABLE, MARKS["z"]),) if any(value is None for value in values) else ()


def titles(columns: Iterable[Column]) -> list[str]:
    """Give the titles of measures side by side: of an error or the end of an interval what it adds to the measure before."""
    found: list[str] = []
    base = None
    for column in columns:
        title = plain(column.label or column.name)
        if base is None or not column.name.startswith(f"{base.name}_"):
            base = column
        elif (added := title.removeprefix(f"{plain(base.label or base.name)}, ")) != title:
            title = added[:1].upper() + added[1:]
        found.append(title)
    return found


def legend(release: Release) -> tuple[tuple[str, str], ...]:
    """Explain the marks that this release uses, in the order of `MARKS`."""
    used = {str(mark) for column in release.columns.values() for mark in np.unique(marks(column))}
    return tuple((f"[{mark}]", meaning) for mark, meaning in MARKS.items() if mark in used)


def adding(release: Release) -> str:
    """Say whether the totals add."""
    return "Totals add." if release.totals_add else "Totals need not equal the sum of their parts."
