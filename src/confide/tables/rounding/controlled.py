"""Controlled rounding (Cox 1987; Salazar 2006): every cell to a neighbouring multiple of the base, and the table adds up.

Which cells go up is a mixed integer program. Small tables and those by two variables are solved to the end. In others
simulated annealing finds a rounding; where totals are so entangled that some stay wrong, the solver finds one near it that
is right. Then blocks of cells are decided anew while the others stay.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real

import numpy as np
from scipy import sparse

from confide.arrays import Bools, Floats, Ints
from confide.errors import Mistake
from confide.tables.annealing.anneal import Aim, Allowed, CoolingSchedule, annealing_over, generator
from confide.tables.programs.deadline import Deadline
from confide.tables.programs.program import Decisions, Effort, Program, Solution, Steps, improve, solve
from confide.tables.table.inner_cells import InnerCells, inner_cells
from confide.tables.table.table import Table

__all__ = ["Units", "controlled"]


PROVABLE = 1500
"""Up to so many cells, and however many there are by at most two variables, the best rounding is found and proven."""

FINENESS = 840
"""Remainders are told apart to this part of the base; divisible by 2 to 8, so those of small bases are exact."""

NEAR = CoolingSchedule(hot=0.5, cold=0.05, sweeps=1500, penalty=0.35, circles=True)
REPAIR = CoolingSchedule(hot=0.6, cold=0.1, sweeps=1000, penalty=4.0)

MOVES = 30_000_000
"""Small tables are searched longer: up to ten times the sweeps, but not beyond so many moves.

They take 1.2 seconds of CPU (9,261 cells, 40 ns a move), which nobody minds to wait for beside what the solver takes.
"""

RIGHT = Effort(first=True, until=0.6)
"""What may be spent on a rounding that is right."""

FEW = 0.3
"""What each cell that is decided otherwise costs there, in units of the base."""

STEPS = Steps(size=500, rounds=80, nodes=10)
"""How cells are decided anew once there is a rounding."""

LARGE = 10_000
"""If more inner cells than this can move, blocks of them bring too little for their time."""


@dataclass(frozen=True, eq=False)
class Units:
    """A table in units of the base."""

    table: Table
    base: float

    def __post_init__(self) -> None:
        if not (isinstance(self.base, Real) and np.isfinite(self.base) and self.base > 0):
            raise Mistake("The base of rounding is a positive number.", suggestions=["Give base=3 or another."])
        if not (np.abs(self.table.value) < 1e15 * self.base).all():
            raise Mistake("A value is not finite, or too large for this base.", suggestions=["Give a larger base."])
        self.table.check()

    @cached_property
    def below(self) -> Ints:
        """The multiple at or under each value. A value within a billionth of a multiple is that multiple."""
        near = np.rint(self.exact)
        multiple = np.abs(self.exact - near) <= 1e-9 * np.maximum(1.0, np.abs(near))
        return np.where(multiple, near, np.floor(self.exact)).astype(np.int64)

    @cached_property
    def over(self) -> Floats:
        """What is over that, from 0 to 1, as far as it is told apart; exactly 0 for multiples."""
        over = self.exact - self.below
        apart = np.clip(np.rint(over * FINENESS), 1, FINENESS - 1) / FINENESS
        return np.where(over > 1e-9 * np.maximum(1.0, np.abs(self.exact)), apart, 0.0)

    @property
    def exact(self) -> Floats:
        return self.table.value / self.base

    def values(self, units: Ints) -> Floats:
        """The values of so many units."""
        return np.asarray(units * self.base, dtype=np.float64)

    def astray(self, units: Ints) -> Bools:
        """The cells that are not at one of their neighbouring multiples."""
        return (units < self.below) | (units > self.below + (self.over > 0))


def controlled(units: Units, *, seed: int, deadline: Deadline) -> tuple[Ints, bool]:
    """The rounded table in units of the base, and whether nothing nearer is left to be found.

    Promise: it adds up. If it is known to exist, every cell is at a neighbouring multiple.
    """
    table, inner = units.table, inner_cells(units.table.relations)
    if inner is None or len(table.variables) <= 2 or len(table) <= PROVABLE:
        found = solve(_program(units) if inner else _farther(units), deadline)
        if found.values is not None:
            return units.below + _whole(found)[: len(table)], found.proven
    if inner is None:
        raise Mistake("No rounding that adds up was found.", suggestions=["Give more time, or a larger base."])
    return _searched(units, inner, seed, deadline), deadline.undisturbed


def _whole(found: Solution) -> Ints:
    return np.rint(np.zeros(0) if found.values is None else found.values).astype(np.int64)


def _program(units: Units) -> Program:
    """Whether each cell goes up: to go up by 1 - over rather than down by over costs 1 - 2 over more."""
    relations, over = units.table.relations, units.over
    missing: Floats = relations.rhs / units.base - relations.matrix @ units.below
    none = np.zeros(len(over))
    return Program(1 - 2 * over, none, none + (over > 0), relations.matrix, missing, missing, none == 0)


def _farther(units: Units) -> Program:
    """The same for tables that may have no such rounding: cells may go any number of steps, at a high price.

    The steps x of a cell are one to a neighbour and t more, up or down:  0 <= x - t1 + t2 <= 1.
    """
    near, cells = _program(units), len(units.over)
    ones, free = sparse.eye_array(cells), np.full(cells, np.inf)
    wide = sparse.hstack([near.matrix, sparse.csr_array((near.matrix.shape[0], 2 * cells))])
    return Program(
        np.concatenate([near.cost, np.full(2 * cells, 100.0)]),
        np.concatenate([-free, np.zeros(2 * cells)]),
        np.concatenate([free, free, free]),
        sparse.csr_array(sparse.vstack([wide, sparse.hstack([ones, -ones, ones])])),
        np.concatenate([near.least, near.lower]),
        np.concatenate([near.most, near.upper]),
        np.full(3 * cells, True),
    )


def _searched(units: Units, inner: InnerCells, seed: int, deadline: Deadline) -> Ints:
    """The search is good at being near, the solver at being right; some cells go farther only if neither finds a way."""
    found = _annealed(units, inner, seed, deadline)
    program, best = _program(units), Solution((found - units.below).astype(np.float64))
    if units.astray(found).any():
        best = _righted(program, best, deadline)
        if best.values is None:
            deadline.hurried |= not best.proven
            return found
    cells = inner.cells[units.over[inner.cells] > 0]
    if len(cells) <= LARGE:
        decisions = Decisions(cells, sparse.csr_array(abs(units.table.relations.matrix)[:, cells]))
        best = improve(program, replace(best, objective=float(program.cost @ _whole(best))), decisions, STEPS, deadline)
    return units.below + _whole(best)


def _righted(program: Program, near: Solution, deadline: Deadline) -> Solution:
    """A rounding with all cells at neighbouring multiples, like one with some that are not."""
    cost = program.cost + np.where(_whole(near) > 0, -FEW, FEW)
    return solve(replace(program, cost=cost), deadline, effort=RIGHT)


def _annealed(units: Units, inner: InnerCells, seed: int, deadline: Deadline) -> Ints:
    """The best rounding found by the search: inner cells at neighbouring multiples, and totals if they can be."""
    below, fractions, kinds = units.below, *np.unique(units.over, return_inverse=True)

    def weigh(distance: Ints) -> tuple[Floats, Floats]:
        beyond = np.maximum(-distance, distance - (fractions[:, None] > 0))
        return np.abs(distance - fractions[:, None]), np.maximum(beyond, 0).astype(np.float64)

    least, over = below[inner.cells], units.over[inner.cells]
    start = least + (generator(seed).random(len(least)) < over)
    allowed = Allowed(least, least + (over > 0))
    annealing = annealing_over(inner, start, below, allowed, Aim(kinds, weigh), seed=seed)
    sweeps = NEAR.sweeps * np.clip(MOVES / (NEAR.sweeps * max(1, int((over > 0).sum()))), 1, 10)
    annealing.cool(replace(NEAR, sweeps=float(sweeps)), deadline, until=0.5)
    annealing.settle(REPAIR, deadline, rounds=6)
    return below + annealing.distance
