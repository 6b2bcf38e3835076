"""Groups of records some of which miss values: every average is over at least k records that have the column."""

from collections.abc import Callable, Sequence

import numpy as np

from confide.arrays import Bools, Ints
from confide.data.kdtree.shrinking import MixedPoints, closest
from confide.errors import Mistake
from confide.microdata.search.attributes import Attribute, RecordGroups, centres, space
from confide.microdata.search.partition import Progress

__all__ = ["Partition", "group"]

Partition = Callable[[MixedPoints, Progress], Ints]
"""Cuts points into groups; -1 for a record that is to join the nearest."""


def group(attributes: Sequence[Attribute], cut: Partition, *, k: int, where: str, progress: Progress) -> RecordGroups:
    """Group the records that miss the same columns; those too few for a group join the nearest that has their columns.

    Who joins so does not count for the averages. A record that misses everything is in no group.
    """
    known = np.stack([~np.isnan(one.coordinate) for one in attributes], axis=1)
    patterns, of = _patterns(known)
    number, counted = np.full(len(known), -1), np.ones(len(known), np.bool_)
    owner: list[int] = []
    few: list[int] = []
    for p, pattern in enumerate(patterns):
        rows = np.flatnonzero(of == p)
        if pattern.any() and len(rows) < k:
            few.append(p)
        elif pattern.any():
            number[rows] = _cut(_those(attributes, pattern), rows, cut, progress) + len(owner)
            owner += [p] * (int(number[rows].max()) + 1 - len(owner))
    for p in few:
        rows, homes = np.flatnonzero(of == p), np.flatnonzero([bool(np.all(patterns[o] >= patterns[p])) for o in owner])
        if not len(homes):
            names = ", ".join(repr(one.name) for one in _those(attributes, patterns[p]))
            raise Mistake(
                f"Fewer than k = {k} records{where} have {names} known.",
                suggestions=["Choose a smaller k, larger strata, or mask columns in separate groups."],
            )
        there = _those(attributes, patterns[p])
        stand = centres(there, RecordGroups(number, len(owner), counted))
        number[rows] = homes[closest(space(there, rows), stand[homes])]
        counted[rows] = False
    return RecordGroups(number, len(owner), counted)


def _cut(attributes: Sequence[Attribute], rows: Ints, cut: Partition, progress: Progress) -> Ints:
    """The groups of records that all have these columns; leftovers join the nearest and count."""
    points = space(attributes, rows)
    number = cut(points, progress)
    left = np.flatnonzero(number < 0)
    if len(left):
        everywhere = np.full(len(attributes[0].coordinate), -1)
        everywhere[rows] = number
        stand = centres(attributes, RecordGroups(everywhere, int(number.max()) + 1, everywhere >= 0))
        number[left] = closest(points._replace(points=points.points[left]), stand)
    return number


def _patterns(known: Bools) -> tuple[Bools, Ints]:
    """Which columns are known together, and which of these patterns each record has."""
    if known.all():
        return np.ones((1, known.shape[1]), np.bool_), np.zeros(len(known), np.int64)
    packed = np.packbits(known, axis=1)
    bits = packed.view(f"V{packed.shape[1]}")[:, 0]
    _, first, inverse = np.unique(bits, return_index=True, return_inverse=True)
    return known[first], inverse


def _those(attributes: Sequence[Attribute], pattern: Bools) -> list[Attribute]:
    return [one for one, there in zip(attributes, pattern, strict=True) if there]
