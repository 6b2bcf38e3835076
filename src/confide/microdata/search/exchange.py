"""Who exchanges values with whom."""

from collections.abc import Sequence

import numpy as np

from confide.arrays import Ints
from confide.data.compiling import compiled
from confide.microdata.records import Records
from confide.microdata.strata import first_of_each, must_agree

__all__ = ["of_households", "pairs_in_classes", "pairs_near", "partners_elsewhere"]

TRIES = 32
"""How often a free partner is looked for by chance before all are counted; chance and counting choose alike."""


@compiled
def pairs_near(size: int, width: int, rng: np.random.Generator) -> Ints:
    """For each rank the one it is exchanged with, at most `width` away; itself where nobody is left.

    From the lowest, each rank still free takes one of the free ranks above it within reach, each with the same chance.
    """
    partner = np.full(size, -1, np.int64)
    for i in range(size):
        if partner[i] >= 0:
            continue
        reach = min(size - 1, i + width) - i
        found = i
        for _ in range(TRIES if reach > 0 else 0):
            j = i + 1 + int(rng.random() * reach)
            if partner[j] < 0:
                found = j
                break
        if found == i:
            free = 0
            for j in range(i + 1, i + 1 + reach):
                free += partner[j] < 0
            left = int(rng.random() * free) + 1 if free > 0 else 0
            for j in range(i + 1, i + 1 + reach):
                if left > 0 and partner[j] < 0:
                    left -= 1
                    found = j if left == 0 else found
        partner[i], partner[found] = found, i
    return partner


def pairs_in_classes(classes: Ints, share: float, rng: np.random.Generator) -> Ints:
    """For each record the one of its class it is exchanged with; itself for those that are not drawn.

    Of a class, share x size / 2 pairs are drawn on average, the whole number below or above it.
    """
    order = rng.permutation(len(classes))
    order = order[np.argsort(classes[order], kind="stable")]
    starts = np.flatnonzero(np.r_[True, np.diff(classes[order]) != 0])
    sizes = np.diff(np.r_[starts, len(order)])
    pairs = np.minimum(np.floor(share * sizes / 2 + rng.random(len(sizes))).astype(np.int64), sizes // 2)
    place = np.arange(len(order)) - np.repeat(starts, sizes)
    first = order[np.flatnonzero((place < np.repeat(2 * pairs, sizes)) & (place % 2 == 0))]
    second = order[np.flatnonzero((place < np.repeat(2 * pairs, sizes)) & (place % 2 == 1))]
    partner = np.arange(len(order))
    partner[first], partner[second] = second, first
    return partner


@compiled
def partners_elsewhere(
    wanting: Ints, most: int, classes: Ints, areas: Ints, partner: Ints, rng: np.random.Generator
) -> int:
    """Give records that want one a free partner of their class in another area, by chance; how many pairs there are.

    `partner` is -1 for records that are free, and is filled in. No more than `most` pairs are made.
    """
    start = np.zeros(classes.max() + 2, np.int64)
    for one in classes:
        start[one + 1] += 1
    start = np.cumsum(start)
    end = start[:-1].copy()
    pool = np.empty(len(classes), np.int64)
    for i in range(len(classes)):
        if partner[i] < 0:
            pool[end[classes[i]]] = i
            end[classes[i]] += 1
    # once nobody is free elsewhere for one area, nobody is for others of the same area
    dry = np.full(len(end), -1, np.int64)
    pairs = 0
    for i in wanting:
        one = classes[i]
        if partner[i] >= 0 or dry[one] == areas[i]:
            continue
        if pairs >= most:
            break
        found = -1
        for _ in range(TRIES):
            at = start[one] + int(rng.random() * (end[one] - start[one]))
            j = pool[at]
            if partner[j] >= 0:  # taken meanwhile: out of the pool; i itself is always in it
                end[one] -= 1
                pool[at] = pool[end[one]]
            elif areas[j] != areas[i]:
                found = j
                break
        if found < 0:
            free = 0
            for at in range(start[one], end[one]):
                free += partner[pool[at]] < 0 and areas[pool[at]] != areas[i]
            left = int(rng.random() * free) + 1 if free > 0 else 0
            for at in range(start[one], end[one]):
                if left > 0 and partner[pool[at]] < 0 and areas[pool[at]] != areas[i]:
                    left -= 1
                    found = pool[at] if left == 0 else found
        if found < 0:
            dry[one] = areas[i]
        else:
            partner[i], partner[found] = found, i
            pairs += 1
    return pairs


def of_households(records: Records, names: Sequence[str]) -> None:
    """A Mistake where households are kept together and a column that is looked at differs within one."""
    if records.members is not None:
        table, member = records.members
        must_agree(table, names, *first_of_each(member))
