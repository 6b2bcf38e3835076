"""Why some cells cannot be protected, and what would help."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from confide.arrays import Floats
from confide.errors import Mistake
from confide.tables.suppression.problem import Demand, SuppressionProblem
from confide.tables.suppression.protection import OUTSIDER, Protection
from confide.tables.suppression.witness import TINY, Finder

__all__ = ["explain"]


NAMED = 3
"""How many cells a message names."""


def explain(problem: SuppressionProblem, demands: Sequence[Demand]) -> Mistake:
    """A `Mistake` that names the cells no pattern protects, and what would have to be relaxed."""
    cells = list(dict.fromkeys(demand.cell for demand in demands))
    names = _names(problem, cells)
    what = "This cell" if len(cells) == 1 else f"These {len(cells)} cells"
    advice = list(dict.fromkeys(_advice(problem, demand) for demand in _one_each(demands)[:NAMED]))
    return Mistake(f"{what} cannot be protected, whatever else is suppressed: {names}.", suggestions=advice)


def _one_each(demands: Sequence[Demand]) -> list[Demand]:
    return list({demand.cell: demand for demand in reversed(demands)}.values())[::-1]


def _advice(problem: SuppressionProblem, demand: Demand) -> str:
    """What would protect a cell, having tried it."""
    name, side = problem.name(demand.cell), {1: "upper", -1: "lower", 0: "sliding"}[demand.side]
    up, down = (float(room[demand.cell]) for room in problem.room)
    if {1: up, -1: down, 0: up + down}[demand.side] < demand.amount * (1 - TINY):
        return f"The bounds of {name} leave no room for its {side} level: widen them or lower the level."
    nothing = np.zeros(len(problem.values), dtype=np.bool_)
    price = np.where(problem.shown, 1.0, 1e-3)
    witnesses = Protection(Finder(replace(problem, shown=nothing))).serve(demand, price, nothing)
    if witnesses is not None:
        used = np.unique(np.concatenate([witness.cells for witness in witnesses]))
        names = _names(problem, used[problem.shown[used]].tolist())
        return f"For {name}, mark these as safe, which are now empty or must be published: {names}; or combine codes."
    protection = Protection(Finder(problem))
    lower = f", or lower its {side} level" if _helps_to_lower(protection, demand, price) else ""
    if protection.undoing(demand, price, nothing) == [OUTSIDER]:
        return f"Widen the bounds of the cells that {name} is summed with{lower}."
    return f"A contributor who knows their own cells can undo {name}: combine codes there{lower}."


def _helps_to_lower(protection: Protection, demand: Demand, price: Floats) -> bool:
    least = replace(demand, amount=1.0 if protection.finder.problem.whole else demand.amount / 100)
    nothing = np.zeros(len(price), dtype=np.bool_)
    return least.amount < demand.amount and protection.serve(least, price, nothing) is not None


def _names(problem: SuppressionProblem, cells: Sequence[int]) -> str:
    return "; ".join(problem.name(cell) for cell in cells[:NAMED]) + ("; ..." if len(cells) > NAMED else "")
