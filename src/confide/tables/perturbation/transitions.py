"""Transition matrices: how a count is moved at random so that no small count is ever shown.

Each row is one small convex program. What is feasible is found exactly, by looking at its corners.
"""

from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral, Real
from pathlib import Path

import numpy as np
import pyarrow as pa

from confide.arrays import Floats, Ints
from confide.errors import Mistake
from confide.tables.perturbation.entropy import corners, entropic, extremes

__all__ = ["Transitions", "feasible", "feasible_pairs", "intervals", "transitions"]


FARTHEST = 100
"""No table moves counts farther, and matrices of larger D take long to find."""


@dataclass(frozen=True, eq=False)
class Transitions:
    """Probabilities with which each count moves: row i is the true count i, column D + d the move by d.

    The last row serves all larger counts.
    """

    D: int
    V: float
    js: int
    stay: float | None
    matrix: Floats

    def __repr__(self) -> str:
        kept = "" if self.stay is None else f", stay={self.stay:g}"
        return f"Transitions(D={self.D}, V={self.V:g}, js={self.js}{kept}): moves of counts from 0 to {len(self.matrix) - 1}"

    def report(self, path: str | Path) -> None:
        """Write a page about the probabilities, with a chart."""
        from confide.tables.reports.report import report_of

        report_of(self).write(path)

    def draw(self, counts: Ints, uniforms: Floats) -> Ints:
        """Give the perturbed counts: each count moves as its uniform number in [0, 1) says.

        Promise: never one of 1..js; zeros stay zero; no move beyond D; equal counts with equal uniforms move alike.

        >>> transitions(D=5, V=2.0, js=2).draw(np.array([0, 1, 1, 40]), np.array([0.9, 0.1, 0.9, 0.5]))
        array([ 0,  0,  3, 40])
        """
        if (counts < 0).any():
            raise Mistake("A count is negative.", suggestions=["Give counts of 0 or more."])
        if not ((uniforms >= 0) & (uniforms < 1)).all():
            raise Mistake("A uniform number is outside [0, 1).", suggestions=["Divide the cell keys by their modulus."])
        rows = np.minimum(counts, len(self.matrix) - 1)
        perturbed = counts - self.D
        for bound in _cumulative(self.matrix).T:
            perturbed = perturbed + (uniforms >= bound[rows])
        return perturbed


@dataclass(frozen=True)
class Wishes:
    """What is asked of the rows of counts above js beyond mean, variance and reach."""

    stay: float | None = None
    monotone: bool = False
    symmetry: float | None = None

    def __post_init__(self) -> None:
        if self.stay is not None and not 0 <= self.stay <= 1:
            raise Mistake(
                f"stay={self.stay:g} is not a probability.", suggestions=["Take stay from 0 to 1 or leave it out."]
            )
        if self.symmetry is not None and not self.symmetry >= 0:
            raise Mistake(f"symmetry={self.symmetry:g} is no bound.", suggestions=["Take 0 or more, or leave it out."])

    @property
    def falling(self) -> bool:
        """Whether probabilities are to fall on both sides of the count."""
        return self.monotone or self.stay is not None


def transitions(
    *, D: int, V: float, js: int, stay: float | None = None, monotone: bool = False, symmetry: float | None = None
) -> Transitions:
    """Give the matrix that moves counts by at most D, with mean 0 and variance V, and never to 1..js.

    Each row has maximum entropy under what is asked, all of it of counts above js only. `monotone`: on both sides of the
    count the probabilities fall. `stay`: monotone, and a count keeps its value with that probability or the nearest
    possible; the larger, the more counts keep their value and the larger are the moves of the others. `symmetry`: the
    probabilities of moving by -1 and by 1 differ by at most this, or by the least possible.

    Promise: row sums 1, mean 0 and variance V to 1e-9; the entries for 1..js are exactly 0; row 0 stays 0.
    Reference: Giessing and Höhne (2011), section 3.1; their Table 1 is stay=1 for D=3 and stay=.7 for D=4 and 5.

    >>> transitions(D=3, V=2.0, js=2).matrix[1].round(3).tolist()
    [0.0, 0.0, 0.667, 0.0, 0.0, 0.333, 0.0]
    """
    wishes = Wishes(stay, monotone, symmetry)
    _check(D, V, js, wishes)
    return _transitions(D, V, js, wishes)


@lru_cache
def _transitions(D: int, V: float, js: int, wishes: Wishes) -> Transitions:
    matrix = np.zeros((D + js + 2, 2 * D + 1))
    matrix[0, D] = 1.0
    for i in range(1, len(matrix)):
        moves = _moves(i, D, js)
        matrix[i, D + moves] = _row(moves, V, wishes)
    matrix.setflags(write=False)
    return Transitions(D=D, V=V, js=js, stay=wishes.stay, matrix=matrix)


def intervals(*, D: int, V: float, js: int, monotone: bool = False) -> tuple[Floats, Floats]:
    """Give the least and the greatest that each probability can be in any matrix with this D, V and js.

    Laid out as `Transitions.matrix` is. Reference: Giessing and Höhne (2011), section 3.1, equation (9).

    >>> low, high = intervals(D=3, V=2.0, js=2)
    >>> low[3].round(2).tolist(), high[3].round(2).tolist()
    ([0.11, 0.0, 0.0, 0.33, 0.0, 0.0, 0.0], [0.17, 0.0, 0.0, 0.78, 0.5, 0.2, 0.11])
    """
    _check(D, V, js, Wishes(monotone=monotone))
    low, high = np.zeros((2, D + js + 2, 2 * D + 1))
    low[0, D] = high[0, D] = 1.0
    for i in range(1, len(low)):
        moves = _moves(i, D, js)
        found = corners(moves, V, falling=monotone and 0 in moves)
        low[i, D + moves], high[i, D + moves] = found.min(axis=0), found.max(axis=0)
    return low, high


def feasible_pairs(*, js: int, largest: int = 15) -> pa.Table:
    """Report which D go with which V: the least and the greatest variance for every D up to the largest.

    >>> feasible_pairs(js=2, largest=4).to_pylist()
    [{'D': 3, 'least': 2.0, 'greatest': 3.0}, {'D': 4, 'least': 2.0, 'greatest': 4.0}]
    """
    if _least_distance(js) > largest:
        raise Mistake(
            f"No matrix exists for js={js} with D up to {largest}.",
            suggestions=[f"Take D of at least {_least_distance(js)}, or a smaller js."],
        )
    found = [(D, *feasible(D=D, js=js)) for D in range(_least_distance(js), largest + 1)]
    names = {"D": pa.int64(), "least": pa.float64(), "greatest": pa.float64()}
    return pa.table([[row[at] for row in found] for at in range(3)], schema=pa.schema(names))


def feasible(*, D: int, js: int, stay: float | None = None, monotone: bool = False) -> tuple[float, float]:
    """Give the least and the greatest variance a matrix can have; asking for `stay` or `monotone` lowers the greatest.

    >>> feasible(D=5, js=2)
    (2.0, 5.0)
    """
    return _feasible(D, js, Wishes(stay, monotone).falling)


@lru_cache
def _feasible(D: int, js: int, falling: bool) -> tuple[float, float]:
    if js < 0 or js >= D:
        remedy = f"Take D of at least {_least_distance(js)}." if js >= 0 else "Take js of 0 or more."
        raise Mistake(f"No matrix exists for D={D}, js={js}.", suggestions=[remedy])
    rows = [_moves(i, D, js) for i in range(1, D + js + 2)]
    least, greatest = np.array([extremes(moves, falling=falling and 0 in moves) for moves in rows]).T
    if least.max() > greatest.min():
        raise Mistake(
            f"No variance suits every count for D={D}, js={js}.",
            suggestions=[f"Take a larger D: at least {_least_distance(js)}, with V of at least {least.max():g}."],
        )
    return float(least.max()), float(greatest.min())


def _least_distance(js: int) -> int:
    """The count in the middle of 1..js needs variance (js + 1)² / 4; the count 1 cannot have more than D."""
    return max(js + 1, (js + 1) ** 2 // 4)


def _check(D: int, V: float, js: int, wishes: Wishes) -> None:
    if not all(isinstance(number, Integral) for number in (D, js)) or not isinstance(V, Real) or D > FARTHEST:
        raise Mistake(f"D is a whole number of at most {FARTHEST}, js a whole number, and V a number.")
    least, greatest = _feasible(D, js, wishes.falling)
    least = max(least, 1e-6)
    if not least <= V <= greatest:
        asked = " and stay" if wishes.stay is not None else ", monotone" if wishes.monotone else ""
        raise Mistake(
            f"No matrix has variance V={V:g} with D={D}, js={js}{asked}.",
            suggestions=[f"Take V of at least {least:.6g} and at most {greatest:.6g}, or change D."],
        )


def _moves(i: int, D: int, js: int) -> Ints:
    to = np.arange(max(0, i - D), i + D + 1)
    moves: Ints = to[(to == 0) | (to > js)] - i
    return moves


def _row(x: Ints, V: float, wishes: Wishes) -> Floats:
    if 0 not in x:
        return entropic(x, V, falling=False)
    if wishes.stay is None:
        return entropic(x, V, falling=wishes.monotone, symmetry=wishes.symmetry)
    others = x[x != 0]
    least, greatest = extremes(others, falling=True)
    leaving = np.clip(1 - wishes.stay, V / greatest, min(1.0, V / least))
    p = np.full(len(x), 1 - leaving)
    bound = None if wishes.symmetry is None else wishes.symmetry / leaving
    p[x != 0] = leaving * entropic(others, V / leaving, falling=True, symmetry=bound)
    return p


def _cumulative(matrix: Floats) -> Floats:
    """Give the cumulative rows, exactly 1 from the last possible move on, so that rounding never makes another one."""
    last = matrix.shape[1] - 1 - (matrix[:, ::-1] > 0).argmax(axis=1)
    return np.where(np.arange(matrix.shape[1]) >= last[:, None], 1.0, matrix.cumsum(axis=1))
