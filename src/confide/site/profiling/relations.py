"""What columns are to one another: levels of a hierarchy, a number in bands, the same thing twice."""

from math import log

import numpy as np

from confide.arrays import Floats, Ints
from confide.site.profiling.column import EVIDENCE, Places, ProfiledColumn

__all__ = ["SAME", "bands", "cramers_v", "duplicates", "parent_codes", "parents"]

BANDED = 0.95
"""Classes that tell so much of a number's rank are the number in bands."""

SAME = 0.98
"""Two columns of which one tells so much of the other (Cramér's V, or the share of equal numbers) are one thing twice."""

LARGEST = 1_000_000
"""Two columns with more pairs of codes than this are not compared."""

SAMPLED = 50_000
"""So many records, spread over the file, tell whether one column tells another."""


def _sampled(column: ProfiledColumn) -> Places:
    return column.places[:: max(1, column.rows // SAMPLED)]


def bands(classes: list[ProfiledColumn], amounts: list[ProfiledColumn]) -> dict[str, ProfiledColumn]:
    """For each column of classes, the number that they nearly tell, if there is one."""
    found = {}
    for column in classes:
        told = {amount.name: _told(column, amount) for amount in amounts}
        best = max(amounts, key=lambda amount: told[amount.name], default=None)
        if best is not None and told[best.name] >= BANDED:
            found[column.name] = best
    return found


def _told(column: ProfiledColumn, amount: ProfiledColumn) -> float:
    """The share of the variance of a number's rank that lies between the classes; who has the commonest value, often 0, aside."""
    assert amount.numbers is not None
    values = np.append(amount.numbers, np.nan)[_sampled(amount)]
    commonest = amount.numbers[amount.counts.argmax()]
    known = (_sampled(column) >= 0) & ~np.isnan(values) & (values != commonest)
    classes = _sampled(column)[known]
    if known.sum() < EVIDENCE * column.size or len(np.unique(classes)) < 3:
        return 0.0
    ranks = np.unique(values[known], return_inverse=True)[1].ravel().astype(float)
    ranks -= ranks.mean()
    sums, sizes = np.bincount(classes, ranks), np.bincount(classes)
    return float((sums**2 / np.maximum(sizes, 1)).sum() / max((ranks**2).sum(), 1e-300))


def duplicates(columns: list[ProfiledColumn]) -> dict[str, ProfiledColumn]:
    """Columns that say nearly the same as one before them, with that one. Their few differences would single records out."""
    found: dict[str, ProfiledColumn] = {}
    for place, later in enumerate(columns):
        for before in columns[:place]:
            if before.name not in found and _alike(before, later) and _agreement(before, later) >= SAME:
                found[later.name] = before
                break
    return found


def _alike(one: ProfiledColumn, other: ProfiledColumn) -> bool:
    """Whether it is worth looking closer: of one kind, with about as many codes, enough records, as many in the commonest."""
    if one.categorical != other.categorical or one.rows < EVIDENCE * min(one.size, 50):
        return False
    most, near = max(one.size, other.size), 0.02 * one.rows
    return abs(one.size - other.size) <= 0.02 * most and abs(int(one.counts.max()) - int(other.counts.max())) <= near


def _agreement(one: ProfiledColumn, other: ProfiledColumn) -> float:
    first, second = _sampled(one), _sampled(other)
    if not one.categorical:
        return _equal(one, other)
    if one.size * other.size > LARGEST:
        return 0.0
    pairs = (first + 1).astype(np.int64) * (other.size + 1) + second + 1  # who has no value is a class
    counts = np.bincount(pairs, minlength=(one.size + 1) * (other.size + 1))
    return cramers_v(counts.reshape(one.size + 1, other.size + 1))


def _equal(one: ProfiledColumn, other: ProfiledColumn) -> float:
    """The share of records with equal numbers, those aside that have the commonest, often 0, in both."""
    assert one.numbers is not None and other.numbers is not None
    first = np.append(one.numbers, np.nan)[_sampled(one)]
    second = np.append(other.numbers, np.nan)[_sampled(other)]
    telling = (first != one.numbers[one.counts.argmax()]) | (second != other.numbers[other.counts.argmax()])
    same = (first == second) | (np.isnan(first) & np.isnan(second))
    return float(same[telling].mean()) if telling.sum() >= EVIDENCE else 0.0


def cramers_v(counts: Ints | Floats) -> float:
    """Cramér's V of a table of counts: 1 where each variable tells the other, near 0 where classes merely are common in both.

    >>> cramers_v(np.array([[5, 0], [0, 5]])), cramers_v(np.array([[98, 1], [1, 0]])) < 0.1
    (1.0, True)
    """
    table = np.asarray(counts, dtype=np.float64)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    if min(table.shape) < 2:
        return 0.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    chi2 = float((table**2 / expected).sum() / table.sum()) - 1
    return float(np.sqrt(max(chi2, 0.0) / (min(table.shape) - 1)))


def parents(columns: list[ProfiledColumn]) -> dict[str, ProfiledColumn]:
    """For each column, the finest other column that it determines, unless that looks like an accident."""
    found: dict[str, ProfiledColumn] = {}
    for fine in columns:
        if fine.size < 5 or fine.size > fine.rows / 5:
            continue
        coarser = [c for c in columns if c.size < fine.size]
        for coarse in sorted(coarser, key=lambda c: -c.size):
            if _determines(fine, coarse) and not _accidental(fine, coarse):
                found[fine.name] = coarse
                break
    siblings = [coarse.name for coarse in found.values()]
    by_name = {c.name: c for c in columns}
    return {n: c for n, c in found.items() if siblings.count(c.name) == 1 or _prefixed(by_name[n], c)}


def parent_codes(fine: ProfiledColumn, coarse: ProfiledColumn) -> dict[str, str]:
    """The coarser code of each code."""
    first = _first(fine.places, coarse.places, fine.size)
    return {code: coarse.codes[first[place]] for place, code in enumerate(fine.codes)}


def _first(fine: Places, coarse: Places, size: int) -> Places:
    """For each code, the coarser code of some record that has it; the last entry is for records without."""
    first = np.full(size + 1, -1, dtype=np.int32)
    first[fine] = coarse
    return first


def _determines(fine: ProfiledColumn, coarse: ProfiledColumn) -> bool:
    if fine.missing != coarse.missing:
        return False
    begin = slice(0, 2000)  # most pairs part early, and the file may be long
    for part in (begin, slice(None)):
        first = _first(fine.places[part], coarse.places[part], fine.size)
        if not (first[fine.places[part]] == coarse.places[part]).all():
            return False
    return bool(first[-1] < 0 and (first[:-1] >= 0).all())


def _accidental(fine: ProfiledColumn, coarse: ProfiledColumn) -> bool:
    """Whether unrelated columns could look like this: the probability that each code meets one coarser code only."""
    sizes, times = np.unique(fine.counts, return_counts=True)
    shares: Floats = coarse.counts / max(1, int(coarse.counts.sum()))
    chance = (shares[None, :] ** sizes[:, None].clip(max=1000)).sum(axis=1)
    return float(times @ np.log(np.maximum(chance, 1e-300))) > log(1e-9)


def _prefixed(fine: ProfiledColumn, coarse: ProfiledColumn) -> bool:
    return all(code.startswith(up) for code, up in parent_codes(fine, coarse).items())
