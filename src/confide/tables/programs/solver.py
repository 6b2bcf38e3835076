"""HiGHS, kept at hand: linear programs that differ little and are solved by the thousand, from the last solution on."""

from collections.abc import Iterable
from math import gcd
from typing import Any

import highspy
import numpy as np
from scipy import sparse

from confide.arrays import Bools, Floats, Ints
from confide.tables.programs.deadline import Deadline
from confide.tables.programs.program import run_until

__all__ = ["Master", "Solver"]


COLUMNWISE, MINIMISE = 1, 1
NODES = 500
"""How far a search for whole numbers goes before it gives up; a number, not a time, so that it always ends alike."""


class Solver:
    """One model at a time: minimise cost x, so that A x = 0 and lower <= x <= upper.

    Promise: the same calls give the same results; one thread, no clock but that of a `deadline`. `interior` is for large models
    that have little in common with the one before; their solution is a `vertex`, or any that is precise enough.
    """

    def __init__(self, *, interior: bool = False, vertex: bool = True) -> None:
        self.solved = 0
        self.deadline: Deadline | None = None
        self._highs = highspy.Highs()  # type: ignore[no-untyped-call]  # highspy has no types
        # From a basis HiGHS starts without presolve anyway; fresh runs start at the true table, a few pivots from the end.
        options: dict[str, Any] = {"output_flag": False, "threads": 1, "presolve": "off", "mip_max_nodes": NODES}
        if interior:
            # Where thousands of cells move at once that is many pivots: of a program of 11,393 relations among 13,795 cells the
            # simplex had not come to an end after 48 s, and the interior point method took 3.3 s with its way to a vertex.
            # For one demand in 13,231 unknowns the way to a vertex took 1.8 s of 4.6.
            options |= {"presolve": "on", "solver": "ipm", "run_crossover": "on" if vertex else "choose"}
        for name, value in options.items():
            self._highs.setOptionValue(name, value)

    def take(self, cost: Floats, bounds: tuple[Floats, Floats], rows: int, columns: tuple[Ints, Ints, Floats]) -> None:
        """A new model; the matrix comes by columns: where each starts, its rows, its values."""
        starts, index = (np.ascontiguousarray(part, dtype=np.int32) for part in columns[:2])
        value, level = np.ascontiguousarray(columns[2], dtype=np.float64), np.zeros(rows)
        self._highs.passModel(
            len(cost), rows, len(value), COLUMNWISE, MINIMISE, 0.0, cost, *bounds, level, level,
            starts, index, value, np.zeros(len(cost), np.int32),
        )  # fmt: skip

    def take_matrix(
        self, cost: Floats, bounds: tuple[Floats, Floats], matrix: sparse.csr_array | sparse.csc_array
    ) -> None:
        """A new model, from a matrix."""
        columns = matrix.tocsc()
        self.take(cost, bounds, matrix.shape[0], (columns.indptr, columns.indices, columns.data))

    def price(self, columns: Ints, cost: Floats) -> None:
        """Other costs for some columns."""
        self._highs.changeColsCost(len(columns), columns.astype(np.int32), cost)

    def bound(self, columns: Ints, lower: Floats, upper: Floats) -> None:
        """Other bounds for some columns."""
        self._highs.changeColsBounds(len(columns), columns.astype(np.int32), lower, upper)

    def make_whole(self) -> None:
        """From now on only whole numbers are solutions."""
        count = self._highs.getNumCol()
        self._highs.changeColsIntegrality(count, np.arange(count, dtype=np.int32), np.ones(count, np.uint8))

    def run(self, *, fresh: bool = False) -> Floats | None:
        """The best x, or None if there is none or no time; `fresh` forgets the last solution, from which it would start."""
        if fresh:
            self._highs.clearSolver()
        if self.deadline is None:
            self._highs.run()
        else:
            run_until(self._highs, self.deadline)
        self.solved += 1
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        return np.array(self._highs.getSolution().col_value)

    def duals(self) -> Floats:
        """What a unit on the right side of each row was worth in the last solution."""
        return np.array(self._highs.getSolution().row_dual)

    def basis(self) -> tuple[Bools, Bools]:
        """Which columns, and which rows, are in the basis of the last solution; a row in it follows from those that are not."""
        basis, basic = self._highs.getBasis(), highspy.HighsBasisStatus.kBasic
        return np.array([one == basic for one in basis.col_status]), np.array(
            [one == basic for one in basis.row_status]
        )


class Master:
    """Which cells to suppress at the least cost, so that every inequality row @ x >= 1 added so far holds.

    `always` are suppressed and cost nothing, `never` are not.
    """

    def __init__(self, cost: Floats, *, always: Bools, never: Bools) -> None:
        self._cost = np.where(always, 0.0, cost)
        # Two patterns of different cost differ by at least this: whole costs by their greatest common divisor. So a gap of
        # less proves a pattern cheapest, and the solver need not close the last of it.
        whole = bool((self._cost == np.rint(self._cost)).all()) and self._cost.max(initial=0.0) < 2**53
        self._step = float(gcd(*self._cost.astype(np.int64).tolist())) if whole else 1e-7 * float(self._cost.sum())
        self._known: set[bytes] = set()
        self._highs = highspy.Highs()  # type: ignore[no-untyped-call]  # highspy has no types
        options: dict[str, Any] = {"output_flag": False, "threads": 1, "random_seed": 0, "mip_rel_gap": 0.0}
        options |= {"mip_abs_gap": 0.99 * self._step}
        for name, value in options.items():
            self._highs.setOptionValue(name, value)
        for low, high, price in zip(always, ~never, self._cost, strict=True):
            self._highs.addCol(float(price), float(low), float(high), 0, np.zeros(0, np.int32), np.zeros(0))

    def add(self, rows: Iterable[Floats]) -> int:
        """More inequalities; how many of them were new."""
        before = len(self._known)
        for row in rows:
            if (key := np.round(row, 9).tobytes()) not in self._known:
                self._known.add(key)
                there = np.flatnonzero(row).astype(np.int32)
                self._highs.addRow(1.0, highspy.kHighsInf, len(there), there, row[there])
        return len(self._known) - before

    def beat(self, cost: float) -> None:
        """From now on, only patterns that are cheaper count: by a step, less what the solver's tolerance of 1e-6 may eat."""
        there = np.flatnonzero(self._cost).astype(np.int32)
        self._highs.addRow(-highspy.kHighsInf, cost - 0.999 * self._step, len(there), there, self._cost[there])

    def decide(self) -> None:
        """From now on, a cell is suppressed or not."""
        count = len(self._cost)
        self._highs.changeColsIntegrality(count, np.arange(count, dtype=np.int32), np.ones(count, np.uint8))

    def solve(self, deadline: Deadline) -> tuple[Floats | None, float]:
        """The cheapest x, or None if there is none or no time, and what every pattern costs at least."""
        run_until(self._highs, deadline)
        status, info = self._highs.getModelStatus(), self._highs.getInfo()
        if status == highspy.HighsModelStatus.kInfeasible:
            return None, np.inf
        decided = any(kind == highspy.HighsVarType.kInteger for kind in self._highs.getLp().integrality_[:1])
        if status == highspy.HighsModelStatus.kOptimal:
            bound = info.mip_dual_bound if decided else info.objective_function_value
            return np.clip(np.array(self._highs.getSolution().col_value), 0.0, 1.0), float(bound)
        return None, float(info.mip_dual_bound) if decided else 0.0
