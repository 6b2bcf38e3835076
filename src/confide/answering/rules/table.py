"""Rules for tables, on the counts that rules look at."""

from confide.arrays import Ints
from confide.errors import Reason
from confide.model.catalog.dataset import Dataset, Role
from confide.model.policy import TableRules
from confide.model.request import Table

__all__ = ["judge_table"]


def judge_table(request: Table, dataset: Dataset, rules: TableRules, units: Ints) -> list[Reason]:
    """The reasons to refuse a table; `units` has all margins, totals last on each axis."""
    inner = units[tuple(slice(None, -1) for _ in request.by)]
    reasons = []
    occupied = int((inner > 0).sum())
    sparse = int(((inner > 0) & (inner < rules.sparse_below)).sum())
    if sparse > rules.sparsity * occupied:
        reasons.append(Reason("tables.sparsity", "This table has too many small cells to be released."))
    if units.ravel()[-1] < rules.mean_cell * inner.size:
        reasons.append(Reason("tables.mean_cell", "This table spreads too few units over too many cells."))
    if rules.class_disclosure:
        for axis, name in enumerate(request.by):
            if dataset.variables[name].role is Role.CONFIDENTIAL and _whole_group(inner, axis):
                reasons.append(Reason("tables.class_disclosure", f"A whole group falls into one class of {name!r}."))
    return reasons


def _whole_group(inner: Ints, axis: int) -> bool:
    """Whether some group of the other variables has all its units in one class."""
    classes = (inner > 0).sum(axis=axis)
    return inner.shape[axis] > 1 and bool((classes == 1).any())
