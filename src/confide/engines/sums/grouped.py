"""Moments of a model without products of classes, in about 0.6 of the time: classes are first joined into a few groups.

Where each block is one class or numbers only, a cross-product of two classes is a two-way table of weights. Tables are
kept for pairs of groups of classes, and the sums for single classes are read off them at the end: with two classes to
a group that is a quarter of the additions. The same order of records, so the same bits every time; units have one record.
"""

from typing import NamedTuple

import numpy as np

from confide.arrays import Floats, Ints
from confide.data.compiling import compiled
from confide.engines.sums.kernels import HALF_BIT, Batch, MomentSums, _deviance, _working, moment_sums
from confide.model.design import Block, Design

__all__ = ["GroupSums", "Groups", "add_grouped", "group", "group_sums", "ungrouped"]


LARGEST_GROUP = 100
"""Joint classes of a group, at most: more make fewer tables, but these leave the processor's cache.

Measured with ten classes of 2 to 18 and two numbers, in ns a record: 126 without groups, 106 at 30, 93 at 60, 98 at 100 and
at 200, 133 at 400, 194 at 1,000.
"""


class Groups(NamedTuple):
    """Joint classes, numbered through all groups, and what they stand for.

    Group k takes the classes from `class_at[k]` to `class_at[k + 1]`; the joint class is `base[k]` and the sum of their
    `steps`. `number_at`, `number` and `dense` are the blocks of numbers and their columns (the first is the intercept).
    `parts` says for each column of a class which joint classes it holds.
    """

    base: Ints
    class_at: Ints
    classes: Ints
    steps_at: Ints
    steps: Ints
    number_at: Ints
    number: Ints
    dense: Ints
    parts: list[tuple[int, Ints]]
    joint: int


class GroupSums(NamedTuple):
    """`tables` of pairs of joint classes; `rows`: for each joint class the sums of numbers, response, records.

    `dense` has the like for each number, its lower triangle only.
    """

    tables: Floats
    rows: Floats
    dense: Floats
    sums: Floats
    counts: Ints


def group(design: Design) -> Groups | None:
    """The groups of a design; None where a block is a product with a class, or a class stands in several blocks."""
    single = [block for block in design.blocks if block.classes]
    indices = [block.classes[0][0] for block in single]
    if any(len(b.classes) > 1 or b.numbers for b in single) or len(set(indices)) < len(indices):
        return None
    packed = _packed(single)
    bases, class_at, classes, steps, parts = [0], [0], [], [], []
    for members in packed:
        joint = np.arange(_joint(members))
        stride = 1
        for block in members:
            at, levels = block.classes[0]
            classes.append(at)
            places = _numbered(levels)
            steps.append(places * stride)
            own, of = joint // stride % (block.width + 1), dict(zip(levels, places.tolist(), strict=True))
            parts += [
                (block.offset + level, bases[-1] + np.flatnonzero(own == of.get(level, -1)))
                for level in range(block.width)
            ]
            stride *= block.width + 1
        bases.append(bases[-1] + len(joint))
        class_at.append(len(classes))
    numbers = [block for block in design.blocks if not block.classes]
    return Groups(
        base=np.array(bases[:-1], np.int64),
        class_at=np.array(class_at, np.int64),
        classes=np.array(classes, np.int64),
        steps_at=np.cumsum([0, *map(len, steps)], dtype=np.int64),
        steps=np.concatenate([np.empty(0, np.int64), *steps]),
        number_at=np.cumsum([0, *(len(block.numbers) for block in numbers)], dtype=np.int64),
        number=np.array([at for block in numbers for at in block.numbers], np.int64),
        dense=np.array([block.offset for block in numbers], np.int64),
        parts=parts,
        joint=bases[-1],
    )


def _numbered(levels: tuple[int, ...]) -> Ints:
    """For each place of a class its number in joint classes: where each has a level of its own they ascend.

    So no table of them is looked into for each record, wherever the reference stands.
    """
    return np.arange(len(levels)) if len(set(levels)) == len(levels) else np.array(levels, np.int64) + 1


def _joint(members: list[Block]) -> int:
    return int(np.prod([block.width + 1 for block in members], dtype=np.int64))


def _packed(blocks: list[Block]) -> list[list[Block]]:
    """First fit, largest first: bin packing (of logarithms), with at most 11/9 of the fewest groups, and one more."""
    packed: list[list[Block]] = []
    for block in sorted(blocks, key=lambda b: -b.width):
        fitting = (members for members in packed if _joint([*members, block]) <= LARGEST_GROUP)
        members = next(fitting, None)
        if members is None:
            packed.append([block])
        else:
            members.append(block)
    return packed


def group_sums(groups: Groups) -> GroupSums:
    """Nothing added up yet."""
    width = len(groups.dense)
    return GroupSums(
        np.zeros((groups.joint, groups.joint)),
        np.zeros((groups.joint, width + 2)),
        np.zeros((width, width + 1)),
        np.zeros(5),
        np.zeros(2, np.int64),
    )


def add_grouped(half: int, family: int, groups: Groups, batch: Batch, beta: Floats, to: GroupSums) -> None:
    """Add the records of one half of the units."""
    effects, slopes = np.zeros(groups.joint), np.zeros(len(groups.dense))
    if len(beta):
        slopes = beta[groups.dense]
        for column, joint in groups.parts:
            effects[joint] += beta[column]
    start = len(beta) == 0
    joined = (groups.base, groups.class_at, groups.classes, groups.steps_at, groups.steps)
    arrays = (*joined, groups.number_at, groups.number)
    _add(half, family, start, arrays, batch, effects, slopes, to)


@compiled
def _add(
    half: int,
    family: int,
    start: bool,
    arrays: tuple[Ints, ...],
    batch: Batch,
    effects: Floats,
    slopes: Floats,
    to: GroupSums,
) -> None:
    base, class_at, classes, steps_at, steps, number_at, number = arrays
    units, keys, weights, responses = batch.unit, batch.key, batch.weight, batch.response
    places, numbers, wanted = batch.classes, batch.numbers, batch.wanted
    tables, rows, dense, sums, counts = to.tables, to.rows, to.dense, to.sums, to.counts
    width, many = len(slopes), len(base)
    joint = np.empty(many, np.uintp)
    value = np.empty(width)
    times = np.empty(width + 2)
    for i in range(len(units)):
        if (units[i] >> HALF_BIT) & 1 != half or not wanted[i]:
            continue
        eta = 0.0
        for k in range(many):
            at = base[k]
            for c in range(class_at[k], class_at[k + 1]):
                at += steps[np.uintp(steps_at[c] + places[np.uintp(classes[c]), i])]
            joint[k] = at
            eta += effects[joint[k]]
        for m in range(width):
            product = 1.0
            for n in range(number_at[m], number_at[m + 1]):
                product *= numbers[np.uintp(number[n]), i]
            value[m] = product
            eta += slopes[m] * product
        w, y = weights[i], responses[i]
        mu, v, z = _working(family, y, eta, start)
        wv = w * v
        sums[0] += wv * z * z
        sums[1] += w * _deviance(family, y, mu)
        sums[2] += w
        sums[3] += w * y
        sums[4] += w * y * y
        counts[0] += 1
        counts[1] ^= np.int64(keys[i])
        for m in range(width):
            times[m] = wv * value[m]
        times[width] = wv * z
        times[width + 1] = 1.0
        for m in range(width):
            for n in range(m + 1):
                dense[m, n] += value[m] * times[n]
            dense[m, width] += value[m] * times[width]
        for k in range(many):
            own = joint[k]
            for m in range(width + 2):
                rows[own, m] += times[m]
            for j in range(k):
                tables[own, joint[j]] += wv


def ungrouped(groups: Groups, sums: GroupSums, columns: int) -> MomentSums:
    """The sums for single classes, read off those for joint ones."""
    found = moment_sums(columns)
    width = len(groups.dense)
    tables = sums.tables + sums.tables.T
    # A group with itself was not added up: of one group a record has one joint class, so that is a diagonal, and the sum of
    # weights times the intercept, which is the first of the numbers, has it.
    np.fill_diagonal(tables, sums.rows[:, 0])
    kept = np.array([tables[joint].sum(axis=0) for _, joint in groups.parts]).reshape(len(groups.parts), groups.joint)
    for column, joint in groups.parts:
        found.gram[[of for of, _ in groups.parts], column] = kept[:, joint].sum(axis=1)
        row = sums.rows[joint].sum(axis=0)
        found.gram[column, groups.dense] = found.gram[groups.dense, column] = row[:width]
        found.score[column], found.support[column] = row[width], row[width + 1]
    found.gram[np.ix_(groups.dense, groups.dense)] = sums.dense[:, :width]  # lower: dense columns ascend
    found.gram[:] = np.tril(found.gram)
    found.score[groups.dense] = sums.dense[:, width]
    found.support[groups.dense] = sums.counts[0]
    found.sums[:] = sums.sums
    found.counts[:3] = sums.counts[0], sums.counts[0], sums.counts[1]
    return found
