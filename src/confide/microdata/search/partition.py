"""Cutting records into groups of at least k that are alike: MDAV, V-MDAV, and the optimum of one number.

Each gives the number of every record's group. Ties go to the lowest row, so the same records give the same groups.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from confide.arrays import Floats, Ints
from confide.data.compiling import compiled
from confide.data.kdtree.shrinking import (
    NOBODY,
    ONE,
    CategoryTrees,
    MixedPoints,
    ShrinkingTree,
    build,
    farthest,
    nearest,
    remeasure,
    remove,
)

__all__ = ["Progress", "mdav", "optimal", "v_mdav"]

STRIDE = 5000
"""After so many steps compiled code returns, to tell progress and to hear Ctrl+C, which it cannot do itself."""

Progress = Callable[[float], None]


class PartitionState(NamedTuple):
    """How far MDAV has come: the `group` of each record, and of those that remain the `sums` of their numbers (two floats
    each, so that nothing is lost as records leave) and their counts in the `nodes` of trees. `tally`: records that
    remain, groups formed, nodes looked at."""

    group: Ints
    sums: Floats
    nodes: Ints
    tally: Ints


def mdav(space: MixedPoints, *, k: int, progress: Progress) -> Ints:
    """Groups of k by maximum distance to the average vector; the last group has up to 2k - 1.

    While 3k records remain, the one farthest from their average and the one farthest from that one each take the k - 1
    nearest. Reference: Domingo-Ferrer (2007), algorithm MDAV.
    """
    index, state = build(space), _beginning(space)
    remeasure(index, _centre(index, state))
    while _mdav_steps(index, state, k):
        progress(1 - int(state.tally[0]) / len(space.points))
    return state.group


def v_mdav(space: MixedPoints, *, k: int, gamma: float, progress: Progress) -> Ints:
    """Groups of k to 2k - 1 that follow how the records lie; the last few records are in none yet (-1).

    The record farthest from the average of all takes the k - 1 nearest; then the group takes in the record nearest to any
    of its own, as long as that is nearer than `gamma` times the distance of that record from the next one outside.
    Reference: Solanas and Martínez-Ballesté (2006).
    """
    index, state = build(space), _beginning(space)
    remeasure(index, _centre(index, state))
    away = np.empty(len(space.points))
    away[index.rows] = index.away
    order = np.argsort(-away, kind="stable")
    while _v_mdav_steps(index, state, order, k, gamma):
        progress(1 - int(state.tally[0]) / len(order))
    return state.group


def optimal(values: Floats, *, k: int) -> Ints:
    """The groups of one number with the least sum of squares about their means, of all with k or more each.

    Such groups are runs of the sorted values with k to 2k - 1 members: a shortest path. Reference: Hansen and
    Mukherjee (2003).
    """
    order = np.argsort(values, kind="stable")
    group = np.empty(len(values), np.int64)
    group[order] = _runs(values[order], k)
    return group


@compiled
def _beginning(space: MixedPoints) -> PartitionState:
    points, trees, (n, d) = space.points, space.trees, space.points.shape
    sums, nodes = np.zeros((2, space.numbers)), np.zeros(trees.above.shape, np.int64)
    for i in range(n):
        for j in range(space.numbers):
            _add(sums, j, points[i, j])
        for j in range(space.numbers, d):
            _count(nodes, trees, j - space.numbers, int(points[i, j]), 1)
    return PartitionState(np.full(n, -1), sums, nodes, np.array([n, 0, 0]))


@compiled
def _add(sums: Floats, j: int, value: float) -> None:
    """Add a number to a sum of two floats; what rounding takes from the first goes to the second (Knuth's two-sum).

    A plain sum would carry the rounding of all that left into the average of the few that remain, and with it into who is
    farthest; and recomputing it at each step would make MDAV quadratic.
    """
    total = sums[0, j] + value
    part = total - sums[0, j]
    lost = (sums[0, j] - (total - part)) + (value - part) + sums[1, j]
    sums[0, j] = total + lost
    sums[1, j] = lost - (sums[0, j] - total)


@compiled
def _count(nodes: Ints, trees: CategoryTrees, t: int, leaf: int, change: int) -> None:
    for level in range(trees.depth[t] + 1):
        nodes[t, level, trees.above[t, level, leaf]] += change


@compiled
def _centre(index: ShrinkingTree, state: PartitionState) -> Floats:
    """The average of what remains: of numbers the mean, of categories the one nearest to all."""
    centre = np.empty(index.points.shape[1])
    for j in range(index.numbers):
        centre[j] = state.sums[0, j] / state.tally[0]
    for t in range(len(index.trees.depth)):
        centre[index.numbers + t] = _middle(state.nodes, index.trees, t)
    return centre


@compiled
def _middle(nodes: Ints, trees: CategoryTrees, t: int) -> int:
    """The category from which the squared distances of all records add up to least; without levels, the commonest."""
    depth, found, least = trees.depth[t], 0, np.inf
    for leaf in range(nodes.shape[2]):
        if nodes[t, depth, leaf] > 0:
            total = 0.0
            for level in range(depth):
                inside = nodes[t, level, trees.above[t, level, leaf]]
                total += trees.apart[t, level] ** 2 * (inside - nodes[t, level + 1, trees.above[t, level + 1, leaf]])
            if total < least:
                found, least = leaf, total
    return found


@compiled
def _leave(index: ShrinkingTree, state: PartitionState, row: int) -> None:
    """Put a record into the newest group and take it out of what remains."""
    place = index.place[row]
    for j in range(index.numbers):
        _add(state.sums, j, -index.points[place, j])
    for t in range(len(index.trees.depth)):
        _count(state.nodes, index.trees, t, int(index.points[place, index.numbers + t]), -1)
    remove(index, row)
    state.group[row] = state.tally[1]
    state.tally[0] -= 1


@compiled
def _form(index: ShrinkingTree, state: PartitionState, at: Floats, count: int, besides: int) -> None:
    """A group of the records nearest to a point."""
    rows, _ = nearest(index, at, count, besides)
    for row in rows:
        _leave(index, state, row)
    state.tally[1] += 1


@compiled
def _mdav_steps(index: ShrinkingTree, state: PartitionState, k: int) -> bool:
    """Go on for some steps; False when all records are in groups."""
    for _ in range(STRIDE):
        left = state.tally[0]
        if left < 2 * k:  # all that remain are one group, so from where they are looked for does not matter
            _form(index, state, index.origin.copy(), left, NOBODY)
            return False
        centre = _centre(index, state)
        one, looked = farthest(index, centre, NOBODY)
        state.tally[2] += looked
        # The average drifts from the origin as records leave, and bounds by the origin loosen. Measuring anew looks at all
        # that remain, so it is done when as many nodes have been looked at since: it at most doubles the work. It saved a
        # third of the time with 30,000 records of 10 numbers, a tenth with 300,000 of 4, nothing with 30,000 of 3 even ones;
        # measuring at each step took 50 times as long.
        if state.tally[2] > left:
            remeasure(index, centre)
            state.tally[2] = 0
        here, other = index.points[index.place[one]].copy(), NOBODY
        there = here
        if left >= 3 * k:
            other, _ = farthest(index, here, one)
            there = index.points[index.place[other]].copy()
        _form(index, state, here, k, other)  # without the other: it is the seed of the second group
        if left >= 3 * k:
            _form(index, state, there, k, NOBODY)
    return True


@compiled
def _v_mdav_steps(index: ShrinkingTree, state: PartitionState, order: Ints, k: int, gamma: float) -> bool:
    """Go on for some steps; False when fewer than k records remain. The tally's last is how far in `order` we are."""
    members = np.empty((2 * k - 1, index.points.shape[1]))
    for _ in range(STRIDE):
        if state.tally[0] < k:
            return False
        while state.group[order[state.tally[2]]] >= 0:
            state.tally[2] += 1
        rows, _ = nearest(index, index.points[index.place[order[state.tally[2]]]].copy(), k, NOBODY)
        size = 0
        while len(rows) > 0:
            for row in rows:
                members[size] = index.points[index.place[row]]
                size += 1
                _leave(index, state, row)
            full = size == 2 * k - 1 or state.tally[0] == 0
            rows = np.empty(0, np.int64) if full else _invited(index, members[:size], gamma, state.tally[0] > 1)
        state.tally[1] += 1
    return True


@compiled
def _invited(index: ShrinkingTree, members: Floats, gamma: float, others: bool) -> Ints:
    """The record nearest to any member, if it lies nearer to the group than gamma times to others outside it."""
    found, inside = NOBODY, np.inf
    for i in range(len(members)):
        rows, gaps = nearest(index, members[i], ONE, NOBODY)
        if gaps[0] < inside or (gaps[0] == inside and rows[0] < found):
            found, inside = rows[0], gaps[0]
    outside = np.inf  # the last record of all has no other to go to
    if others:
        outside = nearest(index, index.points[index.place[found]].copy(), ONE, found)[1][0]
    return np.array([found]) if np.sqrt(inside) < gamma * np.sqrt(outside) else np.empty(0, np.int64)


@compiled
def _runs(values: Floats, k: int) -> Ints:
    """The group of each of the sorted values."""
    n = len(values)
    best, size = np.full(n + 1, np.inf), np.zeros(n + 1, np.int64)
    best[0] = 0.0
    for end in range(k, n + 1):
        # Groups of 2k and more can be split in two without loss, so 2k - 1 are enough: n k steps. Squares about the running
        # mean (Welford) do not cancel, as differences of cumulated squares do where values are large beside their spread.
        mean, squares = 0.0, 0.0
        for m in range(1, min(2 * k - 1, end) + 1):
            gap = values[end - m] - mean
            mean += gap / m
            squares += gap * (values[end - m] - mean)
            if m >= k and best[end - m] + squares < best[end]:
                best[end], size[end] = best[end - m] + squares, m
    group, end, number = np.empty(n, np.int64), n, 0
    while end > 0:
        group[end - size[end] : end] = number
        end, number = end - size[end], number + 1
    return group
