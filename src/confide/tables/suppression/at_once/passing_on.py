"""What somebody works out from one relation after the other, beginning with what they know of a few unknowns.

That is less than all of it, which takes a linear program, but it takes microseconds, and in sparse tables, where relations have
few unknowns, it is often enough to undo a demand.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from confide.arrays import Bools, Floats, Ints
from confide.data.compiling import compiled
from confide.tables.suppression.at_once.mixtures import KnownMoves

__all__ = ["AskedMoves", "Net", "net_of", "out_of_reach"]


WORTH = 1e-3
"""A bound is passed on if it takes away this share of what was possible; others would go round in circles for ever."""

STEPS = 10_000
"""How many relations are looked at for each insider; a little less tight is no harm."""

MET = 1e-6
"""An amount is met to within this share."""


class Net(NamedTuple):
    """Relations: of row r the unknowns `of`, times `sign`, from starts[r] on; and the `rows` of unknown u from places[u] on.

    All of them move from `low` to `high`, as everybody knows.
    """

    starts: Ints
    of: Ints
    sign: Floats
    places: Ints
    rows: Ints
    low: Floats
    high: Floats


class AskedMoves(NamedTuple):
    """Pairs: an insider, those of one in a row, and how far unknown `of` must be able to go, to one side, for them."""

    who: Ints
    of: Ints
    side: Ints
    amount: Floats


def net_of(matrix: sparse.csr_array, low: Floats, high: Floats) -> Net:
    """The relations by rows and by unknowns."""
    columns = matrix.tocsc()
    whole = (part.astype(np.int64) for part in (matrix.indptr, matrix.indices, columns.indptr, columns.indices))
    starts, of, places, rows = whole
    return Net(starts, of, matrix.data.astype(np.float64), places, rows, low, high)


@compiled
def out_of_reach(asked: AskedMoves, net: Net, boxes: KnownMoves) -> Bools:
    """The pairs of which the insider works out, from one relation after the other, that the unknown cannot go so far."""
    out = np.zeros(len(asked.who), dtype=np.bool_)
    low, high = net.low.copy(), net.high.copy()
    moved = [0]
    for pair in range(len(out)):
        if pair == 0 or asked.who[pair] != asked.who[pair - 1]:
            for unknown in moved:
                low[unknown], high[unknown] = net.low[unknown], net.high[unknown]
            moved = _worked_out(net, boxes, asked.who[pair], low, high)
        of = asked.of[pair]
        farthest = high[of] if asked.side[pair] > 0 else -low[of]
        out[pair] = farthest < asked.amount[pair] * (1 - MET)
    return out


@compiled
def _worked_out(net: Net, boxes: KnownMoves, who: int, low: Floats, high: Floats) -> list[int]:
    """Tighten the bounds by what an insider knows and what follows; which unknowns that was about."""
    moved = [0]
    for entry in range(boxes.starts[who], boxes.starts[who + 1]):
        of = boxes.of[entry]
        # The true table is always possible, so 0 is, whatever rounding says.
        low[of], high[of] = min(boxes.low[entry], 0.0), max(boxes.high[entry], 0.0)
        moved.append(of)
    first, steps = 1, 0
    while first < len(moved) and steps < STEPS:
        unknown = moved[first]
        first += 1
        for place in range(net.places[unknown], net.places[unknown + 1]):
            steps += 1
            _pass_on(net, net.rows[place], (low, high), moved)
    return moved


@compiled
def _pass_on(net: Net, row: int, bounds: tuple[Floats, Floats], moved: list[int]) -> None:
    """Tighten the bounds of the unknowns of one relation by those of the others in it."""
    low, high = bounds
    least = most = 0.0
    for entry in range(net.starts[row], net.starts[row + 1]):
        of, sign = net.of[entry], net.sign[entry]
        least += sign * (low[of] if sign > 0 else high[of])
        most += sign * (high[of] if sign > 0 else low[of])
    for entry in range(net.starts[row], net.starts[row + 1]):
        of, sign = net.of[entry], net.sign[entry]
        mine = sign * (low[of] if sign > 0 else high[of]), sign * (high[of] if sign > 0 else low[of])
        ends = (mine[1] - most) / sign, (mine[0] - least) / sign
        start, end = min(ends[0], ends[1], 0.0), max(ends[0], ends[1], 0.0)
        worth = WORTH * (high[of] - low[of])
        if start > low[of] + worth or end < high[of] - worth:
            low[of], high[of] = max(low[of], start), min(high[of], end)
            moved.append(of)
