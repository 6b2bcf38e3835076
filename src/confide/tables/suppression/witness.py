"""Witnesses: tables the attacker cannot rule out, in which a cell is far from its true value."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from confide.arrays import Bools, Floats, Ints
from confide.tables.programs.solver import Solver
from confide.tables.suppression.problem import Demand, SuppressionProblem
from confide.tables.suppression.simplex import FOUND, LOST, REACH, ROWS, Costs, cheapest, graph_of, tableau_for

__all__ = ["TINY", "Finder", "Room", "Witness"]


Room = tuple[Floats, Floats]
"""How far each cell may lie above and below its value, as someone knows beforehand."""

TINY = 1e-6
"""Moves of less than this share of the amount are none, and an amount is met to within this share."""

NEAR, DEARER = 200, 0.5
"""If a search needs more than so many relations, every cell costs at least this, so that the moves stay near."""

DETOURS, DETOUR = 5, 10.0
"""So often a solution that is not whole is given up by making its fractional moves so many times dearer."""

GAIN = 1e6
"""What a unit of the farthest move is worth: more than all prices on the way."""


class Witness(NamedTuple):
    """A table that satisfies every relation and bound: these cells differ from the true one, by these moves."""

    cells: Ints
    moves: Floats

    def meets(self, demand: Demand) -> bool:
        """Whether it shows the cell far enough from its value, on the side that is asked for."""
        move = float(self.moves[self.cells == demand.cell].sum())
        return (abs(move) if demand.side == 0 else move * demand.side) >= demand.amount * (1 - TINY)


class Finder:
    """Finds the cheapest witness for a demand, by linear programs among the cells near to it.

    Promise: a witness satisfies every relation and bound to within some millionths of the amount, exactly if values are
    whole. If no witness is found there is none; for whole numbers, none was found in a long search. Of those that must
    not be dear, only such are found as need no more relations than `patience`.
    """

    def __init__(self, problem: SuppressionProblem) -> None:
        self.problem = problem
        self.searched = 0
        self.patience = ROWS
        self.solver = Solver()
        self.room: Room = problem.room
        free = sparse.diags_array((~problem.shown).astype(np.float64), format="csr")
        matrix = sparse.csr_array(problem.relations.matrix @ free)
        matrix.eliminate_zeros()
        self.graph = graph_of(matrix)
        self._columns = sparse.csc_array(matrix)
        self._tableau = tableau_for(self.graph)

    def find(
        self, demand: Demand, price: Floats, barred: Bools, *, room: Room | None = None, dear: float = np.inf
    ) -> Witness | None:
        """The cheapest witness for a demand on one side that moves no barred cell and stays in the room.

        If it must not be `dear`, the search gives up early.
        """
        room = room or self.room
        if room[0 if demand.side > 0 else 1][demand.cell] < demand.amount * (1 - TINY):
            return None
        unit = 1.0 if self.problem.whole else demand.amount
        costs = Costs(*room, price, barred, demand.amount, unit)
        for _ in range(DETOURS + 1):
            witness = self._cheapest(demand, costs, dear)
            if witness is None or not self.problem.whole:
                return witness
            split = np.abs(witness.moves - np.rint(witness.moves)) > TINY
            if not split.any():
                return Witness(witness.cells, np.rint(witness.moves))
            price = costs.price.copy()
            price[witness.cells[split]] *= DETOUR
            costs = costs._replace(price=price)
        return self._solved(demand, costs, whole=True)

    def farthest(self, demand: Demand, price: Floats, barred: Bools, *, room: Room | None = None) -> Witness | None:
        """The witness that goes as far as possible towards a demand on one side, and no farther than it asks."""
        unit = 1.0 if self.problem.whole else demand.amount
        costs = Costs(*(room or self.room), price, barred, demand.amount, unit)
        return self._solved(demand, costs, whole=self.problem.whole, partly=True)

    def _cheapest(self, demand: Demand, costs: Costs, dear: float) -> Witness | None:
        self.searched += 1
        spreads = bool((costs.price < DEARER).any())
        rows = self.patience if dear < np.inf else NEAR if spreads else ROWS
        first = demand.side * demand.amount
        outcome, cells, moves = cheapest(self.graph, self._tableau, costs, demand.cell, first, dear, rows)
        if outcome == FOUND:
            return _witness(cells, moves, demand)
        if outcome != LOST or dear < np.inf:
            return None
        if spreads:
            return self._cheapest(demand, costs._replace(price=np.maximum(costs.price, DEARER)), dear)
        return self._solved(demand, costs)

    def _solved(self, demand: Demand, costs: Costs, *, whole: bool = False, partly: bool = False) -> Witness | None:
        """What HiGHS makes of it, among all cells that may move: where our own simplex has no room, and for whole numbers."""
        amount, unit = demand.amount, costs.unit
        cells = np.flatnonzero(~(costs.barred | self.problem.shown))
        up, down = (np.minimum(room[cells], REACH * amount) for room in costs[:2])
        price = [costs.price[cells] * unit / np.clip(room, TINY * amount, amount) for room in (up, down)]
        cost, lower, upper = np.concatenate(price), np.zeros(2 * len(cells)), np.concatenate([up, down]) / unit
        place = int(np.searchsorted(cells, demand.cell))
        target, opposite = (place, place + len(cells))[:: demand.side]
        if partly or not whole:  # whole numbers may be able to go farther and not just as far
            upper[target] = amount / unit
        upper[opposite] = 0.0
        if partly:
            cost[target] = -GAIN
        else:
            lower[target] = amount / unit
        matrix = self._columns[:, cells]
        self.solver.take_matrix(cost, (lower, upper), sparse.hstack([matrix, -matrix], format="csc"))
        if whole:
            self.solver.make_whole()
        x = self.solver.run()
        if x is None:
            return None
        x = np.rint(x) if whole else x
        return _witness(cells, (x[: len(cells)] - x[len(cells) :]) * unit, demand)


def _witness(cells: Ints, moves: Floats, demand: Demand) -> Witness | None:
    there = np.abs(moves) > TINY * demand.amount
    return Witness(cells[there], moves[there]) if there.any() else None
