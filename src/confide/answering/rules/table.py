"""Rules for tables: on their shape, on the counts that rules look at, and on the cross of what a question names."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from confide.answering.analysis import Admitted
from confide.answering.cross import JudgedCross
from confide.answering.rules.rule import Judge, Rule, Stage
from confide.arrays import Ints
from confide.errors import Reason
from confide.model.admission.cross import declared_cells, present_places
from confide.model.admission.related import check_suppressed
from confide.model.admission.table import check_cells, check_dimensions, check_exclusion, table_classes
from confide.model.catalog.dataset import Dataset, Role
from confide.model.policy import Policy
from confide.model.request import Measure, Request, TableRequest

__all__ = [
    "BASE",
    "CELL_RULES",
    "CROSS_RULES",
    "EXCLUSION",
    "SUPPRESSED",
    "TABLE_SHAPE_RULES",
    "JudgedTable",
    "check_base",
    "judge_cells",
]


@dataclass(frozen=True)
class JudgedTable:
    """A table as rules see it: protected numbers of units with all margins, totals last on each axis."""

    dataset: Dataset
    by: tuple[str, ...]
    units: Ints

    @property
    def inner(self) -> Ints:
        return self.units[tuple(slice(None, -1) for _ in self.by)]

    @property
    def cells(self) -> Ints:
        """What is judged: the cells without a code of missing values."""
        return self.inner[np.ix_(*(present_places(self.dataset.variables[name]) for name in self.by))]

    @property
    def present(self) -> int:
        """The units in these cells. One in several of them counts once, or where a code is missing no more often than
        there are units."""
        everyone = int(self.units.ravel()[-1])
        return everyone if self.cells.size == self.inner.size else min(everyone, int(self.cells.sum()))


def judge_cells(table: JudgedTable, policy: Policy) -> list[Reason]:
    """The reasons to refuse the cells of a table."""
    return [reason for rule in CELL_RULES if rule.applies(policy) for reason in rule.judges[Stage.CELLS](table, policy)]


def _alone(judge: Judge) -> Judge:
    """The judge of a table by itself, which a policy that judges the cross does not ask."""
    return lambda table, policy: [] if policy.tables.cross else judge(table, policy)


def _each(judge: Callable[[JudgedCross, Policy], list[Reason]]) -> Judge:
    """The judge of crosses: the reasons to refuse the first that does not pass."""
    return lambda crosses, policy: next(filter(None, (judge(cross, policy) for cross in crosses)), [])


def _sparsity(table: JudgedTable, policy: Policy) -> list[Reason]:
    rules, cells = policy.tables, table.cells
    occupied = int((cells > 0).sum())
    sparse = int(((cells > 0) & (cells < rules.sparse_below)).sum())
    words = "This table has too many small cells to be released."
    return [Reason("tables.sparsity", words)] if sparse > rules.sparsity * occupied else []


def _sparsity_of_cross(cross: JudgedCross, policy: Policy) -> list[Reason]:
    cells = cross.cells
    if cells.sparse <= policy.tables.sparsity * cells.occupied:
        return []
    return [Reason("tables.sparsity", f"{_named(cross)} too many small cells. {_leave_out(cross)}")]


def _mean_cell(table: JudgedTable, policy: Policy) -> list[Reason]:
    few = table.present < policy.tables.mean_cell * table.cells.size
    return [Reason("tables.mean_cell", "This table spreads too few units over too many cells.")] if few else []


def _mean_cell_of_cross(cross: JudgedCross, policy: Policy) -> list[Reason]:
    if cross.units >= policy.tables.mean_cell * cross.declared:
        return []
    return [Reason("tables.mean_cell", f"{_named(cross)} too many cells for so few units. {_leave_out(cross)}")]


def _class_disclosure(table: JudgedTable, policy: Policy) -> list[Reason]:
    return [
        _disclosing(name)
        for axis, name in enumerate(table.by)
        if table.dataset.variables[name].role is Role.CONFIDENTIAL and _whole_group(table.cells, axis)
    ]


def _class_disclosure_of_cross(cross: JudgedCross, policy: Policy) -> list[Reason]:
    return [_disclosing(name) for name in cross.cells.disclosed]


def _disclosing(name: str) -> Reason:
    return Reason("tables.class_disclosure", f"A whole group falls into one class of {name!r}.")


def _whole_group(cells: Ints, axis: int) -> bool:
    """Whether some group of the other variables has all its units in one class."""
    classes = (cells > 0).sum(axis=axis)
    return cells.shape[axis] > 1 and bool((classes == 1).any())


def _named(cross: JudgedCross) -> str:
    *rest, last = map(repr, cross.names)
    return f"Together {', '.join(rest)} and {last} have" if rest else f"{last} has"


def _leave_out(cross: JudgedCross) -> str:
    """What to do, from public metadata alone: the variable with the most classes is the one to begin with."""
    finest = max(cross.names, key=lambda name: declared_cells([name], cross.dataset))
    return (
        f"Leave out {finest!r} or another of them, or take a coarser form."
        if cross.names[1:]
        else "Take a coarser form."
    )


def _dimensions(question: Admitted[TableRequest], policy: Policy) -> list[Reason]:
    return check_dimensions(table_classes(question.request, question.dataset), policy)


def _cells(question: Admitted[TableRequest], policy: Policy) -> list[Reason]:
    return check_cells(table_classes(question.request, question.dataset), question.dataset, policy)


def _exclusion(question: Admitted[TableRequest], policy: Policy) -> list[Reason]:
    return check_exclusion(table_classes(question.request, question.dataset), question.request.where, question.dataset)


def _suppressed(question: Admitted[TableRequest], policy: Policy) -> list[Reason]:
    request = question.request
    names = [*request.by, *(name for name in (request.of, request.over) if name)]
    return check_suppressed(names, request.where, question.dataset, policy)


def check_base(question: Admitted[Request[Any]], classes: Iterable[str], *, needs: bool) -> list[Reason]:
    """Whether a question stays in the base that counts come from; `needs` is whether it needs the records as they are."""
    base, within = question.base or (), (name for box in question.universe.boxes for name, _ in box)
    beyond = [name for name in dict.fromkeys((*classes, *within)) if name not in base]
    if beyond:
        words = f"Counts come from a protected base, which does not have {', '.join(map(repr, beyond))}. It has "
        return [Reason("counts.base", f"{words}{', '.join(map(repr, base))}.")]
    return [Reason("counts.base", "Only counts come from a protected base; nothing else is answered.")] if needs else []


def _base(question: Admitted[TableRequest], policy: Policy) -> list[Reason]:
    request = question.request
    needs = request.measure != (Measure.COUNT,) and not policy.records.changes
    return check_base(question, table_classes(request, question.dataset), needs=needs)


BASE = Rule(
    "counts.base",
    "Its classes are those of the protected base; it wants nothing but counts, unless the records are protected as well.",
    'with `counts.mechanism = "safe"`, a question that names a class variable which the base does not have, or that wants '
    "more than counts of records that nothing else protects",
    {Stage.SHAPE: _base},
    lambda policy: policy.counts.mechanism == "safe",
)

EXCLUSION = Rule(
    "tables.exclusion",
    "No two variables stand together that exclude each other.",
    "two variables of one `group`, or two cuts of one number, in a table or as classes in a model",
    {Stage.SHAPE: _exclusion},
)

SUPPRESSED = Rule(
    "models.suppressed",
    "The sensitive variable is not related to a suppressed one.",
    "a table, model or correlation that brings `models.sensitive` and a suppressed variable together, the universe included",
    {Stage.SHAPE: _suppressed},
    lambda policy: bool(policy.models.sensitive),
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
    SUPPRESSED,
    BASE,
)

CELL_RULES = (
    Rule(
        "tables.sparsity",
        "At most {tables.sparsity:.0%} of the cells that are not empty have fewer than {tables.sparse_below} units.",
        "a table with too many small cells; with `tables.cross`, a question whose class variables together have them",
        {Stage.CROSS_CELLS: _each(_sparsity_of_cross), Stage.CELLS: _alone(_sparsity)},
        lambda policy: policy.tables.sparsity < 1 and policy.tables.sparse_below >= 2,
    ),
    Rule(
        "tables.mean_cell",
        "On average a cell has at least {tables.mean_cell:g} units.",
        "a table that spreads too few units over too many cells; with `tables.cross`, a question whose class variables "
        "together do",
        # Asked first of a cross, since it needs no table: a cross that is too fine is never counted.
        {Stage.CROSS: _each(_mean_cell_of_cross), Stage.CELLS: _alone(_mean_cell)},
        lambda policy: bool(policy.tables.mean_cell),
    ),
    Rule(
        "tables.class_disclosure",
        "No whole group falls into one class of a confidential variable.",
        "a table in which a whole group falls into one class of a confidential variable; with `tables.cross`, a question "
        "that names it anywhere, with the variables that make the group",
        {Stage.CROSS_CELLS: _each(_class_disclosure_of_cross), Stage.CELLS: _alone(_class_disclosure)},
        lambda policy: policy.tables.class_disclosure,
    ),
)
"""What is judged: the table by itself, or with `tables.cross` the cross over the whole file."""


def _on_cross(rule: Rule) -> Rule:
    judges = {stage: judge for stage, judge in rule.judges.items() if stage < Stage.UNIVERSE}
    return replace(rule, judges=judges, concerns=lambda policy: policy.tables.cross)


CROSS_RULES = tuple(map(_on_cross, CELL_RULES))
"""The same for questions that are no tables; where the policy does not judge the cross, `models.implied` asks instead."""
