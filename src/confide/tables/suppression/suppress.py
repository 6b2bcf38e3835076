"""Cell suppression (Fischetti and Salazar 2001): which others must go, so that nobody can work out the primary cells."""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from confide.arrays import Bools, Floats
from confide.errors import Fault, Mistake, nearest
from confide.tables.programs.deadline import Deadline, Progress
from confide.tables.suppression.audit import Audit, audit
from confide.tables.suppression.coarse import shown_again, wide_enough
from confide.tables.suppression.optimal import optimise
from confide.tables.suppression.problem import SuppressionProblem
from confide.tables.suppression.search import Pattern, improve, protect
from confide.tables.suppression.unprotectable import explain
from confide.tables.table.given import given_table
from confide.tables.table.table import Status, Table

__all__ = ["Suppressed", "suppress"]


METHODS = ("auto", "optimal", "fast")

SMALL = 1000
"""Up to so many cells that may be suppressed, the cheapest pattern is sought unless told otherwise."""


@dataclass(frozen=True, eq=False)
class Suppressed:
    """A table whose pattern of suppression passed its audit.

    `cost` is what the secondaries cost, `bound` what those of every sufficient pattern cost at least, or None if
    nobody looked. `complete` says that the search came to its end: the same table then always gets the same pattern.
    If time was over before every cell was protected, `unsearched` secondaries were added without a search: more than it takes.
    """

    table: Table
    audit: Audit
    cost: float
    bound: float | None
    method: str
    complete: bool
    seconds: float
    unsearched: int = 0

    @property
    def secondaries(self) -> list[int]:
        """The cells suppressed for the sake of others."""
        return np.flatnonzero(self.table.status == Status.SECONDARY).tolist()

    @property
    def gap(self) -> float | None:
        """By what share of the cost a pattern could be cheaper; 0 if none is, None if nobody looked."""
        if self.bound is None:
            return None
        return max(0.0, self.cost - self.bound) / self.cost if self.cost > 0 else 0.0

    @property
    def intervals(self) -> pa.Table:
        """The suppressed cells with their codes, true value, and the interval an outsider can work out."""
        return self.audit.intervals

    def report(self, path: str | Path) -> None:
        """Write a page about the pattern, for the custodian: it has true values."""
        from confide.tables.reports.intervals import report_of_intervals

        page = report_of_intervals("Suppression", self.table, self.audit.lower, self.audit.upper, notes=(repr(self),))
        page.write(path)

    def __repr__(self) -> str:
        primaries, cells = int(self.table.primary.sum()), len(self.table)
        words = [f"{len(self.secondaries)} secondary cells protect {primaries} primary ones of {cells:,}"]
        words += [f"cost {self.cost:,.10g}", *([] if self.gap is None else [_optimality(self.gap)])]
        words += [] if self.complete else [self._cut_short]
        return f"{', '.join([*words, 'audit passed'])}."

    @property
    def _cut_short(self) -> str:
        if not self.unsearched:
            return "the search was cut short"
        share = self.unsearched / len(self.secondaries)
        return f"time was over before every cell was protected, so {self.unsearched} of them ({share:.0%}) were added without a search"


def _optimality(gap: float) -> str:
    return "the least possible" if gap < 5e-7 else f"at most {gap:.1%} above the least possible"


def suppress(
    table: Table,
    *,
    cost: str | Floats = "value",
    method: str = "auto",
    attackers: str = "contributors",
    time_limit: float | None = 60.0,
    progress: Progress | None = None,
) -> Suppressed:
    """Choose the secondary suppressions of a table, as cheap as possible, and audit the result.

    `cost` says what to save: the "value", the "count" of contributors or the number of "cells" suppressed, the "given"
    costs of the table, or a number for each cell. The "fast" method is for tables of any size; "optimal" goes on until the pattern
    is proven to be the cheapest or time runs out, and then says how much cheaper one could be; "auto" does so for small
    tables. Linked and hierarchical tables are protected in one go, with all their relations. The time limit, in seconds,
    is for the search: when it is over, or somebody interrupts, the best pattern so far is audited. If it is over before every cell is
    protected, cells are added without a search until the audit passes: that pattern is coarse, and the result says how many they are.

    Promise: the pattern passes its audit against the same `attackers` (`tables.audit`). Empty cells and those that must be
    published are never suppressed. The same table gets the same pattern, unless time ran out.
    Reference: Fischetti and Salazar (2001), Management Science 47, for what is optimal.

    >>> from confide import tables
    >>> people = {"sex": list("ffmmmmff"), "town": list("abaabbbb")}
    >>> t = tables.Table.from_microdata(people, by=["sex", "town"]).flag(tables.Threshold(2))
    >>> suppress(t, cost="cells").table.published()["mark"].to_pylist()
    ['', '', '', '', 'c', 'c', '', 'c', 'c']
    """
    if method not in METHODS:
        raise Mistake(
            f"There is no method {method!r}.", suggestions=nearest(method, METHODS) or [f"{', '.join(METHODS)}."]
        )
    started = time.monotonic()
    table = given_table(table)
    deadline = Deadline(limit=time_limit, progress=progress)
    problem = SuppressionProblem.of(table, cost=cost, attackers=attackers)
    with deadline.running():
        first = protect(problem, deadline)
        if first.failed:
            raise explain(problem, first.failed)
        if deadline.interrupted and first.unseen:
            raise KeyboardInterrupt
    call = _Call(attackers, deadline, started)
    if first.unseen:
        return _without_search(table, problem, first.pattern.suppressed, call)
    return _searched(table, problem, first.pattern, method, call)


class _Call(NamedTuple):
    """What was asked for: against whom, until when, and when that was."""

    attackers: str
    deadline: Deadline
    started: float


def _judged(table: Table, suppressed: Bools, attackers: str, deadline: Deadline) -> Audit:
    """The audit of a pattern, for as long as a deadline leaves time; an interrupt is raised."""
    limit = None if deadline.limit is None else deadline.limit * max(1e-6, 1 - deadline.share)
    judged = audit(_with(table, suppressed), attackers=attackers, time_limit=limit, progress=deadline.progress)
    if judged.undecided and limit is None:  # without a limit, only an interrupt ends an audit before its time
        raise KeyboardInterrupt
    return judged


def _searched(table: Table, problem: SuppressionProblem, pattern: Pattern, method: str, call: _Call) -> Suppressed:
    """What is made of a first pattern in the time that is left."""
    deadline = call.deadline
    with deadline.running():
        improve(pattern, deadline)
        suppressed, total, bound = pattern.suppressed, pattern.cost, None
        if method == "optimal" or (method == "auto" and (~problem.shown).sum() <= SMALL):
            proof = optimise(problem, suppressed, deadline)
            suppressed, total, bound = proof.suppressed, proof.cost, proof.bound
    complete = not deadline.over
    judged = _judged(table, suppressed, call.attackers, Deadline(progress=deadline.progress))
    if not judged.passed:
        raise Fault("A pattern of suppression failed its audit and was thrown away.")
    used = "optimal" if bound is not None else "fast"
    return Suppressed(judged.table, judged, total, bound, used, complete, time.monotonic() - call.started)


def _without_search(table: Table, problem: SuppressionProblem, found: Bools, call: _Call) -> Suppressed:
    """A pattern with the cells that the search has found, and others around what these do not protect."""
    unlimited = Deadline(progress=call.deadline.progress)
    coarse = wide_enough(problem, found, lambda hidden: _judged(table, hidden, call.attackers, unlimited))
    if not coarse.audit.passed:
        cells = {failure.cell for failure in coarse.audit.failures}
        raise explain(problem, [demand for demand in problem.demands() if demand.cell in cells])
    coarse = shown_again(
        problem, coarse, coarse.suppressed & ~found,
        lambda hidden: _judged(table, hidden, call.attackers, call.deadline), call.deadline,
    )  # fmt: skip
    cost = float(problem.cost[coarse.suppressed & ~problem.primary].sum())
    seconds, added = time.monotonic() - call.started, int((coarse.suppressed & ~found).sum())
    return Suppressed(coarse.audit.table, coarse.audit, cost, None, "fast", False, seconds, added)


def _with(table: Table, suppressed: Bools) -> Table:
    """The table with this pattern; secondaries of an earlier one are forgotten."""
    status = np.where(table.status == Status.SECONDARY, Status.SAFE, table.status)
    status = np.where(suppressed & (status == Status.SAFE), Status.SECONDARY, status)
    return replace(table, status=status.astype(np.int8))
