"""Points: tables that an outsider cannot rule out, each of them a witness for thousands of demands at once.

In sparse tables of many variables witnesses are large: hardly any cell can move without hundreds of others. Then it takes
too long to find one for each demand. One linear program pushes all cells at once that are still to be shown far enough
from their values, each as far as it must go and no farther; a few dozen programs leave hardly a demand without a witness.
"""

from functools import cached_property

import numpy as np
from scipy import sparse

from confide.arrays import Bools, Floats, Ints
from confide.errors import Fault
from confide.tables.programs.deadline import Deadline
from confide.tables.programs.solver import Solver
from confide.tables.suppression.at_once.swings import Possible, Swings, swings_within
from confide.tables.suppression.at_once.walks import Walk
from confide.tables.suppression.contraction import contract, tighten
from confide.tables.suppression.problem import Demand, SuppressionProblem

__all__ = ["OUTSIDERS", "Points", "Targets"]


SCALE, UNBOUNDED = 1e6, 1e3
"""The farthest finite bound in units of the programs, and how many times that stands for infinity, as for intervals."""

MET, SPARE = 1e-6, 1e-4
"""An amount is met to within this share; cells are pushed beyond it by that share, so that the solver's tolerance is no matter."""

BOOST = 1.5
"""How much more a push counts each time that it was not enough."""

SETTLED, IDLE, FEW = 0.1, 3, 0.0001
"""Cells are pushed together until so many programs in a row have settled less than this share of what is left, or until so small a
share of all is left; then each by itself."""

WALKED = 400
"""After so many steps a demand of an outsider is left to a program, which says whether there is a witness in any case."""

OUTSIDERS = 0.3
"""What share of the work is done when there are witnesses against the outsider; that of insiders depends on what they know."""

SEED = 20010701
"""Which way a cell is pushed that must go both ways is random, but always the same."""


class Points:
    """The points found so far, and which demands they meet. Cells that move together are one unknown.

    After the `deadline` no more are found.
    """

    def __init__(self, problem: SuppressionProblem, suppressed: Bools, deadline: Deadline) -> None:
        cells = np.flatnonzero(suppressed & ~problem.shown)
        up, down = (room[cells] for room in problem.room)
        small = contract(sparse.csr_array(problem.relations.matrix[:, cells]), -down, up)
        low, high = tighten(small.matrix, small.lower, small.upper)
        finite = np.abs(np.concatenate([low, high]))
        self.unit = (float(finite[np.isfinite(finite)].max(initial=0.0)) or 1.0) / SCALE
        limit = UNBOUNDED * SCALE * self.unit
        self.low, self.high = np.maximum(low, -limit), np.minimum(high, limit)
        self.matrix = small.matrix
        self.of, self.factor = np.full(len(problem.values), -1), np.zeros(len(problem.values))
        self.of[cells], self.factor[cells] = small.of, small.factor
        self.found: list[Floats] = []
        self._random = np.random.default_rng(SEED)
        # At a vertex many insiders are right to the last digit. How far a demand goes does not need one.
        self.deadline, self._solver, self._inner = deadline, Solver(interior=True), Solver(interior=True, vertex=False)
        self._solver.deadline = self._inner.deadline = deadline

    @cached_property
    def swings(self) -> Swings:
        """The swings of all unknowns, worked out when they are asked for."""
        return swings_within(Possible(self.matrix, self.low, self.high), self.deadline)

    def reach(self, demands: list[Demand]) -> "Targets":
        """What the demands ask of the unknowns."""
        cell, side = (np.array([getattr(one, name) for one in demands], dtype=np.int64) for name in ("cell", "side"))
        amount = np.array([one.amount for one in demands])
        factor = np.where(self.of[cell] < 0, 1.0, self.factor[cell])
        return Targets(self.of[cell], np.sign(factor).astype(np.int64) * side, amount / np.abs(factor))

    def meets(self, targets: "Targets", point: Floats) -> Bools:
        """Which of them a point meets."""
        return np.asarray(targets.moves(point) >= targets.amount * (1 - MET))

    def keeping(self, targets: "Targets", point: Floats) -> tuple[Floats, Floats]:
        """The bounds of the tables that meet, as this point does, what is asked for."""
        far = np.minimum(targets.moves(point), targets.amount)
        low, high = self.low.copy(), self.high.copy()
        up = targets.side > 0
        np.maximum.at(low, targets.of[up], far[up])
        np.minimum.at(high, targets.of[~up], -far[~up])
        return low, high

    def hopeless(self, targets: "Targets", bounds: tuple[Floats, Floats]) -> Bools:
        """Which of them the bounds alone forbid."""
        farthest = np.maximum(*(targets.moves(end) for end in bounds))
        return np.asarray(farthest < targets.amount * (1 - MET))

    def push(self, targets: "Targets", wanted: Bools, weight: Floats, bounds: tuple[Floats, Floats]) -> Floats | None:
        """The point at which most of what is wanted is met within these bounds; unknowns that must go both ways go one way.

        A push counts in shares of its amount, up to the whole of it, and no more from there on: an unknown is the sum of two parts.
        """
        low, high = bounds
        push = targets.largest(wanted, weight, len(low), self._random)
        there = np.flatnonzero(push.side != 0)
        up = push.side[there] > 0
        room = np.where(up, high[there], -low[there])
        cap = np.minimum((1 + SPARE) * push.amount[there], room)
        paid = low.copy(), high.copy()
        paid[0][there[~up]], paid[1][there[up]] = -cap[~up], cap[up]
        price = np.zeros(len(low) + len(there))
        price[there] = -push.side[there] * push.weight[there] / np.maximum(cap, 1e-12 * self.unit) * self.unit
        rest = np.where(up, 0.0, cap - room), np.where(up, room - cap, 0.0)
        columns = sparse.csr_array(sparse.hstack([self.matrix, self.matrix[:, there]]))
        x = self._solved(price, (np.append(paid[0], rest[0]), np.append(paid[1], rest[1])), columns)
        if x is None:
            return None
        point = x[: len(low)]
        point[there] += x[len(low) :]
        self.found.append(point)
        return point

    def stretch(self, targets: "Targets", weight: Floats, bounds: tuple[Floats, Floats]) -> Floats | None:
        """The point at which demands go farthest, in shares of their amounts, with these weights: mixtures have some to spare."""
        price = np.zeros(len(self.low))
        there = np.flatnonzero((weight > 0) & (targets.of >= 0))
        np.add.at(price, targets.of[there], -(weight * targets.side / targets.amount)[there] * self.unit)
        x = self._solved(price, bounds, self.matrix, self._inner)
        if x is not None:
            self.found.append(x)
        return x

    def worth(self, targets: "Targets", number: int) -> Floats:
        """What a unit of each unknown is worth to one demand, in shares of its amount, after the program for it `alone`.

        The demand goes no farther than the sum of what all unknowns are worth at their better ends. That holds for whatever
        ends somebody knows, and however imprecise the program was.
        """
        worth = self.matrix.T @ self._inner.duals() / self.unit
        worth[targets.of[number]] += targets.side[number] / targets.amount[number]
        return np.asarray(worth)

    def turn(self, bounds: tuple[Floats, Floats], known: tuple[Floats, Floats], price: Floats) -> Floats | None:
        """The point within some bounds that lies least beyond what is known, at a price for each unit of an unknown beyond it."""
        low, high = bounds
        inner = np.maximum(low, np.minimum(known[0], high)), np.minimum(high, np.maximum(known[1], low))
        below, above = (np.flatnonzero((price > 0) & beyond) for beyond in (inner[0] > low, inner[1] < high))
        columns = sparse.csr_array(sparse.hstack([self.matrix, -self.matrix[:, below], self.matrix[:, above]]))
        beyond = np.concatenate([(inner[0] - low)[below], (high - inner[1])[above]])
        start, end = low.copy(), high.copy()
        start[below], end[above] = inner[0][below], inner[1][above]
        ends = np.append(start, np.zeros(len(beyond))), np.append(end, beyond)
        x = self._solved(np.concatenate([np.zeros(len(low)), price[below], price[above]]), ends, columns)
        if x is None:
            return None
        point, rest = x[: len(low)], x[len(low) :]
        point[below] -= rest[: len(below)]
        point[above] += rest[len(below) :]
        self.found.append(point)
        return point

    def _solved(
        self, price: Floats, bounds: tuple[Floats, Floats], columns: sparse.csr_array, solver: Solver | None = None
    ) -> Floats | None:
        solver = solver or self._solver
        solver.take_matrix(price, (bounds[0] / self.unit, bounds[1] / self.unit), columns)
        x = solver.run()
        return None if x is None else x * self.unit

    def settle(self, targets: "Targets") -> tuple[Bools, Bools]:
        """Which demands have a witness, and for which there is none; if time was not over, each is one or the other.

        Promise: exact, to within the solver's tolerance.
        """
        bounds = self.low, self.high
        met, lost = np.zeros(len(targets.of), dtype=np.bool_), self.hopeless(targets, bounds)
        weight = np.ones(len(met))
        idle = 0
        while (left := int((~met & ~lost).sum())) > FEW * len(met) and idle < IDLE and not self.deadline.over:
            point = self.push(targets, ~met & ~lost, weight, bounds)
            if point is not None:
                met |= self.meets(targets, point)
            weight[~met] *= BOOST
            idle = idle + 1 if int((~met & ~lost).sum()) > (1 - SETTLED) * left else 0
            self.tell(OUTSIDERS * (1 - left / len(met)), f"{left:,} levels without a witness")
        for number in np.flatnonzero(~met & ~lost).tolist():
            if not met[number]:
                walk = Walk(self.swings, int(targets.of[number]), int(targets.side[number]), *bounds)
                met |= self.meets(targets, walk.to((1 + SPARE) * targets.amount[number], steps=WALKED))
                lost[number] = walk.most() < targets.amount[number] * (1 - MET)
            if not met[number] and not lost[number] and (point := self.alone(targets, number, bounds)) is not None:
                met |= self.meets(targets, point)
                lost[number] = not met[number]
                self.tell(OUTSIDERS, f"{int((~met & ~lost).sum()):,} levels without a witness")
        return met, lost

    def tell(self, done: float, words: str) -> None:
        """Say how far it is: what share is done, or of the time if that is more."""
        if self.deadline.progress:
            self.deadline.progress(max(done, self.deadline.share), words)

    def alone(self, targets: "Targets", number: int, bounds: tuple[Floats, Floats]) -> Floats | None:
        """The point at which one demand goes as far as it can within these bounds; None if time is over.

        Farther than it asks for: what is to spare lets mixtures fit what insiders know.
        """
        if self.deadline.over:
            return None
        point = self.stretch(targets, 1.0 * (np.arange(len(targets.of)) == number), bounds)
        if point is None and not self.deadline.over:
            raise Fault("The solver failed, so nobody can say what can be worked out.")
        return point


class Targets:
    """How far unknowns must be able to go: `amount` to one side; an unknown of -1 cannot move."""

    def __init__(self, of: Ints, side: Ints, amount: Floats, weight: Floats | None = None) -> None:
        self.of, self.side, self.amount = of, side, amount
        self.weight = np.ones(len(of)) if weight is None else weight

    def moves(self, point: Floats) -> Floats:
        """How far each goes to its side at a point."""
        return np.where(self.of < 0, 0.0, self.side * point[self.of])

    def where(self, kept: Bools | Ints) -> "Targets":
        return Targets(self.of[kept], self.side[kept], self.amount[kept], self.weight[kept])

    def largest(self, wanted: Bools, weight: Floats, unknowns: int, random: np.random.Generator) -> "Targets":
        """One push for each unknown, the largest of those wanted on one side; 0 is the side of those that none is wanted of."""
        amounts, weights = np.zeros((2, unknowns)), np.zeros((2, unknowns))
        for way in (0, 1):
            here = np.flatnonzero(wanted & (self.side == 1 - 2 * way) & (self.of >= 0))
            np.maximum.at(amounts[way], self.of[here], self.amount[here])
            np.maximum.at(weights[way], self.of[here], weight[here])
        both = (amounts > 0).all(axis=0)
        row = np.where(both, random.integers(0, 2, unknowns), (amounts[1] > 0).astype(np.int64))
        every = np.arange(unknowns)
        side = np.where(amounts[row, every] > 0, 1 - 2 * row, 0)
        return Targets(every, side, amounts[row, every], weights[row, every])
