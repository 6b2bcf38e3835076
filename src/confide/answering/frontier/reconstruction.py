"""What an intruder rebuilds of a cross-product matrix from released regressions: exact elements, and what stays open.

All statistics of a released regression are linear in the unknown cross-products once the variances are known, so that
the intruder solves one linear system; `bounds` narrows what the system leaves open.
Reference: Gomatam et al. (2004), section 4.2.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.errors import Mistake

__all__ = ["ReconstructedRegression", "Reconstruction", "pairs", "reconstruct", "regress"]


RANK = 1e-9
CONTRADICTION = 1e-6
KNOWN = 1e-7


@dataclass(frozen=True)
class ReconstructedRegression:
    """A released regression: coefficients, and where released R² and the covariance matrix of the coefficients.

    The covariance may have any scale. Where only standard errors were released, regard the covariance as released:
    they depend on it in a way that is not linear, and the intruder is then taken to know too much, never too little.
    """

    response: int
    predictors: tuple[int, ...]
    coefficients: Floats
    r_squared: float | None = None
    covariance: Floats | None = None

    def __post_init__(self) -> None:
        if not self.predictors or self.response in self.predictors or len(set(self.predictors)) < len(self.predictors):
            raise Mistake(
                "A regression has one response and one or more other variables as predictors, each named once."
            )
        if len(self.coefficients) != len(self.predictors):
            raise Mistake("A regression has one coefficient for each predictor.")
        if self.covariance is not None and self.covariance.shape != (len(self.predictors),) * 2:
            raise Mistake("The covariance matrix of the coefficients has one row and one column for each predictor.")


def regress(
    cross: Floats, *, response: int, predictors: Sequence[int], coefficients_only: bool = False
) -> ReconstructedRegression:
    """Give the regression that a server would release, computed from the cross-products.

    >>> regress(np.array([[1, 0.6], [0.6, 1]]), response=0, predictors=[1]).coefficients
    array([0.6])
    """
    columns = list(predictors)
    inside, across = cross[np.ix_(columns, columns)], cross[columns, response]
    slopes = np.asarray(np.linalg.solve(inside, across), dtype=np.float64)
    if coefficients_only:
        return ReconstructedRegression(response, tuple(predictors), slopes)
    r_squared = float(slopes @ across / cross[response, response])
    return ReconstructedRegression(
        response, tuple(predictors), slopes, r_squared, np.asarray(np.linalg.inv(inside), dtype=np.float64)
    )


@dataclass(frozen=True)
class Reconstruction:
    """What released regressions say about the correlation of each pair of variables.

    Promise: the true correlations are `solution + freedom @ z` for some z. A pair whose row of `freedom` is zero is
    known exactly. Pairs are in the order of `pairs`.
    """

    variances: Floats
    solution: Floats
    freedom: Floats

    @property
    def exact(self) -> Bools:
        """Mark the pairs that the regressions determine."""
        return np.asarray(np.linalg.norm(self.freedom, axis=1) < KNOWN)

    @property
    def known(self) -> Bools:
        """Mark the elements of the matrix that an intruder solves exactly."""
        marks = np.eye(len(self.variances), dtype=bool)
        marks[pairs(len(marks))] = self.exact
        return marks | marks.T

    @property
    def matrix(self) -> Floats:
        """Give the cross-product matrix as the intruder has it, with nan where it stays open."""
        found = self.elements(np.where(self.exact, self.solution, np.nan))
        np.fill_diagonal(found, self.variances)
        return found

    def elements(self, correlations: Floats) -> Floats:
        """Spread one number for each pair over the matrix, in the scale of the cross-products."""
        scale = np.sqrt(self.variances)
        spread = np.zeros((len(scale), len(scale)))
        spread[pairs(len(scale))] = correlations
        return np.asarray((spread + spread.T) * np.outer(scale, scale))


def pairs(variables: int) -> tuple[Ints, Ints]:
    """Give rows and columns of the pairs of variables, in the order used everywhere here.

    >>> [i.tolist() for i in pairs(3)]
    [[0, 0, 1], [1, 2, 2]]
    """
    rows, columns = np.triu_indices(variables, 1)
    return rows.astype(np.int64), columns.astype(np.int64)


def reconstruct(regressions: Iterable[ReconstructedRegression], *, variances: Floats) -> Reconstruction:
    """Solve for the cross-products of the variables, whose variances (the diagonal) are taken to be public.

    Statistics are taken as exact: rounding protects beyond what is promised here.

    >>> from_slope = reconstruct([ReconstructedRegression(0, (1,), np.array([0.5]))], variances=np.array([1.0, 4.0, 1.0]))
    >>> from_slope.matrix.round(9).tolist()
    [[1.0, 2.0, nan], [2.0, 4.0, nan], [nan, nan, 1.0]]
    """
    scale = np.sqrt(_positive(variances))
    width = len(scale) * (len(scale) - 1) // 2
    number = np.full((len(scale), len(scale)), -1)
    number[pairs(len(scale))] = np.arange(width)
    number = np.maximum(number, number.T)
    rows = [row for regression in regressions for row in _equations(regression, scale, number)]
    if not rows:
        return Reconstruction(variances, np.zeros(width), np.eye(width))
    return Reconstruction(variances, *_solve(np.array(rows)))


def _positive(variances: Floats) -> Floats:
    if not np.all(variances > 0):
        raise Mistake("Every variable needs a variance above zero. Leave constants out.")
    return variances


def _equations(regression: ReconstructedRegression, scale: Floats, number: Ints) -> list[Floats]:
    """Give the rows (left side, right side) that a regression adds to the system for the correlations."""
    response, predictors = regression.response, regression.predictors
    if max(response, *predictors) >= len(scale) or min(response, *predictors) < 0:
        raise Mistake("A regression uses a variable that has no variance here. Number the variables from 0.")
    slopes = np.asarray(regression.coefficients) * scale[list(predictors)] / scale[response]
    rows = [_normal(i, regression, slopes, number) for i in range(len(predictors))]
    if regression.r_squared is not None:
        rows.append(
            _row(number, [(i, response, b) for i, b in zip(predictors, slopes, strict=True)], regression.r_squared)
        )
    if regression.covariance is not None:
        rows += _inside(predictors, regression.covariance, number)
    return rows


def _normal(i: int, regression: ReconstructedRegression, slopes: Floats, number: Ints) -> Floats:
    """The i-th normal equation: Σ_j β_j r_ij = r_ia, with r_ii = 1."""
    own = regression.predictors[i]
    terms = [(own, j, b) for j, b in zip(regression.predictors, slopes, strict=True) if j != own]
    return _row(number, [*terms, (own, regression.response, -1.0)], -slopes[i])


def _inside(predictors: tuple[int, ...], covariance: Floats, number: Ints) -> list[Floats]:
    """The inverse of the covariance is a multiple of the predictors' cross-products; known variances fix the multiple."""
    cross = np.linalg.inv(covariance)
    unit = np.sqrt(np.diag(cross))
    correlation = cross / np.outer(unit, unit)
    places = combinations(range(len(predictors)), 2)
    return [_row(number, [(predictors[i], predictors[j], 1.0)], correlation[i, j]) for i, j in places]


def _row(number: Ints, terms: Iterable[tuple[int, int, float]], right: float) -> Floats:
    row = np.zeros(int(number.max()) + 2)
    for i, j, factor in terms:
        row[number[i, j]] += factor
    row[-1] = right
    return row


def _solve(system: Floats) -> tuple[Floats, Floats]:
    """Give one solution and a basis of what can be added to it."""
    triangle = np.asarray(np.linalg.qr(system, mode="r"))
    left, right = triangle[:, :-1], triangle[:, -1]
    u, sizes, v = np.linalg.svd(left)
    rank = int(np.sum(sizes > RANK * sizes[0]))
    solution = v[:rank].T @ (u[:, :rank].T @ right / sizes[:rank])
    if np.max(np.abs(left @ solution - right)) > CONTRADICTION:
        raise Mistake("These regressions contradict each other. Use statistics from the same records, not rounded.")
    return solution, v[rank:].T
