"""Questions that concern few: whether one does is what a draft tells of them."""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from confide.site.profiling import codes as said
from confide.site.profiling.column import MANY, ProfiledColumn
from confide.site.profiling.grouping import room

__all__ = ["asked_or_not", "tells_asked"]

ASKED, WHATEVER = "asked", "Asked, whatever the answer"
"""The class of all whom a question concerns, and its label."""

LEAST_ROOM = 3
"""Tables by three variables want room for so many classes of each, or who was asked is too few for them."""


def asked_or_not(column: ProfiledColumn, *, declared: tuple[str, ...]) -> ProfiledColumn:
    """The column with two classes, whom a question concerns and whom not, if most are the latter and the others very few.

    Who was not asked is missing otherwise, since they would hide how few were; here the answers are joined, so that they cannot.
    Codes that the file declares as missing stay so.
    """
    if not column.marks or not column.categorical or column.size > MANY:
        return column
    counts = dict(zip(column.codes, map(int, column.counts), strict=True))
    asked = [code for code in counts if code not in column.marks]
    most = max(column.marks, key=lambda mark: counts.get(mark, 0))
    few = len(asked) > 1 and room(sum(counts[code] for code in asked)) < LEAST_ROOM
    mostly = counts.get(most, 0) > column.rows / 2
    if not few or not mostly or most in declared or not _not_asked(column, most):
        return column
    return _joined(column, asked, most)


def tells_asked(column: ProfiledColumn) -> bool:
    """Whether its answers were joined."""
    return column.labels.get(ASKED) == WHATEVER


def _not_asked(column: ProfiledColumn, code: str) -> bool:
    return said.says_not_asked(code) or said.says_not_asked(column.labels.get(code, ""))


def _joined(column: ProfiledColumn, asked: list[str], most: str) -> ProfiledColumn:
    """The column with one class of the answers, of which these are spellings, and with the commonest mark as another."""
    answers = dict.fromkeys([*asked, *(code for code in column.labels if code not in column.marks)])
    spellings = [other for code in answers for other in (code, *column.synonyms.get(code, ()))]
    kept = [ASKED, *(code for code in column.codes if code not in answers)]
    to = np.array([*(0 if code in answers else kept.index(code) for code in column.codes), -1], np.int32)
    return replace(
        column,
        values=pa.array(kept, pa.string()),
        places=to[column.places],
        numbers=None,
        marks=tuple(mark for mark in column.marks if mark != most),
        labels={ASKED: WHATEVER, **{code: label for code, label in column.labels.items() if code not in answers}},
        synonyms={ASKED: tuple(code for code in spellings if code != ASKED)},
    )
