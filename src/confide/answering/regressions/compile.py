"""From a formula to the columns of a design: references, absorbed classes, labels. Decided on protected counts alone."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.model.admission.regression import label
from confide.model.catalog.dataset import Dataset
from confide.model.design import Block, Design, Indicator, Number
from confide.model.formula import Factor, Formula, Transform

__all__ = ["Compiled", "Levels", "aliased", "block_labels", "compile_design", "levels_of", "spread_out"]


@dataclass(frozen=True)
class Levels:
    """The classes of a categorical predictor in a model: the reference, and the places that have a dummy of their own."""

    variable: str
    reference: int
    kept: tuple[int, ...]

    def map(self, size: int) -> tuple[int, ...]:
        """For each place its level, -1 for the reference and what is absorbed into it."""
        order = {place: level for level, place in enumerate(self.kept)}
        return tuple(order.get(place, -1) for place in range(size))


@dataclass(frozen=True)
class Compiled:
    """A design with the names of its columns and of its blocks after the intercept."""

    design: Design
    labels: tuple[str, ...]
    terms: tuple[str, ...]


def levels_of(
    variable: str, counts: Ints, *, least: int, varied: Bools | None = None, missing: Bools | None = None
) -> Levels:
    """Most common class that is not `missing` as reference; those with fewer units than `least`, or not `varied`, join it."""
    reference = int(np.argmax(counts if missing is None or missing.all() else np.where(missing, -1, counts)))
    enough = (counts >= max(least, 1)) & (True if varied is None else varied)
    kept = tuple(int(p) for p in np.flatnonzero(enough) if p != reference)
    return Levels(variable, reference, kept)


def aliased(gram: Floats, tried: Sequence[int], *, least: float) -> list[int]:
    """Which of some columns the others (and the tried ones before them) tell, but for fewer units than `least`.

    What is left of a column's square after the others have explained it is the number of units in which it is not told.

    >>> aliased(np.array([[10.0, 4, 4], [4, 4, 4], [4, 4, 4]]), [1, 2], least=1)
    [2]
    """
    kept = [column for column in range(len(gram)) if column not in tried]
    gone: list[int] = []
    for column in tried:
        own = gram[np.ix_(kept, kept)]
        unit = 1 / np.sqrt(np.maximum(np.diag(own), 1e-300))
        explained = np.linalg.pinv(own * unit[:, None] * unit, rcond=1e-10, hermitian=True) @ (
            unit * gram[kept, column]
        )
        left = gram[column, column] - explained @ (unit * gram[kept, column])
        (gone if left < least else kept).append(column)
    return gone


def spread_out(levels: Mapping[str, Levels], cells: Ints, names: Sequence[str], *, least: int) -> dict[str, Levels]:
    """Absorb further classes until no cell of an interaction holds fewer units than `least`, but not none.

    `cells` are the counts by the classes of `names`. Each time, the class that stands in most sparse cells goes.
    """
    levels = dict(levels)
    while True:
        counts = _joined(cells, [levels[name] for name in names])
        sparse = (counts > 0) & (counts < least)
        if not sparse.any():
            return levels
        worst = None
        for axis, name in enumerate(names):
            hits = sparse.sum(axis=tuple(a for a in range(sparse.ndim) if a != axis))
            for place, hit in zip(levels[name].kept, hits.tolist()[1:], strict=True):
                if hit and (worst is None or hit > worst[0]):
                    worst = (hit, name, place)
        if worst is None:
            return levels | {n: Levels(n, levels[n].reference, ()) for n in names}
        _, name, gone = worst
        levels[name] = Levels(name, levels[name].reference, tuple(p for p in levels[name].kept if p != gone))


def _joined(cells: Ints, levels: Sequence[Levels]) -> Ints:
    """The counts by levels: on each axis first the reference with all that is absorbed into it, then the kept classes."""
    for axis, one in enumerate(levels):
        rest = [place for place in range(cells.shape[axis]) if place not in one.kept]
        first = cells.take(rest, axis).sum(axis, keepdims=True)
        cells = np.concatenate([first, cells.take(list(one.kept), axis)], axis)
    return cells


def compile_design(formula: Formula, dataset: Dataset, levels: Mapping[str, Levels]) -> Compiled:
    """The design of a formula, given the levels of its categorical predictors. Terms without a column are left out."""
    numbers = list(dict.fromkeys(f for term in formula.terms for f in term if dataset.variables[f.variable].measurable))
    crossed = {factor for term in formula.terms if len(term) > 1 for factor in term}
    classes = [name for name in formula.variables if name in levels and levels[name].kept]
    blocks, terms = [Block((), (), 0, 1)], []
    for term in formula.terms:
        dummies = [levels[f.variable] for f in term if f.variable in levels]
        width = prod(len(one.kept) for one in dummies)
        if not width:
            continue
        maps = tuple(
            (classes.index(one.variable), one.map(len(dataset.variables[one.variable].codes or ()))) for one in dummies
        )
        offset = blocks[-1].offset + blocks[-1].width
        blocks.append(Block(tuple(numbers.index(f) for f in term if f in numbers), maps, offset, width))
        terms.append(label(term))
    design = Design(
        response=_response(formula.response, dataset),
        numbers=tuple(_number(f, dataset, moved=f not in crossed) for f in numbers),
        classes=tuple(classes),
        blocks=tuple(blocks),
    )
    return Compiled(design, tuple(block_labels(formula, dataset, levels)), tuple(terms))


def block_labels(formula: Formula, dataset: Dataset, levels: Mapping[str, Levels]) -> list[str]:
    """The names of the columns, the intercept's first; classes stand in the order in which they are kept."""
    found = ["(Intercept)"]
    for term in formula.terms:
        dummies = [levels[f.variable] for f in term if f.variable in levels]
        found += _labels(term, dummies, dataset) if all(one.kept for one in dummies) else []
    return found


def _labels(term: Sequence[Factor], dummies: Sequence[Levels], dataset: Dataset) -> list[str]:
    rest = label([f for f in term if f.variable not in {one.variable for one in dummies}])
    found = [rest] if rest else [""]
    for one in dummies:
        codes = dataset.variables[one.variable].codes
        assert codes is not None
        each = [f"{one.variable}={codes.names[place]}" for place in one.kept]
        found = [f"{first}:{second}" if first else second for first in found for second in each]
    return found


def _response(factor: Factor, dataset: Dataset) -> Number | Indicator:
    """The response of one linear predictor; where there are several it says only whose records are meant."""
    if factor.codes or not dataset.variables[factor.variable].measurable:
        places = sorted(dataset.variables[factor.variable].place(code) for code in factor.codes)
        return Indicator(factor.variable, tuple(places))
    return Number(factor.variable, factor.transform)


_APPLY: dict[Transform, Callable[[float], float]] = {
    Transform.NONE: lambda x: x,
    Transform.LOG: lambda x: float(np.log(max(x, 1.0))),
    Transform.SQRT: lambda x: float(np.sqrt(x)),
    Transform.SQUARE: lambda x: x * x,
}


def _number(factor: Factor, dataset: Dataset, *, moved: bool) -> Number:
    """A number, moved by the middle of its declared domain where that only moves the intercept."""
    variable = dataset.variables[factor.variable]
    if not moved or variable.minimum is None or variable.maximum is None:
        return Number(factor.variable, factor.transform)
    middle = (variable.minimum + variable.maximum) / 2
    return Number(factor.variable, factor.transform, shift=_APPLY[factor.transform](middle))
