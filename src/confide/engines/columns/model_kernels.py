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
    scratch,
    work_chunk,
)
from confide.engines.columns.reading import CHUNK, take

__all__ = ["LANES", "PARTS", "ModelSums", "SpreadPlan", "add_model", "add_model_spread"]

LANES = 128
"""Sums over all records are kept in so many parts, by the place of a record in its chunk, and the parts are added in their
order at the end: then several records are added at a time. The same on every machine."""

PARTS = 4
"""Sums by class are kept in so many parts likewise: one need not wait until the record before is added to its class."""


class ModelSums(NamedTuple):
    """`tables` of pairs of joint classes; `rows`: for each joint class the sums of numbers, response, records, filled up to a
    multiple of four, since so many are added at a time; `dense` the like for each number, in parts.

    `sums`: square, deviance, weight, response, its square. `counts`: records, key.
    """

    tables: Floats
    rows: Floats
    dense: Floats
    sums: Floats
    counts: Ints


class SpreadPlan(NamedTuple):
    """The inverse of the gram by joint classes: of pairs of them, of one with itself, with the numbers, of these.

    What stands twice in the inverse is doubled, and `dense` has its lower triangle only.
    """

    pairs: Floats
    alone: Floats
    cross: Floats
    dense: Floats


@compiled
def add_model(plan: ModelPlan, start: int, stop: int, to: ModelSums) -> None:
    """Add the complete records of a part of the file."""
    chunk = scratch(plan, to.rows.shape[1])
    for begin in range(start, stop, CHUNK):
        n = min(CHUNK, stop - begin)
        found = read_chunk(plan, begin, n, chunk)
        if found == 0:
            continue
        work_chunk(plan, found, chunk)
        find_deviances(plan, found, chunk)
        _add_sums(found, chunk, to)
        take(plan.bytes, plan.key[0], plan.key[1], begin, n, chunk.at, found, chunk.whole)
        key = 0
        for k in range(found):
            key ^= chunk.whole[k]
        to.counts[1] ^= key
        to.counts[0] += found
        _add_products(plan, found, chunk, to)


@compiled
def _add_sums(found: int, chunk: Chunk, to: ModelSums) -> None:
    """Add what is one number for all records; from here on `variance` is times weight."""
    square, deviance, weight, response, response_square = to.sums
    for k in range(found):
        w, y, z = chunk.weight[k], chunk.response[k], chunk.working[k]
        wv = w * chunk.variance[k]
        square += wv * z * z
        deviance += w * chunk.deviance[k]
        weight += w
        response += w * y
        response_square += w * y * y
        chunk.variance[k] = wv
    to.sums[0], to.sums[1], to.sums[2], to.sums[3], to.sums[4] = square, deviance, weight, response, response_square


@compiled
def _add_products(plan: ModelPlan, found: int, chunk: Chunk, to: ModelSums) -> None:
    """Add products of joint classes, numbers and working response, each record by its `variance`."""
    times, columns, weight, joint = chunk.times, chunk.columns, chunk.variance, chunk.joint
    width = len(plan.blocks)
    for m in range(width + 1):
        number = chunk.working if m == width else chunk.numbers[plan.blocks[m]]
        column = columns[m]
        for k in range(found):
            column[k] = weight[k] * number[k]
    for m in range(0, width, 2):  # two numbers at a time; the last may stand alone, or have one product too many
        number, second = chunk.numbers[plan.blocks[m]], chunk.numbers[plan.blocks[min(m + 1, width - 1)]]
        for other in range(width + 1):
            if other <= m + 1 or other == width:
                _add_lanes(number, second, columns[other], found, to.dense[m, other], to.dense[m + 1, other])
    for k in range(found):
        for m in range(width + 1):
            times[k, m] = columns[m, k]
    _add_rows(joint, found, times, to.rows)
    for group in range(len(joint)):
        own = joint[group]
        for other in range(group):
            second = joint[other]
            for k in range(found):
                to.tables[own[k], second[k]] += weight[k]


@compiled
def _add_rows(joint: Codes, found: int, times: Floats, rows: Floats) -> None:
    """Add records to the rows of their joint classes, two groups at a time: each record is read half as often."""
    for group in range(0, len(joint) - 1, 2):
        own, second = joint[group], joint[group + 1]
        for k in range(found):
            at, there = own[k], second[k]
            for m in range(times.shape[1]):
                value = times[k, m]
                rows[at, m] += value
                rows[there, m] += value
    if len(joint) % 2:
        own = joint[len(joint) - 1]
        for k in range(found):
            at = own[k]
            for m in range(times.shape[1]):
                rows[at, m] += times[k, m]


@compiled
def _add_lanes(one: Floats, two: Floats, column: Floats, found: int, to: Floats, to_two: Floats) -> None:
    """Add products of two numbers with a column, in as many parts as there are places in `to`."""
    for first in range(0, found, len(to)):
        # from 0 on, so that no index is tested for being negative
        left, right, times = one[first:found], two[first:found], column[first:found]
        for lane in range(min(len(to), len(left))):
            to[lane] += left[lane] * times[lane]
            to_two[lane] += right[lane] * times[lane]


@compiled
def add_model_spread(plan: ModelPlan, inverse: SpreadPlan, start: int, stop: int, fits: Floats, to: ModelSums) -> None:
    """Add how complete records lie about the model. `sums`: squares, the largest leverage, the largest square."""
    chunk = scratch(plan, to.rows.shape[1])
    square, leverage = np.empty(CHUNK), np.empty(CHUNK)
    for begin in range(start, stop, CHUNK):
        n = min(CHUNK, stop - begin)
        found = read_chunk(plan, begin, n, chunk)
        if found == 0:
            continue
        work_chunk(plan, found, chunk)
        _leverages(plan, inverse, found, chunk, leverage)
        _add_squares(found, chunk, leverage, square, to)
        for c in range(len(chunk.codes)):
            code, own = chunk.codes[c], fits[c]
            for k in range(found):
                own[k % PARTS, code[k], 0] += square[k]
                own[k % PARTS, code[k], 1] += chunk.weight[k]
        _add_products(plan, found, chunk, to)


@compiled
def _add_squares(found: int, chunk: Chunk, leverage: Floats, square: Floats, to: ModelSums) -> None:
    """Add squares of what fitted values are off by, and find the largest; from here on `variance` is of scores."""
    total, largest, largest_square = to.sums[0], to.sums[1], to.sums[2]
    for k in range(found):
        off = chunk.response[k] - chunk.mu[k]
        square[k] = chunk.weight[k] * off * off
        total += square[k]
        largest = max(largest, chunk.weight[k] * chunk.variance[k] * leverage[k])
        largest_square = max(largest_square, square[k])
        chunk.variance[k] = chunk.weight[k] * square[k]
    to.sums[0], to.sums[1], to.sums[2] = total, largest, largest_square


@compiled
def _leverages(plan: ModelPlan, inverse: SpreadPlan, found: int, chunk: Chunk, to: Floats) -> None:
    """x' inverse x."""
    joint, times, width = chunk.joint, chunk.times, len(plan.blocks)
    for k in range(found):
        to[k] = 0.0
    _read_rows(joint, found, inverse.cross, times)
    for group in range(len(joint)):
        own = joint[group]
        for k in range(found):
            to[k] += inverse.alone[own[k]]
        for other in range(group):
            second = joint[other]
            for k in range(found):
                to[k] += inverse.pairs[own[k], second[k]]
    for m in range(width):
        number = chunk.numbers[plan.blocks[m]]
        for k in range(found):
            to[k] += times[k, m] * number[k]
        for other in range(m + 1):
            second, factor = chunk.numbers[plan.blocks[other]], inverse.dense[m, other]
            for k in range(found):
                to[k] += factor * number[k] * second[k]


@compiled
def _read_rows(joint: Codes, found: int, rows: Floats, to: Floats) -> None:
    """For each record the sum of the rows of its joint classes, two groups at a time."""
    width = rows.shape[1]
    for k in range(found):
        for m in range(width):
            to[k, m] = 0.0
    for group in range(0, len(joint) - 1, 2):
        own, second = joint[group], joint[group + 1]
        for k in range(found):
            at, there = own[k], second[k]
            for m in range(width):
                to[k, m] += rows[at, m] + rows[there, m]
    if len(joint) % 2:
        own = joint[len(joint) - 1]
        for k in range(found):
            at = own[k]
            for m in range(width):
                to[k, m] += rows[at, m]
