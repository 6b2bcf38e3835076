"""Swings: for each unknown the tables in which it moves and the others move with it as little as they can, to either side.

"As little" is in squares of shares of their rooms: the swings of all unknowns are columns of one matrix, found by linear algebra
instead of a program each (the ellipsoid of Dikin 1967 around the true table). How far each can go is then found in the bounds
themselves. A point that contradicts what somebody knows of an unknown is mended by its swing to the other side.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse

from confide.arrays import Floats, Ints
from confide.data.compiling import compiled
from confide.tables.programs.deadline import Deadline
from confide.tables.programs.solver import Solver

__all__ = ["Swings", "swings_within"]


LARGEST = 16_000
"""Of more unknowns there are no swings: what they are made of is dense, two gigabytes with so many."""

ROOM = 1e-6
"""Unknowns with less room than this share of what is usual stand still in all swings."""

MANY = 500
"""So many swings are looked at together."""

NOTHING = 1e-12
"""A move of less than this for a unit of the unknown itself is none."""

FIT = 1e-7
"""So far a swing of 1 may be from fitting a relation: what can hardly move is nothing but rounding."""

SEED = 19670101
"""The vertex at which it is seen which relations follow from others is random, but always the same."""


@dataclass(frozen=True, eq=False)
class Swings:
    """Where unknown i moves by 1, unknown j moves by spread[i] @ spread[j] / square[i]: from `down` to `up` that is possible."""

    spread: Floats
    square: Floats
    down: Floats
    up: Floats

    def shared(self, some: Ints, others: Ints) -> Floats:
        """The products of the rows of some unknowns and of others."""
        return np.asarray(self.spread[some] @ self.spread[others].T)


def swings_within(matrix: sparse.csr_array, low: Floats, high: Floats, deadline: Deadline) -> Swings:
    """The swings of all unknowns, within these bounds; they go nowhere if that would take too long.

    Promise: they are within the bounds, and fit the relations to within rounding.

    >>> swings = swings_within(sparse.csr_array([[1.0, 1, -1]]), np.array([-1.0, -1, -9]), np.array([1.0, 1, 9]), Deadline())
    >>> swings.up.round(6).tolist()
    [1.0, 1.0, 2.0]
    """
    room = np.minimum(high, -low)
    there = np.flatnonzero(room > ROOM * np.median(room)) if 0 < len(room) <= LARGEST else np.zeros(0, np.int64)
    moves = _moves(sparse.csc_array(matrix[:, there]), (low[there], high[there]), deadline)
    spread = np.zeros((len(room), moves.shape[1]))
    if moves.size and not deadline.over:
        spread[there] = _spread(moves, room[there])
    square = np.einsum("ij,ij->i", spread, spread)
    square[square == 0] = 1.0
    down, up = np.zeros(len(room)), np.zeros(len(room))
    for start in range(0, len(room), MANY):
        some = slice(start, start + MANY)
        if not deadline.over:
            swings = spread @ spread[some].T / square[some]
            fits = np.abs(matrix @ swings).max(axis=0, initial=0.0) <= FIT
            ends = _ends(swings, low, high)
            down[some], up[some] = (np.where(fits & np.isfinite(end), end, 0.0) for end in ends)
    return Swings(spread, square, down, up)


def _moves(matrix: sparse.csc_array, bounds: tuple[Floats, Floats], deadline: Deadline) -> Floats:
    """A basis, by columns, of what fits the relations: in each column one unknown moves by 1, and those of a vertex with it."""
    count = matrix.shape[1]
    if not count:
        return np.zeros((0, 0))
    solver = Solver(interior=True)
    solver.deadline = deadline
    unit = float(np.concatenate(bounds).max()) / count
    solver.take_matrix(np.random.default_rng(SEED).normal(size=count), (bounds[0] / unit, bounds[1] / unit), matrix)
    if solver.run() is None:
        return np.zeros((count, 0))
    columns, rows = solver.basis()
    kept = sparse.csc_array(matrix[~rows])
    moves = np.zeros((count, int((~columns).sum())), order="F")
    moves[np.flatnonzero(~columns), np.arange(moves.shape[1])] = 1.0
    moves[columns] = -linalg.solve(kept[:, columns].toarray(), kept[:, ~columns].toarray(), overwrite_a=True)
    return moves


def _spread(moves: Floats, room: Floats) -> Floats:
    """The same moves, mixed so that the squares of all, as shares of their rooms, sum to the square of what they are multiplied by."""
    shares = moves / room[:, None]
    size = np.sqrt(np.einsum("ij,ij->j", shares, shares))
    shares /= size
    root = linalg.cholesky(shares.T @ shares, lower=True, overwrite_a=True)
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
