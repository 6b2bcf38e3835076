"""Simulated annealing over the inner cells of a table, with the sums they count in kept up to date.

Restoring additivity, SAFE and large controlled rounding are one problem: choose whole values for the inner cells of a table
so that their sums are near given targets and none is beyond its limits (Giessing and Höhne 2011, sections 2 and 5). Whatever
the search does, the table adds up, because only inner cells are chosen, and each has only values it may have.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from confide.arrays import Bools, Floats, Ints
from confide.errors import Mistake
from confide.tables.annealing.kernel import THRESHOLDS, AnnealingLayout, AnnealingState, metropolis
from confide.tables.programs.deadline import Deadline
from confide.tables.table.inner_cells import Grouping, InnerCells, laid_out

__all__ = ["Aim", "Allowed", "Annealing", "AnnealingTask", "CoolingSchedule", "annealing_over", "generator"]

Places = NDArray[np.uint32]

CHUNK = 200_000
"""Moves between two looks at the clock: 5 to 8 milliseconds, at 25 ns a move in a table of 1,331 cells and 40 in one of 9,261."""

SINGLE, CIRCLES = 4, 4
"""Of 16 moves so many are of single cells, and so many of circles of four; the others are of pairs."""

FARTHEST = 10_000_000
"""Distance from the target times kinds of sums up to which costs are laid out: an array of them is 160 MB then, and there are three.

Sums that are farther off are no noise: values and totals do not belong together.
"""


@dataclass(frozen=True, eq=False)
class Allowed:
    """What each inner cell may be: between `least` and `greatest`, and none of 1 to low - 1."""

    least: Ints
    greatest: Ints
    low: int = 1

    def of(self, inner: Bools) -> "Allowed":
        return Allowed(self.least[inner], self.greatest[inner], self.low)


@dataclass(frozen=True, eq=False)
class Aim:
    """What is wanted of each sum: `kinds` says of which kind it is.

    `weigh` gives, for distances from the target, two rows for each kind: what the distance costs, and how far it is
    beyond the limit.
    """

    kinds: Ints
    weigh: Callable[[Ints], tuple[Floats, Floats]]


@dataclass(frozen=True, eq=False)
class AnnealingTask:
    """Inner cells that may move, and the sums they count in; `sums` and `siblings` are as in an `AnnealingLayout`."""

    sums: Places
    siblings: Grouping
    allowed: Allowed
    aim: Aim


@dataclass(frozen=True)
class CoolingSchedule:
    """How to cool: `sweeps` moves a cell, at temperatures from `hot` to `cold` in equal ratios.

    Each unit beyond a limit costs `penalty`. Moving `circles` of four cells is slower, and pays where limits are tight.
    """

    hot: float
    cold: float
    sweeps: float
    penalty: float
    circles: bool = False


class Annealing:
    """An annealing under way: `value` has the best values found and `distance` the sums' distances from their targets.

    Promise: the same problem, start and seed give the same result unless time runs out; an interrupt ends the search and
    leaves the best so far.
    """

    def __init__(self, task: AnnealingTask, value: Ints, distance: Ints, *, seed: int) -> None:
        self.task, self.value, self.distance = task, value.copy(), distance.copy()
        self._random = generator(seed).integers(0, 2**64, 1, dtype=np.uint64)
        self._layout = AnnealingLayout(
            task.sums, task.siblings.of, task.siblings.starts, task.siblings.members,
            np.column_stack([task.allowed.least, task.allowed.greatest]), task.allowed.low,
            SINGLE, circle=0,
        )  # fmt: skip

    def with_aim(self, aim: Aim) -> "Annealing":
        """The same from where it is, for something else."""
        return Annealing(replace(self.task, aim=aim), self.value, self.distance, seed=int(self._random[0]))

    @property
    def beyond(self) -> Bools:
        """The sums that are beyond their limits."""
        reach = int(np.abs(self.distance).max(initial=0))
        _, beyond = self.task.aim.weigh(np.arange(-reach, reach + 1))
        return np.asarray(beyond[self.task.aim.kinds, self.distance + reach] > 0)

    def cool(
        self, schedule: CoolingSchedule, deadline: Deadline, *, pool: Places | None = None, until: float = 1.0
    ) -> None:
        """Anneal the cells of the pool, or all; this phase may take the time up to the share `until` of the limit."""
        pool = np.arange(len(self.value), dtype=np.uint32) if pool is None else pool
        if not len(pool):
            return
        state, costs, home = self._laid_out(schedule.penalty)
        moves, done, cost, best = max(1, round(schedule.sweeps * len(pool))), 0, 0.0, 0.0
        # At least 128 temperatures, and a look at the clock for each.
        chunk, pace = min(CHUNK, moves // 128 + 1), deadline.pace(until)
        layout = self._layout._replace(circle=CIRCLES * schedule.circles)
        try:
            while done < moves and not deadline.interrupted and deadline.share < until:
                share = pace.share(done / moves)
                temperature = schedule.hot * (schedule.cold / schedule.hot) ** share
                cost += metropolis(layout, state, costs, pool, THRESHOLDS, temperature, min(chunk, moves - done))
                done += chunk
                if cost < best:
                    best = cost
                    self.value[:] = state.value
                    self.distance[:] = state.at[:-1] - home
                if deadline.progress:
                    deadline.progress(share, f"largest deviation {np.abs(self.distance).max(initial=0)}")
        except KeyboardInterrupt:
            deadline.interrupted = True

    def settle(self, schedule: CoolingSchedule, deadline: Deadline, *, rounds: int) -> None:
        """Anneal on among the cells of the sums that are beyond their limits, until there are none.

        The penalty is doubled each time: a low one lets others be beyond their limits on the way, a high one none.
        """
        for number in range(rounds):
            beyond = np.append(self.beyond, False)
            if deadline.over or not beyond.any():
                return
            pool = np.flatnonzero(beyond[self.task.sums].any(axis=1)).astype(np.uint32)
            self.cool(replace(schedule, circles=True, penalty=schedule.penalty * 2**number), deadline, pool=pool)

    def _laid_out(self, penalty: float) -> tuple[AnnealingState, Floats, Ints]:
        """The state for the hot loop, the costs of every kind of sum one after the other, and where distance 0 is."""
        kinds = self.task.aim.kinds
        # Of the four cells of a circle two go up, each by at most `low` (from 0, over the gap): no sum ever goes farther.
        step = 2 * max(1, self.task.allowed.low)
        reach = 2 * int(np.abs(self.distance).max(initial=0)) + 16 + 2 * step
        if reach * (int(kinds.max(initial=0)) + 1) > FARTHEST:
            raise Mistake(
                "The totals are too far from the sums of their parts to be made to add up by small changes.",
                suggestions=["Check that values and totals belong to the same table."],
            )
        plain, beyond = self.task.aim.weigh(np.arange(-reach, reach + 1))
        costs = plain + penalty * beyond
        # A wall at both ends that no move passes, so that the hot loop need not test its index (a sum may go twice as far
        # as the farthest is now), and a dummy sum that costs nothing wherever it is.
        costs[:, :step] = costs[:, -step:] = np.inf
        costs = np.vstack([costs, np.zeros(costs.shape[1])])
        kinds = np.append(kinds, len(costs) - 1)
        home = kinds * costs.shape[1] + reach
        at = (home + np.append(self.distance, 0)).astype(np.int32)
        return AnnealingState(self.value.copy(), at, self._random), costs.ravel(), home[:-1]


def annealing_over(inner: InnerCells, start: Ints, target: Ints, allowed: Allowed, aim: Aim, *, seed: int) -> Annealing:
    """An annealing of a table's inner cells that brings all cells near their targets: cells are target + distance."""
    movable = allowed.least < allowed.greatest
    sums, siblings = laid_out(inner, movable)
    task = AnnealingTask(sums, siblings, allowed.of(movable), aim)
    return Annealing(task, start[movable], inner.sums(start) - target, seed=seed)


def generator(seed: int) -> np.random.Generator:
    """The random numbers of a seed."""
    return np.random.default_rng(seed)
