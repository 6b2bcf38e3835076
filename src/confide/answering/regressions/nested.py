"""Models within a model: likelihood-ratio tests term by term, and the comparison with a smaller model that was named.

A smaller model has the classes, the records and the drawn counts of the whole one, and is judged by all rules on models as if
it had been asked for. A difference of deviances is that of classes of their protected sizes: with the true ones, a class whose
share stands out would tell its size to a fraction of a unit.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import chdtrc, fdtrc

from confide.answering.regressions.grids import digits, p_value, rounded
from confide.answering.regressions.judged import JudgedRegression
from confide.answering.rounding import DOUBLE, to_error
from confide.model.choices import CoefficientErrors, Extra
from confide.model.formula import Formula, write_formula
from confide.model.model_release import Grid, Value

__all__ = ["comparison_grid", "deviance_grid", "ratio", "smaller_models"]


def smaller_models(whole: JudgedRegression) -> list[JudgedRegression]:
    """The models that are told within one: the terms added one after the other, if asked for, and the one to compare with."""
    request = whole.question.request
    formulas = _steps(whole)[:-1] if Extra.DEVIANCE in request.also else []
    return [_within(whole, formula) for formula in [*formulas, *([request.against] if request.against else [])]]


def deviance_grid(whole: JudgedRegression) -> Grid:
    """An analysis of deviance: what each term takes from the deviance that the terms before it left."""
    n, steps = whole.published, _steps(whole)
    models = [*(_within(whole, formula) for formula in steps[:-1]), whole]
    left = [whole.inference.null_deviance, *(model.inference.deviance for model in models)]
    columns = [1, *(model.columns for model in models)]
    rows: list[tuple[Value, ...]] = [("(Intercept)", None, None, rounded(left[0], digits(n)), None)]
    for at, term in enumerate(whole.compiled.terms):
        dof = columns[at + 1] - columns[at]
        before = _null_columns(whole) if not at else models[at - 1].compiled.labels
        taken = _statistic(ratio(models[at], left[at], before), dof)
        rows.append((term, dof, taken, rounded(left[at + 1], digits(n)), p_value(float(chdtrc(dof, taken)))))
    title = "Analysis of deviance (each term added to those before it)"
    return Grid("deviance", title, ("term", "dof", "deviance", "residual_deviance", "p_value"), tuple(rows))


def comparison_grid(whole: JudgedRegression) -> Grid:
    """The smaller model beside the whole: by likelihood ratio, or by F for a gaussian model; and Akaike's criterion."""
    request, n = whole.question.request, whole.published
    assert request.against is not None
    small = _within(whole, request.against)
    dof = whole.columns - small.columns
    rows = [_fit(model, n) for model in (small, whole)]
    statistic, p = _f_test(small, whole, dof, n) if whole.inference.analysis else _ratio_test(small, whole, dof)
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


def _ratio_test(small: JudgedRegression, whole: JudgedRegression, dof: int) -> tuple[float, Value]:
    statistic = _statistic(ratio(whole, small.inference.deviance, small.compiled.labels), dof)
    return statistic, p_value(float(chdtrc(dof, statistic)))


def _f_test(small: JudgedRegression, whole: JudgedRegression, dof: int, n: int) -> tuple[float, Value]:
    """From the rounded sums of squares, as in the analysis of variance."""
    assert small.inference.analysis is not None and whole.inference.analysis is not None
    left, more = whole.inference.analysis.residual_squares, small.inference.analysis.residual_squares
    explained, free = rounded(max(more - left, 0.0), digits(n)), max(1, n - whole.columns)
    f = rounded(explained / dof / (rounded(left, digits(n)) / free), 3)
    return f, p_value(float(fdtrc(dof, free, f)))


def ratio(model: JudgedRegression, before: float, columns: Sequence[str]) -> float:
    """The likelihood ratio of a model against one with some of its columns, which leaves the deviance `before`.

    What protected sizes make of it is what they make of Wald's chi-square of the same columns, which is the same in large
    classes: that is known for protected and true sizes.
    """
    assert model.fitted is not None
    added = np.array([label not in columns for label in model.compiled.labels])
    root = np.sqrt(model.fitted.sizes)
    beta, inverse = model.fitted.fitted.beta[added], model.fitted.fitted.inverse
    moved = inverse / np.outer(root, root)
    true, protected = (
        beta @ np.linalg.pinv(one[np.ix_(added, added)], hermitian=True) @ beta for one in (inverse, moved)
    )
    taken = (before - model.inference.deviance) / model.fitted.sizes[0]
    return float(taken * protected / true) if true > 0 else 0.0


def _null_columns(whole: JudgedRegression) -> Sequence[str]:
    return whole.compiled.labels[:1]


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


def _within(whole: JudgedRegression, formula: Formula) -> JudgedRegression:
    request = replace(whole.question.request, formula=formula, also=(), against=None, errors=CoefficientErrors.MODEL)
    key = write_formula(formula)
    if key not in whole.smaller:
        whole.smaller[key] = JudgedRegression(replace(whole.question, request=request), whole.sums, whole=whole)
    return whole.smaller[key]
