"""Mixtures of points: whether what was found so far keeps a demand from somebody who knows something besides.

A mixture of tables that nobody can rule out is another one, and the true table is one of them. So for those who know something
of one unknown it is enough that on one side of what they know there is a point, on the other side another, and that on the way
from one to the other the demand is met. One of the two may be a swing.
"""

from typing import NamedTuple

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.data.compiling import compiled

__all__ = ["KnownMoves", "Swung", "kept", "settled", "stronger"]


ROUNDS = 20
"""How often a better end is looked for on either side in turn; that is mostly twice, and whoever is left is looked at later."""

BETTER = 1e-12
"""A mixture that goes farther by less than this share of a demand is no better."""


class KnownMoves(NamedTuple):
    """What insiders know: that the move of unknown `of` is from `low` to `high`; the entries of each begin where `starts` says."""

    starts: Ints
    of: Ints
    low: Floats
    high: Floats


def stronger(boxes: KnownMoves) -> Ints:
    """For each insider another who knows all that they know and more, or -1: of those with one unknown, who knows it best.

    Of those who know the same it is the first.
    """
    found = np.full(len(boxes.starts) - 1, -1)
    one = np.flatnonzero(np.diff(boxes.starts) == 1)
    entry = boxes.starts[one]
    of, low, high = boxes.of[entry], boxes.low[entry], boxes.high[entry]
    order = np.lexsort((high - low, of))
    first = np.flatnonzero(np.diff(of[order], prepend=-1))
    best = order[np.repeat(first, np.diff(np.append(first, len(order))))]
    inside = (low[best] >= low[order]) & (high[best] <= high[order]) & (best != order)
    found[one[order[inside]]] = one[best[inside]]
    return found


class Swung(NamedTuple):
    """How far a demand goes in its own swing, and where that takes what insiders know, by entry.

    And for each entry how far its own swing goes down and up, and how much of the demand goes with a unit of it.
    """

    far: float
    moves: Floats
    down: Floats
    up: Floats
    gain: Floats


@compiled
def kept(reach: Floats, places: Floats, boxes: KnownMoves, need: Floats, swung: Swung) -> Bools:
    """From which insiders a demand is kept by mixtures of the points and swings.

    `reach` is how far the demand goes in each point, in shares of what it asks for, and `places` is how far each unknown goes in
    each; the first point is the true table. Each insider must be kept from the share `need`, 1 at most.
    """
    out = np.ones(len(need), dtype=np.bool_)
    far = np.flatnonzero(reach >= 1.0)
    for who in range(len(need)):
        first, last = boxes.starts[who], boxes.starts[who + 1]
        if need[who] <= 0.0 or first == last:
            continue
        if last - first > 1:
            out[who] = False
            for point in range(len(reach)):
                out[who] = out[who] or _shrunk(reach[point], places[:, point], boxes, who, need[who])
            continue
        moves, low, high = places[boxes.of[first]], boxes.low[first], boxes.high[first]
        swing = swung.down[first], swung.up[first], swung.gain[first]
        out[who] = _mended(swung.far, swung.moves[first], low, high, need[who], swing) or _between(
            moves, far, low, high
        )
        for point in range(0 if out[who] else len(reach)):
            out[who] = out[who] or _mended(reach[point], moves[point], low, high, need[who], swing)
        out[who] = out[who] or _mixed(reach, moves, low, high, need[who])
    return out


@compiled
def settled(
    demand: Ints,
    who: Ints,
    need: Floats,
    reach: tuple[Ints, Floats],
    places: Floats,
    boxes: KnownMoves,
    swings: tuple[Floats, Floats, Floats],
) -> Bools:
    """Which pairs of a demand and an insider the last point settles, by itself or mixed with one before or with a swing.

    `reach` has the unknown of each demand, and what share of the demand a unit of it is; `swings` how far each unknown goes down
    and up in its own, and how much of the demand of each pair goes with a unit. If the points before have not settled a pair, a
    mixture that does has the last one in it.
    """
    out = np.zeros(len(who), dtype=np.bool_)
    shares, mine = np.zeros(places.shape[1]), -1
    for number in range(len(who)):
        if demand[number] != mine:
            mine = demand[number]
            shares = places[reach[0][mine]] * reach[1][mine]
        one = who[number]
        first, last = boxes.starts[one], boxes.starts[one + 1]
        if last - first > 1:
            out[number] = _shrunk(shares[-1], places[:, -1], boxes, one, need[number])
        else:
            moves, low, high = places[boxes.of[first]], boxes.low[first], boxes.high[first]
            swing = swings[0][boxes.of[first]], swings[1][boxes.of[first]], swings[2][number]
            out[number] = _mended(shares[-1], moves[-1], low, high, need[number], swing)
            out[number] = out[number] or _joined(shares, moves, low, high, need[number])
    return out


@compiled
def _between(moves: Floats, far: Ints, low: float, high: float) -> bool:
    """Whether of some points one is not above what is known, and one not below."""
    under = over = False
    for point in far:
        under |= moves[point] <= high
        over |= moves[point] >= low
        if under and over:
            return True
    return False


@compiled
def _mended(far: float, move: float, low: float, high: float, need: float, swing: tuple[float, float, float]) -> bool:
    """Whether a point, mixed with a swing of the unknown that somebody knows if it contradicts them, goes far enough.

    The swing goes from `down` to `up`, and so many shares of the demand go with a unit of it.
    """
    if low <= move <= high:
        return far >= need
    end = high if move > high else low
    down, up, gain = swing
    other = down if move > high else up
    if (other - end) * (move - end) > 0.0 or other == move:
        return False
    part = (end - other) / (move - other)
    return part * far + (1.0 - part) * gain * other >= need


@compiled
def _shrunk(reach: float, point: Floats, boxes: KnownMoves, who: int, need: float) -> bool:
    """Whether a point, on the way from the true table to it, goes far enough where it fits all that somebody knows."""
    if reach < need:
        return False
    for entry in range(boxes.starts[who], boxes.starts[who + 1]):
        move = point[boxes.of[entry]] * need / reach
        if move < boxes.low[entry] or move > boxes.high[entry]:
            return False
    return True


@compiled
def _mixed(reach: Floats, moves: Floats, low: float, high: float, need: float) -> bool:
    """Whether a mixture of two points goes far enough where it fits what somebody knows of one unknown."""
    for point in range(len(reach)):
        if reach[point] >= need and low <= moves[point] <= high:
            return True
    return _farthest(reach, moves, high, 1.0, need) or _farthest(reach, moves, low, -1.0, need)


@compiled
def _farthest(reach: Floats, moves: Floats, end: float, side: float, need: float) -> bool:
    """Whether a mixture goes far enough just at the `end` of what is known, beyond which points are to that `side` of it.

    From the end with the steepest way up on one side to the better end on the other, until none is better: then no point lies
    above the line.
    """
    inner, inside, best = side * (moves[0] - end), reach[0], -np.inf
    for _ in range(ROUNDS):
        steepest, outer, outside = -np.inf, 0.0, 0.0
        for point in range(len(reach)):
            beyond = side * (moves[point] - end)
            if beyond > 0.0 and (reach[point] - inside) / (beyond - inner) > steepest:
                outer, outside = beyond, reach[point]
                steepest = (outside - inside) / (outer - inner)
        if outer == 0.0:
            return False
        before, best = best, inside - steepest * inner
        for point in range(len(reach)):
            beyond = side * (moves[point] - end)
            if beyond <= 0.0:
                far = reach[point] + (outside - reach[point]) * beyond / (beyond - outer)
                if far > best + BETTER:
                    best, inner, inside = far, beyond, reach[point]
        if best >= need or best <= before + BETTER:
            break
    return best >= need


@compiled
def _joined(reach: Floats, moves: Floats, low: float, high: float, need: float) -> bool:
    """Whether the last point, or a mixture of it with another, goes far enough and fits."""
    move, far = moves[-1], reach[-1]
    if far >= need and low <= move <= high:
        return True
    for end in (low, high):
        beyond = move - end
        for point in range(len(reach)):
            other = moves[point] - end
            across = other * beyond <= 0.0 and other != beyond
            if across and far + (reach[point] - far) * beyond / (beyond - other) >= need:
                return True
    return False
