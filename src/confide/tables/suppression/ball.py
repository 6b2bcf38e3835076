"""A ball of tables: with the true one in its middle, all around it tables that nobody can rule out by what is published.

The largest moves of one unknown in the ball, and of one where another stands still, are a square root away: so one ball settles
millions of pairs of demands and insiders, where points settle a few each. It is an ellipsoid within the bounds (Dikin 1967).
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse

from confide.arrays import Floats, Ints
from confide.tables.programs.deadline import Deadline
from confide.tables.programs.solver import Solver

__all__ = ["Ball", "ball_within"]


LARGEST = 16_000
"""Of more unknowns there is no ball: what it is made of is dense, two gigabytes with so many."""

ROOM = 1e-6
"""Unknowns with less room than this share of what is usual stand still in the ball."""

SEED = 19670101
"""The vertex at which it is seen which relations follow from others is random, but always the same."""


@dataclass(frozen=True, eq=False)
class Ball:
    """Every table `spread` @ v is possible where v is no longer than 1: a row for each unknown."""

    spread: Floats

    @property
    def reach(self) -> Floats:
        """How far each unknown goes."""
        return np.sqrt(np.einsum("ij,ij->i", self.spread, self.spread))

    def shared(self, some: Ints, others: Ints) -> Floats:
        """The products of what moves some unknowns and what moves others: 0 if they move independently."""
        return np.asarray(self.spread[some] @ self.spread[others].T)


def ball_within(matrix: sparse.csr_array, low: Floats, high: Floats, deadline: Deadline) -> Ball:
    """The ball of an equal share of the room to either side for each unknown; of no size if that takes too long.

    Promise: it is within the bounds, and fits the relations to within rounding.

    >>> matrix = sparse.csr_array([[1.0, 1.0, -1.0]])
    >>> ball = ball_within(matrix, np.array([-1.0, -1, -9]), np.array([1.0, 1, 9]), Deadline())
    >>> bool((ball.reach <= [1, 1, 9]).all()), bool(abs(matrix @ ball.spread).max() < 1e-9)
    (True, True)
    """
    room = np.minimum(high, -low)
    there = np.flatnonzero(room > ROOM * np.median(room)) if 0 < len(room) <= LARGEST else np.zeros(0, np.int64)
    moves = _moves(sparse.csc_array(matrix[:, there]), (low[there], high[there]), deadline)
    spread = np.zeros((len(room), moves.shape[1]))
    if moves.size and not deadline.over:
        spread[there] = _balanced(moves, room[there])
    return Ball(spread)


def _moves(matrix: sparse.csc_array, bounds: tuple[Floats, Floats], deadline: Deadline) -> Floats:
    """A basis, by columns, of what fits the relations: in each column one unknown moves by 1, and those of a vertex with it."""
    count = matrix.shape[1]
    solver = Solver(interior=True)
    solver.deadline = deadline
    unit = float(np.concatenate(bounds).max(initial=0.0)) / count if count else 1.0
    solver.take_matrix(np.random.default_rng(SEED).normal(size=count), (bounds[0] / unit, bounds[1] / unit), matrix)
    if not count or solver.run() is None:
        return np.zeros((count, 0))
    columns, rows = solver.basis()
    kept = sparse.csc_array(matrix[~rows])
    moves = np.zeros((count, int((~columns).sum())), order="F")
    moves[np.flatnonzero(~columns), np.arange(moves.shape[1])] = 1.0
    moves[columns] = -linalg.solve(kept[:, columns].toarray(), kept[:, ~columns].toarray(), overwrite_a=True)
    return moves


def _balanced(moves: Floats, room: Floats) -> Floats:
    """The ball in which the squares of all moves, as shares of their rooms, sum to 1."""
    shares = moves / room[:, None]
    size = np.sqrt(np.einsum("ij,ij->j", shares, shares))
    squares = (shares / size).T @ (shares / size)
    root = linalg.cholesky(squares, lower=True, overwrite_a=True)
    spread = linalg.solve_triangular(root, (moves / size).T, lower=True, overwrite_b=True).T
    reach = np.sqrt(np.einsum("ij,ij->i", spread, spread))
    return np.asarray(spread / max(1.0, float((reach / room).max())))
