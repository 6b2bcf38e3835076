"""The hot loops of models over columns: a chunk of records at a time, each sum in the order of records.

A chunk is read column by column, and every step runs over all its records before the next: loops without branches, which
the compiler makes wide. Each sum still gets its records in their order, so the same records give the same bits.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from confide.arrays import Floats, Ints
from confide.data.compiling import compiled
from confide.engines.columns.elementary import exponentials, logarithms
from confide.engines.columns.reading import CHUNK, Words, pick, take
from confide.engines.columns.store import Bytes
from confide.engines.sums.kernels import GAUSSIAN, TINY, _deviance, _working

__all__ = ["LANES", "PARTS", "ModelPlan", "ModelSums", "SpreadPlan", "add_model", "add_model_spread"]

LANES = 128
"""Sums over all records are kept in so many parts, by the place of a record in its chunk, and the parts are added in their
order at the end: then several records are added at a time. The same on every machine."""

PARTS = 4
"""Sums by class are kept in so many parts likewise: one need not wait until the record before is added to its class."""

LOG, SQRT, SQUARE = 1, 2, 3

Codes = NDArray[np.uint32]


class ModelPlan(NamedTuple):
    """What to read of which records, and the model at some beta.

    A row of `numbers` is offset and kind of a column and its transformation, of `scales` what it is divided by first, the
    shift, and what it is multiplied by; the response stands last, unless `yes` marks the places of a class that make it 1.
    `blocks` says where the values of each block of numbers stand: at a number, at the ones after all numbers (the
    intercept), or at a product after these, of the numbers from `product_at` on. `classes` are offset and kind, the group,
    and where in `steps` the steps of its places begin; `bases` are the first joint classes of groups. `effects` are the
    sums of beta in each joint class, `slopes` those of the blocks.
    """

    bytes: Bytes
    words: Words
    needs: Ints
    key: Ints
    weight: Ints
    weight_scale: float
    numbers: Ints
    scales: Floats
    answer: Ints
    yes: Floats
    classes: Ints
    bases: Ints
    steps: NDArray[np.uint32]
    blocks: Ints
    product_at: Ints
    product: Ints
    family: int
    start: bool
    effects: Floats
    slopes: Floats


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


class _Chunk(NamedTuple):
    """Records of a chunk that count: scratch for whatever is known of them. `columns` are numbers times weight, response
    and ones, a row each; `times` the same with a row for each record.
    """

    at: NDArray[np.int32]
    whole: Ints
    code: Codes
    codes: Codes
    joint: Codes
    numbers: Floats
    weight: Floats
    response: Floats
    eta: Floats
    mu: Floats
    variance: Floats
    working: Floats
    deviance: Floats
    likelihood: Floats
    columns: Floats
    times: Floats


@compiled
def _scratch(plan: ModelPlan, to: ModelSums) -> _Chunk:
    width = len(plan.slopes) + 2
    return _Chunk(
        np.empty(CHUNK, np.int32),
        np.empty(CHUNK, np.int64),
        np.empty(CHUNK, np.uint32),
        np.empty((len(plan.classes), CHUNK), np.uint32),
        np.empty((len(plan.bases), CHUNK), np.uint32),
        np.ones((len(plan.numbers) + len(plan.product_at), CHUNK)),
        np.ones(CHUNK),
        np.empty(CHUNK),
        np.empty(CHUNK),
        np.empty(CHUNK),
        np.empty(CHUNK),
        np.empty(CHUNK),
        np.empty(CHUNK),
        np.empty(CHUNK),
        np.ones((width, CHUNK)),
        np.ones((CHUNK, to.rows.shape[1])),
    )


@compiled
def _read(plan: ModelPlan, start: int, n: int, to: _Chunk) -> int:
    """The complete records of a chunk: numbers as they enter, weight, response, joint classes. How many there are."""
    found = pick(plan.words, plan.bytes, plan.needs, start, n, to.at, to.whole)
    if found == 0:
        return 0
    for m in range(len(plan.numbers)):
        offset, kind, transform = plan.numbers[m]
        take(plan.bytes, offset, kind, start, n, to.at, found, to.whole)
        _enter(to.whole, found, transform, plan.scales[m], to.numbers[m])
    if len(plan.weight):
        take(plan.bytes, plan.weight[0], plan.weight[1], start, n, to.at, found, to.whole)
        for k in range(found):
            to.weight[k] = to.whole[k] / plan.weight_scale
    if len(plan.yes):
        take(plan.bytes, plan.answer[0], plan.answer[1], start, n, to.at, found, to.code)
        for k in range(found):
            to.response[k] = plan.yes[to.code[k]]
    else:
        response = to.numbers[len(plan.numbers) - 1]
        for k in range(found):
            to.response[k] = response[k]
    for group in range(len(plan.bases)):
        joint, base = to.joint[group], np.uint32(plan.bases[group])
        for k in range(found):
            joint[k] = base
    for c in range(len(plan.classes)):
        offset, kind, group, first = plan.classes[c]
        code, joint, steps = to.codes[c], to.joint[group], plan.steps[first:]
        take(plan.bytes, offset, kind, start, n, to.at, found, code)
        for k in range(found):
            joint[k] += steps[code[k]]
    _blocks(plan, found, to)
    return found


@compiled
def _enter(whole: Ints, found: int, transform: int, scales: Floats, to: Floats) -> None:
    """Numbers as a model wants them: scaled, transformed, moved and scaled again."""
    divisor, shift, times = scales[0], scales[1], scales[2]
    for k in range(found):
        to[k] = whole[k]
    if divisor != 1.0:
        for k in range(found):
            to[k] = to[k] / divisor
    if transform == LOG:
        for k in range(found):
            to[k] = np.log(to[k])
    elif transform == SQRT:
        for k in range(found):
            to[k] = np.sqrt(to[k])
    elif transform == SQUARE:
        for k in range(found):
            to[k] = to[k] * to[k]
    for k in range(found):
        to[k] = (to[k] - shift) * times


@compiled
def _blocks(plan: ModelPlan, found: int, to: _Chunk) -> None:
    """The products of numbers, and the linear predictor."""
    for product in range(len(plan.product_at) - 1):
        values = to.numbers[len(plan.numbers) + 1 + product]
        for k in range(found):
            values[k] = 1.0
        for at in range(plan.product_at[product], plan.product_at[product + 1]):
            number = to.numbers[plan.product[at]]
            for k in range(found):
                values[k] *= number[k]
    for k in range(found):
        to.eta[k] = 0.0
    if plan.start:
        return
    for m in range(len(plan.blocks)):
        number, slope = to.numbers[plan.blocks[m]], plan.slopes[m]
        for k in range(found):
            to.eta[k] += slope * number[k]
    for group in range(len(plan.bases)):
        joint = to.joint[group]
        for k in range(found):
            to.eta[k] += plan.effects[joint[k]]


@compiled
def _work(plan: ModelPlan, found: int, chunk: _Chunk) -> None:
    """Fitted values, working weights and working responses."""
    if plan.family == GAUSSIAN:
        for k in range(found):
            chunk.mu[k] = chunk.eta[k]
            chunk.variance[k] = 1.0
            chunk.working[k] = chunk.response[k]
    elif len(plan.yes) and not plan.start:
        _work_logistic(found, chunk)
    else:
        for k in range(found):
            mu, variance, working = _working(plan.family, chunk.response[k], chunk.eta[k], plan.start)
            chunk.mu[k] = mu
            chunk.variance[k] = variance
            chunk.working[k] = working


@compiled
def _work_logistic(found: int, chunk: _Chunk) -> None:
    """The same as `_working` for a class as response, many records at a time."""
    minus, eta, mu = chunk.deviance, chunk.eta, chunk.mu
    for k in range(found):
        minus[k] = min(max(-eta[k], -700.0), 700.0)
    exponentials(minus, found, chunk.whole, mu)
    for k in range(found):
        mu[k] = min(max(np.divide(1.0, 1.0 + mu[k]), TINY), 1.0 - TINY)
        chunk.variance[k] = mu[k] * (1.0 - mu[k])
        chunk.working[k] = eta[k] + np.divide(chunk.response[k] - mu[k], chunk.variance[k])


@compiled
def _deviances(plan: ModelPlan, found: int, chunk: _Chunk) -> None:
    """What each record adds to the deviance, before its weight."""
    if plan.family == GAUSSIAN:
        for k in range(found):
            off = chunk.response[k] - chunk.mu[k]
            chunk.deviance[k] = off * off
    elif len(plan.yes):
        likelihood = chunk.likelihood
        for k in range(found):
            y = chunk.response[k]
            likelihood[k] = y * chunk.mu[k] + (1.0 - y) * (1.0 - chunk.mu[k])
        logarithms(likelihood, found, chunk.whole, chunk.deviance)
        for k in range(found):
            chunk.deviance[k] *= -2.0
    else:
        for k in range(found):
            chunk.deviance[k] = _deviance(plan.family, chunk.response[k], chunk.mu[k])


@compiled
def add_model(plan: ModelPlan, start: int, stop: int, to: ModelSums) -> None:
    """Add the complete records of a part of the file."""
    chunk = _scratch(plan, to)
    for begin in range(start, stop, CHUNK):
        n = min(CHUNK, stop - begin)
        found = _read(plan, begin, n, chunk)
        if found == 0:
            continue
        _work(plan, found, chunk)
        _deviances(plan, found, chunk)
        _add_sums(found, chunk, to)
        take(plan.bytes, plan.key[0], plan.key[1], begin, n, chunk.at, found, chunk.whole)
        key = 0
        for k in range(found):
            key ^= chunk.whole[k]
        to.counts[1] ^= key
        to.counts[0] += found
        _add_products(plan, found, chunk, to)


@compiled
def _add_sums(found: int, chunk: _Chunk, to: ModelSums) -> None:
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
def _add_products(plan: ModelPlan, found: int, chunk: _Chunk, to: ModelSums) -> None:
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
    chunk = _scratch(plan, to)
    square, leverage = np.empty(CHUNK), np.empty(CHUNK)
    for begin in range(start, stop, CHUNK):
        n = min(CHUNK, stop - begin)
        found = _read(plan, begin, n, chunk)
        if found == 0:
            continue
        _work(plan, found, chunk)
        _leverages(plan, inverse, found, chunk, leverage)
        _add_squares(found, chunk, leverage, square, to)
        for c in range(len(chunk.codes)):
            code, own = chunk.codes[c], fits[c]
            for k in range(found):
                own[k % PARTS, code[k], 0] += square[k]
                own[k % PARTS, code[k], 1] += chunk.weight[k]
        _add_products(plan, found, chunk, to)


@compiled
def _add_squares(found: int, chunk: _Chunk, leverage: Floats, square: Floats, to: ModelSums) -> None:
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
def _leverages(plan: ModelPlan, inverse: SpreadPlan, found: int, chunk: _Chunk, to: Floats) -> None:
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
