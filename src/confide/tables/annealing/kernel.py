"""The hot loop of the delta engine: propose a change of one or two parts, weigh the sums it touches, keep it or not.

A sum is known only by `at`, its place in the flat array of costs: its class, and within that how far it is from its
target. A change by d reads `costs[at + d]` and nothing else. Random numbers are splitmix64 (Steele, Lea and Flood 2014),
so the same seed gives the same moves everywhere.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from confide.arrays import Bools, Floats, Ints
from confide.data.compiling import compiled

__all__ = ["THRESHOLDS", "Board", "State", "colour", "search"]

F = TypeVar("F", bound=Callable[..., object])
Counts = NDArray[np.int32]
Places = NDArray[np.uint32]  # unsigned, so that no index is tested for being negative

THRESHOLDS: Floats = -np.log((np.arange(4096) + 0.5) / 4096)
"""A move that costs less than temperature times one of these, drawn at random, is kept: the Metropolis rule."""


def inlined(function: F) -> F:
    """Made part of the compiled functions that call it: a call would copy the board, and take half the time."""
    return cast(F, numba.njit(inline="always")(function))


class Board(NamedTuple):
    """What does not change: part j counts once in each of the sums `sums[j]` and has siblings in each of `groups[j]`.

    The members of group g are `members[starts[g]:starts[g + 1]]`. A part lies between the two `bounds[j]` and is none of
    1 to low - 1. No two sums in different columns of `sums` share a part. The last sum is a dummy for parts that count
    in fewer sums than others. Of 16 moves `single` are of one part and `circle` of four; the others are of two.
    """

    sums: Places
    groups: Places
    starts: Ints
    members: Places
    bounds: Ints
    low: int
    single: int
    circle: int


class State(NamedTuple):
    """What changes: the value of each part, the place of each sum in the costs, and the random state."""

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
def _step(board: Board, state: State, j: int, up: bool) -> int:
    """By how much the next value of part j above or below differs; 0 if there is none."""
    value = state.value[j]
    if up:
        new = board.low if value == 0 else value + 1
        return new - value if new <= board.bounds[j, 1] else 0
    new = 0 if value == board.low else value - 1
    return new - value if new >= board.bounds[j, 0] else 0


@inlined
def _alone(board: Board, at: Counts, costs: Floats, j: int, change: int) -> float:
    """What it costs to change part j."""
    cost = 0.0
    for slot in range(board.sums.shape[1]):
        here = at[board.sums[j, slot]]
        cost += costs[np.uint64(here + change)] - costs[np.uint64(here)]
    return cost


@inlined
def _together(board: Board, at: Counts, costs: Floats, j: int, k: int, change: int, other: int) -> float:
    """What it costs to change parts j and k; the sums both count in are in the same columns."""
    cost = 0.0
    both = change + other
    for slot in range(board.sums.shape[1]):
        mine, theirs = board.sums[j, slot], board.sums[k, slot]
        here = at[mine]
        if mine != theirs:
            there = at[theirs]
            cost += costs[np.uint64(here + change)] - costs[np.uint64(here)]
            cost += costs[np.uint64(there + other)] - costs[np.uint64(there)]
        elif both != 0:
            cost += costs[np.uint64(here + both)] - costs[np.uint64(here)]
    return cost


@inlined
def _apply(board: Board, state: State, j: int, change: int) -> None:
    state.value[j] += change
    for slot in range(board.sums.shape[1]):
        state.at[board.sums[j, slot]] += change


@inlined
def _sibling(board: Board, j: int, way: int, bits: np.uint64) -> Any:
    """A part of the group that part j is in that way, maybe j itself."""
    group = board.groups[j, way]
    start = board.starts[group]
    return board.members[np.uint64(start) + _below(bits, board.starts[group + 1] - start)]


@inlined
def _fourth(board: Board, k: int, sibling: int, way: int, second: int) -> Any:
    """The part that closes the circle of a part, its sibling k one way and another the second way; k if there is none."""
    group = board.groups[k, second]
    for place in range(board.starts[group], board.starts[group + 1]):
        m = board.members[np.uint64(place)]
        if board.groups[m, way] == board.groups[sibling, way]:
            return m
    return k


@inlined
def _moved(board: Board, state: State, costs: Floats, j: int, change: int) -> float:
    """Change part j, and what that costs."""
    cost = 0.0
    state.value[j] += change
    for slot in range(board.sums.shape[1]):
        at = board.sums[j, slot]
        here = state.at[at]
        cost += costs[np.uint64(here + change)] - costs[np.uint64(here)]
        state.at[at] += change
    return cost


@inlined
def _one(board: Board, state: State, costs: Floats, j: int, change: int, limit: float) -> float:
    """Change one part if that costs no more than the limit; what it has cost."""
    cost = _alone(board, state.at, costs, j, change)
    if cost > limit:
        return 0.0
    _apply(board, state, j, change)
    return cost


@inlined
def _two(board: Board, state: State, costs: Floats, j: int, k: int, change: int, other: int, limit: float) -> float:
    """Change a part and its sibling if that costs no more than the limit; what it has cost."""
    cost = _together(board, state.at, costs, j, k, change, other)
    if cost > limit:
        return 0.0
    _apply(board, state, j, change)
    _apply(board, state, k, other)
    return cost


@compiled
def _four(board: Board, state: State, costs: Floats, four: tuple[Any, Any, Any, Any], up: bool, limit: float) -> float:
    """Change four parts, the first and the last one way and the others the other way, if that costs no more than the limit."""
    j, k, n, m = four
    first, second = _step(board, state, j, up), _step(board, state, k, not up)
    third, last = _step(board, state, n, not up), _step(board, state, m, up)
    if n in (j, k) or m in (j, k, n) or third == 0 or last == 0:
        return 0.0
    cost = _moved(board, state, costs, j, first) + _moved(board, state, costs, k, second)
    cost += _moved(board, state, costs, n, third) + _moved(board, state, costs, m, last)
    # Beyond the walls a cost may be no number; then this is not true either.
    if cost <= limit:
        return cost
    _apply(board, state, j, -first)
    _apply(board, state, k, -second)
    _apply(board, state, n, -third)
    _apply(board, state, m, -last)
    return 0.0


@compiled
def search(
    board: Board, state: State, costs: Floats, pool: Places, thresholds: Floats, temperature: float, moves: int
) -> float:
    """Try this many moves of parts of the pool; by how much the cost has changed.

    One part moves alone, or with a sibling the other way, or with two siblings and the fourth that closes the circle: the
    more move together, the more sums stay as they are.
    """
    home, ways = state.at[-1], board.groups.shape[1]
    total = 0.0
    for _ in range(moves):
        bits = _draw(state.random)
        j = pool[_below(bits >> np.uint64(32), len(pool))]
        up = (bits & np.uint64(1)) == 1
        change = _step(board, state, j, up)
        if change == 0:
            continue
        limit = temperature * thresholds[(bits >> np.uint64(1)) & np.uint64(4095)]
        kind = (bits >> np.uint64(13)) & np.uint64(15)
        if kind < board.single:
            total += _one(board, state, costs, j, change, limit)
        else:
            bits = _draw(state.random)
            way = _below(bits << np.uint64(16), ways)
            k = _sibling(board, j, way, bits >> np.uint64(16))
            other = _step(board, state, k, not up)
            if other == 0 or k == j:
                continue
            if kind < 16 - board.circle or ways == 1:
                total += _two(board, state, costs, j, k, change, other, limit)
            else:
                bits = _draw(state.random)
                second = (way + np.uint64(1) + _below(bits >> np.uint64(32), ways - 1)) % np.uint64(ways)
                n = _sibling(board, j, second, bits)
                m = _fourth(board, k, n, way, second)
                total += _four(board, state, costs, (j, k, n, m), up, limit)
        state.at[-1] = home
    return total


@compiled
def colour(starts: Ints, parts: Places, columns: Bools) -> Ints:
    """A column for each sum so that no two sums that share a part have the same one; `columns` notes which are taken."""
    found = np.full(len(starts) - 1, -1)
    taken = np.empty(columns.shape[1], np.bool_)
    for s in range(len(starts) - 1):
        taken[:] = False
        for j in parts[starts[s] : starts[s + 1]]:
            taken |= columns[j]
        for column in range(len(taken)):
            if not taken[column]:
                found[s] = column
                for j in parts[starts[s] : starts[s + 1]]:
                    columns[j, column] = True
                break
    return found
