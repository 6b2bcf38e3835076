"""Patterns made without a search, where there is no time for one: more and more is suppressed until the audit passes.

To suppress more never helps an attacker. So cells are added around those that the audit says can be known too well, in every
round twice as many, and in the end all that may be suppressed: if that does not pass either, no pattern does.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from confide.arrays import Bools, Floats, Ints
from confide.tables.programs.deadline import Deadline
from confide.tables.suppression.audit import Audit
from confide.tables.suppression.problem import SuppressionProblem

__all__ = ["Coarse", "shown_again", "wide_enough"]


Judge = Callable[[Bools], Audit]
"""The audit of a pattern."""


@dataclass(frozen=True, eq=False)
class Coarse:
    """A pattern and its audit. If that failed, everything is suppressed that may be, and no pattern passes."""

    suppressed: Bools
    audit: Audit


def wide_enough(problem: SuppressionProblem, suppressed: Bools, judge: Judge) -> Coarse:
    """A pattern with all that is suppressed and as much besides as it takes, without a limit: cheap cells first, in each relation."""
    every = ~problem.shown | problem.primary
    rows = problem.relations.matrix
    hidden, more = _closed(rows, suppressed & every, every, problem.cost), 1
    while True:
        judged = judge(hidden)
        if judged.passed or (hidden == every).all():
            return Coarse(hidden, judged)
        failing = np.zeros(len(hidden), dtype=np.bool_)
        failing[[failure.cell for failure in judged.failures]] = True
        wider = _closed(rows, _around(rows, hidden, failing, every, problem.cost, more), every, problem.cost)
        hidden, more = (every if (wider == hidden).all() else wider), 2 * more


def shown_again(problem: SuppressionProblem, coarse: Coarse, added: Bools, judge: Judge, deadline: Deadline) -> Coarse:
    """The same pattern without some of the cells `added` to it: all, halves of them, then quarters, while there is time."""
    cells = np.flatnonzero(added)
    parts = [cells[np.argsort(-problem.cost[cells], kind="stable")]]
    while parts and not deadline.over:
        part = parts.pop(0)
        hidden = coarse.suppressed.copy()
        hidden[part] = False
        judged = judge(hidden)
        if judged.undecided:  # time is over, or somebody interrupts
            break
        if judged.passed:
            coarse = Coarse(hidden, judged)
        elif len(part) > 1:
            parts += np.array_split(part, 2)
    return coarse


def _around(rows: sparse.csr_array, hidden: Bools, failing: Bools, every: Bools, cost: Floats, more: int) -> Bools:
    """With the cheapest cells of every relation that a failing cell is in, so many `more`."""
    wider = hidden.copy()
    for row in np.flatnonzero(abs(rows) @ failing.astype(np.float64) > 0).tolist():
        wider[_cheapest(rows, row, ~wider & every, cost)[:more]] = True
    return wider


def _closed(rows: sparse.csr_array, hidden: Bools, every: Bools, cost: Floats) -> Bools:
    """With the cheapest other cell of every relation in which one alone is hidden: that one follows from the rest."""
    hidden, ones = hidden.copy(), abs(rows).sign()
    while True:
        before = int(hidden.sum())
        for row in np.flatnonzero(ones @ hidden.astype(np.float64) == 1).tolist():
            if hidden[rows.indices[rows.indptr[row] : rows.indptr[row + 1]]].sum() == 1:
                hidden[_cheapest(rows, row, ~hidden & every, cost)[:1]] = True
        if int(hidden.sum()) == before:
            return hidden


def _cheapest(rows: sparse.csr_array, row: int, among: Bools, cost: Floats) -> Ints:
    """The cells of a relation, those that cost least first."""
    cells = rows.indices[rows.indptr[row] : rows.indptr[row + 1]]
    cells = cells[among[cells]]
    return np.asarray(cells[np.argsort(cost[cells], kind="stable")])
