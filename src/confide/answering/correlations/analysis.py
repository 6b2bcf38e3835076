"""Correlations: admitted, taken from sums, judged, rounded by the number of units and released."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, combinations
from typing import Any

from confide.answering.analysis import Admitted, Near, ReleaseFacts
from confide.answering.correlations.correlate import correlation_grid
from confide.answering.correlations.judged import JudgedCorrelation
from confide.answering.correlations.ranks import JudgedRanks
from confide.answering.mechanisms.safe.base import Base
from confide.answering.nearby import (
    coarser_classes,
    coarser_forms,
    mean_tables,
    near_universes,
    one_or_two,
    with_tables,
    without_missing,
)
from confide.answering.notes import model_notes, rank_notes
from confide.answering.regressions.judged import Sums
from confide.answering.rules.models import MODEL_RULES
from confide.answering.rules.rule import Rule
from confide.answering.rules.universe import UNIVERSE_RULES
from confide.answering.selection import Selection
from confide.answering.shield import Shield
from confide.model.admission.correlation import admit_correlation
from confide.model.admission.cross import cross_of
from confide.model.catalog.dataset import Dataset
from confide.model.choices import CorrelationMethod
from confide.model.formula import Factor, write_variable
from confide.model.model_release import ModelRelease
from confide.model.request import CorrelationRequest

__all__ = ["CorrelationAnalysis"]


class CorrelationAnalysis:
    """Promise: correlations are those of the universe less its dropped units, rounded to their sampling error.

    Those of classes follow from the counts that their tables publish, and so do those of ranks.
    """

    kind = CorrelationRequest
    rules: Sequence[Rule] = (*UNIVERSE_RULES, *MODEL_RULES)

    def admit(self, request: CorrelationRequest, dataset: Dataset) -> CorrelationRequest:
        return admit_correlation(request, dataset)

    def cross(self, question: Admitted[CorrelationRequest]) -> list[tuple[str, ...]]:
        """Every class, and every pair of them, with the universe; of ranks the pairs, which are all that they come from."""
        dataset, shared = question.dataset, question.universe.variables
        classes = question.request.classes(dataset)
        singles = () if question.request.ranked else chain([()], combinations(classes, 1))
        some = chain(singles, combinations(classes, 2))
        crosses = dict.fromkeys(cross_of([*shared, *names], dataset) for names in some)
        return [cross for cross in crosses if cross]

    def gather(self, question: Admitted[CorrelationRequest], selection: Selection, shield: Shield) -> Sums:
        return Sums(selection, shield)

    def protect(
        self, question: Admitted[CorrelationRequest], evidence: Sums, shield: Shield
    ) -> JudgedCorrelation | JudgedRanks:
        return JudgedRanks(question, evidence) if question.request.ranked else JudgedCorrelation(question, evidence)

    def read(self, question: Admitted[CorrelationRequest], base: Base, shield: Shield) -> None:
        return None

    def release(
        self,
        question: Admitted[CorrelationRequest],
        protected: JudgedCorrelation | JudgedRanks,
        facts: ReleaseFacts,
        *,
        diagnostics: bool,
    ) -> ModelRelease[CorrelationRequest]:
        title = "Rank correlations" if question.request.ranked else "Correlations"
        grid = correlation_grid(protected.correlations, labels=protected.labels, n=protected.published, title=title)
        policy = protected.sums.shield.policy
        notes = rank_notes(policy) if question.request.ranked else model_notes(policy)
        if isinstance(protected, JudgedCorrelation):
            notes = (*protected.noisy_classes, *notes)
        return ModelRelease(question.request, grids={"correlations": grid}, notes=notes, **vars(facts))

    def instead(self, question: Admitted[CorrelationRequest], protected: JudgedCorrelation | JudgedRanks) -> None:
        return None

    def near(self, question: Admitted[CorrelationRequest]) -> Iterator[Near[Any]]:
        request, dataset = question.request, question.dataset
        numbers = [name for name in request.names if dataset.variables[name].measurable]
        return with_tables(one_or_two(request, dataset, _moves), mean_tables(request, numbers[:1], dataset))


def _coarser(name: str, request: CorrelationRequest, dataset: Dataset) -> list[str]:
    """Coarser forms of a variable; a number is ranked by its bins, so those of these."""
    if not request.ranked:
        return coarser_classes(name, dataset)
    return coarser_forms((dataset.bins(name) or dataset.variables[name]).name, dataset)


def _moves(request: CorrelationRequest, dataset: Dataset) -> Iterator[Near[CorrelationRequest]]:
    """A coarser form of a variable, a coarser universe, a variable less."""
    for text, name in zip(request.variables, request.names, strict=True):
        for form in _coarser(name, request, dataset):
            if form not in request.names:
                names = tuple(write_variable(Factor(form)) if n == text else n for n in request.variables)
                yield Near(f"{form!r} instead of {name!r}", replace(request, variables=names))
    yield from near_universes(request, dataset)
    if request.ranked:
        yield Near("method='pearson'", replace(request, method=CorrelationMethod.PEARSON))
    for name in reversed(request.variables):
        rest = tuple(n for n in request.variables if n != name)
        if len(rest) > 1:
            yield Near(f"without {name!r}", replace(request, variables=rest))
    yield from without_missing(request, request.names, dataset)
