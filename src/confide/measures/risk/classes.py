"""Records that share all their keys: how many there are like each, and what that protects."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.errors import Mistake
from confide.measures.records import codes_of, listed

__all__ = ["Blank", "class_of", "frequencies", "keyed"]

Blank = Literal["category", "anything"]
"""How a missing key reads: as a category of its own, or as something that any value matches."""


def keyed(frame: Any, keys: str | Sequence[str]) -> Ints:
    """The keys of a file as codes, one row a record; a file without records is a Mistake."""
    codes = codes_of(frame, listed(keys, "keys"))
    if not len(codes):
        raise Mistake("The file has no records.")
    return codes


def class_of(codes: Ints) -> Ints:
    """The number of each record's class: records with the same codes have the same; missing is a code of its own."""
    number, width = np.zeros(len(codes), np.int64), 1
    for column in codes.T:
        size = int(column.max(initial=-1)) + 2
        if width * size >= 1 << 62:  # the number would no longer fit
            number = np.unique(number, return_inverse=True)[1].astype(np.int64)
            width = int(number.max(initial=0)) + 1
        number, width = number * size + column + 1, width * size
    return np.unique(number, return_inverse=True)[1].astype(np.int64)


def frequencies(codes: Ints, weight: Floats | None = None, *, blank: Blank = "category") -> Floats:
    """How many records have the keys of each, itself among them; with weights, how much they weigh.

    >>> codes = np.array([[0, 0], [0, 0], [0, -1], [1, 1]])
    >>> frequencies(codes).tolist(), frequencies(codes, blank="anything").tolist()
    ([2.0, 2.0, 1.0, 1.0], [3.0, 3.0, 3.0, 1.0])
    """
    if blank not in ("category", "anything"):
        raise Mistake(f"A blank is read as 'category' or 'anything', not {blank!r}.")
    weight = np.ones(len(codes)) if weight is None else weight
    if blank == "category":
        number = class_of(codes)
        return np.asarray(np.bincount(number, weight)[number], dtype=np.float64)
    return _matching(codes, weight)


def _matching(codes: Ints, weight: Floats) -> Floats:
    """As above where a blank matches anything: patterns of blanks are compared with one another, on what both know."""
    pattern = class_of(np.where(codes < 0, -1, 0))
    parts = [np.flatnonzero(pattern == number) for number in range(int(pattern.max()) + 1)]
    total = np.zeros(len(codes))
    for rows in parts:
        for others in parts:
            known = (codes[rows[0]] >= 0) & (codes[others[0]] >= 0)
            total[rows] += _found(codes, rows, others, known, weight)
    return total


def _found(codes: Ints, rows: Ints, others: Ints, known: Bools, weight: Floats) -> Floats:
    number = class_of(codes[np.append(rows, others)][:, known])
    mass = np.bincount(number[len(rows) :], weight[others], minlength=int(number.max()) + 1)
    return np.asarray(mass[number[: len(rows)]])
