"""Standard deviations of a number in the cells of a table.

Promise: they come from the records that all answers come from, with the noise of totals where the policy has it; of few units, or
where the largest contribution could be read off them, none is told, and they have the digits that their standard error supports.

Noise of records makes numbers vary more. Stored squares are such that their mean is the true one (`confide.records.protect`), so
that it does not make standard deviations larger.
"""

from dataclasses import dataclass

import numpy as np

from confide.answering.selection import Selection
from confide.answering.shield import Shield
from confide.answering.tables.amounts import Amounts
from confide.answering.tables.counts import Counts
from confide.answering.tables.largest import hides_largest
from confide.arrays import Floats
from confide.data.deviation_error import deviation_error
from confide.model.catalog.dataset import Variable
from confide.model.design import Block, Design, Number
from confide.model.formula import Transform
from confide.model.release import Column

__all__ = ["deviation_amounts", "deviations", "gather_squares"]

MOST_CELLS = 2000
"""Squares of a number are added up as a model does, with a matrix of all pairs of cells: 32 MB of so many. Larger tables are done in
parts."""

LEAST_UNITS = 10
"""Of fewer units, as published, no standard deviation is told: that of one is 0, that of two is their distance."""


def gather_squares(by: tuple[str, ...], of: str, selection: Selection) -> Floats:
    """The weighted sums of squares of a number in every cell and margin."""
    sums = _squares(by, of, selection)
    for axis in range(sums.ndim):
        sums = np.concatenate([sums, sums.sum(axis=axis, keepdims=True)], axis=axis)
    return sums


def _squares(by: tuple[str, ...], of: str, selection: Selection) -> Floats:
    """Of every cell: all at once, or of a large table class by class of its longest variable."""
    sizes = [len(selection.dataset.classifier(name).codes or ()) for name in by]
    cells = int(np.prod(sizes, dtype=np.int64))
    if cells > MOST_CELLS and len(by) > 1:
        longest = int(np.argmax(sizes))
        rest = (*by[:longest], *by[longest + 1 :])
        nobody = np.zeros([size for at, size in enumerate(sizes) if at != longest])
        some = [selection.only(by[longest], place) for place in range(sizes[longest])]
        return np.stack([nobody if each is None else _squares(rest, of, each) for each in some], axis=longest)
    crossed = Block((), tuple((at, tuple(range(size))) for at, size in enumerate(sizes)), 1, cells)
    design = Design(Number(of, Transform.SQUARE), (), by, (Block((), (), 0, 1), crossed))
    return selection.moments(selection.step(design)).score[1:].reshape(sizes)


@dataclass(frozen=True)
class _Perturbed:
    """By what a sum is multiplied, and the spread of that."""

    factor: Floats
    spread: Floats


def deviations(variable: Variable, found: Amounts, shield: Shield) -> Column:
    """Standard deviations as they are shown."""
    label = f"Standard deviation of {variable.label}"
    return found.column("sd", label, found.fine(variable, shield.policy), shield.policy)


def deviation_amounts(variable: Variable, squares: Floats, counts: Counts, shield: Shield) -> Amounts:
    """Standard deviations, of as many units as are published, before they are rounded."""
    cube, units, weight = counts.cube, np.maximum(counts.units, 2), counts.exact_weights
    assert cube.total is not None and cube.top is not None
    divisor = np.where(weight > 0, weight, 1.0)
    mean, square = cube.total / 10.0**counts.scales.total / divisor, squares / divisor
    variance = np.maximum(square - mean**2, 0.0) * units / (units - 1)
    perturbed = _perturbed(variable, counts, shield)
    values = np.sqrt(variance) * perturbed.factor
    usual = divisor / np.maximum(cube.units, 1)
    largest = cube.top[..., 0] / 10.0**counts.scales.total - np.abs(mean) * usual
    told = hides_largest(variance * usual * divisor, largest, shield)
    few = (counts.units < LEAST_UNITS) | (variance <= 0)
    marks = np.where(counts.units == 0, "z", np.where(few, "x", np.where(told, "", "c")))
    sampling = deviation_error(values, units, largest / usual)
    noise = np.hypot(sampling * counts.scales.deviation_spreads(counts.units), values * perturbed.spread)
    values, noise, sampling = (np.where(marks == "", a, 0.0) for a in (values, noise, sampling))
    return Amounts(values, noise, np.hypot(noise, sampling), marks)


def _perturbed(variable: Variable, counts: Counts, shield: Shield) -> _Perturbed:
    """Noise as that of a total, drawn for this purpose: the mean and the deviation of the same units say nothing of each other's."""
    cube, mechanism, shape = counts.cube, shield.totals.mechanism, counts.units.shape
    assert cube.total is not None and cube.top is not None
    if mechanism is None:
        return _Perturbed(np.ones(shape), np.zeros(shape))
    scale = 10.0**counts.scales.total
    total, top = np.ravel(cube.total) / scale, cube.top.reshape(-1, cube.top.shape[-1]) / scale
    name = f"{variable.name} squared"
    uniforms = shield.draws.totals(name, cube.records, cube.units, cube.key, draws=mechanism.draws)
    size = np.where(total == 0, 1.0, np.abs(total))
    noise = mechanism.noise(total, np.ravel(cube.units), top, uniforms) / size
    spread = mechanism.spread(total, top) / size
    return _Perturbed((1 + noise).reshape(shape), spread.reshape(shape))
