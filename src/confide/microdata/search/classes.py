"""Records with equal keys, and how many records fit what each one shows. Keys are codes; -1 is a blank."""

from collections.abc import Iterator

import numpy as np

from confide.arrays import Ints

__all__ = ["class_of", "fitting", "patterns", "sizes"]


def class_of(codes: Ints) -> Ints:
    """The number of each record's class: equal for equal codes; a blank is a code of its own."""
    number, width = np.zeros(len(codes), np.int64), 1
    for column in codes.T:
        span = int(column.max(initial=-1)) + 2
        if width > (1 << 62) // span:  # the number would no longer fit
            number = np.unique(number, return_inverse=True)[1].astype(np.int64)
            width = int(number.max(initial=0)) + 1
        number, width = number * span + column + 1, width * span
    return np.unique(number, return_inverse=True)[1].astype(np.int64)


def sizes(codes: Ints) -> Ints:
    """How many records have the codes of each, itself among them.

    >>> sizes(np.array([[0, 1], [0, 1], [0, -1]])).tolist()
    [2, 2, 1]
    """
    number = class_of(codes)
    return np.bincount(number)[number].astype(np.int64)


def patterns(codes: Ints) -> tuple[Ints, Ints, Ints]:
    """Every different row of codes, how many records have it, and which of them each record has."""
    number = class_of(codes)
    _, first, count = np.unique(number, return_index=True, return_counts=True)
    return codes[first], count.astype(np.int64), number


def fitting(shown: Ints, others: Ints, count: Ints) -> Ints:
    """How many records agree with each row of `shown` wherever both are known: a blank fits anything.

    `others` are the patterns of the records, and `count` says how many records have each.

    >>> fitting(np.array([[0, -1], [1, 1]]), np.array([[0, 1], [0, 2], [-1, 1]]), np.array([1, 2, 4])).tolist()
    [7, 4]
    """
    total = np.zeros(len(shown), np.int64)
    theirs = list(_by_blanks(others))
    for rows in _by_blanks(shown):
        for those in theirs:
            known = (shown[rows[0]] >= 0) & (others[those[0]] >= 0)
            number = class_of(np.concatenate([shown[rows], others[those]])[:, known])
            mass = np.zeros(int(number.max()) + 1, np.int64)
            np.add.at(mass, number[len(rows) :], count[those])
            total[rows] += mass[number[: len(rows)]]
    return total


def _by_blanks(codes: Ints) -> Iterator[Ints]:
    """The places of rows that are blank in the same columns."""
    if not len(codes):
        return
    number = class_of(np.where(codes < 0, -1, 0))
    order = np.argsort(number, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(number[order])) + 1)
