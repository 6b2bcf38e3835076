"""Audits of suppression, the attacker's problems (Fischetti and Salazar 2001): can anyone work out what must stay uncertain?"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from confide.arrays import Bools, Floats
from confide.tables.programs.deadline import Deadline, Progress
from confide.tables.suppression.at_once.undone import undone
from confide.tables.suppression.intervals import intervals
from confide.tables.suppression.problem import Demand, SuppressionProblem
from confide.tables.suppression.protection import OUTSIDER
from confide.tables.suppression.search import Pattern
from confide.tables.table.given import given_table
from confide.tables.table.table import Table

__all__ = ["UNDECIDED", "Audit", "Ends", "Failure", "audit", "narrow", "unmet"]


MET = 1e-5
"""A level is met to within this share of it."""

MANY = 5_000
"""So many suppressed cells are looked at together."""

UNDECIDED = "not decided: "
"""How what is said of a level begins for which there was no time."""

SIDES = {1: "upper", -1: "lower", 0: "sliding"}


@dataclass(frozen=True)
class Failure:
    """A cell somebody can know too well: which `level` it misses, and against whom.

    The attacker is the outsider (-1), or the insider with this number in the `SuppressionProblem`. A primary cell that a pattern
    made elsewhere does not suppress misses the level "shown".

    If time was over before that was found out, `undecided` says for how many attackers, this one among them. Such a cell counts
    as not protected.
    """

    cell: int
    level: str
    attacker: int
    undecided: int = 0


@dataclass(frozen=True, eq=False)
class Ends:
    """What an outsider can work out of the cells that are `hidden`; worked out when somebody asks, until the `deadline`."""

    problem: SuppressionProblem
    hidden: Bools
    deadline: Callable[[], Deadline]
    progress: Progress | None = None

    @cached_property
    def both(self) -> tuple[Floats, Floats]:
        """The least and the largest value of each cell; no number where there was no time."""
        return intervals(self.problem, self.hidden, deadline=self.deadline(), progress=self.progress)

    @property
    def many(self) -> bool:
        """Whether so many cells are hidden that one program for each would take too long."""
        return int(self.hidden.sum()) > MANY and not self.problem.whole


@dataclass(frozen=True, eq=False)
class Audit:
    """The judgement on a pattern: an outsider can enclose each cell between `lower` and `upper`, `failures` are too narrow.

    Who attacks: an outsider, who knows the relations, the bounds and all that is published; and contributors, who know
    besides what they gave (a sole contributor: their cell). A holding is one contributor.
    """

    table: Table
    ends: Ends
    failures: tuple[Failure, ...]
    kind: str = "suppressed"

    @property
    def lower(self) -> Floats:
        """The least value that each cell can have for an outsider."""
        return self.ends.both[0]

    @property
    def upper(self) -> Floats:
        """The largest value that each cell can have for an outsider."""
        return self.ends.both[1]

    @property
    def passed(self) -> bool:
        """Whether every primary cell is protected as it must be, against everyone; not if any could not be decided in time."""
        return not self.failures

    @property
    def intervals(self) -> pa.Table:
        """The cells not shown as they are: codes, true value, the interval an outsider can work out, and the levels missed."""
        cells = np.flatnonzero(self.hidden).tolist()
        every = {name: self.table.codes(name) for name in self.table.variables}
        codes = {name: [column[cell] for cell in cells] for name, column in every.items()}
        numbers = {"value": self.table.value, "lower": self.lower, "upper": self.upper}
        primary = {"primary": self.table.primary[cells]}
        words = self.missed
        missed = {"missed": [words.get(cell, "") for cell in cells]}
        ends = {name: pa.array(column[cells], from_pandas=True) for name, column in numbers.items()}
        return pa.table(codes | primary | ends | missed)

    @property
    def hidden(self) -> Bools:
        """The cells that are not shown as they are, and those that must not be."""
        return self.ends.hidden | self.table.primary

    @property
    def missed(self) -> dict[int, str]:
        """The cells that can be known too well, and in words which levels they miss, and against whom."""
        cells: dict[int, list[str]] = {}
        for failure in sorted(self.failures, key=lambda failure: failure.undecided > 0):
            level = failure.level if failure.attacker == OUTSIDER else f"{failure.level} against a contributor"
            cells.setdefault(failure.cell, []).append(f"{UNDECIDED}{level}" if failure.undecided else level)
        return {cell: ", ".join(dict.fromkeys(levels)) for cell, levels in sorted(cells.items())}

    @property
    def undecided(self) -> list[int]:
        """The cells of which nobody had the time to find out whether they can be known too well; they count as not protected."""
        return [cell for cell, words in self.missed.items() if words.startswith(UNDECIDED)]

    @property
    def recovered(self) -> list[int]:
        """The cells not shown as they are of which only one value is possible: there is no point in hiding them."""
        width = self.upper - self.lower
        return np.flatnonzero(self.hidden & (width <= 1e-9 * np.maximum(1.0, np.abs(self.table.value)))).tolist()

    def report(self, path: str | Path) -> None:
        """Write a page about the pattern, for the custodian: it has true values."""
        from confide.tables.reports.intervals import report_of_intervals

        page = report_of_intervals(
            "Audit", self.table, self.lower, self.upper,
            failed=self.missed, hidden=self.hidden, kind=self.kind, notes=(self.verdict,),
        )  # fmt: skip
        page.write(path)

    def _sentences(self) -> list[str]:
        """What is wrong, in words."""
        failures = [failure for failure in self.failures if not failure.undecided]
        shown = failures[:10]
        said = [
            f"{self.table.name(failure.cell)} misses its {failure.level} level{_who(failure)}." for failure in shown
        ]
        more = [f"{len(failures) - len(shown)} more levels are missed."] if len(failures) > len(shown) else []
        exact = [] if self.ends.many else self.recovered
        none = [f"{len(exact)} {self.kind} cells can be computed exactly."] if exact else []
        return said + more + none

    @property
    def verdict(self) -> str:
        """The outcome in a sentence, and if time was over what was left and what to do."""
        primary, undecided = int(self.table.primary.sum()), set(self.undecided)
        failed = len(self.missed) - len(undecided)
        outcome = f"FAILED for {failed} of {primary} primary cells" if failed else "passed"
        said = f"Audit of {int(self.ends.hidden.sum())} {self.kind} cells: "
        if not undecided:
            return f"{said}{outcome}."
        left = sum(failure.undecided for failure in self.failures if failure.cell in undecided)
        outcome = f"{outcome}; " if failed else ""
        return (
            f"{said}{outcome}NOT DECIDED for {len(undecided)} of {primary} primary cells when time was over, so they count as not "
            f"protected ({left:,} pairs of a level and an attacker are left). Give more time, or fewer attackers."
        )

    def __repr__(self) -> str:
        return " ".join([self.verdict, *self._sentences()])


def _who(failure: Failure) -> str:
    return "" if failure.attacker == OUTSIDER else " against a contributor who knows their own cells"


def audit(
    table: Table,
    *,
    attackers: str = "contributors",
    time_limit: float | None = 600.0,
    progress: Progress | None = None,
) -> Audit:
    """Judge the pattern of a table, made here or elsewhere: which primary cells somebody can know too well.

    `attackers` says against whom, each with all before: the "outsider" who sees it, "singletons" who are alone in a cell, all
    "contributors" whom the table names, "coalitions" of any two of the largest of a cell. When the time limit, in seconds, is over,
    or somebody interrupts, the cells that are not decided count as not protected. Of a table with very many suppressed cells the
    intervals are worked out when somebody asks for them, with the same limit; what takes longer is no number.

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
    deadline = Deadline(limit=time_limit, progress=progress)
    problem = SuppressionProblem.of(table, attackers=attackers)
    ends = Ends(problem, table.suppressed, lambda: deadline, _part(progress, 0.0, 0.7))
    with deadline.running():
        if ends.many:
            failures = _together(problem, table.suppressed, deadline)
            ends = replace(ends, deadline=lambda: Deadline(limit=time_limit), progress=progress)
        else:
            failures = _one_by_one(ends, deadline)
    return Audit(table, ends, tuple(sorted(failures, key=lambda failure: failure.cell)))


def _one_by_one(ends: Ends, deadline: Deadline) -> list[Failure]:
    """What the intervals say, and for the cells they say nothing against, whether every demand has its witnesses."""
    known = narrow(ends.problem, *ends.both)
    but = {failure.cell for failure in known}
    return known + unmet(ends.problem, ends.hidden, deadline, but=but, progress=_part(deadline.progress, 0.7, 0.3))


def _together(problem: SuppressionProblem, suppressed: Bools, deadline: Deadline) -> list[Failure]:
    """The demands that somebody undoes, looked at all at once, but for cells that may slide both ways."""
    up, down = problem.room
    demands = {_one_way(demand, up, down): demand for demand in problem.demands()}
    both = {demand.cell for demand in demands if not demand.side}
    aside = [demand for demand in demands if demand.cell not in both]
    found = [(demands[one.demand], one) for one in undone(problem, suppressed, aside, deadline)]
    failures = [Failure(asked.cell, SIDES[asked.side], one.attacker, one.undecided) for asked, one in found]
    return failures + unmet(problem, suppressed, deadline, but={demand.cell for demand in aside})


def _one_way(demand: Demand, up: Floats, down: Floats) -> Demand:
    """The demand of a cell that can slide one way only, as one to that side."""
    ways = bool(up[demand.cell] > 0), bool(down[demand.cell] > 0)
    return demand if demand.side or ways[0] == ways[1] else replace(demand, side=1 if ways[0] else -1)


def _part(progress: Progress | None, start: float, length: float) -> Progress | None:
    if progress is None:
        return None
    tell: Callable[[float, str], None] = progress
    return lambda done, words: tell(start + length * done, words)


def narrow(problem: SuppressionProblem, lower: Floats, upper: Floats) -> list[Failure]:
    """What the intervals say."""
    failures = []
    for demand in problem.demands():
        value, low, high = problem.values[demand.cell], lower[demand.cell], upper[demand.cell]
        reach = {1: high - value, -1: value - low, 0: high - low}[demand.side]
        if not reach >= demand.amount * (1 - MET):
            sure = Failure(demand.cell, SIDES[demand.side], OUTSIDER)
            failures.append(_no_time(problem, demand) if np.isnan(reach) else sure)
    return failures


def _no_time(problem: SuppressionProblem, demand: Demand) -> Failure:
    return Failure(demand.cell, SIDES[demand.side], OUTSIDER, undecided=1 + len(problem.insiders))


def unmet(
    problem: SuppressionProblem,
    suppressed: Bools,
    deadline: Deadline,
    *,
    but: set[int] | None = None,
    progress: Progress | None = None,
) -> list[Failure]:
    """The levels for which no witness exists against some attacker, or was found in time, in cells other than `but`."""
    if deadline.over:
        return [_no_time(problem, demand) for demand in problem.demands() if demand.cell not in (but or ())]
    pattern = Pattern(problem, among=suppressed)
    pattern.finder.solver.deadline = deadline
    failures = []
    for number, demand in enumerate(pattern.demands):
        if demand.cell in (but or ()):
            continue
        if deadline.over:
            failures.append(_no_time(problem, demand))
        elif not (suppressed[demand.cell] and pattern.serve([number])):
            failures += _failures(pattern, demand, suppressed, deadline)
        if progress:
            progress((number + 1) / len(pattern.demands), "witnesses")
    return failures


def _failures(pattern: Pattern, demand: Demand, suppressed: Bools, deadline: Deadline) -> list[Failure]:
    """Against whom a demand fails that has no witness for all; undecided if time was over, as a search may have been cut short."""
    undoing = _undoing(pattern, demand, suppressed)
    if deadline.over:
        return [_no_time(pattern.problem, demand)]
    return [Failure(demand.cell, SIDES[demand.side], who) for who in undoing]


def _undoing(pattern: Pattern, demand: Demand, suppressed: Bools) -> list[int]:
    if not suppressed[demand.cell]:
        return [OUTSIDER]
    return pattern.protection.undoing(demand, np.ones(len(suppressed)), ~suppressed)
