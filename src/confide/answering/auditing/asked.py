"""A recorded question as the tables of classes that its answer tells, and the units they are over."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, singledispatch
from typing import Any

from confide.answering.analysis import Admitted
from confide.answering.universe.resolve import Resolved
from confide.errors import Mistake
from confide.model.admission.table import table_classes
from confide.model.catalog.dataset import Dataset
from confide.model.evidence import Box
from confide.model.request import CorrelationRequest, RegressionRequest, Request, TableRequest
from confide.site.ledger import Entry
from confide.spelling.json import read_request

__all__ = ["Admit", "AskedTable", "admitted_of", "asked_of", "asked_tables", "kin", "told_tables"]

Admit = Callable[[Request[Any]], Admitted[Request[Any]]]


@dataclass(frozen=True)
class AskedTable:
    """A table of classes that was told: by these variables, over this universe, in the answer with this number."""

    number: int
    by: tuple[str, ...]
    universe: Resolved

    @cached_property
    def conditions(self) -> frozenset[tuple[str, tuple[int, ...]]]:
        """Every variable that a box of the universe restricts, with the places it allows."""
        return frozenset(condition for box in self.universe.boxes for condition in box)

    @property
    def told(self) -> tuple[tuple[str, ...], tuple[Box, ...]]:
        """What was told, whoever asked and when: the same table over the same universe has the same numbers."""
        return self.by, self.universe.boxes

    @cached_property
    def variables(self) -> frozenset[str]:
        """Every class variable that is named, by the table or by the universe."""
        return frozenset(self.by).union(name for name, _ in self.conditions)


def kin(dataset: Dataset, name: str) -> str:
    """What names a variable with all its coarser and finer levels and other cuts: they are one variable to an intruder."""
    return dataset.levels(name)[0].name


@singledispatch
def told_tables(request: Request[Any], dataset: Dataset) -> set[tuple[str, ...]]:
    """The tables of classes that follow from an answer."""
    return {tuple(sorted(request.by))}


@told_tables.register
def _(request: TableRequest, dataset: Dataset) -> set[tuple[str, ...]]:
    """Itself; with quantiles, by the bins of their number too."""
    return {tuple(sorted(table_classes(request, dataset)))}


@told_tables.register
def _(request: RegressionRequest, dataset: Dataset) -> set[tuple[str, ...]]:
    """The class part of a model: the classes of each term, beside those of a response that is a class."""
    response = _classes([request.formula.response.variable], dataset)
    terms = (_classes([factor.variable for factor in term], dataset) for term in request.formula.terms)
    return {tuple(sorted({*response, *term})) for term in terms if term}


@told_tables.register
def _(request: CorrelationRequest, dataset: Dataset) -> set[tuple[str, ...]]:
    """Correlations of classes are tables of each two of them; those of ranks are of bins too."""
    names = sorted(request.classes(dataset) if request.ranked else _classes(request.names, dataset))
    return {(a, b) for at, a in enumerate(names) for b in names[at + 1 :]} or {(name,) for name in names}


def _classes(names: Iterable[str], dataset: Dataset) -> set[str]:
    """Those that enter by their classes: a number enters as it is, cutpoints or not."""
    return {name for name in names if not dataset.variables[name].numeric}


def asked_tables(question: Admitted[Request[Any]], number: int) -> tuple[AskedTable, ...]:
    """The tables that the answer to a question tells, under the number of its entry.

    Classes of the asker's own count as all the declared ones they are made of: no less is told by them than that.
    """
    dataset = question.dataset
    told = {
        tuple(sorted({source for name in by for source in dataset.sources(name)}))
        for by in told_tables(question.request, dataset)
    }
    return tuple(AskedTable(number, by, question.universe) for by in sorted(told))


def asked_of(entries: Iterable[Entry], admit: Admit) -> Iterator[tuple[Entry, tuple[AskedTable, ...]]]:
    """Each entry with the tables that it told; none if it was refused, or no longer fits the codebook."""
    for entry, question in admitted_of(entries, admit):
        yield entry, () if question is None else asked_tables(question, entry.number)


def admitted_of(entries: Iterable[Entry], admit: Admit) -> Iterator[tuple[Entry, Admitted[Request[Any]] | None]]:
    """Each entry with the question that was answered; None if it was refused, or no longer fits the codebook."""
    known: dict[str, Admitted[Request[Any]] | None] = {}
    for entry in entries:
        if entry.outcome != "released":
            yield entry, None
            continue
        written = json.dumps(entry.request, sort_keys=True)
        if written not in known:
            known[written] = _admitted(entry.request, admit)
        yield entry, known[written]


def _admitted(raw: Mapping[str, Any], admit: Admit) -> Admitted[Request[Any]] | None:
    try:
        return admit(read_request(raw))
    except Mistake:
        return None
