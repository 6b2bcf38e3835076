"""The search for a cheap pattern in tables of any size: protect greedily, then clean up, then rebuild parts of it.

At every moment each demand has its witnesses, so each pattern on the way is a valid one, and a cell is dropped only
after other witnesses were found for all that needed it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.tables.programs.deadline import Deadline
from confide.tables.suppression.problem import Demand, SuppressionProblem
from confide.tables.suppression.protection import Protection
from confide.tables.suppression.witness import TINY, Finder, Witness

__all__ = ["Bundle", "First", "Pattern", "improve", "protect"]


FREE = 1e-3
"""The price of a cell that is suppressed anyway, in typical costs; not 0, so that witnesses stay small.

Of a small witness fewer cells are needed, so less has to be found anew when one is dropped. A thousand free cells cost as
much as one typical cell that is not.
"""

LONG, QUICK = 300, 200
"""How many relations a search looks at when every cell is tried once, and when many are tried again and again.

Of the 400 of the simplex: a pivot goes over all rows, so the time of a search grows with the square of them.
"""

BLURRED = 20
"""After so many steps prices are blurred anew."""

SPREAD, LOSS = 0.2, 0.5
"""By what factor prices are blurred, so that other ways are tried, and what a loss may be, in typical costs.

Linear programs have the same solution each time; without other prices a cell that is dropped comes straight back.
"""

TRIED, SOLVED = 30_000_000, 600_000
"""How many searches, and how many of them among all cells, go into the last look at every secondary, times the cells.

To find that a cell is needed, a search has to go through all that is suppressed, which takes a time that grows with the
table: so many divided by the cells take about as long in every table. At 3,750 cells they are 8,000 searches, 160 by HiGHS.
"""

SEED = 20010701
"""The search is random but always the same."""


class Bundle(NamedTuple):
    """Witnesses found together: the cells they move, and the demands, by number, that rest on them."""

    cells: Ints
    demands: tuple[int, ...]


class Pattern:
    """A pattern under construction: bundles of witnesses for the demands, and how many of them need each cell.

    Cells are suppressed only `among` those given, or any that need not be shown.
    """

    def __init__(self, problem: SuppressionProblem, *, among: Bools | None = None) -> None:
        self.problem = problem
        self.demands = problem.demands()
        self.finder = Finder(problem)
        self.protection = Protection(self.finder)
        self.cost = 0.0
        self.bundles: dict[int, Bundle] = {}
        self.scale = _typical(problem.cost[~problem.shown])
        self._full = np.maximum(problem.cost / self.scale, FREE)
        self._price = np.where(problem.primary, FREE, self._full)
        self._barred = np.zeros(len(problem.values), dtype=np.bool_) if among is None else ~among
        self._needed = np.zeros(len(problem.values), dtype=np.int64)
        self._users: list[set[int]] = [set() for _ in problem.values]
        self._served: set[int] = set()
        self._next = 0
        self._at: dict[int, list[int]] = {}
        for number, demand in enumerate(self.demands):
            self._at.setdefault(demand.cell, []).append(number)

    @property
    def secondary(self) -> Bools:
        """The cells suppressed for the sake of others."""
        return (self._needed > 0) & ~self.problem.primary

    @property
    def suppressed(self) -> Bools:
        return self.secondary | self.problem.primary

    def serve(self, numbers: Iterable[int], *, bound: float = np.inf) -> bool:
        """Find witnesses for these demands, and others they happen to do for.

        False if there is none for a demand, and as soon as the pattern costs more than the bound.
        """
        for number in numbers:
            if number in self._served:
                continue
            dear = (bound - self.cost) / self.scale + 100 * FREE
            witnesses = self.protection.serve(self.demands[number], self._price, self._barred, dear=dear)
            if witnesses is None:
                return False
            met = {number, *(other for witness in witnesses for other in self._met(witness))}
            cells = np.unique(np.concatenate([witness.cells for witness in witnesses]))
            self._add(Bundle(cells, tuple(sorted(met))))
            if self.cost > bound:
                return False
        return True

    def drop(self, cell: int, *, gain: float, order: Callable[[list[int]], list[int]] = sorted) -> bool:
        """Serve those who need a cell without it, in some order; only if the cost falls by `gain` or more."""
        before, last = self.cost, self._next
        old = [self._remove(number) for number in sorted(self._users[cell])]
        self._barred[cell] = True
        served = self.serve(order([demand for bundle in old for demand in bundle.demands]), bound=before - gain)
        self._barred[cell] = False
        if served and self.cost <= before - gain:
            return True
        self._undo(last, old)
        self.cost = before  # to the last digit
        return False

    def spare(self, cell: int) -> bool:
        """Show a cell again if those who need it can do with what else is suppressed, however long the search takes."""
        barred, last = self._barred, self._next
        self._barred = barred | ~self.suppressed
        self._barred[cell] = True
        old = [self._remove(number) for number in sorted(self._users[cell])]
        served = self.serve(sorted(demand for bundle in old for demand in bundle.demands))
        self._barred = barred
        if not served:
            self._undo(last, old)
        return served

    def _undo(self, last: int, old: Iterable[Bundle]) -> None:
        """Put old bundles in the place of those added since."""
        for number in range(last + 1, self._next + 1):
            if number in self.bundles:
                self._remove(number)
        for bundle in old:
            self._add(bundle)

    def restore(self, bundles: Iterable[Bundle]) -> None:
        """Go back to an earlier pattern, from whatever state an interrupt has left."""
        self.bundles.clear()
        self._served.clear()
        self._needed[:], self.cost = 0, 0.0
        self._price = np.where(self.problem.primary, FREE, self._full)
        self._barred[:] = False
        for users in self._users:
            users.clear()
        for bundle in bundles:
            self._add(bundle)

    def blur(self, factors: Floats) -> None:
        """Other prices for the cells that are not suppressed."""
        self._full = np.maximum(self.problem.cost / self.scale * factors, FREE)
        shown = ~self.suppressed
        self._price[shown] = self._full[shown]

    def _met(self, witness: Witness) -> list[int]:
        """The demands still unserved for which this witness does."""
        near = (number for cell in witness.cells.tolist() for number in self._at.get(cell, ()))
        numbers = [number for number in near if number not in self._served and witness.meets(self.demands[number])]
        if not numbers:
            return []
        # One answer for all of them, as strict as the strictest asks for.
        ruling = self.protection.ruling_out(witness, TINY * min(self.demands[number].amount for number in numbers))
        return [number for number in numbers if not self.protection.kept_from(self.demands[number], ruling)]

    def _add(self, bundle: Bundle) -> None:
        cells, self._next = bundle.cells, self._next + 1
        self.bundles[self._next] = bundle
        self._served.update(bundle.demands)
        new = cells[(self._needed[cells] == 0) & ~self.problem.primary[cells]]
        self._needed[cells] += 1
        self._price[new] = FREE
        self.cost += float(self.problem.cost[new].sum())
        for cell in cells.tolist():
            self._users[cell].add(self._next)

    def _remove(self, number: int) -> Bundle:
        bundle = self.bundles.pop(number)
        cells = bundle.cells
        self._served.difference_update(bundle.demands)
        self._needed[cells] -= 1
        gone = cells[(self._needed[cells] == 0) & ~self.problem.primary[cells]]
        self._price[gone] = self._full[gone]
        self.cost -= float(self.problem.cost[gone].sum())
        for cell in cells.tolist():
            self._users[cell].discard(number)
        return bundle


def _typical(cost: Floats) -> float:
    positive = cost[cost > 0]
    return float(np.median(positive)) if len(positive) else 1.0


class First(NamedTuple):
    """A first pattern, the demands that `failed`, for which there is none whatever is suppressed, and those `unseen` in time."""

    pattern: Pattern
    failed: list[Demand]
    unseen: list[Demand]


def protect(problem: SuppressionProblem, deadline: Deadline) -> First:
    """A first pattern, demand by demand.

    It ends when time is over, and when half of it has not been enough for half of the demands, as all of it would not be for all.
    """
    pattern = Pattern(problem)
    # In a large sparse table a single program can take longer than there is time for all.
    pattern.finder.solver.deadline = deadline
    failed: list[Demand] = []
    many = len(pattern.demands)
    for number, demand in enumerate(pattern.demands):
        _tell(deadline, 0.2 * number / many, pattern, f"{number:,} of {many:,} levels looked at, ")
        if deadline.over or (deadline.share > 0.5 and number < many / 2):
            return First(pattern, failed, pattern.demands[number:])
        if not pattern.serve([number]):
            if deadline.over:  # the program may have been cut short
                return First(pattern, failed, pattern.demands[number:])
            failed.append(demand)
    return First(pattern, failed, [])


def improve(pattern: Pattern, deadline: Deadline) -> None:
    """Make a pattern cheaper, for as long as a fixed number of searches or the time lasts; an interrupt ends it too.

    The cheapest pattern on the way is kept. What is random in it is always the same.
    """
    best = _Best(pattern.cost, list(pattern.bundles.values()))
    try:
        clean(pattern, deadline, best)
        # Six searches a demand. The bound was raised from 24,000 in two steps, each for fewer secondaries in large tables.
        shake(pattern, deadline, best, effort=min(1_000 + 6 * len(pattern.demands), 40_000))
        pattern.restore(best.bundles)
        trim(pattern, deadline, best)
    except KeyboardInterrupt:
        deadline.interrupted = True
    pattern.restore(best.bundles)


@dataclass
class _Best:
    """The cheapest pattern so far."""

    cost: float
    bundles: list[Bundle]

    def see(self, pattern: Pattern) -> None:
        if pattern.cost < self.cost:
            self.cost, self.bundles = pattern.cost, list(pattern.bundles.values())


def clean(pattern: Pattern, deadline: Deadline, best: _Best) -> None:
    """Drop each secondary, the dearest first, whose users can be served cheaper without it."""
    secondary = np.flatnonzero(pattern.secondary)
    order = secondary[np.argsort(-pattern.problem.cost[secondary], kind="stable")]
    pattern.finder.patience = LONG
    for number, cell in enumerate(order.tolist()):
        if deadline.over:
            break
        if pattern.secondary[cell] and pattern.drop(cell, gain=1e-9 * pattern.cost):
            best.see(pattern)
        _tell(deadline, 0.2 + 0.3 * number / len(order), pattern)


def shake(pattern: Pattern, deadline: Deadline, best: _Best, *, effort: int) -> None:
    """Drop one secondary after the other at random, at blurred prices, even at a loss that is allowed less and less."""
    random = np.random.default_rng(SEED)
    begun, steps = pattern.finder.searched, 0
    pattern.finder.patience = QUICK
    while (done := (pattern.finder.searched - begun) / effort) < 1 and not deadline.over:
        secondary = np.flatnonzero(pattern.secondary)
        if not len(secondary):
            break
        if steps % BLURRED == 0:
            pattern.blur(np.exp(random.normal(0.0, SPREAD, len(pattern.problem.values))))
        steps += 1
        cell = int(random.choice(secondary))
        loss = LOSS * pattern.scale * random.random() * (1 - done)
        if pattern.drop(cell, gain=-loss, order=lambda demands: random.permutation(demands).tolist()):
            best.see(pattern)
        _tell(deadline, 0.5 + 0.5 * done, pattern)


def trim(pattern: Pattern, deadline: Deadline, best: _Best) -> None:
    """Show each secondary that is not needed after all, the dearest first; in small tables, none can then be shown by itself."""
    finder = pattern.finder
    cells = max(1, len(pattern.problem.values))
    tried, solved = finder.searched + TRIED // cells, finder.solver.solved + SOLVED // cells
    secondary = np.flatnonzero(pattern.secondary)
    for cell in secondary[np.argsort(-pattern.problem.cost[secondary], kind="stable")].tolist():
        if deadline.over or finder.searched > tried or finder.solver.solved > solved:
            break
        if pattern.secondary[cell] and pattern.spare(cell):
            best.see(pattern)


def _tell(deadline: Deadline, done: float, pattern: Pattern, words: str = "") -> None:
    if deadline.progress:
        deadline.progress(max(done, deadline.share), f"{words}cost {pattern.cost:,.10g}")
