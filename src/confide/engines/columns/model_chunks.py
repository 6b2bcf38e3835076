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
from confide.engines.columns.vectors import EIGHT, aligned, eight, put, turned
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
    "turn_lanes",
    "work_chunk",
]

LOG, SQRT, SQUARE = 1, 2, 3

Codes = NDArray[np.uint32]


class ModelPlan(NamedTuple):
    """What to read of which records, and the model at some beta.

    A row of `numbers` is offset and kind of a column and its transformation, of `scales` what it is divided by first, the
    shift, and what it is multiplied by; the response stands last, unless `yes` marks the places of a class that make it 1.
    `blocks` says where the values of each block of numbers but the intercept stand: at a number, or at a product after the
    numbers, of those from `product_at` on. `lanes` are the blocks and the working response, filled up to a multiple of eight
    with a row of zeros. `classes` are offset and kind, the group, and the step from each place to the next, or 0 and where
    in `steps` those of its places begin; `bases` are the first joint classes of groups. `pairs` of groups are these, and
    where in a table of all pairs the first's joint class k and the second's l stand: k times the third and l and the fourth.
    `effects` are the sums of beta in each joint class, `slopes` those of the blocks, `intercept` that of everybody.
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
    pairs: Ints
    blocks: Ints
    lanes: Ints
    product_at: Ints
    product: Ints
    family: int
    start: bool
    effects: Floats
    slopes: Floats
    intercept: float


class Chunk(NamedTuple):
    """Records of a chunk that count: scratch for whatever is known of them. `columns` are numbers, their products, the
    working response and zeros, a row each; `lanes` the plan's lanes of these with a row for each record.
    """

    at: NDArray[np.int32]
    whole: Ints
    code: Codes
    joint: Codes
    columns: Floats
    weight: Floats
    response: Floats
    eta: Floats
    mu: Floats
    variance: Floats
    working: Floats
    deviance: Floats
    likelihood: Floats
    lanes: Floats


def scratch(plan: ModelPlan) -> Chunk:
    """Room for a chunk."""
    working = len(plan.numbers) + len(plan.product_at) - 1
    columns = aligned(working + 2, CHUNK)
    return Chunk(
        at=np.empty(CHUNK, np.int32),
        whole=np.empty(CHUNK, np.int64),
        code=np.empty(CHUNK, np.uint32),
        joint=np.empty((len(plan.bases), CHUNK), np.uint32),
        columns=columns,
        weight=np.ones(CHUNK),
        response=np.empty(CHUNK),
        eta=np.empty(CHUNK),
        mu=np.empty(CHUNK),
        variance=np.empty(CHUNK),
        working=columns[working],
        deviance=np.empty(CHUNK),
        likelihood=np.empty(CHUNK),
        lanes=aligned(CHUNK, len(plan.lanes)),
    )


@compiled
def read_chunk(plan: ModelPlan, start: int, n: int, to: Chunk) -> int:
    """The complete records of a chunk: numbers as they enter, weight, response, joint classes. How many there are."""
    found = pick(plan.words, plan.bytes, plan.needs, start, n, to.at, to.whole)
    if found == 0:
        return 0
    for m in range(len(plan.numbers)):
        take(plan.bytes, plan.numbers[m, 0], plan.numbers[m, 1], start, n, to.at, found, to.columns[m])
        _enter(found, plan.numbers[m, 2], plan.scales[m], to.columns[m])
    if len(plan.weight):
        take(plan.bytes, plan.weight[0], plan.weight[1], start, n, to.at, found, to.weight)
        for k in range(found):
            to.weight[k] = np.divide(to.weight[k], plan.weight_scale)
    if len(plan.yes):
        take(plan.bytes, plan.answer[0], plan.answer[1], start, n, to.at, found, to.code)
        for k in range(found):
            to.response[k] = plan.yes[to.code[k]]
    else:
        response = to.columns[len(plan.numbers) - 1]
        for k in range(found):
            to.response[k] = response[k]
    for group in range(len(plan.bases)):
        joint, base = to.joint[group], np.uint32(plan.bases[group])
        for k in range(found):
            joint[k] = base
    for c in range(len(plan.classes)):
        joint, step = to.joint[plan.classes[c, 2]], np.uint32(plan.classes[c, 3])
        take(plan.bytes, plan.classes[c, 0], plan.classes[c, 1], start, n, to.at, found, to.code)
        _join(found, to.code, step, plan.steps[plan.classes[c, 4] :], joint)
    _multiply(found, plan.product_at, plan.product, len(plan.numbers), to.columns)
    if plan.start:
        for k in range(found):
            to.eta[k] = 0.0
    else:
        _predict(found, plan.blocks, plan.slopes, plan.effects, plan.intercept, to.columns, to.joint, to.eta)
    return found


@compiled
def _join(found: int, code: Codes, step: np.uint32, steps: Codes, joint: Codes) -> None:
    """Move joint classes on by the places of one class: each by the same step, or by the steps of the places."""
    if step:
        for k in range(found):
            joint[k] += code[k] * step
    else:
        for k in range(found):
            joint[k] += steps[code[k]]


@compiled
def _enter(found: int, transform: int, scales: Floats, to: Floats) -> None:
    """Numbers as a model wants them: scaled, transformed, moved and scaled again."""
    divisor, shift, times = scales[0], scales[1], scales[2]
    if divisor != 1.0:
        for k in range(found):
            to[k] = np.divide(to[k], divisor)
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
def _multiply(found: int, product_at: Ints, product: Ints, numbers: int, columns: Floats) -> None:
    """The products of numbers, in the columns after these."""
    for one in range(len(product_at) - 1):
        values = columns[numbers + one]
        for k in range(found):
            values[k] = 1.0
        for at in range(product_at[one], product_at[one + 1]):
            number = columns[product[at]]
            for k in range(found):
                values[k] *= number[k]


@compiled
def _predict(
    found: int,
    blocks: Ints,
    slopes: Floats,
    effects: Floats,
    intercept: float,
    columns: Floats,
    joint: Codes,
    eta: Floats,
) -> None:
    """The linear predictor."""
    groups = np.uintp(len(joint))
    for k in range(np.uintp(found)):
        both = intercept
        for group in range(groups):
            both += effects[joint[group, k]]
        eta[k] = both
    for m in range(len(blocks)):
        number, slope = columns[blocks[m]], slopes[m]
        for k in range(found):
            eta[k] += slope * number[k]


@compiled
def turn_lanes(found: int, rows: Ints, columns: Floats, lanes: Floats) -> None:
    """Write the lanes of each record, which are rows of `columns`, beside each other: so eight are read and added at a time."""
    width, size = np.uintp(len(rows)), np.uintp(CHUNK)
    for lane in range(0, len(rows), EIGHT):
        own = rows[lane : lane + EIGHT].astype(np.uintp) * size
        for first in range(0, found, EIGHT):  # the last may be of a chunk before: what is not of this one is never read
            k = np.uintp(first)
            made = turned(
                eight(columns, own[0] + k),
                eight(columns, own[1] + k),
                eight(columns, own[2] + k),
                eight(columns, own[3] + k),
                eight(columns, own[4] + k),
                eight(columns, own[5] + k),
                eight(columns, own[6] + k),
                eight(columns, own[7] + k),
            )
            at = k * width + np.uintp(lane)
            put(lanes, at, made[0])
            put(lanes, at + width, made[1])
            put(lanes, at + np.uintp(2) * width, made[2])
            put(lanes, at + np.uintp(3) * width, made[3])
            put(lanes, at + np.uintp(4) * width, made[4])
            put(lanes, at + np.uintp(5) * width, made[5])
            put(lanes, at + np.uintp(6) * width, made[6])
            put(lanes, at + np.uintp(7) * width, made[7])


@compiled
def work_chunk(plan: ModelPlan, found: int, chunk: Chunk) -> None:
    """Fitted values, working weights and working responses."""
    response, eta, mu, variance, working = chunk.response, chunk.eta, chunk.mu, chunk.variance, chunk.working
    if plan.family == GAUSSIAN:
        for k in range(found):
            mu[k] = eta[k]
            variance[k] = 1.0
            working[k] = response[k]
    elif len(plan.yes) and not plan.start:
        _work_logistic(found, response, eta, chunk.deviance, chunk.whole, mu, variance, working)
    else:
        for k in range(found):
            mu[k], variance[k], working[k] = _working(plan.family, response[k], eta[k], plan.start)


@compiled
def _work_logistic(
    found: int,
    response: Floats,
    eta: Floats,
    minus: Floats,
    bits: Ints,
    mu: Floats,
    variance: Floats,
    working: Floats,
) -> None:
    """The same as `_working` for a class as response, many records at a time."""
    for k in range(found):
        minus[k] = min(max(-eta[k], -700.0), 700.0)
    exponentials(minus, found, bits, mu)
    for k in range(found):
        mu[k] = min(max(np.divide(1.0, 1.0 + mu[k]), TINY), 1.0 - TINY)
        variance[k] = mu[k] * (1.0 - mu[k])
        working[k] = eta[k] + np.divide(response[k] - mu[k], variance[k])


@compiled
def find_deviances(plan: ModelPlan, found: int, chunk: Chunk) -> None:
    """What each record adds to the deviance, before its weight."""
    response, mu, deviance = chunk.response, chunk.mu, chunk.deviance
    if plan.family == GAUSSIAN:
        for k in range(found):
            off = response[k] - mu[k]
            deviance[k] = off * off
    elif len(plan.yes):
        likelihood = chunk.likelihood
        for k in range(found):
            y = response[k]
            likelihood[k] = y * mu[k] + (1.0 - y) * (1.0 - mu[k])
        logarithms(likelihood, found, chunk.whole, deviance)
        for k in range(found):
            deviance[k] *= -2.0
    else:
        for k in range(found):
            deviance[k] = _deviance(plan.family, response[k], mu[k])
