"""How much faster the dual simplex of cell suppression finds witnesses than HiGHS does, program by program.

    python benchmarks/simplex.py [--programs 100]

The programs are those of a search for a pattern: one in so many that `suppress` solves on its way, with its prices, the cells
that may not move, and the cost above which it gives up. HiGHS gets the same: it keeps one model of all cells, costs and bounds
are changed from program to program, and it may give up at the same cost. It starts from its last solution (`warm`), as `Solver`
lets it, or from the true table (`fresh`). That all find the same least cost, or none, is checked. Seconds are of CPU, and
compiling is not measured.
"""

import argparse
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
from scipy import sparse

from confide.arrays import Ints
from confide.tables import PPercent, Table, Threshold
from confide.tables.programs.deadline import Deadline
from confide.tables.programs.solver import Solver
from confide.tables.suppression import witness
from confide.tables.suppression.problem import SuppressionProblem
from confide.tables.suppression.search import improve, protect
from confide.tables.suppression.simplex import FIT, FOUND, LOST, REACH, Costs, cheapest

SHAPES = ((8, 8, 4), (14, 12, 6), (20, 16, 8))
"""Numbers of classes of the three variables of each table."""

SEARCH = 60.0
"""Seconds for the search that the programs are taken from."""

Program = tuple[Any, ...]
"""What `cheapest` is given."""


def firms(shape: tuple[int, ...]) -> Table:
    """Turnover by three variables, skewed, about four firms a cell, with the cells marked that a p% rule marks."""
    random = np.random.default_rng(7)
    count = 4 * int(np.prod(shape))
    frame = {f"v{axis}": random.integers(0, size, count).astype(str) for axis, size in enumerate(shape)}
    frame["turnover"] = np.ceil(random.lognormal(5, 1.5, count))
    return Table.from_microdata(frame, by=["v0", "v1", "v2"], of="turnover").flag(PPercent(10), Threshold(2))


def recorded(problem: SuppressionProblem, programs: int) -> list[Program]:
    """Programs from all of a search, as many as are asked for or some more."""
    kept: list[Program] = []
    every, number = 1, 0

    def recording(graph: Any, tableau: Any, costs: Costs, *more: Any) -> Any:
        nonlocal every, number
        if number % every == 0:
            kept.append((graph, tableau, costs._replace(price=costs.price.copy(), barred=costs.barred.copy()), *more))
        if len(kept) == 2 * programs:  # thinned out, so that those kept are spread over all
            del kept[1::2]
            every *= 2
        number += 1
        return cheapest(graph, tableau, costs, *more)

    witness.cheapest = recording
    try:
        deadline = Deadline(limit=SEARCH)
        improve(protect(problem, deadline)[0], deadline)
    finally:
        witness.cheapest = cheapest
    return kept


def ours(program: Program) -> float | None:
    """The least cost; infinite if there is none below the limit, None if more relations were needed than may be looked at."""
    costs: Costs = program[2]
    outcome, cells, moves = cheapest(*program)
    if outcome == FOUND:
        far = np.where(moves > 0, costs.up[cells], costs.down[cells]).clip(FIT * costs.amount, costs.amount)
        return float((costs.price[cells] * np.abs(moves) / far)[1:].sum())
    return None if outcome == LOST else np.inf


class Kept:
    """One model in HiGHS of all cells that may move, up and down, kept from one program to the next."""

    def __init__(self, problem: SuppressionProblem) -> None:
        self._cells: Ints = np.flatnonzero(~problem.shown)
        self._every = np.arange(2 * len(self._cells))
        self._solver = Solver()
        matrix = sparse.csc_array(problem.relations.matrix)[:, self._cells]
        nothing = np.zeros(len(self._every))
        self._solver.take_matrix(nothing, (nothing, nothing), sparse.hstack([matrix, -matrix], format="csc"))

    def least(self, program: Program, *, fresh: bool) -> float:
        _, _, costs, cell, first, dear, _ = program
        amount, count = costs.amount, len(self._cells)
        room = [np.minimum(each[self._cells], REACH * amount) for each in costs[:2]]
        price = costs.price[self._cells] * costs.unit
        cost = np.concatenate([price / np.clip(each, FIT * amount, amount) for each in room])
        lower, upper = np.zeros(2 * count), np.tile(~costs.barred[self._cells], 2) * np.concatenate(room) / costs.unit
        place = int(np.searchsorted(self._cells, cell))
        target, opposite = (place, place + count)[:: int(np.sign(first))]
        lower[target] = upper[target] = amount / costs.unit
        upper[opposite] = cost[target] = 0.0
        self._solver.price(self._every, cost)
        self._solver.bound(self._every, lower, upper)
        self._solver._highs.setOptionValue("objective_bound", float(dear))
        moves = self._solver.run(fresh=fresh)
        found = np.inf if moves is None else float(cost @ moves)
        return found if found < dear else np.inf


def timed(way: Callable[[Program], float | None], program: Program) -> tuple[float, float | None]:
    start = process_time()
    found = way(program)
    return process_time() - start, found


def compare(shape: tuple[int, ...], programs: int) -> None:
    problem = SuppressionProblem.of(firms(shape))
    warm, fresh = Kept(problem), Kept(problem)
    ways: list[Callable[[Program], float | None]] = [
        ours,
        lambda program: warm.least(program, fresh=False),
        lambda program: fresh.least(program, fresh=True),
    ]
    chosen, seconds = recorded(problem, programs), []
    for program in chosen:
        spent, found = zip(*(timed(way, program) for way in ways), strict=True)
        if found[0] is not None:
            assert np.allclose(found[0], found[1:], rtol=1e-5, atol=1e-5), found
            seconds.append(spent)
    mine, *theirs = np.mean(seconds, axis=0) * 1e3
    ratios = np.median(np.divide(seconds, np.reshape(seconds, (-1, 3))[:, :1]), axis=0)[1:]
    words = ", ".join(
        f"HiGHS {name} {each:8.3f} ms, ratio {each / mine:4.0f} of the means and {ratio:4.0f} in the median"
        for name, each, ratio in zip(("warm", "fresh"), theirs, ratios, strict=True)
    )
    cells = f"{len(problem.values):>6,} cells, {len(seconds)} of {len(chosen)} programs"
    print(f"{cells}: ours {mine:6.3f} ms, {words}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=int, default=100)
    programs = parser.parse_args().programs
    for shape in SHAPES:
        compare(shape, programs)


if __name__ == "__main__":
    main()
