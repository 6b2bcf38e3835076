"""The audit of a data set's questions: by each asker, and by everybody together."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import inf
from typing import TypeVar

from confide.answering.auditing.asked import Admit, AskedTable, asked_of
from confide.answering.auditing.counting import SMALL, Store
from confide.answering.auditing.families import core_families, table_families
from confide.answering.auditing.information import isolated_by_cells, least_tables
from confide.answering.auditing.isolated import Isolated
from confide.answering.auditing.pairs import isolated_by_pairs
from confide.answering.auditing.splits import cutting_splits
from confide.model.policy import Policy
from confide.site.habits import habits
from confide.site.ledger import Entry

__all__ = ["TOGETHER", "AuditFinding", "QuestionAudit", "audit_questions", "joined"]

K = TypeVar("K")

TOGETHER = "everybody together"
"""Who a finding is about that no single asker explains: accounts may collude."""

MOST_FAMILIES = 200
"""So many families of each kind are looked at for one asker, those with the most questions: it bounds what an audit costs."""

LEAST = 0.5
"""Expected small sets below which nothing is reported."""


@dataclass(frozen=True)
class AuditFinding:
    """One family of questions that isolates small sets, or one habit worth a look.

    `score` is the number of small sets that are expected to be told; a habit by itself tells none. `spread` is the standard
    deviation with which they are told, in units. `entries` are numbers of the ledger.
    """

    who: str
    dataset: str
    kind: str
    words: str
    questions: int
    score: float
    variables: tuple[str, ...] = ()
    spread: float | None = None
    entries: tuple[int, ...] = ()


@dataclass(frozen=True)
class QuestionAudit:
    """What the recorded questions isolate: findings, the worst first, and a score for each asker of each data set."""

    asked: int
    findings: tuple[AuditFinding, ...]
    scores: Mapping[tuple[str, str], float]
    """By asker (or everybody together) and data set."""
    limits: Mapping[str, float] = field(default_factory=dict)
    """What the policy allows, by data set; 0 for no limit."""
    unread: int = 0
    """Answered questions that no longer fit the codebook."""
    notes: tuple[str, ...] = ()

    @property
    def worst(self) -> float:
        return max(self.scores.values(), default=0.0)

    def above(self, limit: float | None = None) -> list[tuple[str, str]]:
        """Whose questions isolate more small sets than a limit, or than the policy allows, of which data set; the worst first."""
        keys = [key for key, score in self.scores.items() if score > self._allowed(key[1], limit)]
        return sorted(keys, key=lambda key: -self.scores[key])

    def _allowed(self, dataset: str, limit: float | None) -> float:
        return limit if limit is not None else self.limits.get(dataset, 0.0) or inf


def audit_questions(
    entries: Sequence[Entry], store: Store, admit: Admit, *, policy: Policy, who: str | None = None
) -> QuestionAudit:
    """The audit of the recorded questions of one data set; of one asker, if one is named."""
    told = list(asked_of(entries, admit))
    askers = sorted({entry.who for entry in entries})
    wanted = [name for name in askers if who in (None, name)]
    findings: list[AuditFinding] = []
    scores: dict[tuple[str, str], float] = {}
    notes: list[str] = []
    for name in wanted + ([TOGETHER] if who is None and len(askers) > 1 else []):
        own = [(entry, tables) for entry, tables in told if name in (TOGETHER, entry.who)]
        family = _Families(name, tuple(chain.from_iterable(tables for _, tables in own)), store)
        found = [*family.pairs(), *family.cells(), *family.splits()]
        scores[name, store.dataset.name] = _score(found)
        findings += found
        notes += family.notes()
        if name != TOGETHER:
            findings += _habits(name, store.dataset.name, [entry for entry, _ in own], policy.quota.per_day)
    unread = sum(entry.outcome == "released" and not tables for entry, tables in told)
    limits = {store.dataset.name: policy.audit.limit}
    return QuestionAudit(len(entries), tuple(_ranked(findings)), scores, limits, unread, tuple(notes))


def joined(audits: Iterable[QuestionAudit]) -> QuestionAudit:
    """The audits of several data sets as one."""
    parts = list(audits)
    return QuestionAudit(
        sum(part.asked for part in parts),
        tuple(_ranked(finding for part in parts for finding in part.findings)),
        {key: score for part in parts for key, score in part.scores.items()},
        {name: limit for part in parts for name, limit in part.limits.items()},
        sum(part.unread for part in parts),
        tuple(note for part in parts for note in part.notes),
    )


def _ranked(findings: Iterable[AuditFinding]) -> list[AuditFinding]:
    return sorted(findings, key=lambda finding: (-finding.score, finding.kind, finding.who))


def _score(findings: Iterable[AuditFinding]) -> float:
    """Pairs and cells are two ways to look at the same sets, so the larger sum; splits are some of the cells."""
    sums = dict.fromkeys(("pairs", "cells", "splits"), 0.0)
    for finding in findings:
        sums[finding.kind] += finding.score
    return max(sums["pairs"], sums["cells"])


def _habits(who: str, dataset: str, entries: Sequence[Entry], per_day: int) -> Iterator[AuditFinding]:
    for habit in habits(entries, per_day=per_day):
        yield AuditFinding(who, dataset, habit.kind, habit.words, len(habit.entries), 0.0, entries=habit.entries)


@dataclass(frozen=True, eq=False)
class _Families:
    """The questions of one asker, or of everybody, about one data set."""

    who: str
    questions: tuple[AskedTable, ...]
    store: Store
    partly: list[str] = field(default_factory=list)
    """The families that could not be looked at as a whole, by their variables."""
    left_out: list[int] = field(default_factory=list)
    """How many families were not looked at, for each kind of which there were too many."""

    def notes(self) -> Iterator[str]:
        """What the scores do not cover."""
        name = self.store.dataset.name
        if self.partly:
            yield (
                f"{name}, {self.who}: {len(self.partly)} families of questions, the first by {self.partly[0]}, are too many or cut "
                "too finely to be looked at as a whole; a part of each was looked at."
            )
        if self.left_out:
            yield f"{name}, {self.who}: the {sum(self.left_out)} smallest families of questions were not looked at."

    def pairs(self) -> Iterator[AuditFinding]:
        for by, members in self._largest(table_families(self.questions)):
            found = isolated_by_pairs(members, self.store)
            words = (
                f"Tables by {_listed(by)} over universes that differ by few units: {found.sets} cells of 1 to {SMALL} units "
                "change alone from one to the other."
            )
            yield from self._finding("pairs", found, words, by)

    def cells(self) -> Iterator[AuditFinding]:
        least = least_tables(self.store.noise)
        for cross, members in self._largest(core_families(self.questions, self.store.dataset, least=least)):
            found = isolated_by_cells(members, self.store)
            words = (
                f"Overlapping sums over the cross of {_listed(cross)} add up to {found.sets} single cells of 1 to {SMALL} "
                f"units, each known to within {found.spread or 0:.2f} units."
            )
            yield from self._finding("cells", found, words, cross)

    def splits(self) -> Iterator[AuditFinding]:
        for cut in cutting_splits(self.questions, self.store.dataset):
            found = isolated_by_cells(cut.questions, self.store)
            words = f"{cut.variable!r} was split in {cut.splits} ways that cut each other, over the table by {_listed(cut.table)}."
            yield from self._finding("splits", found, words, (*cut.table, cut.variable))

    def _largest(self, families: Mapping[K, list[AskedTable]]) -> list[tuple[K, list[AskedTable]]]:
        """The families with the most different questions; a single question is none."""
        sizes = {key: len({asked.told for asked in members}) for key, members in families.items()}
        several = sorted((key for key, size in sizes.items() if size > 1), key=lambda key: -sizes[key])
        if len(several) > MOST_FAMILIES:
            self.left_out.append(len(several) - MOST_FAMILIES)
        return [(key, families[key]) for key in several[:MOST_FAMILIES]]

    def _finding(self, kind: str, found: Isolated, words: str, variables: Iterable[str]) -> Iterator[AuditFinding]:
        names = tuple(sorted(set(variables)))
        if found.too_large:
            self.partly.append(_listed(names))
        if found.score >= LEAST:
            yield AuditFinding(
                self.who, self.store.dataset.name, kind, words, len(found.entries), found.score, names, found.spread,
                found.entries,
            )  # fmt: skip


def _listed(names: Iterable[str]) -> str:
    return " x ".join(repr(name) for name in sorted(names))
