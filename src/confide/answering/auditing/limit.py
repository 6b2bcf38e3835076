"""A limit on what the questions of one person, or of everybody, isolate: kept up to date question by question."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from confide.answering.analysis import Admitted
from confide.answering.auditing.asked import Admit, AskedTable, asked_of, asked_tables
from confide.answering.auditing.counting import Store
from confide.answering.auditing.families import Cross, core_of, cross_of, widest, within
from confide.answering.auditing.information import isolated_by_cells, least_tables
from confide.answering.auditing.pairs import isolated_by_pairs
from confide.model.request import Request
from confide.site.ledger import Entry

__all__ = ["AskedSoFar", "QuestionLimit"]


@dataclass(eq=False)
class AskedSoFar:
    """The different tables told to one person, or to everybody, and what each family of them isolates.

    A table that was told before tells nothing new; a new one changes the families that it belongs to, and only these
    are looked at again.
    """

    store: Store
    tables: dict[tuple[str, ...], dict[Any, AskedTable]] = field(default_factory=dict)
    crosses: dict[Cross, list[AskedTable]] = field(default_factory=dict)
    cores: dict[Cross, Cross] = field(default_factory=dict)
    pairs: dict[tuple[str, ...], float] = field(default_factory=dict)
    cells: dict[Cross, float] = field(default_factory=dict)

    def add(self, tables: Iterable[AskedTable]) -> float:
        """Take in tables that are told; the score is then that of `audit_questions`."""
        new = [asked for asked in tables if asked.told not in self.tables.get(asked.by, {})]
        for asked in new:
            self.tables.setdefault(asked.by, {})[asked.told] = asked
            self.crosses.setdefault(cross_of(asked, self.store.dataset), []).append(asked)
        for by in {asked.by for asked in new}:
            self.pairs[by] = isolated_by_pairs(tuple(self.tables[by].values()), self.store).score
        self._renew({cross_of(asked, self.store.dataset) for asked in new})
        return self.score

    @property
    def score(self) -> float:
        return max(sum(self.pairs.values()), sum(self.cells.values()))

    def trial(self, tables: Iterable[AskedTable]) -> "AskedSoFar":
        """A copy in which the tables are told; what is in common is shared or copied without being looked at again."""
        members = {by: dict(told) for by, told in self.tables.items()}
        crosses = {cross: list(asked) for cross, asked in self.crosses.items()}
        found = AskedSoFar(self.store, members, crosses, dict(self.cores), dict(self.pairs), dict(self.cells))
        found.add(tables)
        return found

    def _renew(self, changed: set[Cross]) -> None:
        """Look again at the crosses around those that have a new table."""
        sizes = {cross: len(asked) for cross, asked in self.crosses.items()}
        least = least_tables(self.store.noise)
        for cross in self.crosses:
            if any(part <= cross for part in changed):
                self.cores[cross] = core_of(cross, sizes, least)
        before, self.cells = self.cells, {}
        for core in widest(self.cores.values()):
            if core in before and not any(part <= core for part in changed):
                self.cells[core] = before[core]
            else:
                self.cells[core] = isolated_by_cells(within(core, self.crosses), self.store).score


class QuestionLimit:
    """Says whether an answer would bring what its asker, or everybody, can isolate of a data set above a limit.

    Promise: what it says depends on the questions answered before, the codebook, and counts as rules see them. An answer that
    was given to somebody may be given to them again. Safe to share among threads.
    """

    def __init__(self, store: Store, *, limit: float, entries: Iterable[Entry], admit: Admit) -> None:
        """The questions of `entries` were answered before; those of other data sets must not be among them."""
        self._store, self._limit, self._lock = store, limit, Lock()
        self._everybody = AskedSoFar(store)
        self._askers: dict[str, AskedSoFar] = {}
        self.take_in(entries, admit=admit)

    def take_in(self, entries: Iterable[Entry], *, admit: Admit) -> None:
        """Take in what was answered, also by other processes; what was taken in before changes nothing."""
        told: dict[str, list[AskedTable]] = {}
        for entry, tables in asked_of(entries, admit):
            told.setdefault(entry.who, []).extend(tables)
        with self._lock:
            for who, answered in told.items():
                self._of(who).add(answered)
            self._everybody.add(asked for answered in told.values() for asked in answered)

    def allows(self, question: Admitted[Request[Any]], who: str) -> bool:
        """Whether the question may be answered; if so it counts as answered."""
        tables = asked_tables(question, -1)
        with self._lock:
            own, everybody = (sofar.trial(tables) for sofar in (self._of(who), self._everybody))
            if any(self._above(*pair) for pair in ((self._of(who), own), (self._everybody, everybody))):
                return False
            self._askers[who], self._everybody = own, everybody
        return True

    def _above(self, before: AskedSoFar, after: AskedSoFar) -> bool:
        """Above the limit, and because of this question: who is above it already may still ask what adds nothing."""
        return after.score > self._limit and after.score > before.score

    def _of(self, who: str) -> AskedSoFar:
        return self._askers.setdefault(who, AskedSoFar(self._store))
