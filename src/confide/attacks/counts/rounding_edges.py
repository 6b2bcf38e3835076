"""T9: rounding. Unions push a rounded count over its edge, and many unions leave one count for each part."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import linprog

from confide.arrays import Bools, Floats
from confide.attacks.choosing import codes, keys, size
from confide.attacks.claims import Claims, NotApplicable, Sets
from confide.attacks.counts.cell_facts import Schedule, cell_facts
from confide.attacks.intruder import Intruder, values
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy

__all__ = ["RoundingEdges"]


@dataclass(frozen=True)
class RoundingEdges:
    """Find true counts where counts are rounded to a base, from the rounded counts of many unions.

    The count of every union of bins is within half a base of what is published, and is the sum of its bins. The least and the
    greatest value of each bin come from linear programs, the claim between them from least squares.

    Counts of Confide are not rounded, so it stops after a few questions; counts that are changed at random have no
    edge to be pushed over (see bounds and partitions for what follows from them).

    Tried: (1) one bin after the other added to a union, watching for the jump: many questions for one count;
    (2) random unions and bounds alone: certain, but many bins stay open; (3) least squares within the bounds: kept.
    """

    keys: tuple[str, ...] = ()

    name: ClassVar = "rounding-edges"
    code: ClassVar = "T9"
    words: ClassVar = "unions that push a rounded count over its edge"
    knows: ClassVar = "nothing"

    def wants(self, book: Dataset, policy: Policy) -> Sets:
        self._keys(book)
        return Sets()

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        shown, hidden = self._keys(intruder.book)
        first = intruder.table(shown, hidden)
        if first is None:
            return
        direct, facts = values(first), cell_facts(intruder.book, (shown, hidden))
        base = int(np.gcd.reduce(direct.astype(int).ravel()))
        if base < 2:
            yield Claims(direct.ravel(), np.zeros(direct.size, bool), facts, direct.ravel())
            return
        unions, found = list(np.eye(direct.shape[1], dtype=bool)), list(direct.T)
        schedule = Schedule(intruder, 20)
        while intruder.left:
            union = np.asarray(intruder.rng.random(direct.shape[1]) < 0.5)
            inside = [code for code, there in zip(codes(intruder.book, hidden), union, strict=True) if there]
            table = intruder.table(shown, where={hidden: inside}) if inside else None
            if table is not None:
                unions.append(union)
                found.append(values(table))
            if schedule.due(1):
                claimed = [_narrowed(np.array(unions), row, base) for row in np.array(found).T]
                yield Claims.of(np.concatenate(claimed), facts=facts, guesses=direct.ravel())

    def _keys(self, book: Dataset) -> tuple[str, str]:
        found = keys(book)
        hidden = [v for v in found if v.binned and size(v) > 3]
        others = [v for v in found if not v.binned]
        if len(self.keys) == 2:
            return self.keys[0], self.keys[1]
        if not hidden or not others:
            raise NotApplicable("It needs a key with classes and a key in bins.")
        return others[-1].name, hidden[0].name


def _narrowed(unions: Bools, rounded: Floats, base: int) -> Floats:
    """The whole number of each bin that fits the rounded counts of its unions best, within the bounds they set."""
    design, reach = unions.astype(float), base / 2
    matrix, limits = np.vstack([design, -design]), np.concatenate([rounded + reach, reach - rounded])
    low, high = (
        np.array([_end(sign * row, matrix, limits) * sign for row in np.eye(design.shape[1])]) for sign in (1, -1)
    )
    fitted = np.linalg.lstsq(design, rounded, rcond=None)[0]
    # The middle of what is possible and the best fit each have errors of their own.
    return np.asarray(np.clip(np.rint((fitted + (low + high) / 2) / 2), np.ceil(low - 1e-6), np.floor(high + 1e-6)))


def _end(goal: Floats, matrix: Floats, limits: Floats) -> float:
    solved = linprog(goal, A_ub=matrix, b_ub=limits, bounds=(0, None))
    return float(solved.fun) if solved.success else np.nan
