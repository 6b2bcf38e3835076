"""Nearest records by a tree of boxes, for numbers and categories together.

The distance of two records is squared Euclidean; of a category (a nominal dimension) it is 0 if equal and 1 if not. What
is missing in the record that searches tells nothing and adds 0; what is missing in the record found adds 1.
"""

from math import isnan
from typing import NamedTuple

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.data.compiling import compiled
from confide.data.kdtree.selecting import select
from confide.data.threads import in_parts

__all__ = ["StaticTree", "apart", "build", "close", "distinct_rows", "links", "nearest", "within"]

LEAF = 24
"""A box with at most so many records is not cut further. To find the nearest of 30,000 records by 4 numbers took 0.11 s with
6, 12 and 24 alike, 0.15 s with 48, 0.21 s with 96; larger leaves make a smaller tree."""

DEEP = 256
"""Room for the boxes still to be looked at. A search takes one and puts two, so it holds one more than the tree is deep.

Halving a billion records takes 30 cuts; a run of equal values, which is not cut through, costs a cut or two more for each
column. Compiled code does not test the bound, so there is room to spare.
"""

SAME = 1e-9
"""Squared distances that differ by less than this share are ties: far above what rounding makes of a sum of squares (some
1e-15 for each column), far below what a last recorded digit makes."""


class StaticTree(NamedTuple):
    """Records in the order of the tree. A node is a box from `low` to `high` around the records `start` to `stop`.

    Children of a node stand at `child` and after it; -1 is a leaf. `blank` marks boxes with missing values. `place` is
    where a record stood before, `many` how many there are like it.
    """

    points: Floats
    nominal: Bools
    place: Ints
    many: Ints
    start: Ints
    stop: Ints
    child: Ints
    low: Floats
    high: Floats
    blank: Bools


def distinct_rows(points: Floats) -> tuple[Ints, Ints, Ints]:
    """The places of the first of each kind of row, the kind of every row, and how many there are of each."""
    number = np.zeros(len(points), np.int64)
    for column in points.T:
        _, codes = np.unique(column, return_inverse=True)  # NaN equals NaN here
        number = np.unique(number * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1]
    _, first, kind, count = np.unique(number, return_index=True, return_inverse=True, return_counts=True)
    return first.astype(np.int64), kind.astype(np.int64), count.astype(np.int64)


def build(points: Floats, nominal: Bools, count: Ints | None = None) -> StaticTree:
    """Sort records into boxes, each cut in two at the middle of its widest side."""
    count = np.ones(len(points), np.int64) if count is None else count
    # Halves of boxes of more than LEAF records hold at least LEAF / 2: 2 n / LEAF leaves, twice as many nodes. Cuts beside
    # runs of equal values are uneven and may want more; `_cut` then leaves large boxes as they are, which costs time only.
    most = 4 * (len(points) // LEAF + 1) + 1
    order = np.arange(len(points))
    node = np.zeros((most, 3), np.int64)
    box = np.zeros((2, most, points.shape[1]))
    blank = np.zeros((most, points.shape[1]), np.bool_)
    points = np.ascontiguousarray(points, dtype=np.float64)
    nodes = _cut(points, nominal, order, node, box, blank)
    start, stop, child = (np.ascontiguousarray(node[:nodes, i]) for i in range(3))
    low, high = box[0, :nodes], box[1, :nodes]
    return StaticTree(points[order], nominal, order, count[order], start, stop, child, low, high, blank[:nodes])


@compiled
def _cut(points: Floats, nominal: Bools, order: Ints, node: Ints, box: Floats, blank: Bools) -> int:
    columns, used = points.T.copy(), 1
    for column in columns:
        for i in range(len(column)):
            if isnan(column[i]):
                column[i] = np.inf  # what is missing goes to the end
    node[0, 0], node[0, 1], node[0, 2] = 0, len(order), -1
    at = 0
    while at < used:
        start, stop = node[at, 0], node[at, 1]
        _bound(points, order[start:stop], box[0, at], box[1, at], blank[at])
        side, widest = -1, 0.0
        for d in range(points.shape[1]):
            spread = box[1, at, d] - box[0, at, d]
            if nominal[d] and spread > 1:  # codes are no distances: two categories are 1 apart, whatever their codes
                spread = 1.0
            if blank[at, d] and spread >= 0 and spread < 1:  # and so is a missing value from any that is known
                spread = 1.0
            if spread > widest:
                side, widest = d, spread
        if stop - start > LEAF and side >= 0 and used + 2 <= len(node):
            middle = _halve(columns[side], order, start, stop)
            node[at, 2] = used
            node[used, 0], node[used, 1], node[used, 2] = start, middle, -1
            node[used + 1, 0], node[used + 1, 1], node[used + 1, 2] = middle, stop, -1
            used += 2
        at += 1
    return used


@compiled
def _bound(points: Floats, rows: Ints, low: Floats, high: Floats, blank: Bools) -> None:
    """The box around some records; where all are missing it is empty."""
    low[:] = np.inf
    high[:] = -np.inf
    for row in rows:
        for d in range(points.shape[1]):
            value = points[row, d]
            if isnan(value):
                blank[d] = True
                continue
            if value < low[d]:
                low[d] = value
            if value > high[d]:
                high[d] = value


@compiled
def _halve(column: Floats, order: Ints, start: int, stop: int) -> int:
    """Put smaller values before greater ones, and cut near the middle, but not between equal values."""
    middle = (start + stop) // 2
    # Equal values on both sides would give both boxes the same end, and a search for that value would enter both: with five
    # skewed categories that took six times as long. So the cut is at that end of the run which is nearer to the middle.
    select(order, start, stop, middle, column)
    value, first, last = column[order[middle]], middle, middle + 1
    for i in range(middle - 1, start - 1, -1):
        if column[order[i]] == value:
            first -= 1
            order[i], order[first] = order[first], order[i]
    for i in range(middle + 1, stop):
        if column[order[i]] == value:
            order[i], order[last] = order[last], order[i]
            last += 1
    if last < stop and (first == start or last - middle <= middle - first):
        return last
    return first if first > start else middle


@compiled
def _apart(a: Floats, b: Floats, nominal: Bools, limit: float) -> float:
    """The squared distance from a to b, or something more than the limit if it is."""
    total = 0.0
    for d in range(len(a)):
        if isnan(a[d]):
            continue
        if isnan(b[d]):
            total += 1.0
        elif nominal[d]:
            total += 0.0 if a[d] == b[d] else 1.0
        else:
            total += (a[d] - b[d]) ** 2
        if total > limit:
            break
    return total


@compiled
def _gap(a: Floats, tree: StaticTree, node: int) -> float:
    """The squared distance from a to a box, at most that to any record in it."""
    total = 0.0
    for d in range(len(a)):
        if isnan(a[d]):
            continue
        low, high = tree.low[node, d], tree.high[node, d]
        gap = 0.0
        if a[d] < low or a[d] > high:
            gap = 1.0 if tree.nominal[d] else max(low - a[d], a[d] - high) ** 2
            # A record of the box that lacks the value is 1 away, however far the box; this also mends the infinite gap of
            # a box in which all lack it.
            if tree.blank[node, d] and gap > 1.0:
                gap = 1.0
        total += gap
    return total


@compiled
def _push(a: Floats, tree: StaticTree, node: int, stack: Ints, gaps: Floats, top: int) -> int:
    """Put the children of a box on the stack, the nearer on top."""
    left = tree.child[node]
    gap, other = _gap(a, tree, left), _gap(a, tree, left + 1)
    near = 1 if gap > other else 0
    stack[top], gaps[top] = left + 1 - near, max(gap, other)
    stack[top + 1], gaps[top + 1] = left + near, min(gap, other)
    return top + 2


@compiled
def _link(a: Floats, tree: StaticTree, closer: float, tied: float) -> int:
    """How many records are as near as the true one; 0 as soon as one is closer."""
    stack, gaps = np.empty(DEEP, np.int64), np.empty(DEEP)
    stack[0], gaps[0], top, found = 0, 0.0, 1, 0
    while top:
        top -= 1
        node = stack[top]
        if gaps[top] > tied:
            continue
        if tree.child[node] >= 0:
            top = _push(a, tree, node, stack, gaps, top)
            continue
        for row in range(tree.start[node], tree.stop[node]):
            far = _apart(a, tree.points[row], tree.nominal, tied)
            if far < closer:
                return 0
            if far <= tied:
                found += tree.many[row]
    return found


@compiled
def _links(points: Floats, tree: StaticTree, closer: Floats, tied: Floats, found: Ints) -> None:
    for i in range(len(points)):
        found[i] = _link(points[i], tree, closer[i], tied[i])


@compiled
def _nearest(points: Floats, tree: StaticTree, least: Floats) -> None:
    stack, gaps = np.empty(DEEP, np.int64), np.empty(DEEP)
    for i in range(len(points)):
        stack[0], gaps[0], top, best = 0, 0.0, 1, np.inf
        while top:
            top -= 1
            node = stack[top]
            if gaps[top] >= best:
                continue
            if tree.child[node] >= 0:
                top = _push(points[i], tree, node, stack, gaps, top)
                continue
            for row in range(tree.start[node], tree.stop[node]):
                best = min(best, _apart(points[i], tree.points[row], tree.nominal, best))
        least[i] = best


@compiled
def _within(points: Floats, tree: StaticTree, limit: Floats, at: Ints, found: Ints) -> None:
    """Count the records within the limits if `found` is empty; else write their places from `at` on."""
    stack, gaps = np.empty(DEEP, np.int64), np.empty(DEEP)
    for i in range(len(points)):
        stack[0], gaps[0], top, seen = 0, 0.0, 1, 0
        while top:
            top -= 1
            node = stack[top]
            if gaps[top] > limit[i]:
                continue
            if tree.child[node] >= 0:
                top = _push(points[i], tree, node, stack, gaps, top)
                continue
            for row in range(tree.start[node], tree.stop[node]):
                if _apart(points[i], tree.points[row], tree.nominal, limit[i]) <= limit[i]:
                    if len(found):
                        found[at[i] + seen] = tree.place[row]
                    seen += 1
        if not len(found):
            at[i] = seen


@compiled
def _rows_apart(a: Floats, b: Floats, nominal: Bools, far: Floats) -> None:
    for i in range(len(a)):
        far[i] = _apart(a[i], b[i], nominal, np.inf)


def apart(a: Floats, b: Floats, nominal: Bools) -> Floats:
    """The squared distance of each row of one matrix to that of another."""
    far = np.empty(len(a))
    _rows_apart(np.ascontiguousarray(a), np.ascontiguousarray(b), nominal, far)
    return far


def close(far: Floats, tree: StaticTree) -> Floats:
    """What still counts as no farther: room for the rounding of coordinates, not of distances alone."""
    # Values as large as `most` are known to some 1e-16 of it, and scaling multiplies that a few times: so two records that
    # were equal may lie 1e-14 of it apart, which a share of their own distance, nearly 0, would not cover.
    known = tree.points[:, ~tree.nominal]
    most = float(np.nanmax(np.abs(known), initial=0.0)) if known.size else 0.0
    return far * (1 + SAME) + (1e-14 * most) ** 2


def links(points: Floats, tree: StaticTree, far: Floats) -> Ints:
    """How many records of the tree tie with one at a given squared distance; 0 where one is closer."""
    found, tied = np.empty(len(points), np.int64), close(far, tree)
    # As much room below as above: a record is closer only if it is so beyond rounding.
    closer, points = far - (tied - far), np.ascontiguousarray(points)
    in_parts(lambda a, b: _links(points[a:b], tree, closer[a:b], tied[a:b], found[a:b]), len(points))
    return found


def nearest(points: Floats, tree: StaticTree) -> Floats:
    """The squared distance of each point to the nearest record of the tree."""
    least, points = np.empty(len(points)), np.ascontiguousarray(points)
    in_parts(lambda a, b: _nearest(points[a:b], tree, least[a:b]), len(points))
    return least


def within(points: Floats, tree: StaticTree, limit: Floats) -> tuple[Ints, Ints]:
    """The places of all records within a squared distance of each point; those of point i from at[i] to at[i + 1]."""
    many, nothing, points = np.zeros(len(points), np.int64), np.empty(0, np.int64), np.ascontiguousarray(points)
    in_parts(lambda a, b: _within(points[a:b], tree, limit[a:b], many[a:b], nothing), len(points))
    at = np.concatenate([[0], np.cumsum(many)])
    found = np.empty(at[-1], np.int64)
    if len(found):
        in_parts(lambda a, b: _within(points[a:b], tree, limit[a:b], at[a:b], found), len(points))
    return at, found
