"""Walks: swings that go on when they run into bounds, along these, until the unknown is as far as it must be.

A swing ends at the first bound. A walk lets the unknown that is there stand still from then on, and swings beside it: what is left
of the direction when it may not move that one (the gradient projection of Rosen 1960, Journal of the SIAM 8). All that takes
are columns of the products of swings, so a step is a few multiplications for each unknown, and a walk ends as soon as it has come far
enough. If it gets stuck before that, those that stand still mostly tell why: how far the unknown goes follows from where they are.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from confide.arrays import Bools, Floats
from confide.tables.suppression.at_once.swings import FIT, NOTHING, Swings

__all__ = ["STEPS", "Walk"]


STEPS = 1000
"""A walk ends after so many steps; most take ten. A step costs as much as there were before it: among 13,231 unknowns 400 steps took
0.6 s and 700 took 1.9, while a program took 3.3. The walks of three hard demands, within what fifty insiders know, took 320 to 695."""

STILL = 1e-9
"""What is left of a swing if others stand still is nothing if it is less than this share of it."""

TOGETHER = 1e-9
"""Bounds that are reached to within this share of a step are reached together."""


@dataclass(eq=False)
class Walk:
    """The walk of an `unknown` to one `side`, within the bounds `low` and `high`, in which 0 is.

    Promise: wherever it comes to is possible, to within rounding.
    """

    swings: Swings
    unknown: int
    side: int
    low: Floats
    high: Floats

    def __post_init__(self) -> None:
        self._moves = np.zeros(len(self.low))
        self._held = np.zeros(len(self.low), dtype=np.bool_)
        self._way = self.side * self.swings.shared[self.unknown]
        self._rows = np.zeros((0, len(self.low)))
        self._holding: list[int] = []
        self._hold(self.high - self.low <= STILL * (self.swings.possible.high - self.swings.possible.low))

    def to(self, far: float, *, steps: int = STEPS) -> Floats:
        """The moves of all unknowns where this one has gone so `far`, or as far as the walk comes; it goes on from where it was."""
        for _ in range(steps):
            if not self._step(far):
                break
        return self._moves.copy()

    @property
    def steps(self) -> int:
        """How many unknowns it was stopped by, which is what it costs."""
        return len(self._holding)

    def most(self) -> float:
        """How far the unknown goes at most, whatever way it takes, as follows from those that stood still where the walk ended.

        Promise: no table within the bounds has it farther, however imprecise the walk was; of one that got stuck at the best place it
        is where it ended, to within rounding.
        """
        if self.swings.basis is None or not self._holding:
            return np.inf
        rows = self._rows[: len(self._holding)]
        shares = linalg.solve_triangular(rows[:, self._holding], self.side * rows[:, self.unknown])
        held, rest = np.zeros(len(self.low)), np.zeros(len(self.low))
        held[self._holding] = shares
        rest[self.unknown] = self.side
        worth = held + self.swings.basis.rest(rest - held)
        return float(np.maximum(worth * self.low, worth * self.high).sum())

    def _step(self, far: float) -> bool:
        """Go on to the next bound, or to the end; False if this was the last step."""
        own = self.side * self._way[self.unknown]
        if own <= STILL * self.swings.square[self.unknown]:
            return False
        swing = np.where(self._held, 0.0, self._way / own)
        if np.abs(self.swings.possible.matrix @ swing).max(initial=0.0) > FIT:
            return False
        ends = self._ends(swing)
        left, step = max(0.0, far - self.side * self._moves[self.unknown]), max(0.0, float(ends.min()))
        self._moves += min(step, left) * swing
        reached = ends <= step * (1 + TOGETHER)
        if step >= left or reached[self.unknown]:
            return False
        self._hold(reached)
        return True

    def _ends(self, swing: Floats) -> Floats:
        """How often a swing fits between where each unknown is and its bound."""
        moving = np.abs(swing) > NOTHING
        room = np.where(swing > 0, self.high, self.low) - self._moves
        return np.asarray(np.where(moving, room / np.where(moving, swing, 1.0), np.inf))

    def _hold(self, unknowns: Bools) -> None:
        """Let unknowns stand still: take from the way what moves them.

        Each is made to move none of those before (Cholesky, one row after the other); who cannot move then has nothing to hold.
        """
        square = self.swings.square
        for unknown in np.flatnonzero(unknowns & ~self._held).tolist():
            rows = self._rows[: len(self._holding)]
            row = self.swings.shared[unknown] - rows[:, unknown] @ rows
            self._held[unknown] = True
            if row[unknown] > STILL * square[unknown]:
                row /= np.sqrt(row[unknown])
                self._way = self._way - row * (self._way[unknown] / row[unknown])
                self._keep(unknown, row)

    def _keep(self, unknown: int, row: Floats) -> None:
        """One more row, in twice the memory if there is none left."""
        count = len(self._holding)
        if count == len(self._rows):
            self._rows = np.vstack([self._rows, np.zeros((max(16, count), len(row)))])
        self._rows[count] = row
        self._holding.append(unknown)
