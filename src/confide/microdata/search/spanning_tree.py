"""Cutting records into groups of at least k along a minimum spanning tree: where gaps are wide, groups end.

A tree of all records with the least total length joins each cluster within itself first. Taking out its longest edges, as
long as k records or more are left on either side, parts the clusters.
"""

from typing import NamedTuple

import numpy as np

from confide.arrays import Floats, Ints
from confide.data.compiling import compiled
from confide.data.kdtree.shrinking import MixedPoints, distance
from confide.microdata.search.partition import Progress, mdav

__all__ = ["spanning_tree"]

STRIDE = 20_000_000
"""After so many distances compiled code returns, to tell progress and to hear Ctrl+C: a few tenths of a second."""


class GrowingTree(NamedTuple):
    """A tree as it grows: each record's squared distance from it and the member it is nearest to (-1 for the first), and the
    members in the order in which they came."""

    gap: Floats
    parent: Ints
    order: Ints


def spanning_tree(space: MixedPoints, *, k: int, progress: Progress) -> Ints:
    """Groups of k or more that follow clusters; what is left with 2k or more is cut by MDAV.

    Edges of the minimum spanning tree are looked at from the longest, and taken out if k records or more are left on both
    sides. Reference: Laszlo and Mukherjee (2005). All pairs of records are measured: time grows as their square.
    """
    tree = _beginning(len(space.points))
    n, done = len(space.points), 1
    while done < n:
        end = min(n, done + max(1, STRIDE // n))
        _grow(space, tree, done, end)
        done = end
        progress(done / n)
    group = _forest(tree, k)
    for number in np.flatnonzero(np.bincount(group) >= 2 * k):
        rows = np.flatnonzero(group == number)
        finer = mdav(space._replace(points=space.points[rows]), k=k, progress=lambda share: None)
        group[rows] = np.where(finer == 0, number, group.max() + finer)
    return group


def _beginning(n: int) -> GrowingTree:
    """The first record alone."""
    gap, order = np.full(n, np.inf), np.zeros(n, np.int64)
    gap[0] = -1.0  # members are marked by a gap that no record has
    return GrowingTree(gap, np.full(n, -1), order)


@compiled
def _grow(space: MixedPoints, tree: GrowingTree, start: int, end: int) -> None:
    """Take in the nearest record, up to so many members (Prim). Ties go to the lowest row."""
    gap, parent, order = tree.gap, tree.parent, tree.order
    for size in range(start, end):
        last, found, least = order[size - 1], -1, np.inf
        for i in range(len(gap)):
            if gap[i] < 0:
                continue
            apart = distance(space.points, i, space.points[last], space.numbers, space.trees)
            if apart < gap[i]:
                gap[i], parent[i] = apart, last
            if gap[i] < least:
                found, least = i, gap[i]
        order[size] = found
        gap[found] = -1.0 - least  # kept as the length of its edge, below every gap


def _forest(tree: GrowingTree, k: int) -> Ints:
    """The number of each record's part after the longest edges are taken out."""
    longest = np.argsort(tree.gap[tree.order[1:]], kind="stable")
    return _parts(tree, tree.order[1:][longest], k)


@compiled
def _parts(tree: GrowingTree, longest: Ints, k: int) -> Ints:
    """Cut above each of these records in turn, if k or more are left on both sides.

    `below` counts who still hangs on a record, itself among them; a cut is taken from all above it.
    """
    parent, below = tree.parent.copy(), np.ones(len(tree.parent), np.int64)
    for place in range(len(parent) - 1, 0, -1):
        row = tree.order[place]
        below[parent[row]] += below[row]
    for row in longest:
        if below[row] >= k:
            top = row
            while parent[top] >= 0:
                top = parent[top]
            if below[top] - below[row] >= k:
                above = parent[row]
                parent[row] = -1
                while above >= 0:
                    below[above] -= below[row]
                    above = parent[above]
    number, count = np.empty(len(parent), np.int64), 0
    for row in tree.order:
        if parent[row] < 0:
            number[row] = count
            count += 1
        else:
            number[row] = number[parent[row]]
    return number
