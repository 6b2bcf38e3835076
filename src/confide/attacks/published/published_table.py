"""What an intruder sees of a table, and what they can conclude about its cells."""

from dataclasses import dataclass

import numpy as np

from confide.arrays import Bools, Floats
from confide.tables.programs.deadline import Deadline
from confide.tables.programs.program import Program, solve
from confide.tables.suppression.intervals import intervals
from confide.tables.suppression.problem import SuppressionProblem
from confide.tables.table.relations import Relations

__all__ = ["CellClaims", "PublishedTable", "cell_bounds"]


@dataclass(frozen=True, eq=False)
class PublishedTable:
    """A table as published: NaN where a cell is suppressed. `wanted` are the cells the intruder is after.

    Everyone knows the relations, that cells lie from `least` to `most`, and whether they are `whole` numbers. Of how the
    table was protected they know the `base` it was rounded to, whether to the `nearest` multiple, and the `share` of
    their value by which sensitive cells, the wanted ones, were moved at least.
    """

    relations: Relations
    value: Floats
    least: Floats
    most: Floats
    whole: bool
    wanted: Bools
    base: float = 0.0
    nearest: bool = False
    share: float = 0.0

    @property
    def suppressed(self) -> Bools:
        return np.isnan(self.value)


@dataclass(frozen=True, eq=False)
class CellClaims:
    """The value of each cell, NaN where nothing is claimed; right if off by no more than the share `within` of it.

    `reader` is what an honest reader would have taken for the value of each; where that is NaN, one guess for all.
    """

    value: Floats
    reader: Floats
    within: float
    notes: tuple[str, ...] = ()


def cell_bounds(relations: Relations, least: Floats, most: Floats, *, whole: bool) -> tuple[Floats, Floats] | None:
    """The least and largest value that every cell can have in a table that adds up; None if no table does.

    By linear programs, as an audit of suppression solves them, about any table that fits; the true one is not needed.
    Ends are rounded inwards where values are whole.
    """
    fitting = _fitting(relations, least, most)
    if fitting is None:
        return None
    none, fixed = np.zeros(len(least)), least == most
    problem = SuppressionProblem(
        relations,
        np.where(fixed, least, fitting),
        least,
        most,
        np.zeros(len(least), np.bool_),
        none,
        none,
        none,
        none,
        fixed,
    )
    low, high = intervals(problem, ~fixed)
    return (np.ceil(low - 1e-6), np.floor(high + 1e-6)) if whole else (low, high)


def _fitting(relations: Relations, least: Floats, most: Floats) -> Floats | None:
    program = Program(
        np.zeros(len(least)),
        least,
        most,
        relations.matrix,
        relations.rhs,
        relations.rhs,
        np.zeros(len(least), np.bool_),
    )
    found = solve(program, Deadline()).values
    return None if found is None else np.clip(found, least, most)
