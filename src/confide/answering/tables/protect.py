"""Tables: what to gather, and how it is turned into protected numbers."""

from dataclasses import dataclass

from confide.answering.cube import Cube
from confide.answering.selection import Selection
from confide.answering.shield import Shield
from confide.answering.tables.amounts import amounts
from confide.answering.tables.counts import Counts, Scales
from confide.arrays import Ints
from confide.model.catalog.dataset import TOTAL, Dataset
from confide.model.release import Column, Dimension
from confide.model.request import Measure, TableRequest

__all__ = ["TableEvidence", "dimensions", "gather", "protect"]


@dataclass(frozen=True)
class TableEvidence:
    """True aggregates: `people` for counts and rules; `amounts` over the records that have the value asked for.

    `base` is the protected number of units in each cell where counts come from a base.
    """

    people: Cube
    amounts: Cube | None
    scales: Scales
    base: Column | None = None


def gather(request: TableRequest, selection: Selection, shield: Shield) -> TableEvidence:
    """Ask the engine for what the request needs: one tally, or two where the value asked for may be missing."""
    within = {name for box in selection.within for name, _ in box}
    scales = Scales.of(selection.facts, request.of or "", within=len(within))
    weighted, base = request.measure != (Measure.COUNT,), _base(request, selection)
    if request.of is None:
        return TableEvidence(selection.cube(request.by, weighted=weighted), None, scales, base)
    totals = shield.totals
    amounts = selection.cube(request.by, of=request.of, weighted=True, top=totals.contributors, share=totals.share)
    counts = any(not measure.of_variable for measure in request.measure)
    if counts and selection.dataset.variables[request.of].missing:
        return TableEvidence(selection.cube(request.by, weighted=weighted), amounts, scales, base)
    return TableEvidence(amounts, amounts, scales, base)


def _base(request: TableRequest, selection: Selection) -> Column | None:
    base, by, within = selection.base, request.by, selection.within
    return None if base is None else base.column(base.counts(by, within, selection.dataset), by, within)


def protect(
    request: TableRequest, dataset: Dataset, evidence: TableEvidence, shield: Shield
) -> tuple[dict[str, Column], Ints]:
    """Protected columns, and the numbers of units as rules see them."""
    people, base = Counts.draw(evidence.people, shield, evidence.scales), evidence.base
    people = people if base is None else people.of_base(base)
    columns: dict[str, Column] = {}
    if Measure.COUNT in request.measure:
        columns["count"] = people.count(shield) if base is None else base
    if Measure.WEIGHTED_COUNT in request.measure:
        columns["weighted_count"] = people.weighted()
    if request.of is not None and evidence.amounts is not None:
        same = evidence.amounts is evidence.people
        having = people if same else Counts.draw(evidence.amounts, shield, evidence.scales)
        columns |= amounts(dataset.variables[request.of], having, shield)
    return {measure.value: columns[measure.value] for measure in request.measure}, people.judged


def dimensions(request: TableRequest, dataset: Dataset) -> tuple[Dimension, ...]:
    """The declared classes of each variable, and its total."""
    found = []
    for name in request.by:
        variable = dataset.classifier(name)
        codes = variable.codes or ()
        labels = (*(code.label for code in codes), "Total")
        found.append(Dimension(name, variable.label, (*(code.code for code in codes), TOTAL), labels))
    return tuple(found)
