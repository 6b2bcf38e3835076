"""Models within a model: likelihood-ratio tests term by term, and the comparison with a smaller model that was named.

A smaller model has the classes, the records and the drawn counts of the whole one, and is judged by all rules on models as if
it had been asked for. How a likelihood ratio is had of protected counts is the model's business: `likelihood_ratio`.
"""

from dataclasses import replace

import numpy as np
from scipy.special import chdtrc, fdtrc

from confide.answering.regressions.grids import digits, p_value, rounded
from confide.answering.regressions.judged import JudgedRegression
from confide.answering.rounding import DOUBLE, to_error
from confide.model.choices import CoefficientErrors, Extra
from confide.model.formula import Formula, write_formula
from confide.model.model_release import Grid, Value

__all__ = ["comparison_grid", "deviance_grid", "smaller_models", "told_ratios"]


def smaller_models(whole: JudgedRegression) -> list[JudgedRegression]:
    """The models that are told within one: the terms added one after the other, if asked for, and the one to compare with."""
    request = whole.question.request
    formulas = _steps(whole)[:-1] if Extra.DEVIANCE in request.also else []
    return [_within(whole, formula) for formula in [*formulas, *([request.against] if request.against else [])]]


def told_ratios(whole: JudgedRegression) -> list[float | None]:
    """The likelihood ratios that would be told, None where one cannot be had."""
    request = whole.question.request
    pairs = _pairs(whole) if Extra.DEVIANCE in request.also else []
    if request.against is not None and whole.inference.analysis is None:
        pairs = [*pairs, (whole, _within(whole, request.against))]
    return [model.likelihood_ratio(small) for model, small in pairs]


def deviance_grid(whole: JudgedRegression) -> Grid:
    """An analysis of deviance: what each term takes from the deviance that the terms before it left."""
    n = whole.published
    left = rounded(whole.inference.null_deviance, digits(n))
    rows: list[tuple[Value, ...]] = [("(Intercept)", None, None, left, None)]
    for term, (model, small) in zip(whole.compiled.terms, _pairs(whole), strict=True):
        dof = model.columns - (whole.levels_alone if small is None else small.columns)
        statistic, p = _ratio_test(model, small, dof)
        rows.append((term, dof, statistic, rounded(model.inference.deviance, digits(n)), p))
    title = "Analysis of deviance (each term added to those before it)"
    return Grid("deviance", title, ("term", "dof", "deviance", "residual_deviance", "p_value"), tuple(rows))


def comparison_grid(whole: JudgedRegression) -> Grid:
    """The smaller model beside the whole: by likelihood ratio, or by F for a gaussian model; and Akaike's criterion."""
    request, n = whole.question.request, whole.published
    assert request.against is not None
    small = _within(whole, request.against)
    dof = whole.columns - small.columns
    rows = [_fit(model, n) for model in (small, whole)]
    statistic, p = _f_test(small, whole, dof, n) if whole.inference.analysis else _ratio_test(whole, small, dof)
    left, test = (
        ("residual_squares", "f_statistic") if whole.inference.analysis else ("residual_deviance", "likelihood_ratio")
    )
    columns = ("model", "columns", left, "aic", "dof", test, "p_value")
    kind = "F test" if whole.inference.analysis else "likelihood-ratio test"
    made = ((*rows[0], None, None, None), (*rows[1], dof, statistic, p))
    return Grid("comparison", f"Comparison of two models ({kind})", columns, made)


def _fit(model: JudgedRegression, n: int) -> tuple[Value, ...]:
    """The formula, the columns, what is left and Akaike's criterion, which follows from these."""
    inference = model.inference
    left = rounded(inference.analysis.residual_squares if inference.analysis else inference.deviance, digits(n))
    minus = n * np.log(left / max(n, 1)) if inference.analysis else left
    aic = rounded(float(minus) + 2 * model.columns, digits(n))
    return write_formula(model.question.request.formula), model.columns, left, aic


def _ratio_test(model: JudgedRegression, small: JudgedRegression | None, dof: int) -> tuple[float, Value]:
    taken = model.likelihood_ratio(small)
    assert taken is not None, "a comparison that cannot be made is refused"
    statistic = _statistic(taken, dof)
    return statistic, p_value(float(chdtrc(dof, statistic)))


def _f_test(small: JudgedRegression, whole: JudgedRegression, dof: int, n: int) -> tuple[float, Value]:
    """From the rounded sums of squares, as in the analysis of variance."""
    assert small.inference.analysis is not None and whole.inference.analysis is not None
    left, more = whole.inference.analysis.residual_squares, small.inference.analysis.residual_squares
    explained, free = rounded(max(more - left, 0.0), digits(n)), max(1, n - whole.columns)
    f = rounded(explained / dof / (rounded(left, digits(n)) / free), 3)
    return f, p_value(float(fdtrc(dof, free, f)))


def _statistic(taken: float, dof: int) -> float:
    """A difference of deviances to the second digit of its standard error: its variance is about 2 dof + 4 times itself."""
    taken = max(taken, 0.0)
    error = np.array([np.sqrt(2 * dof + 4 * taken)])
    return float(to_error(np.array([taken]), error, digits=DOUBLE)[0]) + 0.0


def _steps(whole: JudgedRegression) -> list[Formula]:
    """The formula cut after each term that has columns; the last is the whole."""
    formula = whole.question.request.formula
    terms = [term for term in formula.terms if all(factor.variable in whole.present for factor in term)]
    return [replace(formula, terms=tuple(terms[: at + 1])) for at in range(len(terms))]


def _pairs(whole: JudgedRegression) -> list[tuple[JudgedRegression, JudgedRegression | None]]:
    """Each model of the steps with the one before it; the first with nothing but levels."""
    models = [*(_within(whole, formula) for formula in _steps(whole)[:-1]), whole]
    return list(zip(models, [None, *models[:-1]], strict=True))


def _within(whole: JudgedRegression, formula: Formula) -> JudgedRegression:
    request = replace(whole.question.request, formula=formula, also=(), against=None, errors=CoefficientErrors.MODEL)
    key = write_formula(formula)
    if key not in whole.smaller:
        whole.smaller[key] = type(whole)(replace(whole.question, request=request), whole.sums, whole=whole)
    return whole.smaller[key]
