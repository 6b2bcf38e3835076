"""Audits of suppression, the attacker's problems (Fischetti and Salazar 2001): can anyone work out what must stay uncertain?"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from confide.arrays import Bools, Floats
from confide.tables.programs.deadline import Progress
from confide.tables.suppression.intervals import intervals
from confide.tables.suppression.problem import Demand, SuppressionProblem
from confide.tables.suppression.protection import OUTSIDER
from confide.tables.suppression.search import Pattern
from confide.tables.table.given import given_table
from confide.tables.table.table import Table

__all__ = ["Audit", "Failure", "audit", "unmet"]


MET = 1e-5
"""A level is met to within this share of it."""

SIDES = {1: "upper", -1: "lower", 0: "sliding"}


@dataclass(frozen=True)
class Failure:
    """A cell somebody can know too well: which `level` it misses, and against whom.

    The attacker is the outsider (-1), or the insider with this number in the `SuppressionProblem`. A primary cell that a pattern
    made elsewhere does not suppress misses the level "shown".
    """

    cell: int
    level: str
    attacker: int


@dataclass(frozen=True, eq=False)
class Audit:
    """The judgement on a pattern: between `lower` and `upper` an outsider can enclose each cell, `failures` are too narrow.

    Who attacks: an outsider, who knows the relations, the bounds and all that is published; and contributors, who know
    besides what they gave (a sole contributor: their cell). A holding is one contributor.
    """

    table: Table
    lower: Floats
    upper: Floats
    failures: tuple[Failure, ...]

    @property
    def passed(self) -> bool:
        """Whether every primary cell is protected as it must be, against everyone."""
        return not self.failures

    @property
    def intervals(self) -> pa.Table:
        """The suppressed cells with their codes, true value, the interval an outsider can work out, and the levels missed."""
        cells = np.flatnonzero(self.table.suppressed).tolist()
        every = {name: self.table.codes(name) for name in self.table.variables}
        codes = {name: [column[cell] for cell in cells] for name, column in every.items()}
        numbers = {"value": self.table.value, "lower": self.lower, "upper": self.upper}
        primary = {"primary": self.table.primary[cells]}
        words = self.missed
        missed = {"missed": [words.get(cell, "") for cell in cells]}
        return pa.table(codes | primary | {name: column[cells] for name, column in numbers.items()} | missed)

    @property
    def missed(self) -> dict[int, str]:
        """The cells that can be known too well, and in words which levels they miss, and against whom."""
        cells: dict[int, list[str]] = {}
        for failure in self.failures:
            level = failure.level if failure.attacker == OUTSIDER else f"{failure.level} against a contributor"
            cells.setdefault(failure.cell, []).append(level)
        return {cell: ", ".join(dict.fromkeys(levels)) for cell, levels in cells.items()}

    @property
    def recovered(self) -> list[int]:
        """The suppressed cells of which only one value is possible: there is no point in suppressing them."""
        width = self.upper - self.lower
        return np.flatnonzero(
            self.table.suppressed & (width <= 1e-9 * np.maximum(1.0, np.abs(self.table.value)))
        ).tolist()

    def report(self, path: str | Path) -> None:
        """Write a page about the pattern, for the custodian: it has true values."""
        from confide.tables.reports.intervals import report_of_intervals

        page = report_of_intervals(
            "Audit", self.table, self.lower, self.upper, failed=self.missed, notes=(self.verdict,)
        )
        page.write(path)

    def _sentences(self) -> list[str]:
        """What is wrong, in words."""
        shown = self.failures[:10]
        said = [
            f"{self.table.name(failure.cell)} misses its {failure.level} level{_who(failure)}." for failure in shown
        ]
        more = [f"{len(self.failures) - len(shown)} more levels are missed."] if len(self.failures) > len(shown) else []
        none = [f"{len(self.recovered)} suppressed cells can be computed exactly."] if self.recovered else []
        return said + more + none

    @property
    def verdict(self) -> str:
        """The outcome in a sentence."""
        outcome = (
            "passed"
            if self.passed
            else f"FAILED for {len(self.missed)} of {int(self.table.primary.sum())} primary cells"
        )
        shown = sum(failure.level == "shown" for failure in self.failures)
        return f"Audit of {int(self.table.suppressed.sum()) - shown} suppressed cells: {outcome}."

    def __repr__(self) -> str:
        return " ".join([self.verdict, *self._sentences()])


def _who(failure: Failure) -> str:
    return "" if failure.attacker == OUTSIDER else " against a contributor who knows their own cells"


def audit(table: Table, *, attackers: str = "contributors", progress: Progress | None = None) -> Audit:
    """Judge the pattern of a table, made here or elsewhere: which primary cells somebody can know too well.

    `attackers` says against whom, each with all before: the "outsider" who sees it, "singletons" who are alone in a cell, all
    "contributors" whom the table names, "coalitions" of any two of the largest of a cell.

    Promise: the intervals are exact, for real numbers: the least and the largest value that fit all relations, bounds and
    published cells. Counts are whole numbers, so an interval is rounded inwards, and a level is met only if a table of
    whole numbers was found that meets it. A level is met to within a hundred-thousandth of it. A primary cell without
    levels must not be known exactly: counts must have two possible values, others a thousandth of their value.
    Reference: Fischetti and Salazar (2001), Management Science 47, the attacker's problems; insiders as further attackers.

    >>> from confide import tables
    >>> t = tables.Table.from_microdata({"sex": ["f", "m", "m", "m"]}, by=["sex"]).flag(tables.Threshold(2))
    >>> audit(t).verdict
    'Audit of 1 suppressed cells: FAILED for 1 of 1 primary cells.'
    """
    table = given_table(table)
    problem = SuppressionProblem.of(table, attackers=attackers)
    suppressed = table.suppressed
    lower, upper = intervals(problem, suppressed, progress=_part(progress, 0.0, 0.7))
    narrow = _narrow(problem, lower, upper)
    others = unmet(problem, suppressed, but={failure.cell for failure in narrow}, progress=_part(progress, 0.7, 0.3))
    return Audit(table, lower, upper, tuple(sorted([*narrow, *others], key=lambda failure: failure.cell)))


def _part(progress: Progress | None, start: float, length: float) -> Progress | None:
    if progress is None:
        return None
    tell: Callable[[float, str], None] = progress
    return lambda done, words: tell(start + length * done, words)


def _narrow(problem: SuppressionProblem, lower: Floats, upper: Floats) -> list[Failure]:
    """What the intervals say."""
    failures = []
    for demand in problem.demands():
        value, low, high = problem.values[demand.cell], lower[demand.cell], upper[demand.cell]
        reach = {1: high - value, -1: value - low, 0: high - low}[demand.side]
        if reach < demand.amount * (1 - MET):
            failures.append(Failure(demand.cell, SIDES[demand.side], OUTSIDER))
    return failures


def unmet(
    problem: SuppressionProblem, suppressed: Bools, *, but: set[int] | None = None, progress: Progress | None = None
) -> list[Failure]:
    """The levels for which no witness exists against some attacker, in cells other than `but`."""
    pattern = Pattern(problem, among=suppressed)
    failures = []
    for number, demand in enumerate(pattern.demands):
        if demand.cell not in (but or ()) and not (suppressed[demand.cell] and pattern.serve([number])):
            failures += [Failure(demand.cell, SIDES[demand.side], who) for who in _undoing(pattern, demand, suppressed)]
        if progress:
            progress((number + 1) / len(pattern.demands), "witnesses")
    return failures


def _undoing(pattern: Pattern, demand: Demand, suppressed: Bools) -> list[int]:
    if not suppressed[demand.cell]:
        return [OUTSIDER]
    return pattern.protection.undoing(demand, np.ones(len(suppressed)), ~suppressed)
