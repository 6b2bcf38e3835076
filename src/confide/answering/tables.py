"""Tables: what to gather, how to protect it, how to judge it, what to release. No engine is known here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from confide.answering.cube import Cube, gather_cube
from confide.answering.mechanisms.additive import additive, restores
from confide.answering.mechanisms.counts import CellKey
from confide.answering.mechanisms.magnitudes import Magnitudes
from confide.answering.rounding import power_below, significant
from confide.answering.rules.table import judge_table
from confide.answering.rules.universe import Judge
from confide.answering.universe.census import TallyFunction
from confide.arrays import Floats, Ints
from confide.errors import Mistake, Reason
from confide.model.catalog.dataset import TOTAL, Dataset, Variable
from confide.model.evidence import Box, Tally
from confide.model.policy import Policy
from confide.model.release import Column, Dimension
from confide.model.request import Measure, Table
from confide.site.draws import Draws

__all__ = ["Answer", "Evidence", "Scales", "dimensions", "gather", "prepare", "protect"]

Marks = NDArray[np.str_]


@dataclass(frozen=True)
class Scales:
    """Decimal places of the fixed-point integers."""

    weight: int
    total: int


@dataclass(frozen=True)
class Evidence:
    """True aggregates: `people` for counts and rules; `amounts` over the records that have the value asked for."""

    people: Cube
    amounts: Cube | None


@dataclass(frozen=True)
class Answer:
    """Protected columns, and the reasons not to release them."""

    columns: dict[str, Column]
    reasons: list[Reason]


def gather(
    request: Table,
    dataset: Dataset,
    policy: Policy,
    tally: TallyFunction,
    *,
    within: Sequence[Box],
    without: Sequence[int],
    several: bool,
) -> Evidence:
    """Ask the engine for what the request needs: one tally, or two where the value asked for may be missing."""
    sizes = [len(dataset.classifier(name).codes or ()) for name in request.by]
    counts = any(not measure.of_variable for measure in request.measure)
    question = Tally(request.by, tuple(within), tuple(without), weighted=request.measure != (Measure.COUNT,))
    if request.of is None:
        return Evidence(gather_cube(tally, question, sizes, several=several), None)
    magnitudes = Magnitudes(policy.totals)
    where = (request.by, tuple(within), tuple(without))
    amount = Tally(*where, of=request.of, weighted=True, top=magnitudes.contributors, share=magnitudes.share)
    amounts = gather_cube(tally, amount, sizes, several=several)
    if counts and dataset.variables[request.of].missing:
        return Evidence(gather_cube(tally, question, sizes, several=several), amounts)
    return Evidence(amounts, amounts)


def protect(
    request: Table, dataset: Dataset, policy: Policy, evidence: Evidence, *, draws: Draws, scales: Scales
) -> Answer:
    """Turn true aggregates into protected numbers, and judge those."""
    people = _Counts.draw(evidence.people, policy, draws, scales)
    columns = {}
    if Measure.COUNT in request.measure:
        columns["count"] = people.count(policy, draws)
    if Measure.WEIGHTED_COUNT in request.measure:
        columns["weighted_count"] = people.weighted()
    if request.of is not None and evidence.amounts is not None:
        same = evidence.amounts is evidence.people
        having = people if same else _Counts.draw(evidence.amounts, policy, draws, scales)
        columns |= _amounts(dataset.variables[request.of], having, policy, draws)
    reasons = judge_table(request, dataset, policy.tables, people.judged)
    return Answer({measure.value: columns[measure.value] for measure in request.measure}, reasons)


def prepare(policy: Policy, draws: Draws) -> None:
    """Make ready what the policy's mechanisms need: one that cannot be carried out is a Mistake now, not in an answer."""
    parts: dict[str, Callable[[], object]] = {
        "counts.distance, counts.variance, counts.small and counts.stay": lambda: CellKey(policy.counts).matrix,
        "universe.noise_distance and universe.noise_variance": lambda: Judge(policy.universe, draws).matrix,
        "tables.additive and the fields of counts": lambda: (
            additive(np.zeros((2, 2)), policy.counts, draws.secret) if restores(policy, (2, 2)) else None
        ),
        "the fields of totals": lambda: (Magnitudes(policy.totals).mechanism, Magnitudes(policy.totals).tests),
    }
    for names, make in parts.items():
        try:
            make()
        except Mistake as mistake:
            raise Mistake(f"In the policy, {names} do not go together. {mistake}") from None


def dimensions(request: Table, dataset: Dataset) -> tuple[Dimension, ...]:
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
    def draw(cls, cube: Cube, policy: Policy, draws: Draws, scales: Scales) -> "_Counts":
        mechanism = CellKey(policy.counts)
        publish, decide = draws.counts(cube.records, cube.units, cube.key)
        judged = Judge(policy.universe, draws).drawn(cube.units, decide)
        return cls(cube, mechanism.units(cube.units, publish), judged, mechanism, scales)

    def count(self, policy: Policy, draws: Draws) -> Column:
        values = np.rint(CellKey.scale(self.cube.records, self.cube.units, self.units))
        mean = values / np.maximum(self.units, 1)
        spread = self.mechanism.spread * np.where(self.units > 0, mean, 1.0)
        if restores(policy, values.shape):
            adding = additive(values, policy.counts, draws.secret).astype(np.float64)
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


def _amounts(variable: Variable, counts: _Counts, policy: Policy, draws: Draws) -> dict[str, Column]:
    """Totals and means: withheld where a unit could be estimated from them; where the count is zero, zero and none."""
    cube, scale = counts.cube, counts.scales.total
    protected = Magnitudes(policy.totals).protect(cube, variable.name, draws, units=counts.judged, scale=scale)
    empty, digits = counts.units == 0, policy.output.digits
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
