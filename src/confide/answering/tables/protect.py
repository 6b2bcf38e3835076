"""Tables: what to gather, and how it is turned into protected numbers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from confide.answering.cube import Cube
from confide.answering.mechanisms.additive import additive, restores
from confide.answering.mechanisms.counts import CellKey
from confide.answering.rounding import power_below, significant
from confide.answering.selection import Selection
from confide.answering.shield import Shield
from confide.arrays import Floats, Ints
from confide.model.catalog.dataset import TOTAL, Dataset, Variable
from confide.model.release import Column, Dimension
from confide.model.request import Measure, TableRequest

__all__ = ["TableEvidence", "dimensions", "gather", "protect"]

Marks = NDArray[np.str_]


@dataclass(frozen=True)
class Scales:
    """Decimal places of the fixed-point integers."""

    weight: int
    total: int


@dataclass(frozen=True)
class TableEvidence:
    """True aggregates: `people` for counts and rules; `amounts` over the records that have the value asked for."""

    people: Cube
    amounts: Cube | None
    scales: Scales


def gather(request: TableRequest, selection: Selection, shield: Shield) -> TableEvidence:
    """Ask the engine for what the request needs: one tally, or two where the value asked for may be missing."""
    facts = selection.facts
    scales = Scales(facts.weight_decimals, facts.decimals.get(request.of or "", 0))
    weighted = request.measure != (Measure.COUNT,)
    if request.of is None:
        return TableEvidence(selection.cube(request.by, weighted=weighted), None, scales)
    totals = shield.totals
    amounts = selection.cube(request.by, of=request.of, weighted=True, top=totals.contributors, share=totals.share)
    counts = any(not measure.of_variable for measure in request.measure)
    if counts and selection.dataset.variables[request.of].missing:
        return TableEvidence(selection.cube(request.by, weighted=weighted), amounts, scales)
    return TableEvidence(amounts, amounts, scales)


def protect(
    request: TableRequest, dataset: Dataset, evidence: TableEvidence, shield: Shield
) -> tuple[dict[str, Column], Ints]:
    """Protected columns, and the numbers of units as rules see them."""
    people = _Counts.draw(evidence.people, shield, evidence.scales)
    columns = {}
    if Measure.COUNT in request.measure:
        columns["count"] = people.count(shield)
    if Measure.WEIGHTED_COUNT in request.measure:
        columns["weighted_count"] = people.weighted()
    if request.of is not None and evidence.amounts is not None:
        same = evidence.amounts is evidence.people
        having = people if same else _Counts.draw(evidence.amounts, shield, evidence.scales)
        columns |= _amounts(dataset.variables[request.of], having, shield)
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


@dataclass(frozen=True)
class _Counts:
    """A cube with its numbers of units as published and as rules see them."""

    cube: Cube
    units: Ints
    judged: Ints
    mechanism: CellKey
    scales: Scales

    @classmethod
    def draw(cls, cube: Cube, shield: Shield, scales: Scales) -> "_Counts":
        mechanism = shield.counts
        publish, decide = shield.draws.counts(cube.records, cube.units, cube.key)
        judged = shield.decision.drawn(cube.units, decide)
        return cls(cube, mechanism.units(cube.units, publish), judged, mechanism, scales)

    def count(self, shield: Shield) -> Column:
        values = np.rint(CellKey.scale(self.cube.records, self.cube.units, self.units))
        mean = values / np.maximum(self.units, 1)
        spread = self.mechanism.spread * np.where(self.units > 0, mean, 1.0)
        if restores(shield.policy, values.shape):
            adding = additive(values, shield.policy.counts, shield.secret).astype(np.float64)
            # Of what is added no cell is told its own, so all are told the same.
            spread = np.hypot(spread, np.sqrt(np.mean((adding - values) ** 2)))
            values = adding
        return Column("count", "Count", 0, values, _unmarked(values), significant(spread, 3))

    def weighted(self) -> Column:
        values, noise = self.weights()
        return Column("weighted_count", "Weighted count", 0, values, _unmarked(values), significant(noise, 3))

    def weights(self) -> tuple[Floats, Floats]:
        """Protected weighted counts and the spread of their noise: no digit finer than a unit's mean weight."""
        assert self.cube.weight is not None
        exact = CellKey.scale(self.cube.weight / 10.0**self.scales.weight, self.cube.units, self.units)
        everyone = exact.ravel()[-1] / max(int(self.units.ravel()[-1]), 1)
        mean = np.where(self.units > 0, exact / np.maximum(self.units, 1), everyone)
        grain = np.maximum(power_below(mean), 1.0) if self.mechanism.spread else np.full(exact.shape, 1e-9)
        return np.rint(exact / grain) * grain, self.mechanism.spread * mean


def _amounts(variable: Variable, counts: _Counts, shield: Shield) -> dict[str, Column]:
    """Totals and means: withheld where a unit could be estimated from them; where the count is zero, zero and none."""
    cube, scale = counts.cube, counts.scales.total
    protected = shield.totals.protect(cube, variable.name, shield.draws, units=counts.judged, scale=scale)
    empty, digits = counts.units == 0, shield.policy.output.digits
    marks = np.where(protected.withheld & ~empty, "c", "")
    total = np.where(empty, 0.0, protected.values)
    weights, weight_noise = counts.weights()
    divisor = np.where(weights > 0, weights, 1.0)
    relative = protected.noise / np.where(protected.values == 0, 1.0, np.abs(protected.values))
    mean_noise = np.abs(total / divisor) * np.hypot(relative, weight_noise / divisor)
    mean_marks = np.where(empty | (weights <= 0), "z", marks)
    means = total / divisor
    largest = float(np.max(np.abs(means[mean_marks == ""]), initial=1.0))
    fine = min(variable.decimals + 2, max(0, digits - 1 - int(np.log10(largest))))
    cells = (total, protected.noise, marks), (means, mean_noise, mean_marks)
    return {
        "total": _column("total", f"Total of {variable.label}", variable.decimals, cells[0], digits),
        "mean": _column("mean", f"Mean of {variable.label}", fine, cells[1], digits),
    }


def _column(name: str, label: str, decimals: int, cells: tuple[Floats, Floats, Marks], digits: int) -> Column:
    values, noise, marks = cells
    shown = np.where(marks == "", np.round(significant(values, digits), decimals), np.nan)
    return Column(name, label, decimals, shown, marks, np.where(marks == "", significant(noise, 3), np.nan))


def _unmarked(values: Floats) -> Marks:
    return np.full(values.shape, "", dtype="<U1")
