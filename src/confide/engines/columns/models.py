"""From a step of fitting to what kernels read, and from their sums to moments and spread.

For models whose blocks are one class or numbers only, of units with one record each; see `confide.engines.sums.grouped`.
"""

from itertools import pairwise

import numpy as np

from confide.arrays import Floats, Ints
from confide.engines.columns import model_chunks as chunks
from confide.engines.columns.model_chunks import ModelPlan
from confide.engines.columns.model_kernels import LANES, PARTS, ModelSums, SpreadPlan, add_model, add_model_spread
from confide.engines.columns.needs import needs_of
from confide.engines.columns.parallel import HALVES, in_two
from confide.engines.columns.reading import Words
from confide.engines.columns.store import ColumnsStore
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
    found = [_nothing(groups) for _ in HALVES]

    def work(half: int, start: int, stop: int) -> None:
        add_model(plan, start, stop, found[half])

    in_two(work, store.rows)
    return added([_single(groups, half, step.design.columns) for half in found])


def sum_spread(store: ColumnsStore, step: Step, groups: Groups, words: Words, inverse: Floats) -> Spread:
    """How the records of a mask lie about a model."""
    plan, by_joint = _plan(store, step, groups, words), _by_joint(groups, inverse)
    found = [_nothing(groups) for _ in HALVES]
    sizes = [store.sizes[name] for name in step.design.classes]
    fits = [np.zeros((len(sizes), PARTS, max(sizes, default=0), 2)) for _ in HALVES]

    def work(half: int, start: int, stop: int) -> None:
        add_model_spread(plan, by_joint, start, stop, fits[half], found[half])

    in_two(work, store.rows)
    one, other = found
    squares, largest = float(one.sums[0] + other.sums[0]), np.maximum(one.sums, other.sums)
    lower = sum(_single(groups, half, step.design.columns).gram for half in found)
    places = {at: len(levels) for block in step.design.blocks for at, levels in block.classes}
    return Spread(
        meat=lower + np.tril(lower, -1).T,
        leverage=float(largest[1]),
        influence=float(largest[2]) / squares if squares > 0 else 0.0,
        squares=squares,
        fits=tuple(_fitted(fits[0][at] + fits[1][at], places[at]) for at in range(len(sizes))),
    )


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
        **_blocks(groups, len(numbers)),
        family=FAMILY[step.family],
        start=not step.beta,
        effects=_joined(groups, beta),
        slopes=beta[groups.dense],
    )


def _classes(store: ColumnsStore, step: Step, groups: Groups) -> Ints:
    """The columns of classes in the order of the design, each with its group and where its steps begin."""
    group_of = np.repeat(np.arange(len(groups.base)), np.diff(groups.class_at))
    rows = np.zeros((len(step.design.classes), 4), np.int64)
    for at, index in enumerate(groups.classes.tolist()):
        name = step.design.classes[index]
        column = store.column(store.facts.classes[name])
        if store.sizes[name] > groups.steps_at[at + 1] - groups.steps_at[at]:
            raise Fault(f"The design has fewer places of {name!r} than the data.")
        rows[index] = column.offset, column.kind, group_of[at], groups.steps_at[at]
    return rows


def _blocks(groups: Groups, numbers: int) -> dict[str, Ints]:
    """Where the values of blocks of numbers stand, and what the products among them are made of."""
    ends = groups.number_at
    made = [groups.number[first:last] for first, last in pairwise(ends)]
    products = [block for block in made if len(block) > 1]
    places = iter(range(numbers + 1, numbers + 1 + len(products)))
    blocks = [int(block[0]) if len(block) == 1 else next(places) if len(block) else numbers for block in made]
    return {
        "blocks": np.array(blocks, np.int64),
        "product_at": np.cumsum([0, *map(len, products)], dtype=np.int64),
        "product": np.concatenate([np.zeros(0, np.int64), *products]),
    }


def _joined(groups: Groups, columns: Floats) -> Floats:
    """Sums over the columns of each joint class: of a vector, or of the rows of a matrix."""
    found = np.zeros((groups.joint, *columns.shape[1:]))
    for column, joint in groups.parts:
        found[joint] += columns[column]
    return found


def _by_joint(groups: Groups, inverse: Floats) -> SpreadPlan:
    pairs = _joined(groups, _joined(groups, inverse).T)
    cross = np.ascontiguousarray(2 * _joined(groups, inverse[:, groups.dense]))
    dense = 2 * np.tril(inverse[np.ix_(groups.dense, groups.dense)], -1)
    np.fill_diagonal(dense, np.diag(inverse)[groups.dense])
    return SpreadPlan(np.ascontiguousarray(2 * pairs), np.diag(pairs).copy(), cross, dense)


def _nothing(groups: Groups) -> ModelSums:
    """Nothing added up yet."""
    width = len(groups.dense)
    return ModelSums(
        np.zeros((groups.joint, groups.joint)),
        np.zeros((groups.joint, -(-(width + 2) // 4) * 4)),
        np.zeros((width + width % 2, width + 1, LANES)),  # numbers are added two at a time
        np.zeros(5),
        np.zeros(2, np.int64),
    )


def _single(groups: Groups, sums: ModelSums, columns: int) -> MomentSums:
    """The sums for single classes."""
    width = len(groups.dense)
    dense = np.cumsum(sums.dense[:width], axis=2)[:, :, -1]  # one after the other, unlike a plain sum
    return ungrouped(
        groups, GroupSums(sums.tables, sums.rows[:, : dense.shape[1] + 1], dense, sums.sums, sums.counts), columns
    )
