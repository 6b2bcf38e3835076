"""Tables: admitted, counted, protected, judged and released."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from confide.answering.analysis import Admitted, Near, ReleaseFacts
from confide.answering.mechanisms.safe.base import Base
from confide.answering.notes import BASE_NOTE, ZEROS_NOTE, adds, notes
from confide.answering.rules.rule import Rule
from confide.answering.rules.table import CELL_RULES, TABLE_SHAPE_RULES, JudgedTable
from confide.answering.rules.universe import UNIVERSE_RULES
from confide.answering.selection import Selection
from confide.answering.shield import Shield
from confide.answering.tables.nearby import near_tables
from confide.answering.tables.protect import TableEvidence, dimensions, gather, protect
from confide.model.admission.cross import cross_of
from confide.model.admission.table import admit_table, table_classes
from confide.model.admission.zeros import structural_zeros
from confide.model.catalog.dataset import Dataset
from confide.model.release import Column, Release, without_cells
from confide.model.request import Measure, TableRequest

__all__ = ["ProtectedTable", "TableAnalysis"]


@dataclass(frozen=True)
class ProtectedTable(JudgedTable):
    """Protected columns beside what rules see of them; how they were protected, and whether their totals add."""

    columns: Mapping[str, Column]
    notes: tuple[str, ...]
    totals_add: bool


class TableAnalysis:
    """Promise: counts, weighted counts, totals and means are protected cell by cell, the same units always alike; quantiles are
    made of these."""

    kind = TableRequest
    rules: Sequence[Rule] = (*UNIVERSE_RULES, *TABLE_SHAPE_RULES, *CELL_RULES)

    def admit(self, request: TableRequest, dataset: Dataset) -> TableRequest:
        # Percentages are made of the answer, wherever it is shown: with them or without it is one question, but for their errors.
        return admit_table(request, dataset).numbers

    def cross(self, question: Admitted[TableRequest]) -> list[tuple[str, ...]]:
        classes = table_classes(question.request, question.dataset)
        return [cross_of((*classes, *question.universe.variables), question.dataset)]

    def gather(self, question: Admitted[TableRequest], selection: Selection, shield: Shield) -> TableEvidence:
        return gather(question.request, selection, shield)

    def protect(self, question: Admitted[TableRequest], evidence: TableEvidence, shield: Shield) -> ProtectedTable:
        request, dataset, policy = question.request, question.dataset, shield.policy
        columns, units = protect(request, dataset, evidence, shield)
        said = notes(request, dataset, policy)
        classes = table_classes(request, dataset)
        return ProtectedTable(dataset, classes, units, columns, said, adds(request, dataset, policy))

    def read(self, question: Admitted[TableRequest], base: Base, shield: Shield) -> ProtectedTable | None:
        request, within = question.request, question.universe.boxes
        if request.measure != (Measure.COUNT,) or request.error:
            return None
        counts = base.counts(request.by, within, question.dataset)
        columns = {"count": base.column(counts, request.by, within, question.dataset)}
        return ProtectedTable(question.dataset, request.by, counts, columns, (BASE_NOTE,), totals_add=True)

    def release(
        self, question: Admitted[TableRequest], protected: ProtectedTable, facts: ReleaseFacts, *, diagnostics: bool
    ) -> Release:
        request, dataset = question.request, question.dataset
        zeros = structural_zeros(request.by, question.universe.boxes, dataset)
        columns = {name: without_cells(column, zeros) for name, column in protected.columns.items()}
        hidden = any(column.values[zeros & (column.marks == "")].any() for column in protected.columns.values())
        return Release(
            request=request,
            dimensions=dimensions(request, dataset),
            columns=columns,
            notes=(*protected.notes, *((ZEROS_NOTE,) if zeros.any() else ())),
            totals_add=protected.totals_add and not hidden,
            **vars(facts),
        )

    def instead(self, question: Admitted[TableRequest], protected: ProtectedTable) -> None:
        return None

    def near(self, question: Admitted[TableRequest]) -> Iterator[Near[TableRequest]]:
        return near_tables(question.request, question.dataset)
