"""What an outsider can work out: for every suppressed cell the smallest and the largest value that fit all that is published.

Two linear programs a cell, in principle. Most ends are reached by tables already seen, so a fraction of them is solved.
"""

import numpy as np
from scipy import sparse

from confide.arrays import Bools, Floats
from confide.errors import Fault
from confide.tables.programs.deadline import Deadline, Progress
from confide.tables.programs.solver import Solver
from confide.tables.suppression.contraction import Contracted, contract, tighten
from confide.tables.suppression.problem import SuppressionProblem

__all__ = ["intervals"]


SCALE = 1e6
"""The farthest finite bound of a component is so many units of its programs.

HiGHS is right to 1e-7 in absolute terms: with a million units that is 1e-13 of the bound, near what floats can tell apart.
"""

UNBOUNDED = 1e3
"""What can be so many times farther off than any bound, can be anywhere.

A finite limit in the place of infinity lets all open ends be pushed at once, where one without limit would stop the rest. An
end that is finite is a sum of bounds: to be taken for infinite it would have to add up a thousand of the largest.
"""

CLOSE = 1e-7
"""An end is reached to within this many units: what HiGHS allows a bound to be missed by."""


def intervals(
    problem: SuppressionProblem,
    suppressed: Bools,
    *,
    deadline: Deadline | None = None,
    progress: Progress | None = None,
) -> tuple[Floats, Floats]:
    """The least and the largest value each cell can have for an outsider; what is shown has one value.

    What was not worked out before the `deadline` is no number.

    Promise: the intervals are those of the linear relaxation, to within a millionth of a millionth of the largest bound.
    Where values are whole numbers they are rounded inwards: no table of whole numbers lies outside, and all that an
    outsider can know without searching for whole numbers is inside. Nothing is infinite unless it is without limit.

    >>> from confide.tables.table.relations import Relations
    >>> relations = Relations.of([(0, [1, 2]), (3, [4, 5]), (6, [1, 4])], cells=7)
    >>> values = np.array([5.0, 2, 3, 9, 4, 5, 6])
    >>> problem = SuppressionProblem.plain(relations, values, primary=values == 2, level=1.0)
    >>> low, high = intervals(problem, np.isin(np.arange(7), [1, 2, 4, 5]))
    >>> low.tolist(), high.tolist()
    ([5.0, 0.0, 0.0, 9.0, 1.0, 3.0, 6.0], [5.0, 5.0, 5.0, 9.0, 6.0, 8.0, 6.0])
    """
    cells = np.flatnonzero(suppressed & ~problem.shown)
    up, down = (room[cells] for room in problem.room)
    small = contract(sparse.csr_array(problem.relations.matrix[:, cells]), -down, up)
    low, high = _unknowns(small, deadline or Deadline(), progress)
    ends = np.array([part[small.of] * small.factor for part in (np.append(low, 0.0), np.append(high, 0.0))])
    ends = np.where(small.factor < 0, ends[::-1], ends)
    ends[:, small.of < 0] = 0.0
    if problem.whole:
        ends = np.array([np.ceil(ends[0] - 1e-6), np.floor(ends[1] + 1e-6)])
    lower, upper = problem.values.copy(), problem.values.copy()
    lower[cells] += np.minimum(ends[0], 0.0)
    upper[cells] += np.maximum(ends[1], 0.0)
    return lower, upper


def _unknowns(small: Contracted, deadline: Deadline, progress: Progress | None) -> tuple[Floats, Floats]:
    """The ends of every unknown, one connected component after the other."""
    lower, upper = tighten(small.matrix, small.lower, small.upper)
    component = small.components()
    order = np.argsort(component, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(component[order])) + 1) if len(order) else []
    low, high = np.zeros(len(lower)), np.zeros(len(upper))
    done = 0
    for group in groups:
        matrix = sparse.csr_array(small.matrix[:, group])
        matrix = sparse.csr_array(matrix[np.diff(matrix.indptr) > 0])
        if matrix.shape[0]:
            component_ends = _Component(matrix, lower[group], upper[group], deadline)
            ends = component_ends.ends(progress, (done / len(order), len(group) / len(order)))
        else:
            ends = lower[group], upper[group]
        low[group], high[group] = ends
        done += len(group)
    return low, high


class _Component:
    """A connected component of unknowns: what was seen of each so far, and what it could be at the outside."""

    def __init__(self, matrix: sparse.csr_array, lower: Floats, upper: Floats, deadline: Deadline) -> None:
        finite = np.abs(np.concatenate([lower, upper]))
        farthest = float(finite[np.isfinite(finite)].max(initial=0.0)) or 1.0
        self._unit, self._limit = farthest / SCALE, UNBOUNDED * SCALE
        self._lower = np.maximum(lower / self._unit, -self._limit)
        self._upper = np.minimum(upper / self._unit, self._limit)
        self._low, self._high = np.zeros(len(lower)), np.zeros(len(upper))
        self._matrix = matrix
        self._solver, self._deadline = Solver(), deadline
        self._solver.deadline = deadline
        self._last = {side: np.zeros(len(lower), dtype=np.bool_) for side in (1, -1)}

    def ends(self, progress: Progress | None, share: tuple[float, float]) -> tuple[Floats, Floats]:
        """The least and largest value of each; `share` says where this component begins and how long it is."""
        self._together()
        self._apart(progress, share)
        infinite = 0.999 * self._limit
        low, high = self._low * self._unit, self._high * self._unit
        low, high = np.where(self._low < -infinite, -np.inf, low), np.where(self._high > infinite, np.inf, high)
        return np.where(self._unseen(-1), np.nan, low), np.where(self._unseen(1), np.nan, high)

    def _unseen(self, side: int) -> Bools:
        """The ends that were not worked out when time was over: neither at the bound nor as far as a program of their own goes."""
        return self._open(side) & ~self._last[side]

    def _open(self, side: int) -> Bools:
        if side > 0:
            return np.asarray(self._high < self._upper - CLOSE)
        return np.asarray(self._low > self._lower + CLOSE)

    def _see(self, x: Floats | None) -> None:
        if x is not None:
            self._low, self._high = np.minimum(self._low, x), np.maximum(self._high, x)
        elif not self._deadline.over:  # the true table satisfies everything, so there is a solution
            raise Fault("The solver failed, so nobody can say what an outsider can work out.")

    def _together(self) -> None:
        """Push all whose end is open in one direction at once, until that no longer settles many.

        A round is two programs, and each end that it leaves open is one; it is worth it while it settles 3 percent of them.
        """
        every = np.arange(len(self._lower))
        self._solver.take_matrix(np.zeros(len(every)), (self._lower, self._upper), self._matrix)
        before = 2 * len(every) + 1
        while (
            (left := int(self._open(1).sum() + self._open(-1).sum()))
            and left < 0.97 * before
            and not self._deadline.over
        ):
            before = left
            for side in (1, -1):
                self._solver.price(every, np.where(self._open(side), -float(side), 0.0))
                self._see(self._solver.run())

    def _apart(self, progress: Progress | None, share: tuple[float, float]) -> None:
        """One program for each end that is still open; each starts from the true table, which is nearer than the last end."""
        count = len(self._lower)
        bounds = np.zeros(2 * count), np.concatenate([self._upper, -self._lower])
        twice = sparse.csr_array(sparse.hstack([self._matrix, -self._matrix]))
        self._solver.take_matrix(np.zeros(2 * count), bounds, twice)
        for number in range(count):
            for side in (1, -1):
                if self._deadline.over or not self._open(side)[number]:
                    continue
                columns = np.array([number, number + count])
                self._solver.price(columns, np.array([-side, side], dtype=np.float64))
                x = self._solver.run(fresh=True)
                self._see(None if x is None else x[:count] - x[count:])
                self._last[side][number] = x is not None
                self._solver.price(columns, np.zeros(2))
            if progress:
                progress(share[0] + share[1] * (number + 1) / count, "intervals")
