"""Uniqueness, k-anonymity, l-diversity, t-closeness and dominance: what the classes of records with equal keys protect."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from confide.arrays import Floats, Ints
from confide.errors import Mistake
from confide.measures.records import FileColumn, FileRecords
from confide.measures.risk.classes import Blank, class_of, frequencies, keyed

__all__ = [
    "Anonymity",
    "ClassDominance",
    "Closeness",
    "Diversity",
    "dominance",
    "k_anonymity",
    "l_diversity",
    "t_closeness",
]


@dataclass(frozen=True)
class Anonymity:
    """How many records share the keys of each record."""

    frequency: Ints

    @property
    def k(self) -> int:
        """The level of k-anonymity: the size of the smallest class."""
        return int(self.frequency.min())

    @property
    def unique(self) -> float:
        """The percentage of records that are alone with their keys."""
        return self.below(2)

    def below(self, k: int) -> float:
        """The percentage of records that fewer than k records share the keys of.

        >>> Anonymity(np.array([1, 2, 2, 5])).below(3)
        75.0
        """
        return 100 * float(np.mean(self.frequency < k))


def k_anonymity(frame: Any, *, keys: str | Sequence[str], blank: Blank = "category") -> Anonymity:
    """k-anonymity (Samarati and Sweeney 1998): how many records share the keys of each, and so the sample uniques.

    A missing key is a category of its own: two records are alike if both lack it. With blank="anything" a missing key
    matches every value, the reading of some other programs, which calls more files anonymous: an intruder who knows how
    blanks came about need not agree.

    >>> import pyarrow as pa
    >>> people = pa.table({"sex": ["f", "f", "m", None], "town": ["A", "A", "A", "A"]})
    >>> found = k_anonymity(people, keys=["sex", "town"])
    >>> found.k, found.unique, k_anonymity(people, keys=["sex", "town"], blank="anything").k
    (1, 50.0, 2)
    """
    return Anonymity(frequencies(keyed(frame, keys), blank=blank).astype(np.int64))


@dataclass(frozen=True)
class Diversity:
    """Of each record's class, the different known confidential values, and the exponential of their entropy.

    A class in which no value is known gives nothing away; its numbers are infinite.
    """

    distinct: Floats
    entropy: Floats

    @property
    def level(self) -> float:
        """The level of distinct l-diversity: infinite where no value is known at all."""
        return float(self.distinct.min())

    @property
    def entropy_level(self) -> float:
        """The level of entropy l-diversity, at most that of distinct l-diversity."""
        return float(self.entropy.min())

    @property
    def disclosed(self) -> float:
        """The percentage of records whose class has one known value only: an attribute disclosure without a link."""
        return 100 * float(np.mean(self.distinct == 1))


def l_diversity(frame: Any, *, keys: str | Sequence[str], confidential: str) -> Diversity:
    """l-diversity (Machanavajjhala et al. 2007): how many confidential values stand in each class, plainly and by entropy.

    A missing value is no value: it does not make a class more diverse.

    >>> import pyarrow as pa
    >>> people = pa.table({"sex": list("ffmm"), "ill": ["no", "yes", "yes", "yes"]})
    >>> found = l_diversity(people, keys="sex", confidential="ill")
    >>> found.level, found.disclosed
    (1.0, 50.0)
    """
    number, column = _with_confidential(frame, keys, confidential)
    counts, _ = _counts(number, column)
    size = np.bincount(counts[0], counts[2], minlength=len(np.unique(number)))
    share = counts[2] / np.maximum(size, 1)[counts[0]]
    distinct = np.bincount(counts[0], minlength=len(size)).astype(np.float64)
    entropy = np.exp(-np.bincount(counts[0], share * np.log(share), minlength=len(size)))
    blank = distinct == 0
    return Diversity(np.where(blank, inf, distinct)[number], np.where(blank, inf, entropy)[number])


@dataclass(frozen=True)
class Closeness:
    """How far the confidential values of each record's class are from those of the whole file, from 0 to 1."""

    distance: Floats

    @property
    def level(self) -> float:
        """The level of t-closeness: the largest distance."""
        return float(self.distance.max())


def t_closeness(frame: Any, *, keys: str | Sequence[str], confidential: str) -> Closeness:
    """t-closeness (Li, Li and Venkatasubramanian 2007): how far the confidential values of each class are from the file's.

    The earth mover's distance: of numbers and ordered categories, the mean shift in rank (between neighbouring values
    1 / (m - 1)); of other categories half the sum of absolute differences. Missing values are left out; a class of
    them is at distance 0.

    >>> import pyarrow as pa
    >>> people = pa.table({"sex": list("ffmm"), "pay": [1.0, 2.0, 3.0, 4.0]})
    >>> round(t_closeness(people, keys="sex", confidential="pay").level, 4)
    0.3333
    """
    number, column = _with_confidential(frame, keys, confidential)
    (which, value, count), codes = _counts(number, column)
    values = int(codes.max(initial=-1)) + 1
    whole = np.bincount(codes[codes >= 0], minlength=values) / max(1, (codes >= 0).sum())
    size = np.bincount(which, count, minlength=int(number.max()) + 1)
    ranked = column.kind == "numbers" or column.order is not None
    if values < 2:
        return Closeness(np.zeros(len(number)))
    measure = _ordered if ranked else _nominal
    return Closeness(np.where(size > 0, measure((which, value, count / size[which]), whole, len(size)), 0.0)[number])


@dataclass(frozen=True)
class ClassDominance:
    """Of each record's class, the share of its total that is the largest contributor's: 0 where the total is."""

    share: Floats

    @property
    def level(self) -> float:
        """The largest share of all classes."""
        return float(self.share.max())

    def above(self, share: float) -> float:
        """The percentage of records in classes of whose total one contributes more than this share."""
        return 100 * float(np.mean(self.share > share))


def dominance(frame: Any, *, keys: str | Sequence[str], confidential: str) -> ClassDominance:
    """Dominance (Domingo-Ferrer 2007): how much of the total of each class is one record's.

    Groups of k or more protect where no individual dominates: who has nearly all of a total is told by it, and by an
    average. Totals are of absolute values; missing ones contribute nothing.

    >>> import pyarrow as pa
    >>> firms = pa.table({"area": list("aabb"), "sales": [9.0, 1.0, 5.0, 5.0]})
    >>> found = dominance(firms, keys="area", confidential="sales")
    >>> found.level, found.above(0.75)
    (0.9, 50.0)
    """
    number, column = _with_confidential(frame, keys, confidential)
    if column.kind == "categories":
        raise Mistake(f"Column {confidential!r} holds categories, and dominance is about amounts.")
    amount = np.nan_to_num(np.abs(column.numbers))
    total, most = np.bincount(number, amount), np.zeros(int(number.max()) + 1)
    np.maximum.at(most, number, amount)
    return ClassDominance(np.divide(most, total, out=np.zeros_like(most), where=total > 0)[number])


def _nominal(part: tuple[Ints, Ints, Floats], whole: Floats, classes: int) -> Floats:
    """Half of the sum of |p - q|: that over the values that occur, and q of those that do not."""
    which, value, share = part
    apart = np.bincount(which, np.abs(share - whole[value]), minlength=classes)
    seen = np.bincount(which, whole[value], minlength=classes)
    return np.asarray((apart + 1 - seen) / 2)


def _ordered(part: tuple[Ints, Ints, Floats], whole: Floats, classes: int) -> Floats:
    """The sum of |P - Q| over the values, by which both distributions differ cumulatively, over m - 1.

    P is constant from one value that occurs in the class to the next, Q known everywhere: the sum over such a run is
    found from cumulative sums of Q, cut where Q passes the constant.
    """
    which, value, share = part
    below = np.cumsum(whole)
    total = np.append(0.0, np.cumsum(below))
    order = np.lexsort((value, which))
    which, value, share = which[order], value[order], share[order]
    reached = np.cumsum(share)
    first = np.append(True, which[1:] != which[:-1])
    level = reached - np.repeat((reached - share)[first], np.diff(np.append(np.flatnonzero(first), len(which))))
    end = np.append(np.where(first[1:], len(whole), value[1:]), len(whole))
    runs = _run(total, below, (value, end), level)
    head = total[value[first]]
    return np.asarray(
        (np.bincount(which, runs, minlength=classes) + np.bincount(which[first], head, minlength=classes))
        / (len(whole) - 1)
    )


def _run(total: Floats, below: Floats, ends: tuple[Ints, Ints], level: Floats) -> Floats:
    start, stop = ends
    cut = np.clip(np.searchsorted(below, level), start, stop)
    under = level * (cut - start) - (total[cut] - total[start])
    over = (total[stop] - total[cut]) - level * (stop - cut)
    return np.asarray(under + over)


def _with_confidential(frame: Any, keys: str | Sequence[str], confidential: str) -> tuple[Ints, FileColumn]:
    number = class_of(keyed(frame, keys))
    names = (keys,) if isinstance(keys, str) else tuple(keys)
    if confidential in names:
        raise Mistake(f"Column {confidential!r} is a key, so it cannot be confidential.")
    return number, FileRecords.of(frame, [confidential]).columns[confidential]


def _counts(number: Ints, column: FileColumn) -> tuple[tuple[Ints, Ints, Ints], Ints]:
    """Which classes have which known values how often; and the code of every record."""
    codes = column.coded[0] if column.order is None else _declared(column)
    there = codes >= 0
    width = int(codes.max(initial=0)) + 1
    cells, count = np.unique(number[there] * width + codes[there], return_counts=True)
    return (cells // width, cells % width, count.astype(np.int64)), codes


def _declared(column: FileColumn) -> Ints:
    """Codes in the order that the column declares."""
    order = [] if column.order is None else column.order.to_pylist()
    place = {value: place for place, value in enumerate(order)}
    return np.array([*(place[value] for value in column.coded[1].to_pylist()), -1], np.int64)[column.coded[0]]
