"""The hot loops of models over columns: sums over chunks of records, each in the order of records.

Each sum gets its records in their order, or in parts that depend on the places of records alone, so the same records
give the same bits.
"""

from typing import NamedTuple

import numpy as np

from confide.arrays import Floats, Ints
from confide.data.compiling import compiled
from confide.engines.columns.model_chunks import (
    Chunk,
    Codes,
    ModelPlan,
    find_deviances,
    read_chunk,
    turn_lanes,
    work_chunk,
)
from confide.engines.columns.reading import CHUNK, take
from confide.engines.columns.vectors import EIGHT, add_eight, add_two, all_eight, by, eight, plus, total

__all__ = ["LANES", "PARTS", "FitSums", "ModelSums", "SpreadPlan", "add_model", "add_model_spread"]

LANES = 128
"""Sums over all records are kept in so many parts, by the place of a record in its chunk, and the parts are added in their
order at the end: then several records are added at a time. The same on every machine."""

PARTS = 4
"""Sums by class are kept in so many parts likewise: one need not wait until the record before is added to its class."""


class ModelSums(NamedTuple):
    """`tables` of pairs of joint classes, one after the other; `rows`: for each joint class the sums of the plan's lanes;
    `alone`: weights and records of each joint class. `dense`: products of lanes with lanes, and last with the intercept.

    `sums`, in parts: deviance, weight, response, its square, weight in fitting. `counts`: records, key.
    """

    tables: Floats
    rows: Floats
    alone: Floats
    dense: Floats
    sums: Floats
    counts: Ints


class FitSums(NamedTuple):
    """`fits`: for each class and place, in parts, squares and weights.

    `sums`, in parts: squares, the largest leverage, the largest square.
    """

    fits: Floats
    sums: Floats


class SpreadPlan(NamedTuple):
    """The inverse of the gram by joint classes: of pairs of them, as in `ModelSums`; and with lanes, of which the last stands
    for the intercept and so has the joint classes' own. `dense` is that of lanes with lanes.

    What stands twice in the inverse is doubled, and `dense` has its lower triangle only.
    """

    pairs: Floats
    cross: Floats
    dense: Floats


@compiled
def add_model(plan: ModelPlan, start: int, stop: int, chunk: Chunk, to: ModelSums) -> None:
    """Add the complete records of a part of the file.

    What is called for each chunk gets arrays and not a plan or chunk where it can: to hand over one of these, with all of
    its arrays, takes half a microsecond, or a quarter of a nanosecond for each record (measured).
    """
    for begin in range(start, stop, CHUNK):
        n = min(CHUNK, stop - begin)
        found = read_chunk(plan, begin, n, chunk)
        if found == 0:
            continue
        work_chunk(plan, found, chunk)
        find_deviances(plan, found, chunk)
        _add_sums(found, chunk.weight, chunk.response, chunk.deviance, chunk.variance, to.sums)
        take(plan.bytes, plan.key[0], plan.key[1], begin, n, chunk.at, found, chunk.whole)
        key = 0
        for k in range(found):
            key ^= chunk.whole[k]
        to.counts[1] ^= key
        to.counts[0] += found
        turn_lanes(found, plan.lanes, chunk.columns, chunk.lanes)
        _add_products(plan, found, chunk, to)


@compiled
def _add_sums(found: int, weights: Floats, responses: Floats, deviances: Floats, variances: Floats, to: Floats) -> None:
    """Add what is one number for all records; from here on the variances are times weight."""
    deviance, weight, response, square, working = to[0], to[1], to[2], to[3], to[4]
    for first in range(0, found, LANES):
        # from 0 on, so that no index is tested for being negative
        own, y, off, variance = (
            weights[first:found],
            responses[first:found],
            deviances[first:found],
            variances[first:found],
        )
        for lane in range(min(LANES, len(own))):
            w = own[lane]
            times = w * variance[lane]
            variance[lane] = times
            deviance[lane] += w * off[lane]
            weight[lane] += w
            response[lane] += w * y[lane]
            square[lane] += w * y[lane] * y[lane]
            working[lane] += times


@compiled
def _add_products(plan: ModelPlan, found: int, chunk: Chunk, to: ModelSums) -> None:
    """Add products of joint classes, and of lanes with these and each other, each record by its `variance`."""
    for lane in range(0, len(plan.lanes), EIGHT):
        _add_lanes(found, lane, chunk.lanes, chunk.variance, chunk.joint, to.rows, to.dense)
        for other in range(0, lane, EIGHT):
            _add_square(found, lane, other, chunk.lanes, chunk.variance, to.dense)
    _add_alone(found, chunk.joint, chunk.variance, to.alone)
    _add_pairs(found, plan.pairs, chunk.joint, chunk.variance, to.tables)


@compiled
def _add_lanes(found: int, lane: int, lanes: Floats, weight: Floats, joint: Codes, rows: Floats, dense: Floats) -> None:
    """Add eight lanes of each record to the rows of its joint classes, and their products with each other.

    The products are kept in registers, and added to those of the chunks before at the end. What takes the time is storing
    a row for each group of classes, two cycles each, beside which they are added up for nothing (measured).
    """
    width, own, groups = np.uintp(lanes.shape[1]), np.uintp(lane), np.uintp(len(joint))
    everybody = a = b = c = d = e = f = g = h = all_eight(0.0)
    for k in range(np.uintp(found)):
        at = k * width + own
        times = by(eight(lanes, at), all_eight(weight[k]))
        everybody = plus(everybody, times)
        a = plus(a, by(times, all_eight(lanes[k, own])))
        b = plus(b, by(times, all_eight(lanes[k, own + np.uintp(1)])))
        c = plus(c, by(times, all_eight(lanes[k, own + np.uintp(2)])))
        d = plus(d, by(times, all_eight(lanes[k, own + np.uintp(3)])))
        e = plus(e, by(times, all_eight(lanes[k, own + np.uintp(4)])))
        f = plus(f, by(times, all_eight(lanes[k, own + np.uintp(5)])))
        g = plus(g, by(times, all_eight(lanes[k, own + np.uintp(6)])))
        h = plus(h, by(times, all_eight(lanes[k, own + np.uintp(7)])))
        for group in range(groups):
            add_eight(rows, np.uintp(joint[group, k]) * width + own, times)
    first = own * width + own
    add_eight(dense, first, a)
    add_eight(dense, first + width, b)
    add_eight(dense, first + np.uintp(2) * width, c)
    add_eight(dense, first + np.uintp(3) * width, d)
    add_eight(dense, first + np.uintp(4) * width, e)
    add_eight(dense, first + np.uintp(5) * width, f)
    add_eight(dense, first + np.uintp(6) * width, g)
    add_eight(dense, first + np.uintp(7) * width, h)
    add_eight(dense, width * width + own, everybody)


@compiled
def _add_square(found: int, lane: int, other: int, lanes: Floats, weight: Floats, dense: Floats) -> None:
    """Add products of eight lanes of each record with eight others."""
    width, own, second = np.uintp(lanes.shape[1]), np.uintp(lane), np.uintp(other)
    for row in range(own, own + np.uintp(EIGHT)):
        sums = all_eight(0.0)
        for k in range(np.uintp(found)):
            sums = plus(sums, by(eight(lanes, k * width + second), all_eight(weight[k] * lanes[k, row])))
        add_eight(dense, row * width + second, sums)


@compiled
def _add_alone(found: int, joint: Codes, weight: Floats, alone: Floats) -> None:
    """Add weights and records of joint classes."""
    groups = np.uintp(len(joint))
    for k in range(np.uintp(found)):
        for group in range(groups):
            add_two(alone, np.uintp(2) * np.uintp(joint[group, k]), weight[k], 1.0)


@compiled
def _add_pairs(found: int, pairs: Ints, joint: Codes, weight: Floats, tables: Floats) -> None:
    """Add weights to the tables of pairs of joint classes.

    Three tables at a time: a record waits until the one before is added where both are in one cell, but not for other
    tables. With half of all records in one class of each group that takes 0.55 of the time, with other data the same; five
    at a time take longer (measured).
    """
    for first in range(0, len(pairs) - 2, 3):
        own_a, own_b, by_a, at_a = _pair(pairs, first, joint)
        own_c, own_d, by_c, at_c = _pair(pairs, first + 1, joint)
        own_e, own_f, by_e, at_e = _pair(pairs, first + 2, joint)
        for k in range(np.uintp(found)):
            w = weight[k]
            tables[at_a + own_a[k] * by_a + own_b[k]] += w
            tables[at_c + own_c[k] * by_c + own_d[k]] += w
            tables[at_e + own_e[k] * by_e + own_f[k]] += w
    for last in range(len(pairs) // 3 * 3, len(pairs)):
        own_a, own_b, by_a, at_a = _pair(pairs, last, joint)
        for k in range(np.uintp(found)):
            tables[at_a + own_a[k] * by_a + own_b[k]] += weight[k]


@compiled
def _pair(pairs: Ints, pair: int, joint: Codes) -> tuple[Codes, Codes, np.uintp, np.uintp]:
    """The joint classes of a pair, and where its table has them."""
    return joint[pairs[pair, 0]], joint[pairs[pair, 1]], np.uintp(pairs[pair, 2]), np.uintp(pairs[pair, 3])


@compiled
def add_model_spread(
    plan: ModelPlan, inverse: SpreadPlan, start: int, stop: int, chunk: Chunk, fits: FitSums, to: ModelSums
) -> None:
    """Add how complete records lie about the model."""
    leverage, square = chunk.eta, chunk.deviance
    for begin in range(start, stop, CHUNK):
        n = min(CHUNK, stop - begin)
        found = read_chunk(plan, begin, n, chunk)
        if found == 0:
            continue
        work_chunk(plan, found, chunk)
        for k in range(found):
            chunk.working[k] = 1.0  # the last lane is that of the intercept: no working response is needed
        turn_lanes(found, plan.lanes, chunk.columns, chunk.lanes)
        _leverages(found, chunk.joint, chunk.lanes, inverse.cross, inverse.dense, leverage)
        _read_pairs(found, plan.pairs, chunk.joint, inverse.pairs, leverage)
        _add_squares(found, chunk, leverage, square, fits.sums, to.sums[4])
        for c in range(len(plan.classes)):
            take(plan.bytes, plan.classes[c, 0], plan.classes[c, 1], begin, n, chunk.at, found, chunk.code)
            _add_fits(found, chunk.code, square, chunk.weight, fits.fits[c])
        _add_products(plan, found, chunk, to)


@compiled
def _add_fits(found: int, code: Codes, square: Floats, weight: Floats, fits: Floats) -> None:
    """Add squares and weights by class."""
    size = np.uintp(2 * fits.shape[1])
    for k in range(np.uintp(found)):
        add_two(fits, k % np.uintp(PARTS) * size + np.uintp(2) * np.uintp(code[k]), square[k], weight[k])


@compiled
def _add_squares(found: int, chunk: Chunk, leverages: Floats, squares: Floats, to: Floats, scores: Floats) -> None:
    """Add squares of what fitted values are off by, and find the largest; from here on `variance` is of scores."""
    total_square, largest, largest_square = to[0], to[1], to[2]
    for first in range(0, found, LANES):
        weight, response, mu = chunk.weight[first:found], chunk.response[first:found], chunk.mu[first:found]
        variance, leverage, square = chunk.variance[first:found], leverages[first:found], squares[first:found]
        for lane in range(min(LANES, len(weight))):
            off = response[lane] - mu[lane]
            own = weight[lane] * off * off
            square[lane] = own
            total_square[lane] += own
            largest[lane] = max(largest[lane], weight[lane] * variance[lane] * leverage[lane])
            largest_square[lane] = max(largest_square[lane], own)
            variance[lane] = weight[lane] * own
            scores[lane] += variance[lane]


@compiled
def _leverages(found: int, joint: Codes, lanes: Floats, cross: Floats, dense: Floats, to: Floats) -> None:
    """x' inverse x, but for products of joint classes with each other."""
    width, groups, n = np.uintp(lanes.shape[1]), np.uintp(len(joint)), np.uintp(found)
    for k in range(n):
        to[k] = 0.0
    for own in range(np.uintp(0), width, np.uintp(EIGHT)):
        for k in range(n):
            times = all_eight(0.0)
            for row in range(own, width):
                times = plus(times, by(eight(dense, row * width + own), all_eight(lanes[k, row])))
            for group in range(groups):
                times = plus(times, eight(cross, np.uintp(joint[group, k]) * width + own))
            to[k] += total(by(times, eight(lanes, k * width + own)))


@compiled
def _read_pairs(found: int, pairs: Ints, joint: Codes, tables: Floats, to: Floats) -> None:
    """Add what tables of pairs have for the joint classes of each record."""
    for pair in range(len(pairs)):
        own, second, by_own, at = _pair(pairs, pair, joint)
        for k in range(np.uintp(found)):
            to[k] += tables[at + own[k] * by_own + second[k]]
