"""Tables: what to gather, how to protect it, how to judge it, what to release. No engine is known here."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from confide.errors import Reason
from confide.model.catalog import TOTAL, Dataset
from confide.model.evidence import Box, Tally
from confide.model.policy import Policy
from confide.model.release import Column, Dimension
from confide.model.request import Measure, Table
from confide.queries.census import TallyFunction
from confide.queries.cube import Cube, gather_cube
from confide.queries.draws import Draws
from confide.queries.mechanisms.counts import CellKey
from confide.queries.mechanisms.magnitudes import Magnitudes
from confide.queries.rounding import power_below, significant
from confide.queries.rules.table import judge_table
from confide.queries.rules.universe import Judge

__all__ = ["Answer", "Evidence", "Scales", "dimensions", "gather", "protect"]

Floats = NDArray[np.float64]
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
    amount = Tally(
        *(request.by, tuple(within), tuple(without)),
        of=request.of,
        weighted=True,
        top=Magnitudes(policy.totals).contributors,
    )
    amounts = gather_cube(tally, amount, sizes, several=several)
    if counts and dataset.variables[request.of].missing:
        return Evidence(gather_cube(tally, question, sizes, several=several), amounts)
    return Evidence(amounts, amounts)


def protect(
    request: Table, dataset: Dataset, policy: Policy, evidence: Evidence, *, draws: Draws, scales: Scales
) -> Answer:
    """Turn true aggregates into protected numbers, and judge those."""
    judge = Judge(policy.universe, draws)
    people = _Counts.draw(evidence.people, policy, draws, scales)
    columns = {}
    for measure in request.measure:
        if measure is Measure.COUNT:
            columns[measure.value] = people.count()
        elif measure is Measure.WEIGHTED_COUNT:
            columns[measure.value] = people.weighted()
        else:
            assert evidence.amounts is not None and request.of is not None
            having = _Counts.draw(evidence.amounts, policy, draws, scales)
            columns[measure.value] = _amount(measure, request.of, having, policy, judge, dataset)
    reasons = judge_table(request, dataset, policy.tables, judge.units(evidence.people.group))
    return Answer(columns, reasons)


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
    """A cube with its protected numbers of units."""

    cube: Cube
    units: NDArray[np.int64]
    mechanism: CellKey
    draws: Draws
    scales: Scales

    @classmethod
    def draw(cls, cube: Cube, policy: Policy, draws: Draws, scales: Scales) -> "_Counts":
        mechanism = CellKey(policy.counts)
        uniform, _ = draws.counts(cube.records, cube.units, cube.key)
        return cls(cube, mechanism.units(cube.units, uniform), mechanism, draws, scales)

    def count(self) -> Column:
        values = np.rint(CellKey.scale(self.cube.records, self.cube.units, self.units))
        mean = values / np.maximum(self.units, 1)
        noise = significant(self.mechanism.spread * np.where(self.units > 0, mean, 1.0), 3)
        return Column("count", "Count", 0, values, _unmarked(values), noise)

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


def _amount(measure: Measure, of: str, counts: _Counts, policy: Policy, judge: Judge, dataset: Dataset) -> Column:
    """A column of totals or means: withheld where a unit could be estimated from it, zero where the count is."""
    magnitudes = Magnitudes(policy.totals)
    protected = magnitudes.protect(
        counts.cube, of, counts.draws, units=judge.units(counts.cube.group), scale=counts.scales.total
    )
    empty = counts.units == 0
    weights, weight_noise = counts.weights()
    variable = dataset.variables[of]
    digits = policy.output.digits
    if measure is Measure.TOTAL:
        values, noise, mark = np.where(empty, 0.0, protected.values), protected.noise, protected.withheld & ~empty
        marks = np.where(mark, "c", "")
        label, decimals = f"Total of {variable.label}", variable.decimals
    else:
        divisor = np.maximum(weights, 1e-9)
        values = protected.values / divisor
        relative = protected.noise / np.maximum(np.abs(protected.values), 1e-9)
        noise = np.abs(values) * np.hypot(relative, weight_noise / divisor)
        marks = np.where(empty | (weights <= 0), "z", np.where(protected.withheld, "c", ""))
        label, decimals = f"Mean of {variable.label}", variable.decimals + 2
    shown = np.where(marks == "", np.round(significant(values, digits), decimals), np.nan)
    return Column(measure.value, label, decimals, shown, marks, np.where(marks == "", significant(noise, 3), np.nan))


def _unmarked(values: Floats) -> Marks:
    return np.full(values.shape, "", dtype="<U1")
