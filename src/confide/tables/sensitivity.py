"""Which cells of a table of totals say too much about one contributor: the primary rules."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from confide.errors import Mistake

__all__ = ["Contributions", "Dominance", "PPercent", "Threshold"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Contributions:
    """What the rules read of each cell: `units` contributors, the `total` of their absolute values, the largest of them.

    `top` has one row per cell and its largest absolute contributions in decreasing order, padded with 0.

    >>> Contributions(np.array([3]), np.array([100.0]), np.array([[80.0, 15.0, 5.0]])).largest(2)
    array([[80., 15.]])
    """

    units: Ints
    total: Floats
    top: Floats

    def largest(self, n: int) -> Floats:
        """Give the n largest contributions of each cell; a `Mistake` where fewer were kept."""
        if n > self.top.shape[1]:
            raise Mistake(f"This rule looks at the {n} largest contributors. Keep at least {n} columns in 'top'.")
        return self.top[:, :n]


@dataclass(frozen=True)
class Threshold:
    """Mark the cells with fewer contributors than `units`.

    Promise: a cell that is not marked is empty or has at least that many contributors.
    Reference: Hundepool et al., Handbook on Statistical Disclosure Control (ESSnet SDC), section 4.2.

    >>> Threshold(3).marks(Contributions(np.array([0, 2, 3]), np.zeros(3), np.zeros((3, 1))))
    array([False,  True, False])
    """

    units: int

    def __post_init__(self) -> None:
        if not self.units >= 1:
            raise Mistake("A threshold counts contributors. Give 1 or more units.")

    def marks(self, cells: Contributions) -> Bools:
        return (cells.units > 0) & (cells.units < self.units)


@dataclass(frozen=True)
class Dominance:
    """Mark the cells in which the `n` largest contributors hold more than `k` percent of the total.

    Promise: in a cell that is not marked, n contributors together hold at most k percent.
    Reference: Hundepool et al., Handbook on Statistical Disclosure Control, section 4.2, the (n, k) rule.

    >>> Dominance(n=1, k=75).marks(Contributions(np.array([3]), np.array([100.0]), np.array([[80.0, 15.0]])))
    array([ True])
    """

    n: int
    k: float

    def __post_init__(self) -> None:
        if not self.n >= 1:
            raise Mistake("Dominance looks at the n largest contributors. Give n of 1 or more.")
        if not 0 < self.k < 100:
            raise Mistake("The k of dominance is a percentage. Give more than 0 and less than 100.")

    def marks(self, cells: Contributions) -> Bools:
        # Both sides times 100, so that a share of exactly k percent of whole numbers is compared exactly.
        dominant: Floats = cells.largest(self.n).sum(axis=1)
        return (cells.units > 0) & (100 * dominant > self.k * cells.total)


@dataclass(frozen=True)
class PPercent:
    """Mark the cells in which the runner-up could estimate the largest contributor to within `p` percent.

    Promise: in a cell that is not marked, the contributors beyond the first two together hold at least p percent
    of the largest, so the total less his own value misses the largest by at least that much.
    Reference: Hundepool et al., Handbook on Statistical Disclosure Control, section 4.2, the p% rule.

    >>> PPercent(10).marks(Contributions(np.array([3]), np.array([100.0]), np.array([[90.0, 8.0]])))
    array([ True])
    """

    p: float

    def __post_init__(self) -> None:
        if not 0 < self.p <= 100:
            raise Mistake("The p of this rule is a percentage. Give more than 0 and at most 100.")

    def marks(self, cells: Contributions) -> Bools:
        top = cells.largest(2)
        remainder = cells.total - top[:, 0] - top[:, 1]
        return (cells.units > 0) & (100 * remainder < self.p * top[:, 0])
