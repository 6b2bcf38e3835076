"""The least and the greatest value of every cross-product, given released regressions and positive definiteness."""

from dataclasses import dataclass
from warnings import catch_warnings, simplefilter

import cvxpy
import numpy as np
from cvxpy.atoms.affine.reshape import reshape

from confide.answering.frontier.ellipsoid import strip
from confide.answering.frontier.reconstruction import Reconstruction, pairs
from confide.arrays import Floats
from confide.errors import Fault, Mistake

__all__ = ["Bounds", "bounds", "semidefinite"]


TOLERANCES = (1e-10, 1e-8, 1e-6)


@dataclass(frozen=True)
class Bounds:
    """Two matrices: an intruder knows that each cross-product lies between `low` and `high`."""

    low: Floats
    high: Floats


def bounds(found: Reconstruction) -> Bounds:
    """Bound every cross-product: by the ellipsoid where one strip is open, by semidefinite programs otherwise.

    Promise: both ends are reached in the limit by a positive definite matrix that agrees with all released statistics.
    Reference: Gomatam et al. (2004), equations (2), (3) and Result 1.

    >>> from confide.answering.frontier.reconstruction import regress, reconstruct
    >>> cross = np.array([[1, 0.6, 0.9], [0.6, 1, 0.8], [0.9, 0.8, 1]])
    >>> released = [regress(cross, response=0, predictors=[1]), regress(cross, response=1, predictors=[2])]
    >>> limits = bounds(reconstruct(released, variances=np.ones(3)))
    >>> float(limits.low[0, 2].round(6)) + 0, float(limits.high[0, 2].round(6))
    (0.0, 0.96)
    """
    one = _strip(found)
    if one is None:
        return semidefinite(found)
    response, hidden = one
    low, high = found.matrix, found.matrix
    places = list(hidden)
    low[response, places], high[response, places] = strip(found.matrix, response=response, hidden=hidden).bounds()
    low[places, response], high[places, response] = low[response, places], high[response, places]
    return Bounds(low, high)


def _strip(found: Reconstruction) -> tuple[int, tuple[int, ...]] | None:
    """Find the one variable that all open pairs share, if nothing else ties the pairs together."""
    rows, columns = np.nonzero(np.triu(~found.known, 1))
    if len(rows) != found.freedom.shape[1]:
        return None
    for one in [rows[:1], columns[:1]]:
        if len(one) and np.all((rows == one) | (columns == one)):
            others = np.where(rows == one, columns, rows)
            return int(one[0]), tuple(int(i) for i in others)
    return None


def semidefinite(found: Reconstruction) -> Bounds:
    """Bound every open cross-product by two semidefinite programs, in the correlation scale.

    >>> from confide.answering.frontier.reconstruction import reconstruct
    >>> semidefinite(reconstruct([], variances=np.array([1.0, 4.0]))).high.round(6)
    array([[1., 2.],
           [2., 4.]])
    """
    if found.exact.all():
        return Bounds(found.matrix, found.matrix)
    problem, direction = _program(found)
    low, high = found.solution.copy(), found.solution.copy()
    for pair in np.flatnonzero(~found.exact):
        low[pair] += _least(problem, direction, found.freedom[pair])
        high[pair] -= _least(problem, direction, -found.freedom[pair])
    both = [found.elements(end) + np.diag(found.variances) for end in (low, high)]
    return Bounds(*both)


def _program(found: Reconstruction) -> tuple[cvxpy.Problem, cvxpy.Parameter]:
    """State the program once: the correlations are linear in z and positive semidefinite; the direction changes."""
    size, (pair_count, degrees) = len(found.variances), found.freedom.shape
    rows, columns = pairs(size)
    spread = np.zeros((size * size, pair_count))
    spread[rows * size + columns, np.arange(pair_count)] = 1
    spread[columns * size + rows, np.arange(pair_count)] = 1
    z, direction = cvxpy.Variable(degrees), cvxpy.Parameter(degrees)
    flat = np.eye(size).ravel() + spread @ found.solution + (spread @ found.freedom) @ z
    return cvxpy.Problem(cvxpy.Minimize(direction @ z), [reshape(flat, (size, size), order="C") >> 0]), direction


def _least(problem: cvxpy.Problem, direction: cvxpy.Parameter, value: Floats) -> float:
    """Solve as sharply as the matrix allows: near-collinear variables leave the solver little room."""
    direction.value = value
    for tolerance in TOLERANCES:
        with catch_warnings():
            simplefilter("ignore", UserWarning)  # cvxpy warns of the status that is looked at below
            settings = {"tol_gap_abs": tolerance, "tol_gap_rel": tolerance, "tol_feas": tolerance}
            problem.solve(cvxpy.CLARABEL, **settings)  # type: ignore[no-untyped-call]  # cvxpy has no types
        if problem.status == cvxpy.OPTIMAL:
            return float(problem.value)
        if problem.status == cvxpy.INFEASIBLE:
            raise Mistake("No records can have these regressions. Use statistics from the same records.")
    raise Fault("The bounds of the cross-products could not be computed.")
