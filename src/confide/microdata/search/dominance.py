"""Groups in which no record contributes too much to a total: those in which one does are joined with their neighbours."""

from collections.abc import Sequence

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.data.kdtree.shrinking import closest
from confide.errors import Mistake
from confide.microdata.search.attributes import Attribute, NumberAttribute, RecordGroups, centres, space

__all__ = ["largest_shares", "undominated"]


def undominated(
    attributes: Sequence[Attribute], groups: RecordGroups, *, most: float, weights: Floats | None, where: str
) -> RecordGroups:
    """Join each group in which one record has more than `most` of a total with the nearest, until there is none.

    A total is the sum of the absolute values of a number, weighted if there are weights.
    """
    while True:
        over = np.flatnonzero(largest_shares(attributes, groups, weights).max(axis=1, initial=0.0) > most + 1e-12)
        if not len(over):
            return groups
        joined = _joined(attributes, groups, over)
        if joined.count == groups.count:
            raise Mistake(
                f"Microaggregation: one record has more than dominance = {most:g} of a total in every group it could join{where}.",
                suggestions=["Cut the extremes first by top-bottom-coding, or allow a larger share."],
            )
        groups = joined


def largest_shares(attributes: Sequence[Attribute], groups: RecordGroups, weights: Floats | None) -> Floats:
    """Of each group and number, the share of the total that is one record's; 0 where the total is."""
    shares = np.zeros((groups.count, len(attributes)))
    for j, one in enumerate(attributes):
        if isinstance(one, NumberAttribute):
            rows = np.flatnonzero(groups.counted & (groups.number >= 0) & ~np.isnan(one.values))
            amount = np.abs(one.values[rows]) * (1.0 if weights is None else weights[rows])
            most, total = np.zeros(groups.count), np.bincount(groups.number[rows], amount, groups.count)
            np.maximum.at(most, groups.number[rows], amount)
            shares[:, j] = np.divide(most, total, out=np.zeros_like(most), where=total > 0)
    return shares


def _joined(attributes: Sequence[Attribute], groups: RecordGroups, over: Ints) -> RecordGroups:
    """Some groups each with the nearest other that has all their columns; as they were, if there is none."""
    stand = centres(attributes, groups)
    known = ~np.isnan(stand)
    root = np.arange(groups.count)
    for group in over:
        found = _nearest(attributes, stand, known, int(group))
        root[_top(root, int(group))] = _top(root, found)
    tops = np.array([_top(root, group) for group in range(groups.count)])
    kept, number = np.unique(tops, return_inverse=True)
    return RecordGroups(np.append(number, -1)[groups.number], len(kept), groups.counted)


def _nearest(attributes: Sequence[Attribute], stand: Floats, known: Bools, group: int) -> int:
    # `centres` and `space` both put categories last, so the columns of one are those of the other
    there = np.flatnonzero(known[group])
    homes = np.flatnonzero(known[:, there].all(axis=1) & (np.arange(len(stand)) != group))
    if not len(homes):
        return group
    whole = space(attributes, np.zeros(1, np.int64))
    point = np.where(known[group], stand[group], 0.0)[None]
    others = np.where(known[group], stand[homes], 0.0)
    return int(homes[closest(whole._replace(points=point), np.ascontiguousarray(others))[0]])


def _top(root: Ints, group: int) -> int:
    while root[group] != group:
        group = int(root[group])
    return group
