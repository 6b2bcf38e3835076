"""The Metropolis loop of simulated annealing (Metropolis et al. 1953; Kirkpatrick, Gelatt and Vecchi 1983), compiled.

It proposes a change of one, two or four inner cells, weighs the sums these count in, and keeps it or not. A sum is known
only by `at`, its place in the flat array of costs: its kind, and within that how far it is from its target. A change by d
reads `costs[at + d]` and nothing else, so any cost whatever is as fast as any other. Random numbers are splitmix64
(Steele, Lea and Flood 2014): one word of state and no platform's library, so the same seed gives the same moves everywhere.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from confide.arrays import Bools, Floats, Ints
from confide.data.compiling import compiled

__all__ = ["THRESHOLDS", "AnnealingLayout", "AnnealingState", "colour", "metropolis"]

F = TypeVar("F", bound=Callable[..., object])
Counts = NDArray[np.int32]
Places = NDArray[np.uint32]  # unsigned, so that no index is tested for being negative

THRESHOLDS: Floats = -np.log((np.arange(4096) + 0.5) / 4096)
"""A move that costs less than temperature times one of these, drawn at random, is kept: the Metropolis rule.

To keep a move with probability exp(-cost / temperature) is to keep it if cost < -temperature ln u. A table of the
logarithms saves computing one for each move; 12 bits of u fill 32 kB, the first cache of a core. The largest is 9.0: what
costs more temperatures than that, which has a chance of one in 8,192, is never kept.
"""


def inlined(function: F) -> F:
    """Made part of the compiled functions that call it: a call would copy the layout, and that is half the time."""
    return cast(F, numba.njit(inline="always")(function))


class AnnealingLayout(NamedTuple):
    """What does not change: inner cell j counts once in each of the sums `sums[j]` and has siblings in each of `groups[j]`.

    The members of group g are `members[starts[g]:starts[g + 1]]`. A cell lies between the two `bounds[j]` and is none of
    1 to low - 1. A sum stands in the same column of `sums` for all its cells. The last sum is a dummy for cells that count
    in fewer sums than others. Of 16 moves `single` are of one cell and `circle` of four; the others are of two.
    """

    sums: Places
    groups: Places
    starts: Ints
    members: Places
    bounds: Ints
    low: int
    single: int
    circle: int


class AnnealingState(NamedTuple):
    """What changes: the value of each inner cell, the place of each sum in the costs, and the random state."""

    value: Ints
    at: Counts
    random: NDArray[np.uint64]


@inlined
def _draw(random: NDArray[np.uint64]) -> Any:
    z = random[0] + np.uint64(0x9E3779B97F4A7C15)
    random[0] = z
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inlined
def _below(bits: np.uint64, n: int) -> Any:
    """One of 0..n-1 from 32 random bits."""
    return ((bits & np.uint64(0xFFFFFFFF)) * np.uint64(n)) >> np.uint64(32)


@inlined
def _step(layout: AnnealingLayout, state: AnnealingState, j: int, up: bool) -> int:
    """By how much the next value of cell j above or below differs; 0 if there is none. From 0 the next is `low`, and back."""
    value = state.value[j]
    if up:
        new = layout.low if value == 0 else value + 1
        return new - value if new <= layout.bounds[j, 1] else 0
    new = 0 if value == layout.low else value - 1
    return new - value if new >= layout.bounds[j, 0] else 0


@inlined
def _alone(layout: AnnealingLayout, at: Counts, costs: Floats, j: int, change: int) -> float:
    """What it costs to change cell j."""
    cost = 0.0
    for slot in range(layout.sums.shape[1]):
        here = at[layout.sums[j, slot]]
        cost += costs[np.uint64(here + change)] - costs[np.uint64(here)]
    return cost


@inlined
def _together(layout: AnnealingLayout, at: Counts, costs: Floats, j: int, k: int, change: int, other: int) -> float:
    """What it costs to change cells j and k."""
    cost = 0.0
    # A sum that both count in is in one column, so to look for it is to compare slot by slot, not all with all.
    both = change + other
    for slot in range(layout.sums.shape[1]):
        mine, theirs = layout.sums[j, slot], layout.sums[k, slot]
        here = at[mine]
        if mine != theirs:
            there = at[theirs]
            cost += costs[np.uint64(here + change)] - costs[np.uint64(here)]
            cost += costs[np.uint64(there + other)] - costs[np.uint64(there)]
        elif both != 0:
            cost += costs[np.uint64(here + both)] - costs[np.uint64(here)]
    return cost


@inlined
def _apply(layout: AnnealingLayout, state: AnnealingState, j: int, change: int) -> None:
    state.value[j] += change
    for slot in range(layout.sums.shape[1]):
        state.at[layout.sums[j, slot]] += change


@inlined
def _sibling(layout: AnnealingLayout, j: int, way: int, bits: np.uint64) -> Any:
    """A cell of the group that cell j is in that way, maybe j itself."""
    group = layout.groups[j, way]
    start = layout.starts[group]
    return layout.members[np.uint64(start) + _below(bits, layout.starts[group + 1] - start)]


@inlined
def _fourth(layout: AnnealingLayout, k: int, sibling: int, way: int, second: int) -> Any:
    """The cell that closes the circle of a cell, its sibling k one way and another the second way; k if there is none."""
    group = layout.groups[k, second]
    for place in range(layout.starts[group], layout.starts[group + 1]):
        m = layout.members[np.uint64(place)]
        if layout.groups[m, way] == layout.groups[sibling, way]:
            return m
    return k


@inlined
def _moved(layout: AnnealingLayout, state: AnnealingState, costs: Floats, j: int, change: int) -> float:
    """Change cell j, and what that costs."""
    cost = 0.0
    state.value[j] += change
    for slot in range(layout.sums.shape[1]):
        at = layout.sums[j, slot]
        here = state.at[at]
        cost += costs[np.uint64(here + change)] - costs[np.uint64(here)]
        state.at[at] += change
    return cost


@inlined
def _one(layout: AnnealingLayout, state: AnnealingState, costs: Floats, j: int, change: int, limit: float) -> float:
    """Change one cell if that costs no more than the limit; what it has cost."""
    cost = _alone(layout, state.at, costs, j, change)
    if cost > limit:
        return 0.0
    _apply(layout, state, j, change)
    return cost


@inlined
def _two(
    layout: AnnealingLayout, state: AnnealingState, costs: Floats, j: int, k: int, change: int, other: int, limit: float
) -> float:
    """Change a cell and its sibling if that costs no more than the limit; what it has cost."""
    cost = _together(layout, state.at, costs, j, k, change, other)
    if cost > limit:
        return 0.0
    _apply(layout, state, j, change)
    _apply(layout, state, k, other)
    return cost


@compiled
def _four(
    layout: AnnealingLayout,
    state: AnnealingState,
    costs: Floats,
    four: tuple[Any, Any, Any, Any],
    up: bool,
    limit: float,
) -> float:
    """Change four cells, the first and the last one way and the others the other way, if that costs no more than the limit."""
    j, k, n, m = four
    first, second = _step(layout, state, j, up), _step(layout, state, k, not up)
    third, last = _step(layout, state, n, not up), _step(layout, state, m, up)
    if n in (j, k) or m in (j, k, n) or third == 0 or last == 0:
        return 0.0
    cost = _moved(layout, state, costs, j, first) + _moved(layout, state, costs, k, second)
    cost += _moved(layout, state, costs, n, third) + _moved(layout, state, costs, m, last)
    # On the way sums may stand in a wall (`Annealing._laid_out`) and inf - inf is no number; then this is not true either.
    if cost <= limit:
        return cost
    _apply(layout, state, j, -first)
    _apply(layout, state, k, -second)
    _apply(layout, state, n, -third)
    _apply(layout, state, m, -last)
    return 0.0


@compiled
def metropolis(
    layout: AnnealingLayout,
    state: AnnealingState,
    costs: Floats,
    pool: Places,
    thresholds: Floats,
    temperature: float,
    moves: int,
) -> float:
    """Propose this many moves of cells of the pool, at one temperature; by how much the cost has changed.

    One cell moves alone, or with a sibling the other way, or with two siblings and the fourth that closes the circle: the
    more move together, the more sums stay as they are. In a table of two variables a circle leaves all margins alone.
    """
    home, ways = state.at[-1], layout.groups.shape[1]
    total = 0.0
    for _ in range(moves):
        # One word a move for most: 32 bits for the cell, 1 for the direction, 12 for the threshold, 4 for the kind of move.
        bits = _draw(state.random)
        j = pool[_below(bits >> np.uint64(32), len(pool))]
        up = (bits & np.uint64(1)) == 1
        change = _step(layout, state, j, up)
        if change == 0:
            continue
        limit = temperature * thresholds[(bits >> np.uint64(1)) & np.uint64(4095)]
        kind = (bits >> np.uint64(13)) & np.uint64(15)
        if kind < layout.single:
            total += _one(layout, state, costs, j, change, limit)
        else:
            bits = _draw(state.random)
            way = _below(bits << np.uint64(16), ways)
            k = _sibling(layout, j, way, bits >> np.uint64(16))
            other = _step(layout, state, k, not up)
            if other == 0 or k == j:
                continue
            if kind < 16 - layout.circle or ways == 1:
                total += _two(layout, state, costs, j, k, change, other, limit)
            else:
                bits = _draw(state.random)
                second = (way + np.uint64(1) + _below(bits >> np.uint64(32), ways - 1)) % np.uint64(ways)
                n = _sibling(layout, j, second, bits)
                m = _fourth(layout, k, n, way, second)
                total += _four(layout, state, costs, (j, k, n, m), up, limit)
        # The dummy moves with every cell that has a free slot; unchecked it would drift out of the array.
        state.at[-1] = home
    return total


@compiled
def colour(starts: Ints, inner: Places, columns: Bools) -> Ints:
    """A column for each sum so that no two sums that share an inner cell have the same one: greedy graph colouring.

    `columns` notes which are taken. A sum for which none is left gets -1, and the caller tries again with more columns.
    """
    found = np.full(len(starts) - 1, -1)
    taken = np.empty(columns.shape[1], np.bool_)
    for s in range(len(starts) - 1):
        taken[:] = False
        for j in inner[starts[s] : starts[s + 1]]:
            taken |= columns[j]
        for column in range(len(taken)):
            if not taken[column]:
                found[s] = column
                for j in inner[starts[s] : starts[s + 1]]:
                    columns[j, column] = True
                break
    return found
