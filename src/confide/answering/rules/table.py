"""Rules for tables: on their shape, and on the counts that rules look at."""

from dataclasses import dataclass

from confide.answering.analysis import Admitted
from confide.answering.rules.rule import Rule, Stage
from confide.arrays import Ints
from confide.errors import Reason
from confide.model.admission.table import check_cells, check_dimensions, check_exclusion
from confide.model.catalog.dataset import Dataset, Role
from confide.model.policy import Policy
from confide.model.request import TableRequest

__all__ = ["CELL_RULES", "EXCLUSION", "TABLE_SHAPE_RULES", "JudgedTable", "judge_cells"]


@dataclass(frozen=True)
class JudgedTable:
    """A table as rules see it: protected numbers of units with all margins, totals last on each axis."""

    dataset: Dataset
    by: tuple[str, ...]
    units: Ints

    @property
    def inner(self) -> Ints:
        return self.units[tuple(slice(None, -1) for _ in self.by)]


def judge_cells(table: JudgedTable, policy: Policy) -> list[Reason]:
    """The reasons to refuse the cells of a table."""
    return [reason for rule in CELL_RULES if rule.applies(policy) for reason in rule.judges[Stage.CELLS](table, policy)]


def _sparsity(table: JudgedTable, policy: Policy) -> list[Reason]:
    rules, inner = policy.tables, table.inner
    occupied = int((inner > 0).sum())
    sparse = int(((inner > 0) & (inner < rules.sparse_below)).sum())
    words = "This table has too many small cells to be released."
    return [Reason("tables.sparsity", words)] if sparse > rules.sparsity * occupied else []


def _mean_cell(table: JudgedTable, policy: Policy) -> list[Reason]:
    few = table.units.ravel()[-1] < policy.tables.mean_cell * table.inner.size
    return [Reason("tables.mean_cell", "This table spreads too few units over too many cells.")] if few else []


def _class_disclosure(table: JudgedTable, policy: Policy) -> list[Reason]:
    return [
        Reason("tables.class_disclosure", f"A whole group falls into one class of {name!r}.")
        for axis, name in enumerate(table.by)
        if table.dataset.variables[name].role is Role.CONFIDENTIAL and _whole_group(table.inner, axis)
    ]


def _whole_group(inner: Ints, axis: int) -> bool:
    """Whether some group of the other variables has all its units in one class."""
    classes = (inner > 0).sum(axis=axis)
    return inner.shape[axis] > 1 and bool((classes == 1).any())


def _dimensions(question: Admitted[TableRequest], policy: Policy) -> list[Reason]:
    return check_dimensions(question.request.by, policy)


def _cells(question: Admitted[TableRequest], policy: Policy) -> list[Reason]:
    return check_cells(question.request.by, question.dataset, policy)


def _exclusion(question: Admitted[TableRequest], policy: Policy) -> list[Reason]:
    return check_exclusion(question.request.by, question.request.where, question.dataset)


EXCLUSION = Rule(
    "tables.exclusion",
    "No two variables stand together that exclude each other.",
    "two variables of one `group`, or two cuts of one number, in a table or as classes in a model",
    {Stage.SHAPE: _exclusion},
)

TABLE_SHAPE_RULES = (
    Rule(
        "tables.dimensions",
        "The table has at most {tables.dimensions} variables.",
        "a table of too many variables",
        {Stage.SHAPE: _dimensions},
    ),
    Rule(
        "tables.cells",
        "The table has at most {tables.cells} cells.",
        "a table of too many cells",
        {Stage.SHAPE: _cells},
    ),
    EXCLUSION,
)

CELL_RULES = (
    Rule(
        "tables.sparsity",
        "At most {tables.sparsity:.0%} of the cells that are not empty have fewer than {tables.sparse_below} units.",
        "a table with too many small cells",
        {Stage.CELLS: _sparsity},
        lambda policy: policy.tables.sparsity < 1 and policy.tables.sparse_below >= 2,
    ),
    Rule(
        "tables.mean_cell",
        "On average a cell has at least {tables.mean_cell:g} units.",
        "a table that spreads too few units over too many cells",
        {Stage.CELLS: _mean_cell},
        lambda policy: bool(policy.tables.mean_cell),
    ),
    Rule(
        "tables.class_disclosure",
        "No whole group falls into one class of a confidential variable.",
        "a table in which a whole group falls into one class of a confidential variable",
        {Stage.CELLS: _class_disclosure},
        lambda policy: policy.tables.class_disclosure,
    ),
)
