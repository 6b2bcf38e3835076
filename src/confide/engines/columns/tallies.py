"""A table in one pass over the columns: records, keys, weights, and what units contribute, all exact integers."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from confide.arrays import Ints
from confide.data.compiling import compiled
from confide.engines.columns.reading import CHUNK, Words, pick, take
from confide.engines.columns.store import Bytes
from confide.engines.columns.universes import number_cells

__all__ = ["TallyPlan", "TallySums", "add_cells", "tally_sums"]

ONE = np.uint64(1 << 32)
LOW = np.int64((1 << 32) - 1)


class TallyPlan(NamedTuple):
    """What to read of which records. Columns are rows of offset and kind; none where nothing is asked.

    `cells` has the bytes of the columns that number a record's cell, which `digits` describes; `needs` what a record must
    have; `shift` cuts contributions before they are squared; with `unit` records are added up by unit first.
    """

    bytes: Bytes
    cells: Bytes
    digits: Ints
    words: Words
    needs: Ints
    key: Ints
    weight: Ints
    amount: Ints
    unit: Ints
    shift: int


class TallySums(NamedTuple):
    """Sums by cell. `packed` has records in the upper half of its bits and the xor of keys in the lower: one addition.

    `amounts` are total, size and square; `units`, `own` (a unit's contribution so far), `seen` (the last unit's number),
    `touched` (the cells of the unit) and `settled` (what it contributes to them) are of use where units have several records.
    """

    packed: NDArray[np.uint64]
    weight: Ints
    amounts: Ints
    top: Ints
    units: Ints
    own: Ints
    seen: Ints
    touched: NDArray[np.uint32]
    settled: Ints


def tally_sums(cells: int, plan: TallyPlan, top: int) -> TallySums:
    """Nothing added up yet."""
    by_unit = cells if len(plan.unit) else 0
    amounts = cells if len(plan.amount) else 0
    return TallySums(
        np.zeros(cells, np.uint64),
        np.zeros(cells if len(plan.weight) else 0, np.int64),
        np.zeros((amounts, 3), np.int64),
        np.zeros((amounts, top), np.int64),
        np.zeros(by_unit, np.int64),
        np.zeros(by_unit, np.int64),
        np.zeros(by_unit, np.int64),
        np.zeros(by_unit, np.uint32),
        np.zeros(by_unit, np.int64),
    )


@compiled
def add_cells(plan: TallyPlan, start: int, stop: int, to: TallySums) -> None:
    """Add the records from `start` to `stop`; a unit has no records on either side of these."""
    at, scratch = np.empty(CHUNK, np.int32), np.empty(CHUNK, np.int64)
    cell, code = np.empty(CHUNK, np.uint32), np.empty(CHUNK, np.uint32)
    unit, state = np.empty(CHUNK, np.int64), np.zeros(4, np.int64)
    state[0] = start  # units are numbered, apart from those of earlier segments: there are no more of them than records
    for begin in range(start, stop, CHUNK):
        n = min(CHUNK, stop - begin)
        found = pick(plan.words, plan.bytes, plan.needs, begin, n, at, scratch)
        if found == 0:
            continue
        number_cells(plan.cells, plan.digits, begin, n, at, found, cell, code)
        take(plan.bytes, plan.key[0], plan.key[1], begin, n, at, found, scratch)
        for k in range(found):
            to.packed[cell[k]] = (to.packed[cell[k]] ^ np.uint64(scratch[k] & LOW)) + ONE
        if len(plan.weight):
            take(plan.bytes, plan.weight[0], plan.weight[1], begin, n, at, found, scratch)
            for k in range(found):
                to.weight[cell[k]] += scratch[k]
        if len(plan.amount):
            take(plan.bytes, plan.amount[0], plan.amount[1], begin, n, at, found, scratch)
        if len(plan.unit):
            take(plan.bytes, plan.unit[0], plan.unit[1], begin, n, at, found, unit)
            _add_units(found, cell, unit, scratch, plan.shift, state, to)
        elif len(plan.amount):
            _contribute(found, cell, scratch, plan.shift, to)
    _end_unit(plan.shift, state, to)


@compiled
def _contribute(found: int, cell: NDArray[np.uint32], amount: Ints, shift: int, to: TallySums) -> None:
    """Add what units contribute to cells, one unit at each place."""
    amounts, top, last = to.amounts, to.top, to.top.shape[1] - 1
    for k in range(found):
        at, size = cell[k], abs(amount[k])
        cut = size >> shift
        amounts[at, 0] += amount[k]
        amounts[at, 1] += size
        amounts[at, 2] += cut * cut
        if last >= 0 and size > top[at, last]:
            place = last
            while place > 0 and size > top[at, place - 1]:
                top[at, place] = top[at, place - 1]
                place -= 1
            top[at, place] = size


@compiled
def _add_units(
    found: int, cell: NDArray[np.uint32], unit: Ints, amount: Ints, shift: int, state: Ints, to: TallySums
) -> None:
    """Add records that follow one another by unit. `state`: the unit's number, how many cells it touched, its key, begun."""
    for k in range(found):
        if unit[k] != state[2] or state[3] == 0:
            _end_unit(shift, state, to)
            state[0] += 1
            state[2] = unit[k]
            state[3] = 1
        at = cell[k]
        if to.seen[at] != state[0]:
            to.seen[at] = state[0]
            to.units[at] += 1
            to.touched[state[1]] = at
            state[1] += 1
        if len(to.amounts):
            to.own[at] += amount[k]


@compiled
def _end_unit(shift: int, state: Ints, to: TallySums) -> None:
    """Settle the unit whose records have been added."""
    if len(to.amounts):
        for t in range(state[1]):
            to.settled[t] = to.own[to.touched[t]]
            to.own[to.touched[t]] = 0
        _contribute(state[1], to.touched, to.settled, shift, to)
    state[1] = 0
