"""A dual simplex for piecewise-linear costs (Fourer 1985): the cheapest moves of cells that keep every relation.

One cell is made to move, by its protection level; a move is how far a cell is from its true value.

A move costs so much for each unit up and so much for each unit down, so its cost has a kink at 0. Costs are never
negative: to move nothing is optimal until the first cell moves, and from there each step mends the relation that is
farthest off, in the cheapest way. A relation is looked at only when it is off, so the work depends on how far the moves
spread and not on the size of the table. The cost only rises on the way: a search for something cheaper ends early.
The ratio test lets moves run into their bounds and goes on (bound flipping).
Reference: Fourer (1985), Mathematical Programming 33.

Measured by benchmarks/simplex.py on programs that searches for patterns solve, in tables of 405, 1,365 and 3,213 cells: 0.3,
1.6 and 3.1 ms of CPU a program. HiGHS, with its model kept and the same cost to give up at, takes 3, 3 and 4 times as long in the
median (3, 2 and 2 in the mean) from the true table on, and 10, 33 and 127 times from its last solution on: the basis for one
cell is neither feasible nor near for another.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from confide.arrays import Bools, Floats, Ints
from confide.data.compiling import compiled

__all__ = [
    "DEAR",
    "FOUND",
    "IMPOSSIBLE",
    "LOST",
    "REACH",
    "Costs",
    "Graph",
    "Tableau",
    "cheapest",
    "graph_of",
    "tableau_for",
]


FOUND, IMPOSSIBLE, DEAR, LOST = 0, 1, 2, 3
"""What comes of it: moves, proof that there are none or none that cheap, or more work than there is room for."""

FIT = 1e-9
"""Relations hold to within this, and smaller entries of the tableau are 0.

Moves are in multiples of the amount asked for, or whole numbers, and relations have entries of 1 and -1, so tableau and moves
are of the order of 1. This is far above what rounding leaves in them, and far below what counts as a move (`witness.TINY`).
"""

REACH = 1e4
"""No cell moves farther than this many times the amount that is asked for.

Nothing is then without a bound, and no move so large that rounding in it comes near FIT.
"""

ROWS, COLUMNS = 400, 4000
"""How many relations and cells a search may look at.

The tableau is dense: that is 13 MB, and up to 1.6 million multiplications a pivot. A search that spreads farther is for HiGHS,
whose factors are sparse.
"""


class Graph(NamedTuple):
    """The relations by cell (`of`, `sign` from `starts[c]`) and the cells by relation (`cells`, `signs` from `ends[r]`)."""

    starts: Ints
    of: Ints
    sign: Floats
    ends: Ints
    cells: Ints
    signs: Floats


class Costs(NamedTuple):
    """How far each cell may move up and down, the price of moving it by `amount`, and which cells may not move.

    A cell that cannot move as far as the amount costs its price when it moves as far as it can. Inside, all moves are
    in multiples of `unit`.
    """

    up: Floats
    down: Floats
    price: Floats
    barred: Bools
    amount: float
    unit: float


class Tableau(NamedTuple):
    """Rows: relations, each solved for a basic move. Columns: the moves of cells looked at, in the order of their discovery.

    `value` is where each move is. That of the basic move of a row must be between `low` and `high`, the ends of one
    piece of its cost. `at` says where a move that is not basic is: 0, or 1 and -1 for its upper and lower end. `dual` is
    what a unit of the move gains in the relations: between -rise and fall where `at` is 0. Of all cells, `column` says
    which column is theirs, of all relations, `off` says by how much they are off and `seen` whether they are in `open`.
    """

    rows: Floats
    basis: Ints
    low: Floats
    high: Floats
    cell: Ints
    value: Floats
    dual: Floats
    at: Ints
    row_of: Ints
    up: Floats
    down: Floats
    rise: Floats
    fall: Floats
    column: Ints
    off: Floats
    seen: Bools
    solved: Bools
    open: Ints
    size: Ints


def graph_of(matrix: sparse.csr_array) -> Graph:
    """The graph of a matrix of relations."""
    rows, columns = matrix.tocsr(), matrix.tocsc()
    return Graph(
        columns.indptr.astype(np.int64), columns.indices.astype(np.int64), columns.data.astype(np.float64),
        rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data.astype(np.float64),
    )  # fmt: skip


def tableau_for(graph: Graph) -> Tableau:
    """Working memory for one search at a time."""
    cells, relations = len(graph.starts) - 1, len(graph.ends) - 1
    r, c = min(ROWS, relations), min(COLUMNS, cells)
    return Tableau(
        np.zeros((r, c)), np.zeros(r, np.int64), np.zeros(r), np.zeros(r),
        np.zeros(c, np.int64), np.zeros(c), np.zeros(c), np.zeros(c, np.int64), np.zeros(c, np.int64),
        np.zeros(c), np.zeros(c), np.zeros(c), np.zeros(c),
        np.full(cells, -1), np.zeros(relations), np.zeros(relations, np.bool_), np.zeros(relations, np.bool_),
        np.zeros(relations, np.int64), np.zeros(3, np.int64),
    )  # fmt: skip


# In `size`: how many rows and columns are in use, and how many relations are open.


@compiled
def _clear(t: Tableau) -> None:
    for j in range(t.size[1]):
        t.column[t.cell[j]] = -1
    for k in range(t.size[2]):
        relation = t.open[k]
        t.off[relation] = 0.0
        t.seen[relation] = t.solved[relation] = False
    t.rows[: t.size[0] + 1, : t.size[1]] = 0.0
    t.size[:] = 0


@compiled
def _see(t: Tableau, costs: Costs, cell: int) -> bool:
    """Give the cell a column; False if there is no room."""
    j = t.size[1]
    if j == len(t.cell):
        return False
    t.size[1] += 1
    up, down, unit = costs.up[cell], costs.down[cell], costs.unit
    # To suppress a cell costs its price however far it moves. A line from 0 to the price at the farthest useful move, the
    # amount or all there is room for, is the best linear bound of that.
    price = costs.price[cell] * unit
    t.column[cell], t.cell[j] = j, cell
    t.value[j] = t.dual[j] = 0.0
    t.at[j], t.row_of[j] = 0, -1
    t.up[j], t.down[j] = min(up, REACH * costs.amount) / unit, min(down, REACH * costs.amount) / unit
    t.rise[j] = price / min(costs.amount, max(up, FIT * costs.amount))
    t.fall[j] = price / min(costs.amount, max(down, FIT * costs.amount))
    return True


@compiled
def _move(graph: Graph, t: Tableau, j: int, by: float) -> None:
    """Change one move, and by how much its relations are off."""
    t.value[j] += by
    cell = t.cell[j]
    for entry in range(graph.starts[cell], graph.starts[cell + 1]):
        relation = graph.of[entry]
        t.off[relation] += graph.sign[entry] * by
        if not t.seen[relation]:
            t.seen[relation] = True
            t.open[t.size[2]] = relation
            t.size[2] += 1


@compiled
def _shift(graph: Graph, t: Tableau, j: int, by: float) -> None:
    """Change a move that is not basic; the basic ones follow."""
    _move(graph, t, j, by)
    for i in range(t.size[0]):
        if t.rows[i, j] != 0 and t.basis[i] >= 0:
            _move(graph, t, t.basis[i], -t.rows[i, j] * by)


@compiled
def _leaving(t: Tableau) -> tuple[int, int, float, float]:
    """The row whose basic move is farthest out of its piece, or the relation that is farther off.

    Also by how much, and whether it must rise (1) or fall (-1). This is the plain rule of dual pricing. Steepest edge takes
    fewer steps but needs a weight for every row, and rows come one by one here as relations are found to be off.
    """
    row, relation, worst, sign = -1, -1, FIT, 0.0
    for i in range(t.size[0]):
        value = t.value[t.basis[i]]
        if value < t.low[i] - worst:
            row, worst, sign = i, t.low[i] - value, 1.0
        elif value > t.high[i] + worst:
            row, worst, sign = i, value - t.high[i], -1.0
    for k in range(t.size[2]):
        other = t.open[k]
        if not t.solved[other] and abs(t.off[other]) > worst:
            row, relation, worst = -1, other, abs(t.off[other])
            sign = 1.0 if t.off[other] > 0 else -1.0
    return row, relation, worst, sign


@compiled
def _new_row(graph: Graph, t: Tableau, costs: Costs, relation: int) -> bool:
    """Take a relation into the tableau, in terms of moves that are not basic; False if there is no room."""
    i = t.size[0]
    if i == len(t.basis):
        return False
    row = t.rows[i]
    t.basis[i], t.low[i], t.high[i] = -1, 0.0, 0.0
    for entry in range(graph.ends[relation], graph.ends[relation + 1]):
        cell = graph.cells[entry]
        if costs.barred[cell]:
            continue
        if t.column[cell] < 0 and not _see(t, costs, cell):
            return False
        j = t.column[cell]
        if t.row_of[j] < 0:
            row[j] += graph.signs[entry]
            continue
        # A basic move is replaced by what its row says of it, so that the new row has none.
        basic = t.rows[t.row_of[j]]
        for k in range(t.size[1]):
            row[k] -= graph.signs[entry] * basic[k]
        row[j] = 0.0
    t.size[0] += 1
    return True


@compiled
def _entering(t: Tableau, row: int, sign: float) -> tuple[int, float]:
    """The move that mends the row at the least price for a unit, and that price: the ratio test.

    Ties, which are many where all cells cost the same, go to the largest entry: to divide by a small one would blow up
    rounding. Column 0 is the target, which has moved for good.
    """
    entries = t.rows[row]
    best, chosen, size = np.inf, -1, 0.0
    for j in range(1, t.size[1]):
        a = entries[j]
        if abs(a) < FIT or t.row_of[j] >= 0:
            continue
        if sign * a < 0:  # it must rise
            if t.at[j] == 1:
                continue
            price = t.rise[j] + t.dual[j] if t.at[j] == 0 else t.dual[j] - t.fall[j]
        else:
            if t.at[j] == -1:
                continue
            price = t.fall[j] - t.dual[j] if t.at[j] == 0 else -t.rise[j] - t.dual[j]
        # Rounding may leave a price a little below 0; to gain by it would let the cost fall, and the search go round.
        price = max(price, 0.0) / abs(a)
        if price < best - 1e-12 or (price < best + 1e-12 and abs(a) > size):
            best, chosen, size = min(price, best), j, abs(a)
    return chosen, best


@compiled
def _kink(t: Tableau, row: int, sign: float) -> float:
    """The price at which the basic move itself may pass 0, into the other piece of its cost; infinite if it is not there."""
    j = t.basis[row]
    if j < 0:
        return np.inf
    turns = (sign > 0 and t.low[row] == 0 and t.down[j] > 0) or (sign < 0 and t.high[row] == 0 and t.up[j] > 0)
    return t.rise[j] + t.fall[j] if turns else np.inf


@compiled
def _charge(t: Tableau, row: int, step: float) -> None:
    """Let the relation of a row be worth more, by step."""
    entries = t.rows[row]
    for j in range(1, t.size[1]):
        t.dual[j] += step * entries[j]
    if t.basis[row] >= 0:
        t.dual[t.basis[row]] += step


@compiled
def _pivot(graph: Graph, t: Tableau, row: int, enters: int, sign: float, off: float) -> None:
    """Solve the row for the entering move; the one that was basic there stays at the end of its piece."""
    entry = t.rows[row, enters]
    leaves, from_ = t.basis[row], t.at[enters]
    upper_piece = from_ == 1 or (from_ == 0 and sign * entry < 0)
    by = -sign * off / entry
    _shift(graph, t, enters, by)
    entries = t.rows[row]
    if leaves >= 0:
        end = t.low[row] if sign > 0 else t.high[row]
        t.row_of[leaves] = -1
        t.at[leaves] = 0 if end == 0 else (1 if end > 0 else -1)
        entries[leaves] = 1.0
    t.low[row], t.high[row] = (0.0, t.up[enters]) if upper_piece else (-t.down[enters], 0.0)
    t.basis[row], t.row_of[enters] = enters, row
    columns = t.size[1]
    for j in range(columns):
        entries[j] /= entry
    # Columns of basic moves are left out: in their own row they would be 1, in all others 0.
    entries[enters] = 0.0
    for i in range(t.size[0]):
        factor = t.rows[i, enters]
        if i != row and factor != 0:
            other = t.rows[i]
            for j in range(columns):
                other[j] -= factor * entries[j]
            other[enters] = 0.0


@compiled
def _mend(graph: Graph, t: Tableau, row: int, off: float, sign: float) -> tuple[float, bool]:
    """Bring the basic move of a row back into its piece: what that costs, and whether it is possible.

    The relation's worth is raised until something pays: a move enters the basis; or one that has too little room goes to its
    end and the rest is looked for elsewhere, without a pivot (bound flipping); or the basic move's own cost turns at 0.
    """
    cost, charged = 0.0, 0.0
    while True:
        enters, price = _entering(t, row, sign)
        kink = _kink(t, row, sign) - charged
        if enters < 0 and kink == np.inf:
            return cost, False
        step = min(kink, price)
        cost += step * off
        charged += step
        _charge(t, row, sign * step)
        if kink <= price:
            j = t.basis[row]
            t.low[row], t.high[row] = (-t.down[j], 0.0) if sign > 0 else (0.0, t.up[j])
            return cost, True
        entry = t.rows[row, enters]
        rises = sign * entry < 0
        room = t.up[enters] if rises == (t.at[enters] == 0) else t.down[enters]
        if abs(entry) * room >= off - FIT:
            _pivot(graph, t, row, enters, sign, off)
            return cost, True
        _shift(graph, t, enters, room if rises else -room)
        t.at[enters] += 1 if rises else -1
        off -= abs(entry) * room


@compiled
def cheapest(
    graph: Graph, t: Tableau, costs: Costs, target: int, first: float, dear: float, rows: int
) -> tuple[int, Ints, Floats]:
    """The cheapest moves that keep every relation when the target moves by `first`.

    Gives the outcome, the cells looked at, the target first, and their moves. The search ends when the moves cost `dear`
    or more, and when more than so many `rows` are needed.
    """
    spent, outcome = 0.0, LOST
    rows = min(rows, len(t.basis))
    if _see(t, costs, target):
        _move(graph, t, 0, first / costs.unit)
        # A bound on steps, because those that cost nothing may go round: nothing here prevents it. What is lost that way is
        # left to HiGHS.
        for _ in range(3 * rows):
            row, relation, off, sign = _leaving(t)
            if row < 0 and relation < 0:
                outcome = FOUND
                break
            if relation >= 0:
                row = t.size[0]
                if row == rows or not _new_row(graph, t, costs, relation):
                    break
                t.solved[relation] = True
            paid, possible = _mend(graph, t, row, off, sign)
            spent += paid
            if not possible or spent >= dear:
                outcome = IMPOSSIBLE if not possible else DEAR
                break
    count = t.size[1] if outcome == FOUND else 0
    cells, moves = t.cell[:count].copy(), t.value[:count] * costs.unit
    _clear(t)
    return outcome, cells, moves
