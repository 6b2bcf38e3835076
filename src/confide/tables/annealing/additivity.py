"""Restoring additivity to noisy counts, with no small counts left (Giessing and Höhne 2011, section 5)."""

from dataclasses import dataclass, replace

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.errors import Mistake
from confide.tables.annealing.anneal import Aim, Allowed, Annealing, CoolingSchedule, annealing_over
from confide.tables.programs.deadline import Deadline
from confide.tables.table.inner_cells import InnerCells

__all__ = ["CountLimits", "additive_counts"]


COOLING = {"L1": (1.2, 0.15), "L2": (4.0, 0.3), "Linf": (1.2, 0.15)}
"""The temperatures between which search pays, in units of each cost."""

SWEEPS = 3500
"""Moves a cell: more brings little."""

REPAIR = CoolingSchedule(1.2, 0.15, sweeps=1000, penalty=8.0)
TIGHTEN = CoolingSchedule(2.0, 0.15, sweeps=1000, penalty=32.0, circles=True)
"""How to anneal around counts that are beyond their limits, and for a smaller largest change."""

LENIENCE = 0.7
"""Most of the annealing takes changes of totals for so much smaller: it gets nearer in the end, when they count in full."""

SPREAD = 1 / 8
"""What the square of a change costs beside its size, from 0 to the least count allowed being one step: so of tables about as
near as one another, one is taken that has small changes, and that rather moves back what noise moved over the gap."""

CLOSE = 16
"""Counts that are farther than this above the gap do not cross it."""


@dataclass(frozen=True, eq=False)
class CountLimits:
    """What additive counts may be: none of 1 to `js`, at most `D` from `original`; those `held` stay as they are.

    Counts that are 0 in `original` are to be 0.
    """

    original: Ints
    D: int | None = None
    js: int = 2
    held: Bools | None = None

    def __post_init__(self) -> None:
        if self.D is not None and (self.js + 1) // 2 > self.D:
            raise Mistake(
                f"Counts from 1 to {self.js} cannot all be avoided by changes of at most {self.D}.",
                suggestions=[f"Take D of at least {(self.js + 1) // 2}, or a smaller js."],
            )

    def allowed(self, noisy: Ints, inner: Ints) -> Allowed:
        """What each of these cells may be."""
        original, low = self.original[inner], self.js + 1
        reach = np.iinfo(np.int32).max if self.D is None else self.D
        least, greatest = np.maximum(original - reach, 0), np.where(original == 0, 0, original + reach)
        least = np.where((least > 0) & (least < low), low, least)
        greatest = np.where(greatest < low, 0, greatest)
        if self.held is not None:
            stays = self.held[inner]
            least, greatest = (np.where(stays, noisy[inner], bound) for bound in (least, greatest))
        return Allowed(least, greatest, low)


def additive_counts(
    noisy: Ints,
    inner: InnerCells,
    limits: CountLimits,
    *,
    cost: str = "L1",
    seed: int,
    sweeps: float = SWEEPS,
    deadline: Deadline | None = None,
) -> Ints:
    """Give the counts nearest to the noisy ones that add up, all cells by the numbers of the relations.

    Promise: whole numbers that add up exactly, none of 1 to js; within D of the original in inner cells, and in totals if
    such counts are found. The same seed gives the same counts.

    >>> from confide.tables.table.inner_cells import inner_cells
    >>> from confide.tables.table.relations import Relations
    >>> inner = inner_cells(Relations.of([(0, [1, 2])], cells=3))
    >>> additive_counts(np.array([5, 0, 3]), inner, CountLimits(np.array([4, 0, 4]), D=1), seed=1).tolist()
    [4, 0, 4]
    """
    deadline = deadline or Deadline()
    allowed = limits.allowed(noisy, inner.cells)
    aim = _Aims(noisy, inner, limits, cost)
    annealing = annealing_over(inner, _nearest(noisy[inner.cells], allowed), noisy, allowed, aim(LENIENCE), seed=seed)
    hot, cold = COOLING[cost]
    annealing.cool(CoolingSchedule(hot, cold, 5 / 7 * sweeps, penalty=2.0), deadline, until=0.6)
    annealing = annealing.with_aim(aim(1.0))
    annealing.cool(CoolingSchedule(hot / 4, cold, 2 / 7 * sweeps, penalty=2.0), deadline, until=0.8)
    annealing.settle(replace(REPAIR, hot=hot, cold=cold), deadline, rounds=8)
    if cost == "Linf":
        annealing = _tightened(annealing, aim, deadline)
    return noisy + annealing.distance


def _tightened(annealing: Annealing, aim: "_Aims", deadline: Deadline) -> Annealing:
    """Anneal on with ever smaller limits for the largest change, while they can be kept."""
    while not deadline.over and (largest := int(np.abs(annealing.distance).max(initial=0))):
        tighter = annealing.with_aim(aim(1.0, most=largest - 1))
        tighter.cool(TIGHTEN, deadline)
        tighter.settle(REPAIR, deadline, rounds=6)
        tighter = tighter.with_aim(aim(1.0))
        if np.abs(tighter.distance).max() >= largest or tighter.beyond.sum() > annealing.beyond.sum():
            break
        annealing = tighter
    return annealing


def _nearest(noisy: Ints, allowed: Allowed) -> Ints:
    """The allowed values nearest to the noisy ones."""
    low = allowed.low
    snapped = np.where((noisy > 0) & (noisy < low), np.where(2 * noisy >= low, low, 0), noisy)
    return np.clip(snapped, allowed.least, allowed.greatest)


class _Aims:
    """What is wanted of the counts. Of one kind are those as far from the original, as close to the gap, and alike else."""

    def __init__(self, noisy: Ints, inner: InnerCells, limits: CountLimits, cost: str) -> None:
        total = np.ones(len(noisy), dtype=np.int64)
        total[inner.cells] = 0
        held = np.zeros(len(noisy)) if limits.held is None else limits.held
        close = np.minimum(noisy, limits.js + CLOSE)
        found, self._kinds = np.unique(
            np.column_stack([noisy - limits.original, close, total, held]), axis=0, return_inverse=True
        )
        self._moved, self._close, self._total, self._held = found.T[:, :, None]
        self._limits, self._cost = limits, cost

    def __call__(self, lenience: float, *, most: float = np.inf) -> Aim:
        """Near the noisy counts, at `most` so far from them, and within D of the original."""
        reach = np.inf if self._limits.D is None else self._limits.D

        def weigh(distance: Ints) -> tuple[Floats, Floats]:
            away = np.abs(distance).astype(np.float64)
            steps = np.abs(self._steps(self._close + distance) - self._steps(self._close))
            plain = np.tile(away**2, (len(steps), 1)) if self._cost == "L2" else away + SPREAD * steps**2
            beyond = np.maximum(np.maximum(np.abs(distance + self._moved) - reach, away - most), 0.0)
            return plain * np.where(self._total, lenience, 1.0), np.where(self._held, away, beyond)

        return Aim(self._kinds, weigh)

    def _steps(self, count: Ints) -> Floats:
        """How many steps a count is from 0, the first of them over the gap."""
        low = self._limits.js + 1
        return np.where(count < low, count / low, count - self._limits.js)
