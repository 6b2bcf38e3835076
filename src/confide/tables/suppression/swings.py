"""Swings: for each unknown the tables in which it moves and the others move with it as little as they can, to either side.

"As little" is in squares of shares of their rooms: the swings of all unknowns are columns of one matrix, found by linear algebra
instead of a program each (the ellipsoid of Dikin 1967 around the true table). How far each can go is then found in the bounds
themselves. A point that contradicts what somebody knows of an unknown is mended by its swing to the other side.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg, sparse

from confide.arrays import Floats, Ints
from confide.data.compiling import compiled
from confide.tables.programs.deadline import Deadline
from confide.tables.programs.solver import Solver

__all__ = ["Possible", "Swings", "swings_within"]


LARGEST = 16_000
"""Of more unknowns there are no swings: what they are made of is dense, two gigabytes with so many."""

ROOM = 1e-6
"""Unknowns with less room than this share of what is usual stand still in all swings."""

MANY = 500
"""So many swings are looked at together."""

NOTHING = 1e-12
"""A move of less than this for a unit of the unknown itself is none."""

STILL = 1e-9
"""What is left of a swing if others stand still is nothing if it is less than this share of it."""

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
class Swings:
    """Where unknown i moves by 1, unknown j moves by spread[i] @ spread[j] / square[i]: from `down` to `up` that is possible."""

    possible: Possible
    spread: Floats
    square: Floats
    down: Floats
    up: Floats

    def shared(self, some: Ints, others: Ints) -> Floats:
        """The products of the rows of some unknowns and of others."""
        return np.asarray(self.spread[some] @ self.spread[others].T)

    def beside(self, unknown: int, others: Ints) -> Floats:
        """What is left of the row of an unknown if these others stand still."""
        still = linalg.qr(self.spread[others].T, mode="economic")[0]
        row = self.spread[unknown]
        for _ in range(2):  # once more for what rounding left
            row = row - still @ (still.T @ row)
        return np.asarray(row)

    def ends(self, unknowns: Ints, rows: Floats) -> Floats:
        """How far down, and up, unknowns can go if all move by such rows."""
        own = np.einsum("ij,ij->i", self.spread[unknowns], rows)
        moving = own > STILL * self.square[unknowns]
        swings = self.spread @ rows.T / np.where(moving, own, 1.0)
        return np.where(moving, self.possible.ends(swings), 0.0)


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
    moves = _moves(sparse.csc_array(possible.matrix[:, there]), (low[there], high[there]), deadline)
    spread = np.zeros((len(room), moves.shape[1]))
    if moves.size and not deadline.over:
        spread[there] = _spread(moves, room[there])
    square, nowhere = np.einsum("ij,ij->i", spread, spread), np.zeros(len(room))
    square[square == 0] = 1.0
    swings = Swings(possible, spread, square, nowhere, nowhere)
    every = np.arange(len(room))
    some = (every[start : start + MANY] for start in range(0, len(room), MANY))
    ends = [np.zeros((2, len(part))) if deadline.over else swings.ends(part, spread[part]) for part in some]
    down, up = np.concatenate([np.zeros((2, 0)), *ends], axis=1)
    return replace(swings, down=down, up=up)


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
    if columns.sum() != kept.shape[0]:  # no vertex was found, which the solver does not promise
        return np.zeros((count, 0))
    moves = np.zeros((count, int((~columns).sum())), order="F")
    moves[np.flatnonzero(~columns), np.arange(moves.shape[1])] = 1.0
    factors = linalg.lu_factor(kept[:, columns].toarray(), overwrite_a=True)
    moves[columns] = -linalg.lu_solve(factors, kept[:, ~columns].toarray(), overwrite_b=True)
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
