"""T5: the known maximum of the noise, and margins. Bounds of every cell of a table by linear programs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import linprog

from confide.arrays import Floats
from confide.attacks.choosing import keys, size
from confide.attacks.claims import Claims, NotApplicable, SetTargets
from confide.attacks.counts.cell_facts import cell_facts
from confide.attacks.intruder import Intruder
from confide.model.catalog.dataset import Dataset
from confide.model.policy import CountRules, Policy
from confide.tables.perturbation.transitions import transitions

__all__ = ["MarginBounds", "bounds_of_cells", "possible"]

MOST_CELLS = 100


@dataclass(frozen=True)
class MarginBounds:
    """Find counts of a small table that its margins and the largest change leave no choice for.

    A published count tells which true counts it can come from, and cells add up to margins. Cells whose least and greatest
    possible values agree are known for certain; the others are claimed at the nearest whole number to the least squares
    fit of all numbers. Each margin is one more look at a cell, and so is the same table split by any other variable.

    Tried: (1) a table of two keys, 20 x 2: no cell of it is certain with a largest change of 5, bounds are 10 wide, and least
    squares are right in 35 %; (2) three small keys, for more margins a cell: no cell is certain either, 30 %; (3) the same
    table split by every other variable, weighted by the number of cells that are summed: kept.
    """

    keys: tuple[str, ...] = ()

    name: ClassVar = "bounds"
    code: ClassVar = "T5"
    words: ClassVar = "bounds and fits of cells from margins and the largest change of a count"
    knows: ClassVar = "nothing"

    def wants(self, book: Dataset, policy: Policy) -> SetTargets:
        self._by(book, policy)
        return SetTargets()

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        by = self._by(intruder.book, intruder.policy)
        table = intruder.table(*by)
        if table is None:
            return
        published = table.columns["count"].values
        sums, facts = _sums(published.shape), cell_facts(intruder.book, by)
        low, high = bounds_of_cells(published, sums, intruder.policy.counts)
        inner = published[tuple(slice(0, -1) for _ in by)].ravel()
        looks, precision = published.copy(), np.ones(published.shape)
        for finer in ("", *_others(intruder.book, by)):
            if finer and (split := intruder.table(*by, finer) if intruder.left else None) is not None:
                parts = split.columns["count"].values[..., :-1]
                noisy = np.maximum((parts > 0).sum(axis=-1), 1)
                looks += parts.sum(axis=-1) / noisy
                precision += 1 / noisy
            fitted = _fitted(sums, looks / precision, precision)
            yield Claims.of(np.clip(np.rint(fitted), low, high), facts=facts, guesses=inner)

    def _by(self, book: Dataset, policy: Policy) -> tuple[str, ...]:
        chosen: list[str] = []
        cells = 1
        columns = [(v, book.levels(v.name)[0]) for v in reversed(keys(book))]
        for _, variable in sorted(columns, key=lambda pair: size(pair[1])):
            wide = len(variable.codes or ())
            if len(chosen) < policy.tables.dimensions and cells * wide <= MOST_CELLS:
                chosen.append(variable.name)
                cells *= wide
        if len(self.keys or chosen) < 2:
            raise NotApplicable("It needs two keys of few classes.")
        return self.keys or tuple(chosen)


def possible(published: Floats, rules: CountRules) -> tuple[Floats, Floats]:
    """The least and the greatest true count that each published count can come from."""
    if rules.mechanism == "none":
        return published, published
    law = transitions(D=rules.distance, V=rules.variance, js=rules.small, stay=rules.stay or None).matrix
    shift = np.arange(-rules.distance, rules.distance + 1)
    true = published[..., None].astype(int) - shift
    row = np.clip(true, 0, len(law) - 1)
    can = (true >= 0) & (law[row, np.arange(len(shift))] > 0)
    return np.where(can, true, 10**9).min(axis=-1), np.where(can, true, -1).max(axis=-1)


def bounds_of_cells(published: Floats, sums: Floats, rules: CountRules) -> tuple[Floats, Floats]:
    """The least and the greatest of each inner cell, whole numbers; what is published where the program has no solution."""
    least, greatest = (side.ravel().astype(float) for side in possible(published, rules))
    matrix, limits = np.vstack([sums, -sums]), np.concatenate([greatest, -least])
    low, high = np.empty(sums.shape[1]), np.empty(sums.shape[1])
    for cell in range(sums.shape[1]):
        goal = np.zeros(sums.shape[1])
        goal[cell] = 1.0
        ends = [linprog(sign * goal, A_ub=matrix, b_ub=limits, bounds=(0, None)) for sign in (1, -1)]
        low[cell] = np.ceil(ends[0].fun - 1e-6) if ends[0].success else 0.0
        high[cell] = np.floor(-ends[1].fun + 1e-6) if ends[1].success else np.inf
    return low, high


def _others(book: Dataset, by: tuple[str, ...]) -> list[str]:
    """Variables by which a table can be split further: one level of each that is not in it, those of few classes first."""
    used = {level.name for name in by for level in book.levels(name)}
    found = {book.levels(v.name)[0].name: book.levels(v.name)[0] for v in book.variables.values() if v.classifies}
    return [v.name for v in sorted(found.values(), key=size) if v.name not in used]


def _fitted(sums: Floats, numbers: Floats, precision: Floats) -> Floats:
    """The inner cells by least squares, each number weighted by its precision."""
    weight = np.sqrt(precision.ravel())
    return np.asarray(np.linalg.lstsq(sums * weight[:, None], numbers.ravel() * weight, rcond=None)[0])


def _sums(shape: tuple[int, ...]) -> Floats:
    """Which inner cells each number of a table with margins is the sum of; margins stand last on each axis."""
    whole: Floats = np.ones((1, 1))
    for length in shape:
        axis = np.vstack([np.eye(length - 1), np.ones(length - 1)])
        whole = np.asarray(np.kron(whole, axis), np.float64)
    return whole
