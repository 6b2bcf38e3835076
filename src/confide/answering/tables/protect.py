"""Tables: what to gather, and how it is turned into protected numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from confide.answering.cube import Cube
from confide.answering.selection import Selection
from confide.answering.shield import Shield
from confide.answering.tables.amounts import Amounts, amounts
from confide.answering.tables.counts import Counts, Scales
from confide.answering.tables.deviations import deviation_amounts, deviations, gather_squares
from confide.answering.tables.errors import TableErrors
from confide.answering.tables.quantile_errors import QuantileErrors
from confide.answering.tables.quantiles import Distributions, QuantileBins
from confide.answering.tables.ratios import ratio, ratio_column
from confide.answering.tables.sampling import SampledSums, SampleVariances, variances_of
from confide.arrays import Floats, Ints
from confide.errors import Mistake
from confide.model.admission.cross import present_places
from confide.model.admission.table import table_classes
from confide.model.catalog.dataset import TOTAL, Dataset, Variable
from confide.model.evidence import Cells, Tally
from confide.model.release import Column, Dimension
from confide.model.request import Measure, TableRequest

__all__ = ["TableEvidence", "dimensions", "gather", "protect"]


@dataclass(frozen=True)
class TableEvidence:
    """True aggregates: `people` for counts and rules; `amounts` over the records that have the value asked for.

    `base` is the protected number of units in each cell where counts come from a base. `bins` is the table that quantiles are
    read off, and `log_noise` the spread of the noise in the logarithm of their number. `drawn` is what sampling units add, for
    standard errors.
    """

    people: Cube
    amounts: Cube | None
    scales: Scales
    base: Column | None = None
    bins: "TableEvidence | None" = None
    log_noise: float = 0.0
    drawn: "DrawnSums | None" = None
    squares: Floats | None = None
    over: "TableEvidence | None" = None
    """What a ratio is divided by, as a table of its own; `squares` are sums of squares, for standard deviations."""


@dataclass(frozen=True)
class DrawnSums:
    """What sampling units add to the numbers of units and to amounts, and how the variance of their sums is found."""

    variances: SampleVariances
    people: SampledSums
    amounts: SampledSums | None
    everyone: Cells | None
    """All units of the sample, where each was drawn by itself and weighs the same."""


def gather(request: TableRequest, selection: Selection, shield: Shield) -> TableEvidence:
    """Ask the engine for what the request needs: one tally, or two where the value asked for may be missing."""
    if request.quantiles:
        by_bins = _by_bins(request, selection.dataset)
        bins = gather(by_bins, selection, shield)
        if request.error:
            bins = replace(bins, drawn=_drawn(by_bins, selection, bins.scales))
        noise = selection.facts.noise.get(f"log({_number(request, selection.dataset).name})", 0.0)
        return replace(gather(_plain(request), selection, shield), bins=bins, log_noise=noise)
    if request.over is not None:
        over = gather(_divisors(request), selection, shield)
        return replace(gather(_without_ratio(request), selection, shield), over=over)
    within = {name for box in selection.within for name, _ in box}
    scales = Scales.of(selection.facts, request.of or "", within=len(within))
    weighted, base = request.measure != (Measure.COUNT,), _base(request, selection)
    drawn = _drawn(request, selection, scales) if request.error else None
    if request.of is None:
        people = selection.cube(request.by, weighted=weighted or drawn is not None)
        return TableEvidence(people, None, scales, base, drawn=drawn)
    totals = shield.totals
    amounts = selection.cube(request.by, of=request.of, weighted=True, top=totals.contributors, share=totals.share)
    counts = any(not measure.of_variable for measure in request.measure)
    apart = counts and selection.dataset.variables[request.of].missing
    people = selection.cube(request.by, weighted=weighted) if apart else amounts
    squares = gather_squares(request.by, request.of, selection) if Measure.SD in request.measure else None
    return TableEvidence(people, amounts, scales, base, drawn=drawn, squares=squares)


def _drawn(request: TableRequest, selection: Selection, scales: Scales) -> DrawnSums:
    """What sampling units add to each cell: of everyone, and of those who have the number asked for."""
    facts, by = selection.facts, request.by
    if not facts.sampling:
        raise Mistake(
            f"The records of {facts.dataset!r} were loaded without their sampling units.",
            suggestions=["The custodian may ingest the data again."],
        )
    variances = variances_of(facts.sampling)
    shape = [len(selection.dataset.classifier(name).codes or ()) + 1 for name in by]

    def sums(of: str | None) -> SampledSums:
        cells = selection.by_sampling_unit(by, of)
        return SampledSums.of(cells, shape, variances.clusters, weight=scales.weight, total=scales.total)

    return DrawnSums(variances, sums(None), sums(request.of) if request.of else None, _everyone(selection))


def _everyone(selection: Selection) -> Cells | None:
    dataset, facts = selection.dataset, selection.facts
    assert dataset.sampling is not None
    if dataset.sampling.columns or facts.weighted or facts.several:
        return None
    return selection.engine.tally(Tally(()))


def _base(request: TableRequest, selection: Selection) -> Column | None:
    base, by, within = selection.base, request.by, selection.within
    return (
        None if base is None else base.column(base.counts(by, within, selection.dataset), by, within, selection.dataset)
    )


def protect(
    request: TableRequest, dataset: Dataset, evidence: TableEvidence, shield: Shield
) -> tuple[dict[str, Column], Ints]:
    """Protected columns, and the numbers of units as rules see them."""
    if evidence.bins is not None:
        plain, _ = protect(_plain(request), dataset, replace(evidence, bins=None), shield)
        binned, units = protect(_by_bins(request, dataset), dataset, replace(evidence.bins, drawn=None), shield)
        found = _distributions(request, dataset, binned, evidence.log_noise)
        columns = plain | _quantiles(request, dataset, found, shield)
        if evidence.bins.drawn is not None:
            columns |= _quantile_errors(request, dataset, evidence.bins, found, columns, shield)
        asked = [name for measure in request.measure for name in (measure, f"{measure}_se", f"{measure}_reliability")]
        shares = [name for name in columns if "_percent_" in name]
        return {name: columns[name] for name in (*asked, *shares) if name in columns}, units
    people, base = Counts.draw(evidence.people, shield, evidence.scales), evidence.base
    people = people if base is None else people.of_base(base)
    columns = {}
    if Measure.COUNT in request.measure:
        columns["count"] = people.count(shield) if base is None else base
    if Measure.WEIGHTED_COUNT in request.measure:
        columns["weighted_count"] = people.weighted()
    numbers = _Numbers.of(request, dataset, evidence, people, shield)
    columns |= numbers.columns() if numbers else {}
    columns = {measure.value: columns[measure.value] for measure in request.measure}
    if evidence.drawn is not None:
        columns = _with_errors(request, dataset, columns, evidence.drawn, people, numbers, shield)
    return columns, people.judged


@dataclass(frozen=True)
class _Numbers:
    """The number that measures are of, and the one that it is divided by in a ratio, each over the units that have it."""

    variable: Variable
    evidence: TableEvidence
    counts: Counts
    shield: Shield
    over: "_Numbers | None" = None

    @classmethod
    def of(
        cls, request: TableRequest, dataset: Dataset, evidence: TableEvidence, people: Counts, shield: Shield
    ) -> "_Numbers | None":
        if request.of is None or evidence.amounts is None:
            return None
        same = evidence.amounts is evidence.people
        counts = people if same else Counts.draw(evidence.amounts, shield, evidence.scales)
        over = None
        if request.over is not None and (divisors := evidence.over) is not None and divisors.amounts is not None:
            drawn = Counts.draw(divisors.amounts, shield, divisors.scales)
            over = cls(dataset.variables[request.over], divisors, drawn, shield)
        return cls(dataset.variables[request.of], evidence, counts, shield, over)

    def columns(self) -> dict[str, Column]:
        columns = amounts(self.variable, self.counts, self.shield)
        if self.evidence.squares is not None:
            columns["sd"] = deviations(self.variable, self.deviation, self.shield)
        if self.over is not None:
            columns["ratio"] = ratio_column(self.ratio, self.variable, self.over.variable, self.shield)
        return columns

    @property
    def deviation(self) -> Amounts:
        assert self.evidence.squares is not None
        return deviation_amounts(self.variable, self.evidence.squares, self.counts, self.shield)

    @property
    def ratio(self) -> Amounts:
        assert self.over is not None
        return ratio((self.variable, self.counts), (self.over.variable, self.over.counts), self.shield)


def _with_errors(
    request: TableRequest,
    dataset: Dataset,
    columns: dict[str, Column],
    drawn: DrawnSums,
    people: Counts,
    numbers: _Numbers | None,
    shield: Shield,
) -> dict[str, Column]:
    """Each column that is an estimate with its error and reliability after it."""
    assert dataset.sampling is not None
    errors = TableErrors(
        request, dataset.sampling, drawn.variances, shield, people, drawn.people, _published(drawn.everyone, shield)
    )
    estimate = Measure.WEIGHTED_COUNT if dataset.weight else Measure.COUNT
    found = {name: errors.of_count(column) for name, column in columns.items() if name == estimate}
    if numbers is not None and drawn.amounts is not None:
        of_those = replace(errors, counts=numbers.counts, sampled=drawn.amounts)
        found |= dict(of_those.of_amounts(numbers.variable, columns))
        if numbers.evidence.squares is not None:
            found["sd"] = of_those.of_deviation(columns["sd"], numbers.deviation)
        over = numbers.over
        if over is not None and over.evidence.drawn is not None and over.evidence.drawn.amounts is not None:
            divided = replace(errors, counts=over.counts, sampled=over.evidence.drawn.amounts)
            found["ratio"] = of_those.of_ratio(columns["ratio"], numbers.ratio, divided)
    listed = [each for name, column in columns.items() for each in (column, *found.get(name, ()))]
    return {column.name: column for column in listed}


def _quantile_errors(
    request: TableRequest,
    dataset: Dataset,
    bins: TableEvidence,
    found: Distributions,
    columns: Mapping[str, Column],
    shield: Shield,
) -> dict[str, Column]:
    """The errors of each quantile: of those who have the number, in the cells of the table without its bins."""
    drawn = bins.drawn
    assert dataset.sampling is not None and drawn is not None and drawn.amounts is not None and bins.amounts is not None
    binned, shape = drawn.amounts.weight, bins.amounts.units.shape
    counts = Counts.draw(bins.amounts.last_margin, shield, bins.scales)
    everyone = _published(drawn.everyone, shield)
    whole = SampledSums(binned[np.arange(shape[-1] - 1, np.prod(shape), shape[-1])], None)
    errors = TableErrors(request, dataset.sampling, drawn.variances, shield, counts, whole, everyone)
    there = list(present_places(dataset.variables[table_classes(request, dataset)[-1]]))
    of = QuantileErrors(found, errors, binned, there, shape[-1])
    shown = [each for measure in request.quantiles for each in of.of(measure, columns[measure.value])]
    return {column.name: column for column in shown}


def _published(everyone: Cells | None, shield: Shield) -> int | None:
    """The protected number of units of the sample."""
    if everyone is None:
        return None
    publish, _ = shield.draws.counts(everyone.records, everyone.units, everyone.key)
    return int(shield.counts.units(everyone.units, publish).sum())


def _divisors(request: TableRequest) -> TableRequest:
    """The totals that those of a ratio are divided by, which anybody may ask for as well."""
    return replace(request, measure=(Measure.TOTAL,), of=request.over, over=None, percent=None)


def _without_ratio(request: TableRequest) -> TableRequest:
    """The table with totals in place of their ratio."""
    rest = (measure for measure in request.measure if measure is not Measure.RATIO)
    return replace(request, measure=tuple(dict.fromkeys((*rest, Measure.TOTAL))), over=None)


def _plain(request: TableRequest) -> TableRequest:
    """The table without its quantiles; its counts, if it has nothing else."""
    rest = tuple(measure for measure in request.measure if not measure.quantile) or (Measure.COUNT,)
    of = request.of if any(measure.of_variable for measure in rest) else None
    return replace(request, measure=rest, of=of)


def _by_bins(request: TableRequest, dataset: Dataset) -> TableRequest:
    """The table that quantiles are read off, which anybody may ask for as well."""
    weighted = (Measure.WEIGHTED_COUNT,) if dataset.weight else ()
    measure = (Measure.COUNT, *weighted, Measure.MEAN)
    of = _number(request, dataset).name
    plain = replace(request, measure=(Measure.COUNT,), of=None, over=None, percent=None, error=())
    return replace(plain, rows=table_classes(request, dataset), columns=(), measure=measure, of=of)


def _number(request: TableRequest, dataset: Dataset) -> Variable:
    """The number that quantiles are of, whatever recode of it is named."""
    return dataset.variables[dataset.variables[request.of or ""].column]


def _distributions(
    request: TableRequest, dataset: Dataset, columns: Mapping[str, Column], log_noise: float
) -> Distributions:
    bins = dataset.variables[table_classes(request, dataset)[-1]]
    there = list(present_places(bins))
    counts = columns["weighted_count" if dataset.weight else "count"]
    return Distributions(
        QuantileBins.of(replace(_number(request, dataset), cutpoints=bins.cutpoints)),
        counts.values[..., there],
        counts.noise[..., there],
        columns["mean"].values[..., there],
        columns["count"].values[..., there].sum(axis=-1),
        log_noise,
    )


def _quantiles(request: TableRequest, dataset: Dataset, found: Distributions, shield: Shield) -> dict[str, Column]:
    """Each quantile to the digits that its standard error supports; [x] where it lies in an open bin."""
    variable, columns = _number(request, dataset), {}
    for measure in request.quantiles:
        share = measure.quantile or 0.0
        values, (noise, error) = found.values(share), found.errors(share)
        marks = np.where(found.whole > 0, np.where(np.isnan(values), "x", ""), "z")
        values, noise, error = (np.where(marks == "", numbers, 0.0) for numbers in (values, noise, error))
        shown = Amounts(values, noise, error, marks)
        label = f"{_LABELS[measure]} of {variable.label}"
        decimals = min(variable.decimals + 1, shown.fine(variable, shield.policy))
        columns[measure.value] = shown.column(measure.value, label, decimals, shield.policy)
    return columns


_LABELS = {
    Measure.P10: "10th percentile",
    Measure.P25: "25th percentile",
    Measure.MEDIAN: "Median",
    Measure.P75: "75th percentile",
    Measure.P90: "90th percentile",
}


def dimensions(request: TableRequest, dataset: Dataset) -> tuple[Dimension, ...]:
    """The declared classes of each variable, and its total."""
    found = []
    for name in request.by:
        variable = dataset.classifier(name)
        codes = variable.codes or ()
        labels = (*(code.label for code in codes), "Total")
        found.append(Dimension(name, variable.label, (*(code.code for code in codes), TOTAL), labels))
    return tuple(found)
