"""Records of a model, a chunk at a time: read from their columns, transformed, and what the model makes of them.

Every step runs over all records of a chunk before the next: loops without branches, which the compiler makes wide.
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

__all__ = [
    "LOG",
    "SQRT",
    "SQUARE",
    "Chunk",
    "Codes",
    "ModelPlan",
    "find_deviances",
    "read_chunk",
    "scratch",
    "work_chunk",
]

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


class Chunk(NamedTuple):
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
def scratch(plan: ModelPlan, lanes: int) -> Chunk:
    """Room for a chunk; rows of `times` are `lanes` wide."""
    width = len(plan.slopes) + 2
    return Chunk(
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
        np.ones((CHUNK, lanes)),
    )


@compiled
def read_chunk(plan: ModelPlan, start: int, n: int, to: Chunk) -> int:
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
def _blocks(plan: ModelPlan, found: int, to: Chunk) -> None:
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
def work_chunk(plan: ModelPlan, found: int, chunk: Chunk) -> None:
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
def _work_logistic(found: int, chunk: Chunk) -> None:
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
def find_deviances(plan: ModelPlan, found: int, chunk: Chunk) -> None:
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
