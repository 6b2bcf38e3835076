"""Special uniques: records that few of their keys already single out (SUDA)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, factorial, prod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from confide.arrays import Bools, Floats, Ints
from confide.data.compiling import compiled
from confide.errors import Mistake
from confide.measures.records import listed, weights_of
from confide.measures.risk.classes import frequencies, keyed

__all__ = ["Scoring", "SpecialUniques", "suda"]

Scoring = Literal["elliot", "ihsn"]

MOST = 1 << 34
"""Sets of keys times records, a bit each: beyond this, 2 GB, they would not fit into memory, nor be done in an hour."""

Marks = dict[tuple[int, ...], NDArray[np.uint8]]

FRACTION = 0.1
"""The share of the population that is taken to be in the sample where there are no weights."""


@dataclass(frozen=True)
class SpecialUniques:
    """Of each record its score, its DIS-SUDA score, and how many minimal sample uniques it has, by their size from 1 on.

    `contribution` is the share of all scores that minimal uniques with each key have.
    """

    score: Floats
    dis: Floats
    minimal: Ints
    keys: tuple[str, ...]
    contribution: Floats

    @property
    def percent(self) -> float:
        """The percentage of records with a score: those that some combination of the keys singles out."""
        return 100 * float(np.mean(self.score > 0))


def suda(
    frame: Any,
    *,
    keys: str | Sequence[str],
    size: int | None = None,
    weight: str | None = None,
    scoring: Scoring = "elliot",
) -> SpecialUniques:
    """SUDA and DIS-SUDA scores (Elliot et al. 2005): the smallest sets of keys that single out each record, and how special.

    A minimal sample unique is a set of keys on which the record is unique in the file and on no part of which it is.
    With K keys and sets of up to `size`, one of s keys scores (K-s)(K-s-1)...(K-size), and 1 at least; "ihsn" scores
    (2^(K-s) - 1) s! (K-s)! / K!. A missing key singles nobody out. The DIS-SUDA score spreads the probability that a
    unique match is correct, q U / (q U + (1-q) P), over the records by their scores, with U unique records, P in pairs,
    and q the sampling fraction, from the weights or else 10 percent. Reference: Elliot et al. (2005); Elliot and
    Manning (2003); Skinner and Elliot (2002).

    >>> import pyarrow as pa
    >>> people = pa.table({"sex": list("ffmm"), "town": list("AABA"), "job": list("xyxx")})
    >>> found = suda(people, keys=["sex", "town", "job"])
    >>> found.score.tolist(), found.minimal[2].tolist()
    ([1.0, 2.0, 2.0, 1.0], [1, 0, 0])
    """
    names = listed(keys, "keys")
    codes, weights = keyed(frame, names), weights_of(frame, weight)
    largest = len(names) if size is None else size
    if not 1 <= largest <= len(names):
        raise Mistake(f"The size of sets of keys is from 1 to {len(names)}, the number of keys; not {size}.")
    points = _points(len(names), largest, scoring)
    minimal, times = _search(codes, largest)
    score, worth = minimal @ points, times @ points
    fraction = FRACTION if weights is None else min(1.0, len(codes) / float(weights.sum()))
    contribution = worth / score.sum() if score.any() else np.zeros(len(names))
    return SpecialUniques(score, _dis(codes, score, fraction), minimal, names, contribution)


def _points(keys: int, size: int, scoring: str) -> Floats:
    """What a minimal unique of each size scores."""
    if scoring == "elliot":
        return np.array(
            [prod(keys - i for i in range(s, min(size, keys - 1) + 1)) for s in range(1, size + 1)], np.float64
        )
    if scoring == "ihsn":
        share = [(2 ** (keys - s) - 1) * factorial(s) * factorial(keys - s) for s in range(1, size + 1)]
        return np.array(share, np.float64) / factorial(keys)
    raise Mistake(f"Scores are counted as 'elliot' or 'ihsn', not {scoring!r}.")


def _dis(codes: Ints, score: Floats, fraction: float) -> Floats:
    """1 / (1 + U (1/D - 1) / (score^Q A)), with Q = 1 + (8 - K) / 20 and A the sum of score^-Q."""
    count = frequencies(codes)
    unique, pairs = float((count == 1).sum()), float((count == 2).sum())
    dis = np.zeros(len(score))
    special = score > 0
    if not special.any():
        return dis
    risen = score[special] ** (1 + (8 - codes.shape[1]) / 20)
    right, wrong = unique * fraction, pairs * (1 - fraction)
    dis[special] = 1 / (1 + unique * (wrong / right) / (risen * (1 / risen).sum()))
    return dis


def _search(codes: Ints, largest: int) -> tuple[Ints, Ints]:
    """How many minimal uniques each record has, and each key is in, by their size.

    Sets of keys are gone through by size; a record is looked at on a set only if it is unique on no part of it. Records
    that are unique on a part are unique on the whole, so to leave them out changes nothing for the others.
    """
    records, keys = codes.shape
    if sum(comb(keys, s) for s in range(1, largest + 1)) * records > MOST:
        raise Mistake("So many keys have too many combinations.", suggestions=["Set a smaller size, such as 3."])
    minimal, times = np.zeros((records, largest), np.int64), np.zeros((keys, largest), np.int64)
    columns = np.ascontiguousarray(codes.T)
    before: Marks = {}  # of sets one smaller; they were handed the marks of still smaller ones, so those can go
    for s in range(1, largest + 1):
        after: Marks = {}
        for chosen in combinations(range(keys), s):
            done = _done(before, chosen, records)
            new = _new(columns[list(chosen)], done)
            minimal[:, s - 1] += new
            times[list(chosen), s - 1] += int(new.sum())
            after[chosen] = np.packbits(done | new)
        before = after
    return minimal, times


def _done(before: Marks, chosen: tuple[int, ...], records: int) -> Bools:
    """The records that need not be looked at: those unique, or without a value, on a part of the set."""
    if len(chosen) == 1:
        return np.zeros(records, np.bool_)
    marks = np.bitwise_or.reduce([before[part] for part in combinations(chosen, len(chosen) - 1)])
    return np.unpackbits(marks, count=records).astype(np.bool_)


def _new(columns: Ints, done: Bools) -> Bools:
    """The records not done that are unique on these columns; those without a value become done."""
    # Rows that lack a value are counted as if that were a value: they are alike only among themselves, so nobody else's
    # count changes.
    unique, rows = np.zeros(len(done), np.bool_), np.flatnonzero(~done)
    _unique(columns, rows, unique)
    missing = (columns < 0).any(axis=0)
    done |= missing
    return unique & ~missing


@compiled
def _unique(columns: Ints, rows: Ints, unique: Bools) -> None:
    """Mark the rows that share their values with no other of these rows: a hash table of first rows and counts."""
    # At most half full, so that the next free place is a step or two away; values are compared, so hashes that collide
    # cost time only. The multiplier is 2^64 / golden ratio; the shift brings its high bits, which are well mixed, down to
    # the low ones, which say the place.
    size = 1
    while size < 2 * len(rows):
        size *= 2
    first, count = np.full(size, -1, np.int64), np.zeros(size, np.int64)
    place = np.empty(len(rows), np.int64)
    for i in range(len(rows)):
        row, mixed = rows[i], np.uint64(14695981039346656037)
        for k in range(len(columns)):
            mixed = (mixed ^ np.uint64(columns[k, row] + 1)) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        at = np.int64(mixed & np.uint64(size - 1))
        while first[at] >= 0:
            same = True
            for k in range(len(columns)):
                if columns[k, first[at]] != columns[k, row]:
                    same = False
                    break
            if same:
                break
            at = (at + 1) & (size - 1)
        if first[at] < 0:
            first[at] = row
        count[at] += 1
        place[i] = at
    for i in range(len(rows)):
        unique[rows[i]] = count[place[i]] == 1
