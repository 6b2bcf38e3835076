"""Controlled tabular adjustment (Castro 2006): the nearest table with every sensitive cell far from its value, that adds up.

Each sensitive cell goes up or down, so the problem is a mixed integer program with one yes or no for each (Castro
and González 2009). A few are decided all at once. Many are decided in blocks of neighbours while the others stay,
starting from all up or all down: every step is a small program, and there is a possible table at any time.
"""

import numpy as np

from confide.arrays import Ints
from confide.errors import Mistake
from confide.tables.adjustment.mixed_integer import OPEN, CtaProgram, Wanted
from confide.tables.programs.deadline import Deadline
from confide.tables.programs.program import Solution

__all__ = ["Wanted", "nearest_table"]


AT_ONCE = 120
"""As many directions are decided in one program."""

LAST = 10.0
"""So many seconds may be spent on the last program after the time is over."""

SHOWN = 5
"""A message names so many cells."""


def nearest_table(wanted: Wanted, *, cost: str, deadline: Deadline) -> Solution:
    """The values of the nearest table found in the time there is; `cost` is L1, L2 or Linf of the weighted changes.

    Promise: the values satisfy the relations, the bounds and the levels to within one millionth of the typical level, and
    exactly if they are whole. A `Mistake` that names cells where there is no such table. With L2 the directions are
    those found for L1, because no solver at hand decides them for squares.

    >>> from confide.tables.table.relations import Relations
    >>> one, bounds = np.ones(3), (np.array([9.0, 0, 0]), np.full(3, 9.0))
    >>> relations, sensitive = Relations.of([(0, [1, 2])], cells=3), np.array([False, True, False])
    >>> wanted = Wanted(relations, np.array([9.0, 4, 5]), *bounds, sensitive, one, 2 * one, one, True)
    >>> nearest_table(wanted, cost="L1", deadline=Deadline()).values.tolist()
    [9.0, 3.0, 6.0]
    """
    up, down = wanted.fits
    stuck = np.flatnonzero(wanted.sensitive & ~up & ~down)
    if len(stuck):
        raise _impossible(wanted, stuck, "Lower their protection levels, or widen their bounds.")
    model = CtaProgram(wanted, "L1" if cost == "L2" else cost)
    starts = [model.solve(ways, deadline) for ways in model.first_ways()]
    best = _improved(model, min(starts, key=lambda found: found.objective), deadline)
    if best.values is None:
        raise _none_found(model, best, deadline)
    # A solver takes a direction of 0.999999 for 1; with directions given, levels are met to the last digits.
    exact = best if wanted.whole else CtaProgram(wanted, cost).solve(model.ways(best), Deadline(limit=LAST))
    return Solution(model.table(best if exact.values is None else exact), best.objective, best.proven)


def _improved(model: CtaProgram, best: Solution, deadline: Deadline) -> Solution:
    """Decide the directions: all at once if there are few or nothing is known, in blocks if there are many."""
    count = len(model.cells)
    if not count or deadline.over:
        return best
    if count <= AT_ONCE or best.values is None:
        found = model.solve(np.full(count, OPEN), deadline, start=best)
        return found if found.values is not None or found.proven else best
    return model.improve(best, deadline)


def _impossible(wanted: Wanted, cells: Ints, remedy: str) -> Mistake:
    names = "; ".join(wanted.name(int(cell)) for cell in cells[:SHOWN])
    more = f" and {len(cells) - SHOWN} more" if len(cells) > SHOWN else ""
    return Mistake(
        f"No table protects its sensitive cells within all bounds. In the way: {names}{more}.", suggestions=[remedy]
    )


def _none_found(model: CtaProgram, best: Solution, deadline: Deadline) -> Mistake:
    """Why there is no table: whose bounds stand in the way, or the time."""
    if best.proven:
        remedy = "Widen the bounds of these cells, or lower protection levels near them."
        return _impossible(model.wanted, model.blocking(), remedy)
    ended = "it was interrupted" if deadline.interrupted else "the time was over"
    return Mistake(f"No adjusted table was found before {ended}.", suggestions=["Give a longer time limit."])
