"""From a step of fitting to what kernels read, and from their sums to moments and spread.

For models whose blocks are one class or numbers only, of units with one record each; see `confide.engines.sums.grouped`.
"""

from itertools import combinations, pairwise

import numpy as np

from confide.arrays import Floats, Ints
from confide.engines.columns import model_chunks as chunks
from confide.engines.columns.model_chunks import ModelPlan, scratch
from confide.engines.columns.model_kernels import (
    LANES,
    PARTS,
    FitSums,
    ModelSums,
    SpreadPlan,
    add_model,
    add_model_spread,
)
from confide.engines.columns.needs import needs_of
from confide.engines.columns.parallel import HALVES, in_two
from confide.engines.columns.reading import Words
from confide.engines.columns.store import ColumnsStore
from confide.engines.columns.vectors import EIGHT, aligned
from confide.engines.sums.grouped import Groups, GroupSums, ungrouped
from confide.engines.sums.kernels import MomentSums
from confide.engines.sums.stream import FAMILY, added
from confide.errors import Fault
from confide.model.design import Indicator, Number
from confide.model.evidence import Moments, Spread, Step
from confide.model.formula import Transform

__all__ = ["sum_moments", "sum_spread"]

_TRANSFORM = {Transform.LOG: chunks.LOG, Transform.SQRT: chunks.SQRT, Transform.SQUARE: chunks.SQUARE}


def sum_moments(store: ColumnsStore, step: Step, groups: Groups, words: Words) -> Moments:
    """One step of fitting a model, over the records of a mask."""
    plan = _plan(store, step, groups, words)
    found, room = [_nothing(groups, plan) for _ in HALVES], [scratch(plan) for _ in HALVES]

    def work(half: int, start: int, stop: int) -> None:
        add_model(plan, start, stop, room[half], found[half])

    in_two(work, store.rows)
    return added([_single(plan, groups, half, step.design.columns) for half in found])


def sum_spread(store: ColumnsStore, step: Step, groups: Groups, words: Words, inverse: Floats) -> Spread:
    """How the records of a mask lie about a model."""
    plan = _plan(store, step, groups, words)
    by_joint = _by_joint(plan, groups, inverse)
    found, room = [_nothing(groups, plan) for _ in HALVES], [scratch(plan) for _ in HALVES]
    sizes = [store.sizes[name] for name in step.design.classes]
    fits = [FitSums(np.zeros((len(sizes), PARTS, max(sizes, default=0), 2)), np.zeros((3, LANES))) for _ in HALVES]

    def work(half: int, start: int, stop: int) -> None:
        add_model_spread(plan, by_joint, start, stop, room[half], fits[half], found[half])

    in_two(work, store.rows)
    one, other = fits
    squares = float(_in_order(one.sums[0]) + _in_order(other.sums[0]))
    largest = np.maximum(one.sums, other.sums).max(axis=1)
    lower = sum(_single(plan, groups, half, step.design.columns).gram for half in found)
    places = {at: len(levels) for block in step.design.blocks for at, levels in block.classes}
    return Spread(
        meat=lower + np.tril(lower, -1).T,
        leverage=float(largest[1]),
        influence=float(largest[2]) / squares if squares > 0 else 0.0,
        squares=squares,
        fits=tuple(_fitted(one.fits[at] + other.fits[at], places[at]) for at in range(len(sizes))),
    )


def _in_order(parts: Floats) -> Floats:
    """The sum of parts, one after the other, unlike a plain sum."""
    return np.cumsum(parts, axis=-1)[..., -1]


def _fitted(sums: Floats, places: int) -> Floats:
    found = np.zeros((places, 2))
    for part in sums:
        found[: part.shape[0]] += part[:places]
    return found


def _plan(store: ColumnsStore, step: Step, groups: Groups, words: Words) -> ModelPlan:
    design, facts = step.design, store.facts
    response = design.response
    numbers = [*design.numbers, *([response] if isinstance(response, Number) else [])]
    needs = needs_of(store, numbers)
    columns = [store.column(facts.value(number)) for number in numbers]
    weight = store.column("weight") if facts.weighted else None
    key = store.column("key")
    answer, yes = np.zeros(0, np.int64), np.zeros(0)
    if isinstance(response, Indicator):
        column = store.column(facts.classes[response.variable])
        answer, yes = np.array([column.offset, column.kind]), np.zeros(store.sizes[response.variable])
        yes[[place for place in response.places if place < len(yes)]] = 1.0
    beta = np.array(step.beta, np.float64) if step.beta else np.zeros(design.columns)
    return ModelPlan(
        bytes=store.bytes,
        words=words,
        needs=needs,
        key=np.array([key.offset, key.kind]),
        weight=np.array([weight.offset, weight.kind] if weight else [], np.int64),
        weight_scale=10.0**facts.weight_decimals,
        numbers=np.array(
            [(c.offset, c.kind, _TRANSFORM.get(n.transform, 0)) for c, n in zip(columns, numbers, strict=True)],
            np.int64,
        ).reshape(-1, 3),
        scales=np.array([(10.0 ** facts.scale(n), n.shift, 1 / n.scale) for n in numbers], np.float64).reshape(-1, 3),
        answer=answer,
        yes=yes,
        classes=_classes(store, step, groups),
        bases=groups.base,
        steps=groups.steps.astype(np.uint32),
        pairs=_pairs(groups),
        **_blocks(groups, len(numbers)),
        family=FAMILY[step.family],
        start=not step.beta,
        effects=_joined(groups, beta),
        slopes=beta[groups.dense[1:]],
        intercept=float(beta[groups.dense[0]]),
    )


def _classes(store: ColumnsStore, step: Step, groups: Groups) -> Ints:
    """The columns of classes in the order of the design, each with its group, and how joint classes follow from its places."""
    group_of = np.repeat(np.arange(len(groups.base)), np.diff(groups.class_at))
    rows = np.zeros((len(step.design.classes), 5), np.int64)
    for at, index in enumerate(groups.classes.tolist()):
        name = step.design.classes[index]
        column = store.column(store.facts.classes[name])
        first, last = groups.steps_at[at : at + 2]
        if store.sizes[name] > last - first:
            raise Fault(f"The design has fewer places of {name!r} than the data.")
        steps = groups.steps[first:last]
        each = int(steps[1]) if len(steps) > 1 and np.array_equal(steps, np.arange(len(steps)) * steps[1]) else 0
        rows[index] = column.offset, column.kind, group_of[at], each, first
    return rows


def _pairs(groups: Groups) -> Ints:
    """Which groups have a table, and where its cells stand."""
    ends, at = [*groups.base.tolist(), groups.joint], 0
    rows = []
    for own, other in combinations(range(len(groups.base)), 2):
        size = ends[other + 1] - ends[other]
        rows.append((own, other, size, at - ends[own] * size - ends[other]))
        at += (ends[own + 1] - ends[own]) * size
    return np.array(rows, np.int64).reshape(-1, 4)


def _tables(groups: Groups) -> list[tuple[slice, slice]]:
    """Where the pairs of groups stand in a table of all joint classes."""
    return list(combinations([slice(*part) for part in pairwise([*groups.base.tolist(), groups.joint])], 2))


def _blocks(groups: Groups, numbers: int) -> dict[str, Ints]:
    """Where the values of blocks of numbers stand, and what the products among them are made of. The first is the intercept."""
    ends = groups.number_at[1:]
    made = [groups.number[first:last] for first, last in pairwise(ends)]
    products = [block for block in made if len(block) > 1]
    places = iter(range(numbers, numbers + len(products)))
    blocks = [int(block[0]) if len(block) == 1 else next(places) for block in made]
    working = numbers + len(products)
    zeros = -(len(blocks) + 1) % EIGHT
    return {
        "blocks": np.array(blocks, np.int64),
        "lanes": np.array([*blocks, working, *[working + 1] * zeros], np.int64),
        "product_at": np.cumsum([0, *map(len, products)], dtype=np.int64),
        "product": np.concatenate([np.zeros(0, np.int64), *products]),
    }


def _joined(groups: Groups, columns: Floats) -> Floats:
    """Sums over the columns of each joint class: of a vector, or of the rows of a matrix."""
    found = np.zeros((groups.joint, *columns.shape[1:]))
    for column, joint in groups.parts:
        found[joint] += columns[column]
    return found


def _by_joint(plan: ModelPlan, groups: Groups, inverse: Floats) -> SpreadPlan:
    pairs = _joined(groups, _joined(groups, inverse).T)
    columns, width = np.append(groups.dense[1:], groups.dense[0]), len(plan.lanes)  # the intercept has the last lane
    cross, dense = aligned(groups.joint, width), aligned(width, width)
    cross[:, : len(columns)] = 2 * _joined(groups, inverse[:, columns])
    cross[:, len(columns) - 1] += np.diag(pairs)
    lower = 2 * np.tril(inverse[np.ix_(columns, columns)], -1)
    np.fill_diagonal(lower, np.diag(inverse)[columns])
    dense[: len(columns), : len(columns)] = lower
    tables = [2 * pairs[cells].ravel() for cells in _tables(groups)]  # one after the other, as kernels have them
    return SpreadPlan(np.concatenate([np.zeros(0), *tables]), cross, dense)


def _nothing(groups: Groups, plan: ModelPlan) -> ModelSums:
    """Nothing added up yet."""
    cells = sum((own.stop - own.start) * (other.stop - other.start) for own, other in _tables(groups))
    return ModelSums(
        aligned(cells),
        aligned(groups.joint, len(plan.lanes)),
        aligned(groups.joint, 2),
        aligned(len(plan.lanes) + 1, len(plan.lanes)),
        np.zeros((5, LANES)),
        np.zeros(2, np.int64),
    )


def _single(plan: ModelPlan, groups: Groups, sums: ModelSums, columns: int) -> MomentSums:
    """The sums for single classes."""
    width = len(plan.blocks) + 1
    deviance, weight, response, response_square, working = _in_order(sums.sums)
    dense = np.zeros((width, width + 1))  # the intercept first, the response last
    dense[0, 0] = working
    dense[1:, 0], dense[0, width] = sums.dense[-1, : width - 1], sums.dense[-1, width - 1]
    dense[1:, 1:width] = np.tril(sums.dense[: width - 1, : width - 1])
    dense[1:, width] = sums.dense[width - 1, : width - 1]
    rows = np.column_stack([sums.alone[:, :1], sums.rows[:, :width], sums.alone[:, 1:]])
    square = sums.dense[width - 1, width - 1]
    plain = np.array([square, deviance, weight, response, response_square])
    return ungrouped(groups, GroupSums(_square(groups, sums.tables), rows, dense, plain, sums.counts), columns)


def _square(groups: Groups, tables: Floats) -> Floats:
    """The table of all joint classes, from those of pairs of groups."""
    found, at = np.zeros((groups.joint, groups.joint)), 0
    for where in _tables(groups):
        cells = found[where]
        cells[:] = tables[at : at + cells.size].reshape(cells.shape)
        at += cells.size
    return found
