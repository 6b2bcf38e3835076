"""The mixed integer program of controlled tabular adjustment (Castro 2006)."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from confide.arrays import Bools, Floats, Ints
from confide.tables.programs.deadline import Deadline
from confide.tables.programs.program import Decisions, Program, Solution, Steps, improve, solve
from confide.tables.table.relations import Relations

__all__ = ["OPEN", "CtaProgram", "Wanted"]


UP, DOWN, OPEN = 1, -1, 0

STEPS = Steps(size=60, rounds=1000, nodes=100)
"""How directions are decided where they are too many to decide them all at once."""


@dataclass(frozen=True, eq=False)
class Wanted:
    """What the cells of the adjusted table may be: near `value`, from `lower` to `upper`.

    Every `sensitive` cell is at least `down` below or `up` above its value. `weight` says what moving a cell by 1 costs.
    """

    relations: Relations
    value: Floats
    lower: Floats
    upper: Floats
    sensitive: Bools
    down: Floats
    up: Floats
    weight: Floats
    whole: bool
    name: Callable[[int], str] = "cell {}".format

    @property
    def fits(self) -> tuple[Bools, Bools]:
        """Which cells have room to go as far up, and down, as they must."""
        slack = 1e-9 * np.maximum(1.0, np.abs(self.value))
        return self.value + self.up <= self.upper + slack, self.value - self.down >= self.lower - slack


class CtaProgram:
    """Changes up p and down q of each cell, a direction y of each sensitive cell, and for Linf the largest change z.

    With room P and Q for changes and levels u and d:  u y <= p <= P y  and  d (1 - y) <= q <= Q (1 - y).
    Changes are counted in units of a typical one, because solvers work to absolute tolerances.
    """

    def __init__(self, wanted: Wanted, cost: str) -> None:
        self.wanted, self.cells = wanted, np.flatnonzero(wanted.sensitive)
        missing: Floats = wanted.relations.rhs - wanted.relations.matrix @ wanted.value
        missing[np.abs(missing) <= 1e-9 * np.abs(wanted.value).max(initial=0.0)] = 0.0
        asked = np.concatenate([wanted.up[self.cells], wanted.down[self.cells], np.abs(missing)])
        self.unit = 1.0 if wanted.whole or not asked.any() else float(np.median(asked[asked > 0]))
        # No change needs to be larger than all that is asked for together, with some to spare.
        outside = np.maximum(0.0, np.maximum(wanted.lower - wanted.value, wanted.value - wanted.upper))
        most = 4 * (asked.sum() + outside.sum()) + 1
        room = wanted.upper - wanted.value, wanted.value - wanted.lower
        self._room = [np.clip(each, 0.0, most) / self.unit for each in room]
        # A value that is outside its bounds has to get there.
        self._need = [np.maximum(-each, 0.0) / self.unit for each in reversed(room)]
        self._program = _priced(self._possible(missing / self.unit), wanted.weight, cost)

    def solve(self, ways: Ints, deadline: Deadline, *, start: Solution | None = None) -> Solution:
        """Solve with these directions, some of them open."""
        if (ways != OPEN).all():
            return self._decided(ways, deadline)
        return solve(self._directed(self._program, ways), deadline, start=start)

    def first_ways(self) -> list[Ints]:
        """All sensitive cells up and all down, but where there is no room."""
        up, down = (fits[self.cells] for fits in self.wanted.fits)
        return [np.where(up, UP, DOWN), np.where(down, DOWN, UP)][: 1 + len(self.cells)]

    def ways(self, found: Solution) -> Ints:
        """Where the sensitive cells went."""
        up, down = self._changes(found)
        return np.where(up[self.cells] >= down[self.cells], UP, DOWN)

    def table(self, found: Solution) -> Floats:
        """The values of all cells."""
        up, down = self._changes(found)
        values: Floats = self.wanted.value + (up - down) * self.unit
        return np.rint(values) if self.wanted.whole else values

    def improve(self, best: Solution, deadline: Deadline) -> Solution:
        """Decide directions in blocks of neighbours."""
        first = 2 * len(self.wanted.value)
        near = sparse.csr_array(abs(self.wanted.relations.matrix)[:, self.cells])
        decisions = Decisions(first + np.arange(len(self.cells)), near)
        program = self._directed(self._program, np.full(len(self.cells), OPEN))
        return improve(program, best, decisions, STEPS, deadline)

    def blocking(self) -> Ints:
        """Cells whose bounds would have to give way, as little as possible in all."""
        program, cells = self._directed(self._program, np.full(len(self.cells), OPEN)), len(self.wanted.value)
        relations = self.wanted.relations.matrix
        more = sparse.vstack([relations, sparse.csr_array((program.matrix.shape[0] - relations.shape[0], cells))])
        none = np.zeros(2 * cells)
        elastic = Program(
            np.append(0 * program.cost, none + 1),
            np.append(program.lower, none),
            np.append(program.upper, none + np.inf),
            sparse.csr_array(sparse.hstack([program.matrix, more, -more])),
            program.least,
            program.most,
            np.append(program.whole, none > 0),
        )
        found = solve(elastic, Deadline(limit=60)).values
        return np.flatnonzero(found[-2 * cells : -cells] + found[-cells:] > 1e-6) if found is not None else np.arange(0)

    def _changes(self, found: Solution) -> tuple[Floats, Floats]:
        assert found.values is not None, "only a solution has values"
        cells = len(self.wanted.value)
        return found.values[:cells], found.values[cells : 2 * cells]

    def _directed(self, program: Program, ways: Ints) -> Program:
        up, down = (fits[self.cells] for fits in self.wanted.fits)
        lower, upper = program.lower.copy(), program.upper.copy()
        y = slice(2 * len(self.wanted.value), 2 * len(self.wanted.value) + len(ways))
        lower[y], upper[y] = (ways == UP) | ~down, (ways != DOWN) & up
        return replace(program, lower=lower, upper=upper)

    def _decided(self, ways: Ints, deadline: Deadline) -> Solution:
        """Solve with all directions given: levels are bounds then, and the rows and columns of choices are not needed."""
        program, cells, count = self._program, len(self.wanted.value), len(self.cells)
        first = self.wanted.relations.matrix.shape[0]
        rows = np.delete(np.arange(program.matrix.shape[0]), slice(first, first + 4 * count))
        kept = np.delete(np.arange(len(program.cost)), slice(2 * cells, 2 * cells + count))
        lower, upper = program.lower.copy(), program.upper.copy()
        up, down = self.cells[ways == UP], self.cells[ways == DOWN]
        lower[up] = np.maximum(lower[up], self.wanted.up[up] / self.unit)
        lower[cells + down] = np.maximum(lower[cells + down], self.wanted.down[down] / self.unit)
        upper[cells + up] = upper[down] = 0.0
        fewer = Program(
            program.cost[kept],
            lower[kept],
            np.maximum(lower, upper)[kept],
            sparse.csr_array(program.matrix[rows][:, kept]),
            program.least[rows],
            program.most[rows],
            program.whole[kept],
            None if program.curve is None else program.curve[kept],
        )
        found = solve(fewer, deadline)
        if found.values is None:
            return found
        return replace(found, values=np.insert(found.values, 2 * cells, ways == UP))

    def _possible(self, missing: Floats) -> Program:
        """The program without what changes cost."""
        wanted, cells, ways = self.wanted, len(self.wanted.value), len(self.cells)
        up, down = wanted.up[self.cells] / self.unit, wanted.down[self.cells] / self.unit
        room_up, room_down = (np.maximum(r[self.cells], u) for r, u in zip(self._room, (up, down), strict=True))
        p = sparse.csr_array((np.ones(ways), (np.arange(ways), self.cells)), shape=(ways, cells))
        y = [sparse.diags_array(each, shape=(ways, ways)) for each in (-room_up, -up, room_down, down)]
        relations = wanted.relations.matrix
        rows = [[relations, -relations, None], *([[p, None, y[0]], [p, None, y[1]], [None, p, y[2]], [None, p, y[3]]])]
        none, free = np.zeros(ways), np.full(ways, np.inf)
        return Program(
            np.zeros(2 * cells + ways),
            np.concatenate([*self._need, none]),
            np.concatenate([*self._room, none + 1]),
            sparse.csr_array(sparse.block_array(rows if ways else [[relations, -relations]])),
            np.concatenate([missing, -free, none, -free, down]),
            np.concatenate([missing, none, free, room_down, free]),
            np.concatenate([np.full(2 * cells, wanted.whole), none == 0]),
        )


def _priced(program: Program, weight: Floats, cost: str) -> Program:
    """The program with its costs: of all changes, of their squares, or of the largest."""
    cells, columns = len(weight), len(program.cost)
    prices = np.zeros(columns)
    prices[: 2 * cells] = np.tile(weight, 2)
    if cost == "L1":
        return replace(program, cost=prices)
    if cost == "L2":
        # With directions given nothing is left to be whole; no solver at hand takes squares and whole numbers together.
        return replace(program, curve=prices, whole=np.zeros(columns, dtype=np.bool_))
    weights = sparse.diags_array(weight)
    others = sparse.csr_array((cells, columns - 2 * cells))
    largest = sparse.hstack([weights, weights, others, sparse.csr_array(np.full((cells, 1), -1.0))])
    above = sparse.hstack([program.matrix, sparse.csr_array((program.matrix.shape[0], 1))])
    return Program(
        # Where only the largest change counts, others are still not made without need.
        np.append(1e-3 * prices / prices.sum(), 1.0),
        np.append(program.lower, 0.0),
        np.append(program.upper, np.inf),
        sparse.csr_array(sparse.vstack([above, largest])),
        np.append(program.least, np.full(cells, -np.inf)),
        np.append(program.most, np.zeros(cells)),
        np.append(program.whole, False),
    )
