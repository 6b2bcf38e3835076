"""Sensitivity rules, for primary suppression (Handbook on Statistical Disclosure Control, section 4.2).

Which cells of a table say too much about one contributor.

A rule marks cells, and says how wide the interval must be in which an outsider can know a marked cell to lie.
"""

from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.errors import Mistake
from confide.model.parameter import Parameters, parameter

__all__ = [
    "PQ",
    "AllZero",
    "Contributions",
    "Dominance",
    "PPercent",
    "ProtectionLevels",
    "SensitivityRule",
    "Threshold",
]


@dataclass(frozen=True, eq=False)
class Contributions:
    """What the rules read of each cell: `units` contributors, the `total` of their absolute values, the largest of them.

    `top` has one row per cell and its largest absolute contributions in decreasing order, padded with 0; `weights` and
    `holders` say with what weight each of them counts in the total, and whose it is: a number, which `names` may name,
    the same wherever they contribute (-1 where there is none). `units` is -1 where nobody knows.
    `exempt` cells have contributors who all agreed to be shown.

    >>> Contributions(np.array([3]), np.array([100.0]), np.array([[80.0, 15.0, 5.0]])).largest(2)
    array([[80., 15.]])
    """

    units: Ints
    total: Floats
    top: Floats
    weights: Floats | None = None
    holders: Ints | None = None
    exempt: Bools | None = None
    names: tuple[str, ...] | None = None

    def largest(self, n: int) -> Floats:
        """Give the n largest contributions of each cell; a `Mistake` where fewer were kept."""
        if n > self.top.shape[1]:
            raise Mistake(
                f"This rule looks at the {n} largest contributors, and the table has kept {self.top.shape[1]}.",
                suggestions=[f"Make it from microdata with top={n}, or from cells with {n} columns in 'top'."],
            )
        return self.top[:, :n]

    def repeated(self, n: int) -> "Contributions":
        """The same cells as if each record stood for as many equal contributors as its weight says.

        Promise: with a weight that is no whole number the contributor in which it ends shares its place with the next.
        Reference: Handbook on Statistical Disclosure Control, section 4.2.1, sampling weights.

        >>> cell = Contributions(np.array([2]), np.array([470.0]), np.array([[100.0, 10]]), np.array([[4.0, 7]]))
        >>> cell.repeated(5).top
        array([[100., 100., 100., 100.,  10.]])
        """
        if self.weights is None:
            return self
        ends = np.minimum(self.weights.cumsum(axis=1), n)
        values = self.top
        if (ends[:, -1:] < n).any():
            # Beyond the contributors that were kept there may be others, none larger than the last of them.
            more = self.units > self.top.shape[1]
            ends = np.column_stack([ends, np.full(len(ends), n)])
            values = np.column_stack([values, np.where(more, values[:, -1], 0.0)])
        starts = np.column_stack([np.zeros(len(ends)), ends[:, :-1]])
        places = np.arange(n)
        # How much of the place i of the virtual contributors is taken by the value j.
        shares = np.minimum(ends[:, :, None], places + 1) - np.maximum(starts[:, :, None], places)
        top: Floats = (np.clip(shares, 0, 1) * values[:, :, None]).sum(axis=1)
        return replace(self, top=top, weights=None, holders=None)

    def waived(self, waivers: Bools) -> "Contributions":
        """The same cells when the marked contributors of `top` agreed to be shown: the others are to be protected.

        Promise: the largest who did not agree stands first, and after them the largest of all others, so that every
        rule protects the first against these. If those who were kept all agreed and there may be more, the last stands for
        the next.
        Reference: Handbook on Statistical Disclosure Control, section 4.2.1, waivers.

        >>> cell = Contributions(np.array([3]), np.array([100.0]), np.array([[80.0, 15.0, 5.0]]))
        >>> cell.waived(np.array([[True, False, False]])).top
        array([[15., 80.,  5.]])
        """
        kept = np.arange(self.top.shape[1]) < self.units[:, None]
        agreed = (waivers & kept).sum(axis=1) == kept.sum(axis=1)
        target = np.where(agreed, self.top.shape[1] - 1, (waivers | ~kept).argmin(axis=1))
        order = np.argsort(np.arange(self.top.shape[1]) != target[:, None], axis=1, kind="stable")
        ordered: dict[str, Any] = {
            name: np.take_along_axis(column, order, axis=1)
            for name in ("top", "weights", "holders")
            if (column := getattr(self, name)) is not None
        }
        return replace(self, **ordered, exempt=agreed & (self.units > 0) & (self.units <= self.top.shape[1]))


@dataclass(frozen=True, eq=False)
class ProtectionLevels:
    """The protection levels of every cell: LPL, UPL and SPL, how far its interval must reach below, above and in all.

    0 asks for nothing.
    """

    lower: Floats
    upper: Floats
    sliding: Floats

    @classmethod
    def symmetric(cls, level: Floats) -> "ProtectionLevels":
        """As far down as up."""
        return cls(level, level, np.zeros_like(level))


@runtime_checkable
class SensitivityRule(Protocol):
    """A sensitivity rule: which cells it marks as primary, and what protection those need."""

    @property
    def needs(self) -> int:
        """How many of the largest contributors it looks at."""

    def marks(self, cells: Contributions) -> Bools:
        """Which cells say too much."""

    def levels(self, cells: Contributions, *, counts: bool) -> ProtectionLevels:
        """The protection levels each cell needs if it is marked; `counts` says that the values are numbers of contributors."""


@dataclass(frozen=True)
class Threshold(Parameters):
    """The threshold rule: mark the cells with fewer contributors than `units`.

    Promise: a cell that is not marked is empty or has at least that many contributors. A marked count could as well be
    one contributor less, and could be of as many as are asked for; a marked magnitude could be `range` percent less or more.
    Reference: Hundepool et al., Handbook on Statistical Disclosure Control (ESSnet SDC), section 4.2.

    >>> Threshold(3).marks(Contributions(np.array([0, 2, 3]), np.zeros(3), np.zeros((3, 1))))
    array([False,  True, False])
    """

    units: int = parameter(help="The least number of contributors of a cell that is shown.", low=1)
    range: float = parameter(10.0, "Percent of a magnitude that stay uncertain on either side.", low=0)

    needs = 0

    def marks(self, cells: Contributions) -> Bools:
        return (cells.units > 0) & (cells.units < self.units)

    def levels(self, cells: Contributions, *, counts: bool) -> ProtectionLevels:
        if not counts:
            return ProtectionLevels.symmetric(self.range / 100 * cells.total)
        one = cells.total / np.maximum(cells.units, 1)
        return ProtectionLevels(one, (self.units - cells.units) * one, np.zeros_like(one))


@dataclass(frozen=True)
class Dominance(Parameters):
    """The dominance or (n, k) rule: mark the cells in which the `n` largest contributors hold more than `k` percent of the total.

    Promise: in a cell that is not marked, n contributors together hold at most k percent; with the largest value that a
    marked cell may have for an outsider, they would too.
    Reference: Hundepool et al., Handbook on Statistical Disclosure Control, section 4.2, the (n, k) rule.

    >>> Dominance(n=1, k=75).marks(Contributions(np.array([3]), np.array([100.0]), np.array([[80.0, 15.0]])))
    array([ True])
    """

    n: int = parameter(help="How many of the largest contributors are looked at together.", low=1)
    k: float = parameter(help="The percentage of the total they may hold.", above=0, below=100)

    @property
    def needs(self) -> int:
        return self.n

    def marks(self, cells: Contributions) -> Bools:
        # Both sides times 100, so that a share of exactly k percent of whole numbers is compared exactly.
        dominant: Floats = cells.largest(self.n).sum(axis=1)
        return (cells.units > 0) & (100 * dominant > self.k * cells.total)

    def levels(self, cells: Contributions, *, counts: bool) -> ProtectionLevels:
        return ProtectionLevels.symmetric(100 / self.k * cells.largest(self.n).sum(axis=1) - cells.total)


@dataclass(frozen=True)
class PPercent(Parameters):
    """The p% rule: mark the cells in which others could estimate the largest contributor to within `p` percent.

    Promise: in a cell that is not marked, the contributors beyond the largest and the `coalition` that follow hold at
    least p percent of the largest, so the total less what they know misses the largest by at least that much; so does
    the largest value that a marked cell may have for an outsider.
    Reference: Hundepool et al., Handbook on Statistical Disclosure Control, section 4.2, the p% rule.

    >>> PPercent(10).marks(Contributions(np.array([3]), np.array([100.0]), np.array([[90.0, 8.0]])))
    array([ True])
    """

    p: float = parameter(help="The percentage of the largest by which every estimate must miss it.", above=0, high=100)
    coalition: int = parameter(1, "How many contributors may share what they know.", low=1)

    @property
    def needs(self) -> int:
        return self.coalition + 1

    def marks(self, cells: Contributions) -> Bools:
        top = cells.largest(self.needs)
        return (cells.units > 0) & (100 * _remainder(cells, top) < self.p * top[:, 0])

    def levels(self, cells: Contributions, *, counts: bool) -> ProtectionLevels:
        top = cells.largest(self.needs)
        return ProtectionLevels.symmetric(self.p / 100 * top[:, 0] - _remainder(cells, top))


@dataclass(frozen=True)
class PQ(Parameters):
    """The prior-posterior or pq rule: mark cells whose runner-up, knowing others to `q` percent, learns the largest to `p`.

    Promise: as for p percent with p / q in the place of p / 100; q is what is known before anything is published.
    Reference: Hundepool et al., Handbook on Statistical Disclosure Control, section 4.2, the prior-posterior rule.

    >>> PQ(p=10, q=50).marks(Contributions(np.array([3]), np.array([100.0]), np.array([[75.0, 12.0]])))
    array([ True])
    """

    p: float = parameter(help="The percentage of the largest by which every estimate must miss it.", above=0, high=100)
    q: float = parameter(help="The percentage to within which the other contributors are known.", above=0, high=100)
    coalition: int = parameter(1, "How many contributors may share what they know.", low=1)

    def _check(self) -> None:
        if self.p >= self.q:
            raise Mistake(
                f"What is known beforehand (q={self.q:g}) is as close as what must stay uncertain (p={self.p:g}).",
                suggestions=["Give q larger than p."],
            )

    @property
    def needs(self) -> int:
        return self.coalition + 1

    def marks(self, cells: Contributions) -> Bools:
        top = cells.largest(self.needs)
        return (cells.units > 0) & (self.q * _remainder(cells, top) < self.p * top[:, 0])

    def levels(self, cells: Contributions, *, counts: bool) -> ProtectionLevels:
        top = cells.largest(self.needs)
        return ProtectionLevels.symmetric(self.p / self.q * top[:, 0] - _remainder(cells, top))


@dataclass(frozen=True)
class AllZero(Parameters):
    """Mark the cells whose contributors all contribute nothing: the value 0 tells it of every one of them.

    Promise: a marked cell could as well be `reach` for an outsider. A cell without contributors is not marked.

    >>> AllZero(reach=10).marks(Contributions(np.array([0, 4]), np.zeros(2), np.zeros((2, 1))))
    array([False,  True])
    """

    reach: float = parameter(help="Up to which value a zero must stay uncertain.", above=0)

    needs = 0

    def marks(self, cells: Contributions) -> Bools:
        marks: Bools = (cells.units > 0) & (cells.total == 0)
        return marks

    def levels(self, cells: Contributions, *, counts: bool) -> ProtectionLevels:
        up = np.full(len(cells.units), float(self.reach))
        return ProtectionLevels(np.zeros_like(up), up, np.zeros_like(up))


def _remainder(cells: Contributions, top: Floats) -> Floats:
    """What the contributors beyond these hold. One after the other: the sum of the top could round another way."""
    remainder = cells.total
    for column in top.T:
        remainder = remainder - column
    return remainder
