"""The words around a table that text, HTML and Excel share: shown numbers, legend, and whether totals add."""

import unicodedata

import numpy as np
from numpy.typing import NDArray

from confide.model.release import MARKS, Column, Release

__all__ = ["adding", "legend", "marks", "plain", "shown"]

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


def legend(release: Release) -> tuple[tuple[str, str], ...]:
    """Explain the marks that this release uses, in the order of `MARKS`."""
    used = {str(mark) for column in release.columns.values() for mark in np.unique(marks(column))}
    return tuple((f"[{mark}]", meaning) for mark, meaning in MARKS.items() if mark in used)


def adding(release: Release) -> str:
    """Say whether the totals add."""
    return "Totals add." if release.totals_add else "Totals need not equal the sum of their parts."
