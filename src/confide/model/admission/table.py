"""Tables: the variables they may have, and how many, whatever the data are."""

from collections.abc import Iterable, Sequence

from confide.errors import Mistake, Reason, nearest
from confide.model.admission.universe import admit_universe, check_universe
from confide.model.catalog.dataset import CodeList, Dataset, Variable
from confide.model.policy import Policy
from confide.model.request import Measure, TableRequest
from confide.model.universe import Universe

__all__ = ["admit_table", "check_cells", "check_dimensions", "check_exclusion", "check_variables", "table_classes"]


def admit_table(request: TableRequest, dataset: Dataset) -> TableRequest:
    """Raise a Mistake that names the first thing that is not in the codebook."""
    for name in request.by:
        dataset.classifier(name)
    if request.of is not None and not _suits(request, dataset.variable(request.of)):
        raise _no_number(request.of, dataset)
    if request.over is not None and not dataset.variable(request.over).measurable:
        raise _no_number(request.over, dataset)
    if request.index is not None and request.index_class[1] not in (
        dataset.classifier(request.index_class[0]).codes or ()
    ):
        variable, code = request.index_class
        known = (dataset.variables[variable].codes or CodeList(())).names
        hint = nearest(code, known) or [f"Codes of {variable!r}: {', '.join(known[:10])}."]
        raise Mistake(f"{variable!r} has no code {code[:60]!r} that could be 100.", suggestions=hint)
    if request.quantiles and any(_bins(request, dataset).name in dataset.sources(name) for name in request.by):
        raise Mistake(f"A quantile of {request.of!r} does not go with its own classes. Take these out of the table.")
    if request.error:
        _check_errors(request, dataset)
    admit_universe(request.where, dataset)
    return request


def _check_errors(request: TableRequest, dataset: Dataset) -> None:
    """Standard errors need a declared design, and an estimate: a plain count of a weighted sample is none."""
    if dataset.sampling is None:
        raise Mistake(
            f"{dataset.name!r} has no standard errors: how its units were drawn is not declared.",
            suggestions=["Ask for an interval with percentages of counts.", "The custodian may add [sampling]."],
        )
    if dataset.weight and all(measure is Measure.COUNT for measure in request.measure):
        raise Mistake(
            "A count of a weighted sample tells how many were asked, and has no standard error.",
            suggestions=["Ask for measure='weighted_count'."],
        )


def _no_number(name: str, dataset: Dataset) -> Mistake:
    numbers = [v.name for v in dataset.variables.values() if v.measurable]
    hint = nearest(name, numbers) or ["Numeric variables: " + ", ".join(numbers) + "."]
    return Mistake(f"{name!r} has no totals or means: it is not a numeric variable.", suggestions=hint)


def _suits(request: TableRequest, of: Variable) -> bool:
    """Whether all measures that are asked for can be of a variable: a recode has quantiles and nothing else."""
    alone = all(measure.quantile for measure in request.measure if measure.of_variable)
    return of.measurable or (alone and of.binned and of.classifies)


def table_classes(request: TableRequest, dataset: Dataset) -> tuple[str, ...]:
    """The variables whose classes a table is answered from: its own, and the bins of a number it has quantiles of, last."""
    return (*request.by, _bins(request, dataset).name) if request.quantiles else request.by


def _bins(request: TableRequest, dataset: Dataset) -> Variable:
    """The number that quantiles are asked of: as it is cut by the recode that is named, or at its finest cutpoints."""
    found = dataset.bins(request.of or "")
    if found is None:
        raise Mistake(
            f"{request.of!r} has no quantiles: no cutpoints are declared for it.",
            suggestions=["Ask for its mean, or the custodian to declare cutpoints."],
        )
    return found


def check_variables(by: Sequence[str], where: Universe, dataset: Dataset, policy: Policy) -> list[Reason]:
    """The reasons to refuse a table by these variables, complete or not, whatever the data are."""
    return [
        *check_universe(where, policy),
        *check_dimensions(by, policy),
        *check_cells(by, dataset, policy),
        *check_exclusion(by, where, dataset),
    ]


def check_dimensions(by: Sequence[str], policy: Policy) -> list[Reason]:
    most = policy.tables.dimensions
    return [Reason("tables.dimensions", f"A table may have at most {most} variables.")] if len(by) > most else []


def check_cells(by: Sequence[str], dataset: Dataset, policy: Policy) -> list[Reason]:
    most = policy.tables.cells
    too_many = cell_number(by, dataset) > most
    return [Reason("tables.cells", f"This table would have more than {most} cells.")] if too_many else []


def check_exclusion(by: Sequence[str], where: Universe, dataset: Dataset) -> list[Reason]:
    return [
        Reason("tables.exclusion", f"{first!r} and {second!r} may not be used together.")
        for first, second in _excluded(by, where, dataset)
    ]


def cell_number(by: Iterable[str], dataset: Dataset) -> int:
    """The declared cells of a table, margins aside."""
    cells = 1
    for name in by:
        cells *= len(dataset.classifier(name).codes or ())
    return cells


def _excluded(by: Iterable[str], where: Universe, dataset: Dataset) -> list[tuple[str, str]]:
    """Pairs of variables of one field-exclusion group that are not levels of one hierarchy; recodes of one number too."""
    names = sorted({source for name in (*by, *where.variables) for source in dataset.sources(name)})
    return [
        (first, second)
        for i, first in enumerate(names)
        for second in names[i + 1 :]
        if _clash(dataset.variables[first], dataset.variables[second], dataset)
    ]


def _clash(first: Variable, second: Variable, dataset: Dataset) -> bool:
    same_group = first.group is not None and first.group == second.group
    return (same_group and dataset.root(first.name) != dataset.root(second.name)) or first.column == second.column
