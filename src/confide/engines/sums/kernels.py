"""The hot loops of models: sums over the records of a batch, one accumulator for each half of the units.

A record has at most one column of the design in each block, so a cross-product costs T^2 / 2 additions for T blocks.
Every sum runs over the records in their stored order, wherever batches end, and the half a unit falls in depends on its
key alone: the same records give the same bits. Nothing is reordered by the compiler (no fast-math).
"""

from math import exp, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from confide.arrays import Bools, Floats, Ints
from confide.data.compiling import compiled

__all__ = ["BINOMIAL", "GAUSSIAN", "POISSON", "Batch", "Layout", "MomentSums", "SpreadSums"]
__all__ += ["add_moments", "add_spread", "end_unit", "fit_rows", "moment_sums", "spread_sums"]

Places = NDArray[np.uintp]  # unsigned, so that no index is tested for being negative

GAUSSIAN, BINOMIAL, POISSON = 0, 1, 2

HALF_BIT = 52
"""This bit of a unit's key says its half: records are sorted by key, so it alternates, in a file of any size."""

TINY = 2.220446049250313e-16
"""Fitted probabilities stay this far from 0 and 1, and fitted counts from 0, as in statsmodels."""


class Layout(NamedTuple):
    """A design as small arrays: the numbers and classes of block t stand from `..._at[t]` to `..._at[t + 1]`.

    `levels` holds, for each class of each block from `levels_at` on, the level of each place times its stride, or -1.
    """

    columns: int
    offset: Ints
    number_at: Ints
    number: Ints
    class_at: Ints
    classes: Ints
    levels_at: Ints
    levels: NDArray[np.int32]
    sizes: Ints


class Batch(NamedTuple):
    """Records, one column each: `numbers` and `classes` have a row for each variable. Only those `wanted` count.

    `cluster` has the places of sampling units, and is empty where scores are not by these.
    """

    unit: Ints
    key: NDArray[np.int32]
    weight: Floats
    response: Floats
    numbers: Floats
    classes: NDArray[np.uint16]
    wanted: Bools
    cluster: NDArray[np.uint16]


class MomentSums(NamedTuple):
    """`sums`: square, deviance, weight, response, its square. `counts`: records, units, key, last unit. `seen`: by column."""

    gram: Floats
    score: Floats
    sums: Floats
    counts: Ints
    support: Ints
    seen: Ints


class SpreadSums(NamedTuple):
    """`sums`: squares; leverage and squares of the unit; the largest of both. `state`: last unit, columns touched, begun.

    `pull` is empty but where a record has several linear predictors, `scores` but where they are by sampling unit.
    """

    meat: Floats
    fits: Floats
    sums: Floats
    state: Ints
    own: Floats
    touched: Ints
    marked: Bools
    pull: Floats
    scores: Floats


def moment_sums(columns: int) -> MomentSums:
    """Nothing added up yet."""
    return MomentSums(
        np.zeros((columns, columns)),
        np.zeros(columns),
        np.zeros(5),
        np.zeros(4, np.int64),
        np.zeros(columns, np.int64),
        np.zeros(columns, np.int64),
    )


def spread_sums(layout: Layout, clusters: int) -> SpreadSums:
    """Nothing added up yet, and no score of so many sampling units."""
    p = layout.columns
    return SpreadSums(
        np.zeros((p, p)),
        np.zeros((len(layout.sizes), int(layout.sizes.max(initial=0)), 2)),
        np.zeros(5),
        np.zeros(3, np.int64),
        np.zeros(p),
        np.zeros(p, np.int64),
        np.zeros(p, np.bool_),
        np.zeros((0, 0, 0)),
        np.zeros((clusters, p)),
    )


@compiled
def _active(layout: Layout, batch: Batch, i: int, column: Places, value: Floats) -> int:
    """The columns of the design in whose classes record i is, and their values: how many there are."""
    found = 0
    for t in range(len(layout.offset)):
        at = layout.offset[t]
        there = True
        for c in range(layout.class_at[t], layout.class_at[t + 1]):
            level = layout.levels[layout.levels_at[c] + batch.classes[layout.classes[c], i]]
            if level < 0:
                there = False
                break
            at += level
        if not there:
            continue
        product = 1.0
        for m in range(layout.number_at[t], layout.number_at[t + 1]):
            product *= batch.numbers[layout.number[m], i]
        column[found] = at
        value[found] = product
        found += 1
    return found


@compiled
def _working(family: int, y: float, eta: float, start: bool) -> tuple[float, float, float]:
    """Fitted value, working weight and working response; at the start from the response alone.

    The start is (y + 1/2) / 2 for binomial (McCullagh and Nelder 1989, 4.5) and y + 0.1 for poisson, as in R. Predictors are
    held within 700, since exp(710) overflows: a step that goes too far gives a poor fit and not an infinite one.
    """
    if family == GAUSSIAN:
        return eta, 1.0, y
    if family == BINOMIAL:
        mu = (y + 0.5) / 2.0 if start else 1.0 / (1.0 + exp(-max(eta, -700.0)))
        mu = min(max(mu, TINY), 1.0 - TINY)
        eta = log(mu / (1.0 - mu)) if start else eta
        weight = mu * (1.0 - mu)
    else:
        mu = y + 0.1 if start else max(exp(min(eta, 700.0)), TINY)
        eta = log(mu) if start else eta
        weight = mu
    return mu, weight, eta + (y - mu) / weight


@compiled
def _deviance(family: int, y: float, mu: float) -> float:
    if family == GAUSSIAN:
        return (y - mu) * (y - mu)
    above = y * log(y / mu) if y > 0.0 else 0.0
    if family == POISSON:
        return 2.0 * (above - (y - mu))
    below = (1.0 - y) * log((1.0 - y) / (1.0 - mu)) if y < 1.0 else 0.0
    return 2.0 * (above + below)


@compiled
def add_moments(half: int, family: int, layout: Layout, batch: Batch, beta: Floats, to: MomentSums) -> None:
    """Add the records of one half of the units. The gram gets its lower triangle only."""
    units, keys, weights, responses, wanted = batch.unit, batch.key, batch.weight, batch.response, batch.wanted
    gram, score, sums, counts, support, seen = to.gram, to.score, to.sums, to.counts, to.support, to.seen
    column = np.empty(len(layout.offset), np.uintp)
    value = np.empty(len(layout.offset))
    start = len(beta) == 0
    for i in range(len(units)):
        unit = units[i]
        if (unit >> HALF_BIT) & 1 != half or not wanted[i]:
            continue
        found = _active(layout, batch, i, column, value)
        eta = 0.0
        if not start:
            for a in range(found):
                eta += beta[column[a]] * value[a]
        w, y = weights[i], responses[i]
        mu, v, z = _working(family, y, eta, start)
        wv = w * v
        sums[0] += wv * z * z
        sums[1] += w * _deviance(family, y, mu)
        sums[2] += w
        sums[3] += w * y
        sums[4] += w * y * y
        if counts[0] == 0 or unit != counts[3]:  # records of a unit follow one another
            counts[1] += 1
            counts[3] = unit
        counts[0] += 1
        counts[2] ^= np.int64(keys[i])
        # `seen` holds the number of the unit that was last in a column, so units are counted and nothing is ever cleared.
        # Blocks ascend, so columns do, and b up to a is the lower triangle.
        for a in range(found):
            at = column[a]
            if seen[at] != counts[1]:
                seen[at] = counts[1]
                support[at] += 1
            times = wv * value[a]
            score[at] += times * z
            for b in range(a + 1):
                gram[at, column[b]] += times * value[b]


@compiled
def end_unit(to: SpreadSums) -> None:
    """Settle the unit whose records have been added: its outer product, leverage and squares."""
    # A unit has values in few of the p columns: its outer product, and clearing up after it, cost the square of those.
    touched = to.touched[: to.state[1]]
    for a in touched:
        for b in touched:
            to.meat[a, b] += to.own[a] * to.own[b]
    for a in touched:
        to.own[a] = 0.0
        to.marked[a] = False
    to.sums[3] = max(to.sums[3], to.sums[1])
    to.sums[4] = max(to.sums[4], to.sums[2])
    to.sums[1] = to.sums[2] = 0.0
    to.state[1] = 0


@compiled
def _leverage(inverse: Floats, found: int, column: Places, value: Floats) -> float:
    """x' inverse x."""
    both = 0.0
    for a in range(found):
        row = inverse[column[a]]
        for b in range(a):
            both += 2.0 * value[a] * value[b] * row[column[b]]
        both += value[a] * value[a] * row[column[a]]
    return both


@compiled
def add_spread(
    half: int, family: int, layout: Layout, batch: Batch, beta: Floats, inverse: Floats, to: SpreadSums
) -> None:
    """Add the records of one half of the units; records of a unit follow one another, and `end_unit` closes the last."""
    column = np.empty(len(layout.offset), np.uintp)
    value = np.empty(len(layout.offset))
    for i in range(len(batch.unit)):
        unit = batch.unit[i]
        if (unit >> HALF_BIT) & 1 != half or not batch.wanted[i]:
            continue
        if unit != to.state[0] or to.state[2] == 0:
            end_unit(to)
            to.state[0] = unit
            to.state[2] = 1
        found = _active(layout, batch, i, column, value)
        eta = 0.0
        for a in range(found):
            eta += beta[column[a]] * value[a]
        w, y = batch.weight[i], batch.response[i]
        mu, v, _ = _working(family, y, eta, False)
        square = w * (y - mu) * (y - mu)
        to.sums[0] += square
        to.sums[1] += w * v * _leverage(inverse, found, column, value)
        to.sums[2] += square
        for a in range(found):
            at = column[a]
            if not to.marked[at]:
                to.marked[at] = True
                to.touched[to.state[1]] = at
                to.state[1] += 1
            to.own[at] += w * (y - mu) * value[a]
            if len(to.scores):
                to.scores[batch.cluster[i], at] += w * (y - mu) * value[a]
        for c in range(len(layout.sizes)):
            to.fits[c, batch.classes[c, i], 0] += square
            to.fits[c, batch.classes[c, i], 1] += w


@compiled
def fit_rows(family: int, layout: Layout, batch: Batch, beta: Floats, inverse: Floats, to: Floats) -> None:
    """Fitted value and leverage of each record."""
    column = np.empty(len(layout.offset), np.uintp)
    value = np.empty(len(layout.offset))
    for i in range(len(batch.unit)):
        found = _active(layout, batch, i, column, value)
        eta = 0.0
        for a in range(found):
            eta += beta[column[a]] * value[a]
        mu, v, _ = _working(family, batch.response[i], eta, False)
        to[0, i] = mu
        to[1, i] = batch.weight[i] * v * _leverage(inverse, found, column, value)
