"""The tables of a model that may leave: rounded, and derived from rounded numbers where that is possible."""

from collections.abc import Sequence
from math import exp, floor, log10

import numpy as np
from scipy.special import fdtrc, ndtr, stdtr, stdtrit

from confide.answering.regressions.inference import Inference, VarianceAnalysis, analysis
from confide.answering.rounding import DOUBLE, significant, to_error
from confide.arrays import Floats
from confide.model.model_release import INTERVAL_ERRORS, NORMAL, Grid, Value

__all__ = [
    "coefficient_grid",
    "digits",
    "grids",
    "interval",
    "interval_errors",
    "likelihood_grid",
    "p_value",
    "ratio",
    "rounded",
    "two_sided",
    "wald_tests",
]

SMALLEST_P = 1e-4

LARGEST_LOGARITHM = 50.0
"""Of a ratio that is told."""

Rows = list[tuple[Value, ...]]


def digits(n: int) -> int:
    """How many significant digits sums over n units may have: 2 below 1,000, then one more for each factor of 100, at most 6.

    The rounding unit is then about 0.03 to 3 times 1/sqrt(n) of the number, its sampling error, and for n of 100 or more
    never below 1/n, what one unit contributes to a sum.

    >>> [digits(n) for n in (50, 999, 1_000, 20_000, 100_000, 10**7, 10**15)]
    [2, 2, 3, 3, 4, 5, 6]
    """
    return max(2, min(6, floor(log10(max(n, 1)) / 2 + 1.5)))


def grids(
    inference: Inference, *, labels: Sequence[str], terms: Sequence[str], n: int, binomial: bool = False
) -> dict[str, Grid]:
    """Give the tables of coefficients, of tests of whole terms and of statistics.

    `labels` name the columns, `terms` the blocks after the intercept; `n` is the protected number of units.
    Promise: estimates and standard errors are rounded to the second significant digit of the standard error, so by at most
    a twentieth of it; t and z follow from these, with 3 significant digits; sums have `digits(n)`, p-values 3 digits, and
    0.0001 where they are smaller. Tests, R² and sigma of a gaussian model are computed from the rounded sums of squares and
    the protected n: they say nothing that these do not say, above all not the true number of records.
    """
    by_design = inference.freedom is not None
    if inference.analysis is None:
        tests, statistics = wald_tests(inference, terms, n), _likelihood_statistics(inference, n)
    else:
        table = _published(inference.analysis, inference.widths, n)
        tests = wald_tests(inference, terms, n) if by_design else _anova(table, terms, n)
        statistics = _gaussian_statistics(table, n)
    coefficients = coefficient_grid(inference, labels, n)
    ratios = (
        {}
        if inference.analysis
        else {"ratios": _ratios(coefficients, interval_errors(inference, n), binomial=binomial)}
    )
    return {"coefficients": coefficients, **ratios, "anova": tests, "statistics": _named(statistics, inference, n)}


def likelihood_grid(inference: Inference, n: int) -> Grid:
    """How well a model fits, by its deviance."""
    return _named(_likelihood_statistics(inference, n), inference, n)


def _named(statistics: Rows, inference: Inference, n: int) -> Grid:
    """Statistics by their names; by the design none of the whole model, which are of units drawn by themselves."""
    if inference.freedom is not None:
        statistics = [row for row in statistics if row[0] not in ("f_statistic", "f_p_value")]
        statistics.append((INTERVAL_ERRORS, interval_errors(inference, n)))
    return Grid("statistics", "Statistics", ("name", "value"), tuple(statistics))


def coefficient_grid(inference: Inference, labels: Sequence[str], n: int) -> Grid:
    """Estimates with their standard errors and tests."""
    estimates, errors = inference.estimates, inference.errors
    shown = [to_error(part, errors, digits=DOUBLE) + 0.0 for part in (estimates, errors)]
    statistics = significant(shown[0] / shown[1], 3)
    parts = (*shown, statistics, two_sided(statistics, inference, n))
    rows: Rows = [
        (label, estimate, error, statistic, p_value(p))
        for label, estimate, error, statistic, p in zip(labels, *(part.tolist() for part in parts), strict=True)
    ]
    kind = "robust" if inference.robust else "model-based"
    kind = kind if inference.freedom is None else "design-based"
    columns = ("term", "estimate", "standard_error", "statistic", "p_value")
    return Grid("coefficients", f"Coefficients ({kind} standard errors)", columns, tuple(rows))


def _ratios(coefficients: Grid, width: float, *, binomial: bool) -> Grid:
    """By how much each unit more, or a class, multiplies the odds or the rate: what follows from the rounded coefficients."""
    kind = "odds" if binomial else "rate"
    rows = tuple((row[0], *ratio(row[1], row[2], width)) for row in coefficients.rows[1:])
    columns = ("term", f"{kind}_ratio", "low", "high")
    return Grid("ratios", f"{kind.capitalize()} ratios with 95 % intervals", columns, rows)


def interval_errors(inference: Inference, n: int) -> float:
    """Standard errors on either side of an estimate that make a 95 percent interval: by the design of t, as its p-value is."""
    return NORMAL if inference.freedom is None else rounded(float(stdtrit(_dof(inference, n), 0.975)), 4)


def interval(estimate: float, error: float, width: float = NORMAL) -> tuple[float, float, float]:
    """An estimate and the ends of its interval, so many errors wide on either side."""
    return estimate, estimate - width * error, estimate + width * error


def ratio(estimate: Value, error: Value, width: float = NORMAL) -> tuple[Value, ...]:
    """The ratio and the ends of its interval; nothing where they are too large or small to be written."""
    ends = interval(float(estimate or 0), float(error or 0), width)
    if max(map(abs, ends)) > LARGEST_LOGARITHM:
        return None, None, None
    return tuple(rounded(exp(value), 3) for value in ends)


def two_sided(statistics: Floats, inference: Inference, n: int) -> Floats:
    """P-values: of t with the degrees of freedom that the protected n, or the design, leaves; or of z."""
    if inference.analysis is None and inference.freedom is None:
        return np.asarray(2 * ndtr(-abs(statistics)))
    return np.asarray(2 * stdtr(_dof(inference, n), -abs(statistics)))


def _dof(inference: Inference, n: int) -> float:
    """The degrees of freedom left: of n units, or of fewer by the design."""
    least = n if inference.freedom is None else min(n, inference.freedom + 1)
    return max(1, least - sum(inference.widths))


def _test_p_values(inference: Inference, n: int) -> Floats:
    """Of chi-square; by the design of F, with the degrees of freedom that it leaves."""
    if inference.freedom is None:
        return inference.test_p_values
    widths = np.array(inference.widths[1:])
    return np.asarray(fdtrc(widths, _dof(inference, n), inference.tests / widths))


def _published(exact: VarianceAnalysis, widths: tuple[int, ...], n: int) -> VarianceAnalysis:
    """The analysis that follows from the rounded sums of squares."""
    squares = significant(exact.squares, digits(n))
    return analysis(squares, widths[1:], rounded(exact.residual_squares, digits(n)), records=n)


def _anova(table: VarianceAnalysis, terms: Sequence[str], n: int) -> Grid:
    parts = (table.dof, table.squares, table.statistics, table.p_values)
    rows: Rows = [
        (term, int(dof), squares, rounded(squares / dof, digits(n)), rounded(f, 3), p_value(p))
        for term, dof, squares, f, p in zip(terms, *(part.tolist() for part in parts), strict=True)
    ]
    mean = rounded(table.residual_squares / table.residual_dof, digits(n))
    rows.append(("Residuals", table.residual_dof, table.residual_squares, mean, None, None))
    columns = ("term", "dof", "sum_of_squares", "mean_square", "statistic", "p_value")
    return Grid("anova", "Analysis of variance (each term added to those before it)", columns, tuple(rows))


def wald_tests(inference: Inference, terms: Sequence[str], n: int) -> Grid:
    """Tests of whole terms."""
    parts = (inference.tests.tolist(), _test_p_values(inference, n).tolist())
    rows = [
        (term, dof, rounded(test, digits(n)), p_value(p))
        for term, dof, test, p in zip(terms, inference.widths[1:], *parts, strict=True)
    ]
    columns = ("term", "dof", "wald_chi_square", "p_value")
    return Grid("anova", "Wald tests of each term given the others", columns, tuple(rows))


def _gaussian_statistics(table: VarianceAnalysis, n: int) -> Rows:
    shown = digits(n)
    return [
        ("n", n),
        ("r_squared", rounded(table.r_squared, shown)),
        ("adjusted_r_squared", rounded(table.adjusted, shown)),
        ("sigma", rounded(table.sigma, shown)),
        ("residual_dof", table.residual_dof),
        ("f_statistic", rounded(table.f, 3)),
        ("f_p_value", p_value(table.f_p_value)),
    ]


def _likelihood_statistics(inference: Inference, n: int) -> Rows:
    shown = digits(n)
    return [
        ("n", n),
        ("r_squared", rounded(inference.r_squared, shown)),
        ("null_deviance", rounded(inference.null_deviance, shown)),
        ("residual_deviance", rounded(inference.deviance, shown)),
        ("residual_dof", max(1, n - sum(inference.widths))),
        ("dispersion", 1),
    ]


def rounded(value: float, shown: int) -> float:
    """The value to so many significant digits."""
    return float(significant(np.array([value]), shown)[0]) + 0.0


def p_value(value: float) -> Value:
    """A p-value as it is told."""
    return rounded(max(value, SMALLEST_P), 3)
