"""Classification and regression trees: records cut into leaves in which they are alike, to draw values from.

Predictors are bins from 0 (missing) up. A target is a class (`code`, with `value` 1) or an amount (`code` 0): either way the
cut taken makes the sum over the two sides of |sum of values|² / records largest, which lowers the Gini impurity of
classes and the variance of amounts most (Breiman et al. 1984).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from confide.arrays import Floats, Ints
from confide.data.compiling import compiled

__all__ = ["BINS", "Cart", "grow", "leaves"]

BINS = 128
"""Into how many bins predictors are cut at most."""

Bins = NDArray[np.uint8]


class Cart(NamedTuple):
    """Nodes: the predictor and the last bin that goes left, the left child (the right one follows; -1 is a leaf), and
    from where to where in `order` the node's records stand."""

    feature: Ints
    cut: Ints
    child: Ints
    start: Ints
    stop: Ints
    order: Ints


def grow(bins: Bins, code: Ints, value: Floats, *, width: int, least: int) -> Cart:
    """A tree whose leaves have `least` records or more (all records, if they are fewer); `width` is how many classes."""
    return Cart(*_grown(bins, code, value, width, least))


def leaves(tree: Cart, bins: Bins) -> Ints:
    """The leaf that each record belongs to."""
    return _fallen(tree.feature, tree.cut, tree.child, bins)


@compiled
def _parted(bins: Bins, at: int, order: Ints, spare: Ints) -> int:
    """Put the records up to a cut first, each side in its order; how many they are."""
    middle, rest = 0, 0
    for row in order:
        if bins[row] <= at:
            order[middle] = row
            middle += 1
        else:
            spare[rest] = row
            rest += 1
    order[middle:] = spare[:rest]
    return middle


@compiled
def _grown(bins: Bins, code: Ints, value: Floats, width: int, least: int) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints]:
    n, p = bins.shape
    most = 2 * (n // least) + 2
    feature, cut = np.full(most, -1), np.full(most, -1)
    child, start, stop = np.full(most, -1), np.zeros(most, np.int64), np.zeros(most, np.int64)
    order, spare = np.arange(n), np.empty(n, np.int64)
    sums, counts = np.zeros((BINS + 1, width)), np.zeros(BINS + 1)
    total, left = np.zeros(width), np.zeros(width)
    stop[0], nodes, node = n, 1, 0
    slack = 0.0
    while node < nodes:
        a, b = start[node], stop[node]
        size = b - a
        if size < 2 * least:
            node += 1
            continue
        total[:] = 0.0
        for i in range(a, b):
            total[code[order[i]]] += value[order[i]]
        base = np.sum(total * total) / size
        if node == 0:  # gains below this are rounding
            slack = 1e-9 * (np.sum(value * value) + 1e-300)
        best, where, at = base + slack, -1, -1
        for f in range(p):
            low, high = BINS, 0
            for i in range(a, b):
                row = order[i]
                bin = int(bins[row, f])
                low, high = min(low, bin), max(high, bin)
                sums[bin, code[row]] += value[row]
                counts[bin] += 1
            left[:] = 0.0
            many = 0.0
            for bin in range(low, high):
                left += sums[bin]
                many += counts[bin]
                if many < least or counts[bin] == 0:
                    continue
                if size - many < least:
                    break
                score = np.sum(left * left) / many + np.sum((total - left) ** 2) / (size - many)
                if score > best:
                    best, where, at = score, f, bin
            sums[low : high + 1] = 0.0
            counts[low : high + 1] = 0.0
        if where >= 0:
            feature[node], cut[node], child[node] = where, at, nodes
            middle = _parted(bins[:, where], at, order[a:b], spare) + a
            start[nodes], stop[nodes] = a, middle
            start[nodes + 1], stop[nodes + 1] = middle, b
            nodes += 2
        node += 1
    return feature[:nodes], cut[:nodes], child[:nodes], start[:nodes], stop[:nodes], order


@compiled
def _fallen(feature: Ints, cut: Ints, child: Ints, bins: Bins) -> Ints:
    leaf = np.zeros(len(bins), np.int64)
    for i in range(len(bins)):
        node = 0
        while child[node] >= 0:
            node = child[node] + (1 if bins[i, feature[node]] > cut[node] else 0)
        leaf[i] = node
    return leaf
