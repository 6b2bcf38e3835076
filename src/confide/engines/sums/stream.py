"""Moments, spread and rows of a model from a stream of batches: two threads, each with its half of the units."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

import numpy as np

from confide.arrays import Floats
from confide.engines.sums import kernels, several_kernels
from confide.engines.sums.grouped import Groups, add_grouped, group, group_sums, ungrouped
from confide.engines.sums.kernels import Batch, Layout, MomentSums, SpreadSums
from confide.model.design import Category, Duration
from confide.model.evidence import Moments, Rows, Spread, Step
from confide.model.request import Family

__all__ = ["FAMILY", "added", "moment_halves", "moments", "rows", "spread", "spread_halves", "spread_of"]


HALVES = (0, 1)

FAMILY = {Family.GAUSSIAN: kernels.GAUSSIAN, Family.BINOMIAL: kernels.BINOMIAL, Family.POISSON: kernels.POISSON}
SEVERAL = {
    Family.MULTINOMIAL: several_kernels.MULTINOMIAL,
    Family.ORDERED: several_kernels.ORDERED,
    Family.SURVIVAL: several_kernels.SURVIVAL,
}


def moments(step: Step, layout: Layout, batches: Iterable[Batch], *, several: bool) -> Moments:
    """One step of fitting a model; the two halves of the units are added at the end."""
    return added(moment_halves(step, layout, batches, several=several))


def moment_halves(step: Step, layout: Layout, batches: Iterable[Batch], *, several: bool) -> list[MomentSums]:
    """The sums of each half of the units."""
    if step.family.several:
        return _several_sums(step, layout, batches)
    groups = None if several else group(step.design)
    return _sums(step, layout, batches) if groups is None else _grouped_sums(step, groups, batches)


def added(halves: Sequence[MomentSums]) -> Moments:
    """The moments of both halves of the units together."""
    one, other = halves
    lower = one.gram + other.gram
    square, deviance, weight, response, response_square = (one.sums + other.sums).tolist()
    return Moments(
        gram=lower + np.tril(lower, -1).T,
        score=one.score + other.score,
        square=square,
        deviance=deviance,
        weight=weight,
        response=response,
        response_square=response_square,
        records=int(one.counts[0] + other.counts[0]),
        units=int(one.counts[1] + other.counts[1]),
        key=int(one.counts[2] ^ other.counts[2]),
        support=one.support + other.support,
    )


def _sums(step: Step, layout: Layout, batches: Iterable[Batch]) -> list[MomentSums]:
    halves = [kernels.moment_sums(layout.columns) for _ in HALVES]
    beta = np.array(step.beta, np.float64)

    def add(half: int, batch: Batch) -> None:
        kernels.add_moments(half, FAMILY[step.family], layout, batch, beta, halves[half])

    _each(batches, add)
    return halves


def _grouped_sums(step: Step, groups: Groups, batches: Iterable[Batch]) -> list[MomentSums]:
    halves = [group_sums(groups) for _ in HALVES]
    beta = np.array(step.beta, np.float64)

    def add(half: int, batch: Batch) -> None:
        add_grouped(half, FAMILY[step.family], groups, batch, beta, halves[half])

    _each(batches, add)
    return [ungrouped(groups, half, step.design.columns) for half in halves]


def _several_sums(step: Step, layout: Layout, batches: Iterable[Batch]) -> list[MomentSums]:
    plan = several_plan(step)
    halves = [kernels.moment_sums(layout.columns * step.design.predictors) for _ in HALVES]

    def add(half: int, batch: Batch) -> None:
        several_kernels.add_several(half, SEVERAL[step.family], layout, batch, plan, halves[half])

    _each(batches, add)
    return halves


def several_plan(step: Step) -> several_kernels.Predictors:
    """Coefficients, a row for each linear predictor, and the calibration, a row for each outcome."""
    design, response = step.design, step.design.response
    assert isinstance(response, Category | Duration)
    beta = np.array(step.beta, np.float64).reshape(-1, design.columns)
    calibration = np.array(step.calibration, np.float64).reshape(-1, design.columns)
    return several_kernels.Predictors(response.predictors, response.outcomes, beta, calibration)


def spread(step: Step, layout: Layout, batches: Iterable[Batch], inverse: Floats) -> Spread:
    """How the records lie about a fitted model."""
    return spread_of(spread_halves(step, layout, batches, inverse), layout)


def spread_halves(step: Step, layout: Layout, batches: Iterable[Batch], inverse: Floats) -> list[SpreadSums]:
    """The sums of each half of the units, the last of which is settled."""
    if step.family.several:
        return _several_spread(step, layout, batches, inverse)
    halves = [kernels.spread_sums(layout, step.clusters) for _ in HALVES]
    beta, inverse = np.array(step.beta, np.float64), np.array(inverse, np.float64, order="C")

    def add(half: int, batch: Batch) -> None:
        kernels.add_spread(half, FAMILY[step.family], layout, batch, beta, inverse, halves[half])

    _each(batches, add)
    for half in halves:
        kernels.end_unit(half)
    return halves


def _several_spread(step: Step, layout: Layout, batches: Iterable[Batch], inverse: Floats) -> list[SpreadSums]:
    plan, inverse = several_plan(step), np.array(inverse, np.float64, order="C")
    halves = [several_kernels.several_spread_sums(layout, plan, step.clusters) for _ in HALVES]

    def add(half: int, batch: Batch) -> None:
        several_kernels.add_several_spread(half, SEVERAL[step.family], layout, batch, plan, inverse, halves[half])

    _each(batches, add)
    for half in halves:
        kernels.end_unit(half)
    return halves


def spread_of(halves: Sequence[SpreadSums], layout: Layout) -> Spread:
    """How the records of both halves of the units lie."""
    one, other = halves
    squares = float(one.sums[0] + other.sums[0])
    fits = one.fits + other.fits
    return Spread(
        meat=one.meat + other.meat,
        leverage=float(max(one.sums[3], other.sums[3])),
        influence=float(max(one.sums[4], other.sums[4])) / squares if squares > 0 else 0.0,
        squares=squares,
        fits=tuple(fits[at, :size] for at, size in enumerate(layout.sizes.tolist())),
        pull=one.pull + other.pull if one.pull.size else None,
        scores=one.scores + other.scores if one.scores.size else None,
    )


def rows(step: Step, layout: Layout, batches: Iterable[Batch], inverse: Floats) -> Rows:
    """The complete records themselves."""
    beta, inverse = np.array(step.beta, np.float64), np.array(inverse, np.float64, order="C")
    parts = []
    for batch in batches:
        found = np.empty((2, len(batch.unit)))
        kernels.fit_rows(FAMILY[step.family], layout, batch, beta, inverse, found)
        parts.append(_rows(step, batch, found))
    names = ("unit", "fitted", "response", "leverage", "numbers", "classes")
    return Rows(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


def _rows(step: Step, batch: Batch, found: Floats) -> Rows:
    shift = np.array([number.shift for number in step.design.numbers])[:, None]
    scale = np.array([number.scale for number in step.design.numbers])[:, None]
    here = batch.wanted
    return Rows(
        unit=batch.unit[here],
        fitted=found[0, here],
        response=batch.response[here],
        leverage=found[1, here],
        numbers=(batch.numbers[:, here] * scale + shift).T,
        classes=batch.classes[:, here].T.astype(np.int64),
    )


def _each(batches: Iterable[Batch], add: Callable[[int, Batch], None]) -> None:
    """Add both halves of every batch, the next one being read meanwhile. A half sees its batches one after the other."""
    with ThreadPoolExecutor(len(HALVES)) as pool:
        running: list[Future[None]] = []
        for batch in batches:
            for future in running:
                future.result()
            running = [pool.submit(partial(add, half, batch)) for half in HALVES]
        for future in running:
            future.result()
