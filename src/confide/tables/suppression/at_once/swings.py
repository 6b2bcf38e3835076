"""Swings: for each unknown the tables in which it moves and the others move with it as little as they can, to either side.

"As little" is in squares of shares of their rooms: the swings of all unknowns are columns of one matrix, found by linear algebra
instead of a program each (the ellipsoid of Dikin 1967 around the true table). How far each can go is then found in the bounds
themselves. A point that contradicts what somebody knows of an unknown is mended by its swing to the other side.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import SuperLU, splu

from confide.arrays import Floats, Ints
from confide.data.compiling import compiled
from confide.tables.programs.deadline import Deadline
from confide.tables.programs.solver import Solver

__all__ = ["FIT", "NOTHING", "Possible", "RelationBasis", "Swings", "swings_within"]


LARGEST = 16_000
"""Of more unknowns there are no swings: they are one dense matrix, two gigabytes with so many."""

ROOM = 1e-6
"""Unknowns with less room than this share of what is usual stand still in all swings."""

MANY = 500
"""So many swings are looked at together."""

FEW = 64
"""So many columns are solved for together: all 4,531 of a large table at once took twice as long, as they do not fit in the cache."""

NOTHING = 1e-12
"""A move of less than this for a unit of the unknown itself is none."""

FIT = 1e-9
"""So far a swing of 1 may be from fitting a relation: what can hardly move is nothing but rounding."""

SEED = 19670101
"""The vertex at which it is seen which relations follow from others is random, but always the same."""


@dataclass(frozen=True, eq=False)
class Possible:
    """What is possible for unknowns: matrix @ z = 0 and low <= z <= high."""

    matrix: sparse.csr_array
    low: Floats
    high: Floats

    def ends(self, swings: Floats) -> Floats:
        """How far down, and up, each column can be multiplied; 0 if it does not fit the relations."""
        fits = np.abs(self.matrix @ swings).max(axis=0, initial=0.0) <= FIT
        ends = np.array(_ends(swings, self.low, self.high))
        return np.where(fits & np.isfinite(ends), ends, 0.0)


@dataclass(frozen=True, eq=False)
class RelationBasis:
    """Relations none of which follows from others, by row, and the `unknowns` that they can be solved for."""

    matrix: sparse.csr_array
    unknowns: Ints
    factors: SuperLU

    def rest(self, worth: Floats) -> Floats:
        """What unknowns are worth without multiples of relations: the same in all tables, and nothing for those solved for."""
        return np.asarray(worth - self.matrix.T @ self.factors.solve(worth[self.unknowns], trans="T"))


@dataclass(frozen=True, eq=False)
class Swings:
    """Where unknown i moves by 1, unknown j moves by shared[i, j] / square[i]: from `down` to `up` that is possible.

    They were made with a `basis` of the relations; None if there are none.
    """

    possible: Possible
    shared: Floats
    square: Floats
    down: Floats
    up: Floats
    basis: RelationBasis | None = None


def swings_within(possible: Possible, deadline: Deadline) -> Swings:
    """The swings of all unknowns; they go nowhere if that would take too long.

    Promise: they are possible, to within rounding.

    >>> possible = Possible(sparse.csr_array([[1.0, 1, -1]]), np.array([-1.0, -1, -9]), np.array([1.0, 1, 9]))
    >>> swings_within(possible, Deadline()).up.round(6).tolist()
    [1.0, 1.0, 2.0]
    """
    low, high = possible.low, possible.high
    room = np.minimum(high, -low)
    there = np.flatnonzero(room > ROOM * np.median(room)) if 0 < len(room) <= LARGEST else np.zeros(0, np.int64)
    basis = _basis(possible, there, deadline)
    moves = np.zeros((len(there), 0)) if basis is None else _moves(basis, there)
    spread = np.zeros((len(room), moves.shape[1]))
    if moves.size and not deadline.over:
        spread[there] = _spread(moves, room[there])
    shared = _products(spread, deadline) if spread.any() else None
    if shared is None or deadline.over:
        nowhere = np.zeros(len(room))
        return Swings(possible, np.broadcast_to(0.0, (len(room), len(room))), nowhere + 1.0, nowhere, nowhere)
    square = shared.diagonal().copy()
    square[square == 0] = 1.0
    some = (np.arange(start, min(start + MANY, len(room))) for start in range(0, len(room), MANY))
    ends = [
        np.zeros((2, len(part))) if deadline.over else possible.ends(shared[:, part] / square[part]) for part in some
    ]
    down, up = np.concatenate(ends, axis=1)
    return Swings(possible, shared, square, down, up, basis)


def _products(spread: Floats, deadline: Deadline) -> Floats:
    """The products of all rows with one another, each of two done once; 0 where there was no time."""
    shared = np.zeros((len(spread), len(spread)))
    for start in range(0, len(spread), MANY):
        if not deadline.over:
            part = slice(start, start + MANY)
            shared[part, start:] = spread[part] @ spread[start:].T
            shared[start:, part] = shared[part, start:].T
    return shared


def _basis(possible: Possible, there: Ints, deadline: Deadline) -> RelationBasis | None:
    """The relations that are not said by others, and what they can be solved for of the unknowns that are there: those of a vertex."""
    if not len(there):
        return None
    matrix, count = sparse.csc_array(possible.matrix[:, there]), len(there)
    solver = Solver(interior=True)
    solver.deadline = deadline
    unit = float(max(possible.low[there].max(), possible.high[there].max())) / count
    bounds = possible.low[there] / unit, possible.high[there] / unit
    solver.take_matrix(np.random.default_rng(SEED).normal(size=count), bounds, matrix)
    if solver.run() is None:
        return None
    columns, rows = solver.basis()
    if columns.sum() != (~rows).sum():  # no vertex was found, which the solver does not promise
        return None
    kept = sparse.csr_array(possible.matrix[~rows])
    try:
        factors = splu(sparse.csc_array(kept[:, there[columns]]))
    except RuntimeError:  # exactly singular, which a basis should not be
        return None
    return RelationBasis(kept, there[columns], factors)


def _moves(basis: RelationBasis, there: Ints) -> Floats:
    """A basis, by columns, of what fits the relations: in each column one unknown moves by 1, and those of the vertex with it."""
    solved = np.isin(there, basis.unknowns)
    moves = np.zeros((len(there), int((~solved).sum())), order="F")
    moves[np.flatnonzero(~solved), np.arange(moves.shape[1])] = 1.0
    others, place = sparse.csc_array(basis.matrix[:, there[~solved]]), np.flatnonzero(solved)
    for start in range(0, moves.shape[1], FEW):
        part = slice(start, start + FEW)
        moves[place, part] = -basis.factors.solve(others[:, part].toarray())
    return moves


def _spread(moves: Floats, room: Floats) -> Floats:
    """The same moves, mixed so that the squares of all, as shares of their rooms, sum to the square of what they are multiplied by."""
    shares = moves / room[:, None]
    size = np.sqrt(np.einsum("ij,ij->j", shares, shares))
    shares /= size
    try:
        root = linalg.cholesky(shares.T @ shares, lower=True, overwrite_a=True)
    except linalg.LinAlgError:  # rooms too unlike for floats: better no swings than wrong ones
        return np.zeros_like(moves)
    return np.asarray(linalg.solve_triangular(root, (moves / size).T, lower=True, overwrite_b=True).T)


@compiled
def _ends(swings: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """How far down and up each column can be multiplied within the bounds."""
    down, up = np.full(swings.shape[1], -np.inf), np.full(swings.shape[1], np.inf)
    for unknown in range(swings.shape[0]):
        for column in range(swings.shape[1]):
            move = swings[unknown, column]
            if abs(move) > NOTHING:
                ends = low[unknown] / move, high[unknown] / move
                down[column], up[column] = max(down[column], min(ends)), min(up[column], max(ends))
    return down, up
