"""Transition matrices: how a count is moved at random so that no small count is ever shown.

With mean zero the second moment is extreme on one atom below and one above the count, so what is feasible is found
exactly by looking at pairs. In between, each row is one small convex program, solved by Newton's method on its dual.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from confide.errors import Mistake

__all__ = ["Transitions", "feasible", "transitions"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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


def transitions(*, D: int, V: float, js: int, stay: float | None = None) -> Transitions:
    """Give the matrix that moves counts by at most D, with mean 0 and variance V, and never to 1..js.

    Without `stay` each row has maximum entropy. With it, a count above js keeps its value with probability `stay` or
    the nearest possible, on both sides of the count the probabilities fall, and entropy is maximal subject to that:
    the larger `stay`, the more counts keep their value and the larger are the moves of the others.

    Promise: row sums 1, mean 0 and variance V to 1e-9; the entries for 1..js are exactly 0; row 0 stays 0.
    Reference: Giessing and Höhne (2011), section 3.1; their Table 1 is stay=1 for D=3 and stay=.7 for D=4 and 5.

    >>> transitions(D=3, V=2.0, js=2).matrix[1].round(3).tolist()
    [0.0, 0.0, 0.667, 0.0, 0.0, 0.333, 0.0]
    """
    least, greatest = feasible(D=D, js=js, stay=stay)
    least = max(least, 1e-6)
    if not least <= V <= greatest:
        raise Mistake(
            f"No matrix has variance V={V:g} with D={D}, js={js}{'' if stay is None else ' and stay'}.",
            suggestions=[f"Take V of at least {least:.6g} and at most {greatest:.6g}, or change D."],
        )
    return _transitions(D, V, js, stay)


@lru_cache
def _transitions(D: int, V: float, js: int, stay: float | None) -> Transitions:
    matrix = np.zeros((D + js + 2, 2 * D + 1))
    matrix[0, D] = 1.0
    for i in range(1, len(matrix)):
        moves = _moves(i, D, js)
        matrix[i, D + moves] = _row(moves, V, stay)
    matrix.setflags(write=False)
    return Transitions(D=D, V=V, js=js, stay=stay, matrix=matrix)


@lru_cache
def feasible(*, D: int, js: int, stay: float | None = None) -> tuple[float, float]:
    """Give the least and the greatest variance a matrix can have; asking for `stay` lowers the greatest.

    >>> feasible(D=5, js=2)
    (2.0, 5.0)
    """
    if js < 0 or js >= D:
        raise Mistake(
            f"No matrix exists for D={D}, js={js}.", suggestions=["Take js of 0 or more and D larger than js."]
        )
    if stay is not None and not 0 <= stay <= 1:
        raise Mistake(f"stay={stay:g} is not a probability.", suggestions=["Take stay from 0 to 1 or leave it out."])
    least, greatest = np.array([_range(_moves(i, D, js), stay) for i in range(1, D + js + 2)]).T
    if least.max() > greatest.min():
        raise Mistake(f"No variance suits every count for D={D}, js={js}.", suggestions=["Take a larger D."])
    return float(least.max()), float(greatest.min())


def _moves(i: int, D: int, js: int) -> Ints:
    to = np.arange(max(0, i - D), i + D + 1)
    moves: Ints = to[(to == 0) | (to > js)] - i
    return moves


def _range(x: Ints, stay: float | None) -> tuple[float, float]:
    moments = _pairs(x, falling=stay is not None and 0 in x)[1]
    return 0.0 if 0 in x else moments.min(), moments.max()


def _pairs(x: Ints, *, falling: bool) -> tuple[Floats, Floats]:
    """Give every mean-zero mixture of an atom below and one above 0, and its second moment.

    An atom is a point or, if falling, the uniform distribution on a run of points from 0 outwards.
    """
    runs = (abs(x) <= abs(x)[:, None]) & (x * x[:, None] > 0) if falling else np.eye(len(x), dtype=bool)
    below, above = (atoms / atoms.sum(axis=1, keepdims=True) for atoms in (runs[x < 0], runs[x > 0]))
    down, up = -(below @ x)[:, None], above @ x
    moments = (up * (below @ x**2)[:, None] + down * (above @ x**2)) / (up + down)
    mixtures = (up[:, None] * below[:, None] + down[..., None] * above) / (up + down)[..., None]
    return mixtures.reshape(-1, len(x)), moments.ravel()


def _row(x: Ints, V: float, stay: float | None) -> Floats:
    if stay is None or 0 not in x:
        return _entropic(x, V, falling=False)
    others = x[x != 0]
    moments = _pairs(others, falling=True)[1]
    leaving = np.clip(1 - stay, V / moments.max(), min(1.0, V / moments.min()))
    p = np.full(len(x), 1 - leaving)
    p[x != 0] = leaving * _entropic(others, V / leaving, falling=True)
    return p


def _entropic(x: Ints, V: float, *, falling: bool) -> Floats:
    """Give the maximum-entropy probabilities on x with mean 0 and variance V, falling on both sides of 0 if asked."""
    mixtures, moments = _pairs(x, falling=falling)
    for edge in (moments.argmax(), moments.argmin()):
        # At an extreme variance only this mixture is left and the dual has no finite solution.
        if abs(moments[edge] - V) <= 1e-10 * V and (0 not in x or edge == moments.argmax()):
            only: Floats = mixtures[edge]
            return only
    below = int((x < 0).sum()) if falling else None
    start = np.array([0.0, -0.5 * min(V, 1.0)])
    return _newton(np.column_stack([x / V**0.5, x**2 / V - 1]), below, start)


def _newton(features: Floats, below: int | None, theta: Floats) -> Floats:
    """Give the maximum-entropy probabilities under which the features have mean 0, by Newton on the dual."""
    value, p, slope, curve = _dual(features, below, theta)
    for _ in range(200):
        if abs(slope).max() < 1e-13:
            break
        step = -np.linalg.solve(curve + 1e-15 * np.trace(curve) * np.eye(2), slope)
        while _dual(features, below, theta + step)[0] > value + 1e-4 * slope @ step + 1e-15:
            step = step / 2
        theta = theta + step
        value, p, slope, curve = _dual(features, below, theta)
    return p


def _dual(features: Floats, below: int | None, theta: Floats) -> tuple[float, Floats, Floats, Floats]:
    """Give the log of the normalising sum, the probabilities, and the gradient and Hessian of the former.

    If the first `below` points must rise and the others fall, the probabilities are the exponential of the isotonic
    regression of the exponent (stationarity of the entropy on each pool of equal probabilities).
    """
    starts = np.arange(len(features)) if below is None else _pools(features @ theta, below)
    sizes = np.diff(starts, append=len(features))
    pooled = np.add.reduceat(features, starts) / sizes[:, None]
    exponent = pooled @ theta
    weight = sizes * np.exp(exponent - exponent.max())
    share = weight / weight.sum()
    slope = share @ pooled
    curve = (share[:, None] * (pooled - slope)).T @ (pooled - slope)
    return float(exponent.max() + np.log(weight.sum())), np.repeat(share / sizes, sizes), slope, curve


def _pools(exponent: Floats, below: int) -> Ints:
    """Give where the pools start when adjacent violators are pooled: values rise up to `below` and fall from there."""
    sizes = _falling(exponent[:below][::-1])[::-1] + _falling(exponent[below:])
    return np.cumsum([0, *sizes[:-1]])


def _falling(values: Floats) -> list[int]:
    pools: list[tuple[float, int]] = []
    for value in values:
        total, size = float(value), 1
        while pools and pools[-1][0] * size < total * pools[-1][1]:
            sum_before, size_before = pools.pop()
            total, size = total + sum_before, size + size_before
        pools.append((total, size))
    return [size for _, size in pools]


def _cumulative(matrix: Floats) -> Floats:
    """Give the cumulative rows, exactly 1 from the last possible move on, so that rounding never makes another one."""
    last = matrix.shape[1] - 1 - (matrix[:, ::-1] > 0).argmax(axis=1)
    return np.where(np.arange(matrix.shape[1]) >= last[:, None], 1.0, matrix.cumsum(axis=1))
