"""What an attack has in hand: the public codebook and policy, what is known of the targets, and questions to ask."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from confide.arrays import Floats, Ints
from confide.attacks.claims import NOBODY, Known, NotApplicable
from confide.client import Site
from confide.errors import Denied, Fault, Mistake, Refused
from confide.model.catalog.dataset import Dataset
from confide.model.formula import read_formula
from confide.model.model_release import ModelRelease
from confide.model.policy import Policy
from confide.model.release import Column, Release
from confide.model.request import CorrelationRequest, Family, Measure, RegressionRequest, Request, TableRequest
from confide.model.universe import EVERYONE, Piece, Universe

__all__ = ["Intruder", "Spent", "Where", "universe", "values"]

R = TypeVar("R")

Where = Universe | Mapping[str, Iterable[str]] | Iterable[Mapping[str, Iterable[str]]]

TRIES = 4
"""So often a question is put again when the network drops; each time after twice the wait."""

MANY = 60
"""After so many questions one knows whether they get through."""


class Spent(Exception):
    """No more questions can be asked; says why."""


def universe(where: Where) -> Universe:
    """A universe from one piece, or a list of pieces, as codes by variable."""
    if isinstance(where, Universe):
        return where
    pieces = [where] if isinstance(where, Mapping) else list(where)
    return Universe(tuple(Piece.of(piece) for piece in pieces if piece))


def _nothing_to_simulate(records: Mapping[str, Ints]) -> AbstractContextManager[Site]:
    raise NotApplicable("Only the runner of attacks can open a site of the intruder's own.")


@dataclass
class Intruder:
    """Asks a site through the public client, and counts.

    `before` is the same site as it was without the targets, for attacks on updates and on what surrounds an answer.
    `simulate` opens a site of their own with records that they invent: they have the code and the policy, and draw a secret.
    """

    site: Site
    book: Dataset
    policy: Policy
    rng: np.random.Generator
    questions: int
    known: Known = NOBODY
    before: "Intruder | None" = None
    progress: Callable[[int], None] = lambda asked: None
    wait: float = 1.0
    most: int = 10**9
    """No more than this, whatever the attack does with `questions`."""
    asked: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    mistakes: int = 0
    simulate: Callable[[Mapping[str, Ints]], AbstractContextManager[Site]] = _nothing_to_simulate

    @property
    def left(self) -> int:
        """So many questions may still be asked."""
        return min(self.questions, self.most) - self.asked

    def afresh(self) -> "Intruder":
        """The same with all questions still to be asked, for an attack that asks two sites."""
        return replace(self, asked=0, mistakes=0, refused=Counter())

    @property
    def hopeless(self) -> bool:
        """Whether nearly everything is refused: no random question will get through."""
        return self.asked >= MANY and self.refused.total() > 0.9 * self.asked

    def table(
        self, *by: str, where: Where = EVERYONE, measure: str | tuple[str, ...] = "count", of: str | None = None
    ) -> Release | None:
        """The protected table by these variables, or None if it is refused."""
        measures = (measure,) if isinstance(measure, str) else measure
        request = TableRequest(self.book.name, by, (), universe(where), tuple(map(Measure, measures)), of)
        return self.ask(request)

    def regression(
        self, formula: str, *, where: Where = EVERYONE, family: str = "gaussian", diagnostics: bool = False
    ) -> "ModelRelease[RegressionRequest] | None":
        """A protected regression, or None if it is refused, or cannot even be written."""
        try:
            request = RegressionRequest(self.book.name, read_formula(formula), universe(where), Family(family))
        except Mistake:
            # What the language of formulas cannot say is tried all the same, and costs a question as anything does.
            self.asked += 1
            self.mistakes += 1
            return None
        return self.ask(request, diagnostics=diagnostics)

    def correlation(self, *variables: str, where: Where = EVERYONE) -> "ModelRelease[CorrelationRequest] | None":
        """Protected correlations, or None if they are refused."""
        return self.ask(CorrelationRequest(self.book.name, variables, universe(where)))

    def ask(self, request: Request[R], *, diagnostics: bool = False) -> R | None:
        """The answer; None if it is refused, or is a mistake. Raises Spent when nothing more can be asked."""
        return self._put(lambda: _with_declared_zeros(self.site.ask(request, diagnostics=diagnostics)))

    def _put(self, question: Callable[[], R]) -> R | None:
        if self.left <= 0:
            raise Spent("")
        self.asked += 1
        self.progress(self.asked)
        try:
            return self._patiently(question)
        except Refused as refused:
            self._refused(refused)
        except Mistake:
            self.mistakes += 1
        return None

    def outcome(self, request: Request[Any]) -> frozenset[str]:
        """How a question ends, for attacks that look at nothing else: every rule that refuses it, or "mistake", or nothing."""
        seen: frozenset[str] = frozenset()

        def question() -> None:
            nonlocal seen
            try:
                self.site.ask(request)
            except Refused as refused:
                seen = frozenset(reason.rule for reason in refused.reasons)
                raise
            except Mistake:
                seen = frozenset({"mistake"})
                raise

        self._put(question)
        return seen

    def _refused(self, refused: Refused) -> None:
        rules = [reason.rule for reason in refused.reasons]
        if any(rule.startswith("quota.") for rule in rules):
            self.asked -= 1
            raise Spent(f"The quota ran out after {self.asked} questions ({rules[0]}).")
        self.refused.update(rules[:1])

    def _patiently(self, question: Callable[[], R]) -> R:
        """Ask again when the network drops, a few times."""
        for attempt in range(TRIES):
            try:
                return question()
            except Denied as denied:
                raise Spent(f"The site lets nobody ask any more: {denied.message}") from None
            except Fault as fault:
                if attempt == TRIES - 1:
                    raise Spent(f"The site failed to answer {TRIES} times: {fault.message}") from None
                time.sleep(self.wait * 2**attempt)
        raise AssertionError


def _with_declared_zeros(answer: R) -> R:
    """A table as whoever knows the codebook reads it: where nobody can be, a count is zero."""
    if not isinstance(answer, Release):
        return answer
    counts = [column for name, column in answer.columns.items() if name in (Measure.COUNT, Measure.WEIGHTED_COUNT)]
    return replace(answer, columns={**answer.columns, **{column.name: _zeros_as_counts(column) for column in counts}})


def _zeros_as_counts(column: Column) -> Column:
    nobody = column.marks == "z"
    values, noise = (np.where(nobody, 0.0, numbers) for numbers in (column.values, column.noise))
    return replace(column, values=values, marks=np.where(nobody, "", column.marks), noise=noise)


def values(release: Release, measure: str = "count") -> Floats:
    """The numbers of a table without its margins, NaN where a mark stands."""
    column = release.columns[measure].values
    return np.asarray(column[tuple(slice(0, -1) for _ in column.shape)])
