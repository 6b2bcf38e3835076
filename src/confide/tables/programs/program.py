"""Linear, quadratic and mixed integer programs, solved by HiGHS on one thread: the same program, the same answer."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import highspy
import numpy as np
from scipy import sparse

from confide.arrays import Bools, Floats, Ints
from confide.tables.programs.deadline import Deadline

__all__ = ["Decisions", "Effort", "Program", "Solution", "Steps", "improve", "run_interruptible", "run_until", "solve"]


SECONDS = 0.05
"""How often to look whether somebody interrupts."""


@dataclass(frozen=True, eq=False)
class Program:
    """Minimise cost @ x + sum of curve * x**2, with lower <= x <= upper, least <= matrix @ x <= most, some x `whole`."""

    cost: Floats
    lower: Floats
    upper: Floats
    matrix: sparse.csr_array
    least: Floats
    most: Floats
    whole: Bools
    curve: Floats | None = None


@dataclass(frozen=True, eq=False)
class Solution:
    """The best `values` found, or None; `proven` if nothing is better, to within 0.01 percent, or nothing exists at all."""

    values: Floats | None
    objective: float = np.inf
    proven: bool = False


@dataclass(frozen=True)
class Effort:
    """How much to spend on one program: so many nodes, `first` if any solution will do, `until` a share of the time."""

    nodes: int | None = None
    first: bool = False
    until: float = 1.0

    def options(self, deadline: Deadline) -> dict[str, Any]:
        """The options of HiGHS for that."""
        options: dict[str, Any] = {"output_flag": False, "threads": 1, "random_seed": 0, "mip_rel_gap": 1e-4}
        if deadline.limit is not None:
            options["time_limit"] = deadline.limit * max(0.0, self.until - deadline.share)
        if self.nodes is not None:
            options["mip_max_nodes"] = self.nodes
        if self.first:
            options["mip_max_improving_sols"] = 1
        return options


ALL = Effort()
"""As much as there is time for."""


def solve(program: Program, deadline: Deadline, *, start: Solution | None = None, effort: Effort = ALL) -> Solution:
    """The best solution within the time that the deadline leaves and that effort; `start` is one to begin with."""
    if deadline.over:
        return Solution(None)
    solver = highspy.Highs()  # type: ignore[no-untyped-call]  # highspy has no types
    for name, value in effort.options(deadline).items():
        solver.setOptionValue(name, value)
    solver.passModel(_model(program))
    if program.curve is not None:
        solver.passHessian(_hessian(program.curve))
    if start is not None and start.values is not None:
        given = highspy.HighsSolution()
        given.col_value = list(start.values)
        solver.setSolution(given)
    run_interruptible(solver, deadline)
    return _read(solver)


@dataclass(frozen=True, eq=False)
class Decisions:
    """Columns to be decided in blocks: those of some cells, which are near one another if `relations` of them join them."""

    columns: Ints
    relations: sparse.csr_array

    @cached_property
    def _of_cell(self) -> sparse.csr_array:
        return sparse.csr_array(self.relations.T)

    def around(self, first: Ints, size: int, random: np.random.Generator) -> Bools:
        """The block of so many cells around some, in widening circles; around others too if there are not enough near."""
        block = np.zeros(len(self.columns), dtype=np.bool_)
        circle = first
        while (left := size - int(block.sum())) > 0 and not block.all():
            block[circle[:left]] = True
            rows = np.unique(self._of_cell[circle[:left]].indices)
            beside = np.unique(self.relations[rows].indices)
            circle = random.permutation(beside[~block[beside]])
            if not len(circle):
                circle = random.permutation(np.flatnonzero(~block))[:1]
        return block

    def fixed(self, program: Program, values: Floats, block: Bools) -> Program:
        """The program with all of the columns but those of the block as they are."""
        lower, upper, others = program.lower.copy(), program.upper.copy(), self.columns[~block]
        lower[others] = upper[others] = np.rint(values[others])
        return replace(program, lower=lower, upper=upper)


@dataclass(frozen=True)
class Steps:
    """How much is decided anew in one step and in how many rounds; nodes, not seconds, so that each time is the same."""

    size: int
    rounds: int
    nodes: int


def improve(program: Program, best: Solution, decisions: Decisions, steps: Steps, deadline: Deadline) -> Solution:
    """Better solutions, found by deciding blocks of columns anew while the others stay; ends when many in turn bring nothing.

    Promise: what it gives is a solution, and no worse than `best`.
    """
    random, idle, count = np.random.default_rng(0), 0, len(decisions.columns)
    for done in range(steps.rounds):
        if deadline.over or idle > 2 * count / steps.size + 5:
            break
        assert best.values is not None, "only a solution can be improved"
        block = decisions.around(random.permutation(count)[:1], steps.size, random)
        found = solve(decisions.fixed(program, best.values, block), deadline, start=best, effort=Effort(steps.nodes))
        better = found.objective < best.objective - 1e-9 * abs(best.objective)
        best, idle = (found, 0) if better else (best, idle + 1)
        if deadline.progress:
            deadline.progress(max(deadline.share, done / steps.rounds), f"distance {best.objective:.6g}")
    return replace(best, proven=False)


def _model(program: Program) -> Any:
    columns = sparse.csc_array(program.matrix)
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = len(program.cost), columns.shape[0]
    model.col_cost_, model.col_lower_, model.col_upper_ = program.cost, program.lower, program.upper
    model.row_lower_, model.row_upper_ = program.least, program.most
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_ = columns.indptr, columns.indices
    model.a_matrix_.value_ = columns.data
    if program.whole.any():
        kinds = highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger
        model.integrality_ = [kinds[whole] for whole in program.whole.tolist()]
    return model


def _hessian(curve: Floats) -> Any:
    hessian = highspy.HighsHessian()
    hessian.dim_, hessian.format_ = len(curve), highspy.HessianFormat.kTriangular
    hessian.start_, hessian.index_, hessian.value_ = np.arange(len(curve) + 1), np.arange(len(curve)), 2 * curve
    return hessian


def run_interruptible(solver: Any, deadline: Deadline) -> None:
    """Solve in another thread, so that an interrupt is heard; it cancels what is being solved."""
    solver.HandleUserInterrupt = True
    solver.startSolve()
    while not solver.wait(SECONDS)[0]:
        if deadline.interrupted:
            solver.cancelSolve()


def run_until(solver: Any, deadline: Deadline) -> None:
    """Solve for no longer than a deadline leaves time, with a solver that may have solved others before."""
    if deadline.limit is not None:
        solver.setOptionValue("time_limit", solver.getRunTime() + deadline.limit * (1 - deadline.share))
    run_interruptible(solver, deadline)


def _read(solver: Any) -> Solution:
    info, status = solver.getInfo(), solver.getModelStatus()
    proven = status in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kInfeasible)
    if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return Solution(None, proven=proven)
    return Solution(np.array(solver.getSolution().col_value), info.objective_function_value, proven)
