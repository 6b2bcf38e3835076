"""Cell suppression (Fischetti and Salazar 2001): which others must go, so that nobody can work out the primary cells."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from confide.arrays import Bools, Floats
from confide.errors import Fault, Mistake, nearest
from confide.tables.programs.deadline import Deadline, Progress
from confide.tables.suppression.audit import Audit, audit
from confide.tables.suppression.optimal import optimise
from confide.tables.suppression.problem import Demand, SuppressionProblem
from confide.tables.suppression.search import improve, protect
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
    """

    table: Table
    audit: Audit
    cost: float
    bound: float | None
    method: str
    complete: bool
    seconds: float

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
        words += [] if self.complete else ["the search was cut short"]
        return f"{', '.join([*words, 'audit passed'])}."


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
    is for the search: when it is over, or somebody interrupts, the best pattern so far is audited.

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
        pattern, failed = protect(problem, deadline)
        if failed:
            raise _impossible(problem, failed, deadline)
        improve(pattern, deadline)
        suppressed, total, bound = pattern.suppressed, pattern.cost, None
        if method == "optimal" or (method == "auto" and (~problem.shown).sum() <= SMALL):
            proof = optimise(problem, suppressed, deadline)
            suppressed, total, bound = proof.suppressed, proof.cost, proof.bound
    complete = not deadline.over
    judged = audit(_with(table, suppressed), attackers=attackers, time_limit=None, progress=progress)
    if judged.undecided:  # without a limit, only an interrupt ends an audit before its time
        raise KeyboardInterrupt
    if not judged.passed:
        raise Fault("A pattern of suppression failed its audit and was thrown away.")
    used = "optimal" if bound is not None else "fast"
    return Suppressed(judged.table, judged, total, bound, used, complete, time.monotonic() - started)


def _with(table: Table, suppressed: Bools) -> Table:
    """The table with this pattern; secondaries of an earlier one are forgotten."""
    status = np.where(table.status == Status.SECONDARY, Status.SAFE, table.status)
    status = np.where(suppressed & (status == Status.SAFE), Status.SECONDARY, status)
    return replace(table, status=status.astype(np.int8))


def _impossible(problem: SuppressionProblem, failed: Sequence[Demand], deadline: Deadline) -> Mistake:
    if deadline.over:
        many = len(problem.demands())
        return Mistake(
            f"The search ended before every cell was protected, at {many - len(failed):,} of {many:,} levels, so there is no pattern.",
            suggestions=[
                "Give a longer time_limit, or None: progress tells how fast it goes.",
                "Combine codes or leave a variable out: most cells of a sparse table are primary.",
                "Round the table or adjust it, which takes no search for a pattern (tables.round, tables.adjust).",
            ],
        )
    return explain(problem, failed)
