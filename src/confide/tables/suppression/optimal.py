"""Branch and cut for cell suppression (Fischetti and Salazar 2001): the cheapest pattern of a small table.

Which cells to suppress is decided by a mixed integer program.

For a pattern that leaves a demand unmet, the attacker's own proof (the dual of their linear program) is an inequality that
every sufficient pattern satisfies and this one does not. Such inequalities are added until the cheapest pattern that
satisfies them all meets every demand, or none is cheaper than the best one known.
Reference: Management Science 47: Benders' capacity constraints, strengthened.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from confide.arrays import Bools, Floats
from confide.tables.programs.deadline import Deadline
from confide.tables.programs.solver import Master, Solver
from confide.tables.suppression.problem import Demand, SuppressionProblem
from confide.tables.suppression.protection import OUTSIDER, Protection
from confide.tables.suppression.witness import Finder

__all__ = ["Proof", "optimise"]


VIOLATED = 1e-3
"""An inequality is added if it is violated by more than this; its right side is 1."""


@dataclass(frozen=True, eq=False)
class Proof:
    """A pattern, what its secondaries cost, and what every sufficient pattern costs at least."""

    suppressed: Bools
    cost: float
    bound: float

    @property
    def gap(self) -> float:
        """By what share of its cost a pattern may be cheaper."""
        return max(0.0, self.cost - self.bound) / self.cost if self.cost > 0 else 0.0


class _Attack:
    """The attacker's linear program, when each cell is suppressed to some degree: how far can a cell be from its value?"""

    def __init__(self, problem: SuppressionProblem) -> None:
        self.free = np.flatnonzero(~problem.shown)
        self.protection = Protection(Finder(problem))
        self._cells = len(problem.values)
        self._matrix = sparse.csr_array(problem.relations.matrix[:, self.free])
        self._place = np.full(self._cells, -1)
        self._place[self.free] = np.arange(len(self.free))
        self._solver = Solver()
        nothing = np.zeros(len(self.free))
        self._solver.take_matrix(nothing, (nothing, nothing), self._matrix)

    def inequality(self, demand: Demand, attacker: int, x: Floats) -> Floats | None:
        """A row r so that every sufficient pattern has r @ x >= 1 and this x has not; None if the demand is met."""
        amount = self.protection.asked(demand, attacker).amount
        if amount <= 0:
            return None
        rooms = [room[self.free] / amount for room in self.protection.room(attacker)]
        row, reached = np.zeros(len(self.free)), 0.0
        for side in (1, -1) if demand.side == 0 else (demand.side,):
            far, part = self._farthest(int(self._place[demand.cell]), side, rooms, x[self.free])
            reached += far
            row += part
        row = np.minimum(row, 1.0)
        row[self._place[demand.cell]] = 0.0
        if reached >= 1 - VIOLATED or row @ x[self.free] >= 1 - VIOLATED:
            return None
        whole = np.zeros(self._cells)
        whole[self.free] = np.where(row > 1e-7, row, 0.0)
        return whole

    def last_doubts(self, suppressed: Bools, attacks: list[tuple[Demand, int]]) -> list[Floats]:
        """Inequalities against a pattern that outsiders cannot undo: of insiders, and where whole numbers are needed.

        Insiders who undo it are added to the attacks.
        """
        rows = []
        price = np.ones(self._cells)
        for demand in [demand for demand, attacker in attacks if attacker == OUTSIDER]:
            for attacker in self.protection.undoing(demand, price, ~suppressed):
                row = self.inequality(demand, attacker, suppressed.astype(np.float64))
                if row is None:
                    # No proof but that the pattern fails, so any that is enough suppresses something else.
                    row = np.zeros(self._cells)
                    row[self.free] = ~suppressed[self.free]
                elif (demand, attacker) not in attacks:
                    attacks.append((demand, attacker))
                rows.append(row)
        return rows

    def _farthest(self, target: int, side: int, rooms: Sequence[Floats], x: Floats) -> tuple[float, Floats]:
        """How far the cell can go to one side, in amounts but no farther than one, and what each cell allows it at most."""
        up, down = (np.minimum(room, 1.0) * x for room in rooms)
        up[target] = down[target] = 1.0
        every = np.arange(len(x))
        self._solver.bound(every, -down, up)
        self._solver.price(np.array([target]), np.array([-float(side)]))
        moves = self._solver.run()
        self._solver.price(np.array([target]), np.zeros(1))
        if moves is None or abs(moves[target]) >= 1 - VIOLATED:
            return 1.0, np.ones(len(x))
        slack = -(self._matrix.T @ self._solver.duals())
        slack[np.abs(slack) < 1e-9] = 0.0
        # Where it can move without limit, suppressing the cell is enough by itself.
        with np.errstate(invalid="ignore"):
            part = np.where(slack == 0, 0.0, np.where(slack > 0, slack * rooms[1], -slack * rooms[0]))
        return abs(float(moves[target])), part


def optimise(problem: SuppressionProblem, start: Bools, deadline: Deadline) -> Proof:
    """The cheapest sufficient pattern, given one; if time runs out, that one and what every pattern costs at least."""
    proof = best = Proof(start, float(problem.cost[start & ~problem.primary].sum()), 0.0)
    try:
        for proof in _proofs(problem, best, deadline):
            if deadline.progress:
                deadline.progress(deadline.share, f"cost between {proof.bound:,.10g} and {proof.cost:,.10g}")
    except KeyboardInterrupt:
        deadline.interrupted = True
    return proof


def _proofs(problem: SuppressionProblem, best: Proof, deadline: Deadline) -> Iterator[Proof]:
    """Ever better bounds on a pattern, and last, if it is not the cheapest, the one that is."""
    attack = _Attack(problem)
    master = Master(problem.cost, always=problem.primary, never=problem.shown)
    master.beat(best.cost)
    attacks = [(demand, OUTSIDER) for demand in problem.demands()]
    decided = False
    while not deadline.over:
        x, bound = master.solve(deadline)
        best = replace(best, bound=min(best.cost, max(best.bound, bound)))
        yield best
        if x is None:
            break
        rows = [row for demand, attacker in attacks if (row := attack.inequality(demand, attacker, x)) is not None]
        if decided and not rows:
            rows = attack.last_doubts(x > 0.5, attacks)
            if not rows:
                yield Proof(x > 0.5, float(problem.cost[(x > 0.5) & ~problem.primary].sum()), bound)
                break
        if not master.add(rows):
            if decided:
                break
            decided = True
            master.decide()
