"""What a fitted model says: estimates with standard errors and tests. Exact, so it stays inside; `grids` rounds it."""

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, fdtrc, ndtr, stdtr

from confide.answering.regressions.fit import Fitted, Unfit
from confide.answering.regressions.scaling import original_units
from confide.arrays import Floats
from confide.model.evidence import Moments, Spread, Step
from confide.model.request import Family

__all__ = ["Inference", "VarianceAnalysis", "analysis", "infer", "sandwich", "wald"]


PERFECT = 1e-20
"""Residual squares against the squares of the response: less is a perfect fit, which would tell every response."""


@dataclass(frozen=True)
class VarianceAnalysis:
    """An analysis of variance: a row for each term after the intercept, and what follows from the rows."""

    squares: Floats
    dof: Floats
    residual_squares: float
    residual_dof: int
    statistics: Floats
    p_values: Floats
    sigma: float
    r_squared: float
    adjusted: float
    f: float
    f_p_value: float


@dataclass(frozen=True)
class Inference:
    """Estimates and their covariance in the units of the data. `tests`: Wald's chi-square of each term after the intercept.

    `analysis` and `dof`, the degrees of freedom of t, are there for gaussian models only, `null_deviance` and `deviance` for
    the others. `freedom`, where errors are by the design of the sample, are the degrees of freedom that this has: infinitely many
    where units were drawn by themselves.
    """

    estimates: Floats
    covariance: Floats
    robust: bool
    widths: tuple[int, ...]
    tests: Floats
    analysis: VarianceAnalysis | None = None
    null_deviance: float = 0.0
    deviance: float = 0.0
    dof: int = 0
    freedom: float | None = None

    @property
    def errors(self) -> Floats:
        return np.sqrt(np.diag(self.covariance))

    @property
    def statistics(self) -> Floats:
        return self.estimates / self.errors

    @property
    def p_values(self) -> Floats:
        lower = -abs(self.statistics)
        return np.asarray(2 * (stdtr(self.dof, lower) if self.analysis else ndtr(lower)))

    @property
    def test_p_values(self) -> Floats:
        return np.asarray(chdtrc(np.array(self.widths[1:]), self.tests))

    @property
    def r_squared(self) -> float:
        """The share of the variance, or of the null deviance, that the model explains."""
        return self.analysis.r_squared if self.analysis else 1 - self.deviance / self.null_deviance


def infer(
    fitted: Fitted,
    spread: Spread,
    question: Step,
    *,
    robust: bool,
    null: Fitted | None = None,
    noise: Floats | None = None,
    freedom: float | None = None,
) -> Inference:
    """Give estimates with standard errors and tests.

    Standard errors are model-based, or with `robust` sandwiches over units: inverse meat inverse, times
    G/(G-1) (N-1)/(N-p) for G units, N records and p columns, which is HC1 where each unit has one record.
    Gaussian tests are t with N-p degrees of freedom, at most G-1 with `robust`; the others are z, with dispersion 1.
    A Poisson model needs `null`, the fit of the intercept alone. `noise` is the covariance of what protection added to the
    score; errors include it. With `freedom`, the degrees of freedom of a design, the meat is that of the design, and nothing is
    corrected for. Raises `Unfit` for perfect fits.
    Reference: MacKinnon and White (1985); Cameron and Miller (2015), section II; Binder (1983).
    """
    moments, widths = fitted.moments, tuple(block.width for block in question.design.blocks)
    gaussian = question.family is Family.GAUSSIAN
    dof = moments.records - len(fitted.beta)
    if dof < 1 or (gaussian and spread.squares <= PERFECT * moments.response_square):
        raise Unfit
    covariance = fitted.inverse * (spread.squares / dof if gaussian else 1.0)
    if freedom is not None:
        covariance = sandwich(fitted, spread, covariance, correction=1.0)
    elif robust:
        covariance, dof = sandwich(fitted, spread, covariance), min(dof, moments.units - 1)
    if noise is not None:
        covariance = covariance + fitted.inverse @ noise @ fitted.inverse
    shift, scale, back = original_units(question.design)
    assert gaussian or (shift, scale) == (0, 1), "only a gaussian response may be shifted or scaled"
    estimates = scale * (back @ fitted.beta)
    estimates[0] += shift
    told = scale**2 * (back @ covariance @ back.T)
    variances = np.diag(told)
    if not np.all(variances > 0):
        raise Unfit
    given = (estimates, told, robust, widths, wald(fitted.beta, covariance, widths))
    if gaussian:
        squares = _sequential(moments, widths) * scale**2
        table = analysis(squares, widths[1:], spread.squares * scale**2, records=moments.records)
        return Inference(*given, table, dof=dof, freedom=freedom)
    null_deviance = _null_deviance(moments, question.family, null)
    return Inference(*given, None, null_deviance, moments.deviance, freedom=freedom)


def sandwich(fitted: Fitted, spread: Spread, plain: Floats, *, correction: float | None = None) -> Floats:
    """The robust covariance; `Unfit` where it vanishes against the plain one, as for a class of one record."""
    records, units = fitted.moments.records, fitted.moments.units
    if correction is None:
        correction = units / max(1, units - 1) * (records - 1) / (records - len(fitted.beta))
    robust = fitted.inverse @ spread.meat @ fitted.inverse * correction
    if not np.all(np.diag(robust) > PERFECT * np.diag(plain)):
        raise Unfit
    return robust


def wald(beta: Floats, covariance: Floats, widths: tuple[int, ...]) -> Floats:
    """The chi-square of each block after the intercept: beta' covariance^-1 beta."""
    ends = np.cumsum(widths)
    places = [slice(end - width, end) for end, width in zip(ends[1:], widths[1:], strict=True)]
    unit = 1 / np.sqrt(np.diag(covariance))
    scaled, correlation = beta * unit, covariance * unit[:, None] * unit
    return np.array(
        [scaled[own] @ np.linalg.pinv(correlation[own, own], hermitian=True) @ scaled[own] for own in places]
    )


def _sequential(moments: Moments, widths: tuple[int, ...]) -> Floats:
    """The sum of squares that each block adds to those before it: squares of the solution of L u = score, gram = L L'."""
    unit = 1 / np.sqrt(np.diag(moments.gram))
    root = np.linalg.cholesky(moments.gram * unit[:, None] * unit)
    parts = np.linalg.solve(root, moments.score * unit) ** 2
    return np.add.reduceat(parts, np.cumsum((0, *widths[:-1])))[1:]


def _null_deviance(moments: Moments, family: Family, null: Fitted | None) -> float:
    if family is Family.BINOMIAL:
        mean = moments.response / moments.weight
        deviance = -2 * moments.weight * (mean * np.log(mean) + (1 - mean) * np.log1p(-mean))
    else:
        assert null is not None, "a Poisson model needs the fit of its intercept"
        deviance = null.moments.deviance
    if min(deviance, moments.deviance) <= PERFECT**0.5 * moments.weight:
        raise Unfit
    return float(deviance)


def analysis(squares: Floats, dof: tuple[int, ...], residual_squares: float, *, records: int) -> VarianceAnalysis:
    """Give the analysis of variance that follows from sums of squares.

    >>> table = analysis(np.array([30.0, 10.0]), (1, 2), 60.0, records=64)
    >>> table.statistics.tolist(), table.r_squared
    ([30.0, 5.0], 0.4)
    """
    each, all_dof, left = np.array(dof, dtype=np.float64), sum(dof), max(1, records - 1 - sum(dof))
    explained, mean = float(squares.sum()), residual_squares / left
    unexplained = residual_squares / (explained + residual_squares)
    statistics = squares / each / mean
    f = explained / max(1, all_dof) / mean
    return VarianceAnalysis(
        squares, each, residual_squares, left, statistics, fdtrc(each, left, statistics), mean**0.5,
        1 - unexplained, 1 - unexplained * (left + all_dof) / left, f, float(fdtrc(all_dof, left, f)) if all_dof else 1.0,
    )  # fmt: skip
