"""Which cells of a table follow from the structural zeros that the custodian declares: from public metadata alone."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from math import inf

import numpy as np

from confide.arrays import Bools
from confide.model.catalog.dataset import Dataset, Variable
from confide.model.catalog.derivation import table_of
from confide.model.evidence import Box
from confide.model.universe import Condition, Piece

__all__ = ["structural_zeros"]

_Overlaps = Sequence[Sequence[int]]
"""For each class of a variable, the classes of another that it has units in common with, by what both declare."""


def structural_zeros(by: Sequence[str], boxes: Sequence[Box], dataset: Dataset) -> Bools:
    """The cells of a table, totals last on each axis, that nobody can be in: each box of the universe has a zero that holds its part.

    A condition of a zero holds in a cell through a variable of the table whose class lies within the condition's codes, or through
    the box, if all that this allows does. A total is of all classes, so that only the box speaks for it.
    """
    shape = [len(dataset.classifier(name).codes or ()) + 1 for name in by]
    found = np.full(shape, bool(dataset.structural_zeros))
    for box in (boxes or ((),)) if dataset.structural_zeros else ():
        found &= np.any([_held(zero, by, box, dataset, found.shape) for zero in dataset.structural_zeros], axis=0)
    return found


def _held(zero: Piece, by: Sequence[str], box: Box, dataset: Dataset, shape: Sequence[int]) -> Bools:
    """The cells in which every condition of a zero holds."""
    held = np.ones(shape, bool)
    for condition in zero.conditions:
        if any(_within(name, condition, dataset)[list(places)].all() for name, places in box):
            continue
        holds = np.zeros(shape, bool)
        for axis, name in enumerate(by):
            np.moveaxis(holds, axis, -1)[..., :-1] |= _within(name, condition, dataset)
        held &= holds
    return held


def _within(name: str, condition: Condition, dataset: Dataset) -> Bools:
    """The classes of a variable that lie within the codes of a condition."""
    made, named = dataset.variables[name].made, dataset.variables[condition.variable]
    if made is None:
        chosen = {named.place(code) for code in condition.codes}
        return np.array([bool(of) and chosen.issuperset(of) for of in _overlaps(name, named.name, dataset)], bool)
    table, classes = table_of(made), np.arange(len(dataset.variables[name].codes or ()))
    outside = [np.compress(~_within(of, condition, dataset), table, axis=at) for at, of in enumerate(made.sources)]
    held = np.any([~np.isin(classes, some) for some in outside], axis=0)
    return np.asarray(held & np.isin(classes, table))


def _overlaps(name: str, other: str, dataset: Dataset) -> _Overlaps:
    """By the cutpoints of one number, or by the codes of one hierarchy; nothing where one variable does not tell of the other."""
    one, two = dataset.variables[name], dataset.variables[other]
    if one.binned and two.binned and one.column == two.column:
        return _bins(one, two)
    codes = range(len(one.codes or ()))
    if other in _names(dataset.chain(name)):
        return [(up,) for up in dataset.lift(name, other)]
    if name in _names(dataset.chain(other)):
        lifted = dataset.lift(other, name)
        return [[place for place, up in enumerate(lifted) if up == code] for code in codes]
    return [() for _ in codes]


def _bins(one: Variable, two: Variable) -> _Overlaps:
    """The bins of one number cut in two ways; the bin of missing numbers is the last of each, if there is one."""
    starts, ends = (-inf, *one.cutpoints), (*one.cutpoints, inf)
    cut = two.cutpoints
    found = [
        range(bisect_right(cut, start), bisect_left(cut, end) + 1) for start, end in zip(starts, ends, strict=True)
    ]
    missing = [range(len(cut) + 1, len(two.codes or ()))] * (len(one.codes or ()) - len(found))
    return [*found, *missing]


def _names(levels: Iterable[Variable]) -> list[str]:
    return [level.name for level in levels]
