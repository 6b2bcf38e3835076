"""What can be told from public metadata alone: is the request well formed, and does the policy allow its shape?"""

from collections.abc import Iterable, Sequence

from confide.errors import Mistake, Reason, nearest
from confide.model.catalog.dataset import Dataset, Variable
from confide.model.policy import Policy
from confide.model.request import Table
from confide.model.universe import Condition, Universe

__all__ = ["admit", "admit_universe", "check_shape", "check_universe", "check_variables"]


def admit(request: Table, dataset: Dataset) -> None:
    """Raise a Mistake that names the first thing that is not in the codebook."""
    for name in request.by:
        dataset.classifier(name)
    if request.of is not None and not dataset.variable(request.of).measurable:
        numbers = [v.name for v in dataset.variables.values() if v.measurable]
        hint = nearest(request.of, numbers) or ["Numeric variables: " + ", ".join(numbers) + "."]
        raise Mistake(f"{request.of!r} has no totals or means: it is not a numeric variable.", suggestions=hint)
    admit_universe(request.where, dataset)


def admit_universe(where: Universe, dataset: Dataset) -> None:
    """Raise a Mistake that names the first condition that the codebook does not allow."""
    for piece in where.pieces:
        for condition in piece.conditions:
            _admit_condition(condition, dataset)


def _admit_condition(condition: Condition, dataset: Dataset) -> None:
    variable = dataset.classifier(condition.variable)
    if not variable.universe:
        raise Mistake(f"{variable.name!r} may not define a universe. Use it in rows or columns instead.")
    assert variable.codes is not None
    known = [*variable.codes.names, *variable.nodes]
    for code in condition.codes:
        if code not in known:
            hint = nearest(code, known) or [f"Its codes begin with {', '.join(map(repr, known[:4]))}."]
            raise Mistake(f"{variable.name!r} has no code {code[:60]!r}.", suggestions=hint)


def check_universe(where: Universe, policy: Policy) -> list[Reason]:
    """The reasons to refuse a universe whatever the data are."""
    limits = policy.universe
    reasons = []
    if len(where.variables) > limits.variables:
        reasons.append(Reason("universe.variables", f"At most {limits.variables} variables may define a universe."))
    if len(where.pieces) > limits.pieces:
        reasons.append(Reason("universe.pieces", f"A universe may have at most {limits.pieces} pieces."))
    return reasons


def check_shape(request: Table, dataset: Dataset, policy: Policy) -> list[Reason]:
    """The reasons to refuse the request whatever the data are."""
    return check_variables(request.by, request.where, dataset, policy)


def check_variables(by: Sequence[str], where: Universe, dataset: Dataset, policy: Policy) -> list[Reason]:
    """The reasons to refuse a table by these variables, complete or not, whatever the data are."""
    tables = policy.tables
    reasons = check_universe(where, policy)
    if len(by) > tables.dimensions:
        reasons.append(Reason("tables.dimensions", f"A table may have at most {tables.dimensions} variables."))
    if cell_number(by, dataset) > tables.cells:
        reasons.append(Reason("tables.cells", f"This table would have more than {tables.cells} cells."))
    for first, second in _excluded(by, where, dataset):
        reasons.append(Reason("tables.exclusion", f"{first!r} and {second!r} may not be used together."))
    return reasons


def cell_number(by: Iterable[str], dataset: Dataset) -> int:
    """The declared cells of a table, margins aside."""
    cells = 1
    for name in by:
        cells *= len(dataset.classifier(name).codes or ())
    return cells


def _excluded(by: Iterable[str], where: Universe, dataset: Dataset) -> list[tuple[str, str]]:
    """Pairs of variables of one field-exclusion group that are not levels of one hierarchy; recodes of one number too."""
    names = sorted({*by, *where.variables})
    return [
        (first, second)
        for i, first in enumerate(names)
        for second in names[i + 1 :]
        if _clash(dataset.variables[first], dataset.variables[second], dataset)
    ]


def _clash(first: Variable, second: Variable, dataset: Dataset) -> bool:
    same_group = first.group is not None and first.group == second.group
    return (same_group and dataset.root(first.name) != dataset.root(second.name)) or first.column == second.column
