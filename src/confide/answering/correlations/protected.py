"""Sums of products in which the counts of classes are those that tables publish."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from confide.answering.mechanisms.counts import CellKey
from confide.answering.regressions.judged import Sums
from confide.arrays import Floats

__all__ = ["protected_gram"]


def protected_gram(gram: Floats, kept: Mapping[str, Sequence[int]], sums: Sums) -> Floats:
    """Give the sums of products with every count of a class, and of a pair of classes, moved as in its table.

    The columns are the intercept, numbers, then the `kept` classes of each variable. Numbers keep their means and
    covariances, and their means in each class.
    Promise: correlations of classes say nothing that their published two-way table does not say.
    """
    names = [name for name in kept if kept[name]]
    if not names:
        return gram
    ends = len(gram) - np.cumsum([len(kept[name]) for name in reversed(names)])[::-1]
    at = {name: np.arange(end, end + len(kept[name])) for name, end in zip(names, ends.tolist(), strict=True)}
    factors = np.empty(gram.shape)
    factors[:] = _published(sums, names[:1])[-1]
    for name, own in at.items():
        factors[own, :] = _published(sums, [name])[list(kept[name]), None]
        factors[:, own] = factors[own, :].T
    for one, other in combinations(names, 2):
        pairs = _published(sums, [one, other])[np.ix_(list(kept[one]), list(kept[other]))]
        factors[np.ix_(at[one], at[other])] = pairs
        factors[np.ix_(at[other], at[one])] = pairs.T
    return gram * factors


def _published(sums: Sums, by: Sequence[str]) -> Floats:
    """By what factor the number of units in each cell of a table, margins included, is moved when it is published."""
    cube, shield = sums.selection.cube(by), sums.shield
    publish, _ = shield.draws.counts(cube.records, cube.units, cube.key)
    return np.asarray(CellKey.scale(np.ones(cube.units.shape), cube.units, shield.counts.units(cube.units, publish)))
