"""Standard errors, tests and tables agree with statsmodels; what leaves is rounded."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.anova import anova_lm

from confide.answering.regressions.fit import Unfit
from confide.answering.regressions.grids import digits, grids
from confide.answering.regressions.inference import Inference, analysis
from confide.model.design import Block, Design, Number
from confide.model.request import Family

CLOSE = 1e-8
LABELS = ("intercept", "age", "b", "c", "age:b", "age:c", "tiny", "huge")
TERMS = ("age", "group", "age:group", "tiny", "huge")


def gaussian(example, dense, **options):
    y = example.eta + example.rng.normal(0, 0.3, len(example.eta))
    return dense(example.x, y, example.widths, **options)


def logit(example, dense, **options):
    y = (example.rng.random(len(example.eta)) < 1 / (1 + np.exp(-example.eta))).astype(float)
    return dense(example.x, y, example.widths, Family.BINOMIAL, **options)


def counts(example, dense, **options):
    y = example.rng.poisson(np.exp(example.eta)).astype(float)
    return dense(example.x, y, example.widths, Family.POISSON, **options)


def theirs(data, **options):
    """The same model by statsmodels, on columns of like size, and those sizes."""
    unit = np.abs(data.x).max(axis=0)
    if data.family is Family.GAUSSIAN:
        return sm.WLS(data.y, data.x / unit, weights=data.weight).fit(**options), unit
    kind = sm.families.Binomial() if data.family is Family.BINOMIAL else sm.families.Poisson()
    return sm.GLM(data.y, data.x / unit, family=kind, var_weights=data.w).fit(
        tol=1e-12, tol_criterion="params", **options
    ), unit


def assert_same(ours, them, unit):
    assert ours.estimates == pytest.approx(them.params / unit, rel=CLOSE)
    assert ours.errors == pytest.approx(them.bse / unit, rel=CLOSE)
    assert ours.statistics == pytest.approx(them.tvalues, rel=CLOSE)
    assert ours.p_values == pytest.approx(them.pvalues, rel=1e-6, abs=1e-300)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("model", [gaussian, logit, counts])
def test_model_based_errors_agree_with_statsmodels(example, dense, model, weighted):
    data = model(example, dense, w=example.w if weighted else None)
    assert_same(data.infer(), *theirs(data))


@pytest.mark.parametrize("model", [gaussian, logit, counts])
def test_robust_errors_are_hc1_where_each_unit_has_one_record(example, dense, model):
    data = model(example, dense, w=example.w if model is gaussian else None)
    if model is gaussian:
        assert_same(data.infer(robust=True), *theirs(data, cov_type="HC1", use_t=True))
    else:
        them, unit = theirs(data, cov_type="HC0")
        n, p = data.x.shape
        assert data.infer(robust=True).errors == pytest.approx(them.bse / unit * np.sqrt(n / (n - p)), rel=CLOSE)


@pytest.mark.parametrize("model", [gaussian, logit, counts])
def test_robust_errors_are_those_of_clusters_where_units_have_several_records(example, dense, model):
    data = model(example, dense, unit=example.unit)
    them, unit = theirs(data, cov_type="cluster", cov_kwds={"groups": example.unit})
    ours = data.infer(robust=True)
    assert ours.errors == pytest.approx(them.bse / unit, rel=CLOSE)
    if model is gaussian:
        t = sm.WLS(data.y, data.x / unit).fit(cov_type="cluster", cov_kwds={"groups": example.unit}, use_t=True)
        assert ours.p_values == pytest.approx(t.pvalues, rel=1e-6)


def test_the_analysis_of_variance_agrees_with_anova_lm(example, dense):
    """The terms in the order that statsmodels gives them, classes first."""
    data = gaussian(replace(example, x=example.x[:, [0, 2, 3, 1, 4, 5, 6, 7]], widths=(1, 2, 1, 2, 1, 1)), dense)
    columns = {"y": data.y, "group": data.x[:, 1] + 2 * data.x[:, 2], "age": data.x[:, 3]}
    frame = pd.DataFrame({**columns, "tiny": data.x[:, 6] * 1e7, "huge": data.x[:, 7] / 1e7})
    table = anova_lm(smf.ols("y ~ C(group) + age + age:C(group) + tiny + huge", frame).fit(), typ=1)
    assert table.index.tolist() == ["C(group)", "age", "age:C(group)", "tiny", "huge", "Residual"]
    ours = data.infer().analysis
    assert (*ours.dof, ours.residual_dof) == tuple(table["df"])
    assert (*ours.squares, ours.residual_squares) == pytest.approx(table["sum_sq"].to_numpy(), rel=CLOSE)
    assert ours.statistics == pytest.approx(table["F"].to_numpy()[:-1], rel=CLOSE)
    assert ours.p_values == pytest.approx(table["PR(>F)"].to_numpy()[:-1], rel=1e-6, abs=1e-300)


def test_weighted_sums_of_squares_are_those_of_one_model_after_the_other(example, dense):
    """anova_lm forgets the weights, so that the residual squares of nested models are compared."""
    data = gaussian(example, dense, w=example.w)
    x, ends = data.x / np.abs(data.x).max(axis=0), np.cumsum(data.widths)
    left = [sm.WLS(data.y, x[:, :end], weights=data.w).fit().ssr for end in ends]
    assert data.infer().analysis.squares == pytest.approx(-np.diff(left), rel=1e-7)


def test_gaussian_statistics_agree_with_statsmodels(example, dense):
    data = gaussian(example, dense)
    them, _ = theirs(data)
    ours = data.infer()
    assert ours.r_squared == pytest.approx(them.rsquared, rel=CLOSE)
    assert ours.analysis.adjusted == pytest.approx(them.rsquared_adj, rel=CLOSE)
    assert ours.analysis.sigma == pytest.approx(np.sqrt(them.mse_resid), rel=CLOSE)
    assert ours.analysis.f == pytest.approx(them.fvalue, rel=CLOSE)
    assert ours.analysis.f_p_value == pytest.approx(them.f_pvalue, rel=1e-6)
    assert ours.analysis.residual_dof == them.df_resid


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("model", [logit, counts])
def test_deviances_and_wald_tests_agree_with_statsmodels(example, dense, model, weighted):
    data = model(example, dense, w=example.w if weighted else None)
    them, _ = theirs(data)
    ours = data.infer()
    assert (ours.deviance, ours.null_deviance) == pytest.approx((them.deviance, them.null_deviance), rel=CLOSE)
    assert ours.r_squared == pytest.approx(1 - them.deviance / them.null_deviance, rel=1e-6)
    ends = np.cumsum(data.widths)
    for i, width in enumerate(data.widths[1:]):
        test = them.wald_test(np.eye(8)[ends[i] : ends[i] + width], scalar=True)
        assert ours.tests[i] == pytest.approx(test.statistic, rel=1e-6)
        assert ours.test_p_values[i] == pytest.approx(test.pvalue, rel=1e-5)


@pytest.mark.parametrize("robust", [False, True])
def test_shifts_and_scales_do_not_show(dense, robust):
    """A model on shifted and scaled numbers has the estimates, errors and squares of the plain one."""
    rng = np.random.default_rng(8)
    year, pay = rng.integers(1990, 2020, 300).astype(float), rng.lognormal(10, 0.5, 300)
    yes, one = rng.integers(0, 2, 300).astype(float), np.ones(300)
    y = 1e6 + 300 * (year - 2000) + 0.1 * pay * yes + rng.normal(0, 500, 300)
    plain = dense(np.column_stack([one, year, yes, pay * yes]), y, (1, 1, 1, 1)).infer(robust=robust)
    x = np.column_stack([one, (year - 2000) / 10, yes, pay / 2e4 * yes])
    numbers = (Number("year", shift=2000, scale=10), Number("pay", scale=2e4))
    classes = ((0, (-1, 0)),)
    blocks = (Block((), (), 0, 1), Block((0,), (), 1, 1), Block((), classes, 2, 1), Block((1,), classes, 3, 1))
    design = Design(Number("y", shift=1e6, scale=1e3), numbers, ("yes",), blocks)
    moved = dense(x, (y - 1e6) / 1e3, (1, 1, 1, 1)).infer(robust=robust, design=design)
    assert moved.estimates == pytest.approx(plain.estimates, rel=1e-6)
    assert moved.errors == pytest.approx(plain.errors, rel=1e-6)
    assert moved.p_values == pytest.approx(plain.p_values, rel=1e-5, abs=1e-12)
    assert moved.analysis.squares == pytest.approx(plain.analysis.squares, rel=1e-5)
    assert moved.analysis.sigma == pytest.approx(plain.analysis.sigma, rel=1e-7)


def test_a_shift_within_an_interaction_is_a_fault_of_ours(dense):
    rng = np.random.default_rng(8)
    x = np.column_stack([np.ones(50), rng.normal(size=50)])
    block = Block((0,), ((0, (-1, 0)),), 1, 1)
    design = Design(Number("y"), (Number("a", shift=1.0),), ("b",), (Block((), (), 0, 1), block))
    with pytest.raises(AssertionError, match="interaction"):
        dense(x, rng.normal(size=50), (1, 1)).infer(design=design)


def assert_unfit(data, **options):
    with pytest.raises(Unfit):
        data.infer(**options)


@pytest.mark.parametrize("value", [0.0, 1.0, 1e9 / 7])
def test_a_constant_or_perfectly_fitted_response_is_unfit(example, dense, value):
    number = example.x[:, [0, 1]]
    assert_unfit(dense(number, np.full(len(number), value), (1, 1)))
    assert_unfit(dense(number, number @ [2.0, 3.0], (1, 1)))


def test_counts_that_are_all_equal_are_unfit(example, dense):
    assert_unfit(dense(example.x[:, [0, 1]], np.full(len(example.x), 3.0), (1, 1), Family.POISSON))


def test_no_degrees_of_freedom_are_unfit(dense):
    assert_unfit(dense(np.array([[1.0, 0], [1, 1]]), np.array([1.0, 2]), (1, 1)))


def test_a_reference_class_of_one_record_has_no_robust_error(dense):
    rng = np.random.default_rng(8)
    data = dense(np.column_stack([np.ones(50), np.arange(50) != 7]), rng.normal(size=50), (1, 1))
    assert data.infer().errors[0] > 0
    assert_unfit(data, robust=True)


def test_one_column_is_the_mean_with_its_error(dense):
    ours = dense(np.ones((5, 1)), np.array([1.0, 2, 3, 4, 10]), (1,)).infer()
    assert (ours.estimates[0], ours.errors[0]) == pytest.approx((4, np.sqrt(12.5 / 5)))
    assert (ours.r_squared, ours.analysis.f_p_value, len(ours.tests)) == (0, 1, 0)


def rows(grid):
    return {row[0]: dict(zip(grid.columns, row, strict=True)) for row in grid.rows}


def test_the_tables_of_a_gaussian_model_have_their_columns_and_labels(example, dense):
    tables = grids(gaussian(example, dense).infer(), labels=LABELS, terms=TERMS, n=400)
    assert list(tables) == ["coefficients", "anova", "statistics"]
    assert tables["coefficients"].columns == ("term", "estimate", "standard_error", "statistic", "p_value")
    assert tables["coefficients"].title == "Coefficients (model-based standard errors)"
    assert tuple(rows(tables["coefficients"])) == LABELS
    assert tuple(rows(tables["anova"])) == (*TERMS, "Residuals")
    assert tables["anova"].columns == ("term", "dof", "sum_of_squares", "mean_square", "statistic", "p_value")
    assert dict(tables["statistics"].rows)["residual_dof"] == 392


@pytest.mark.parametrize("model", [logit, counts])
def test_the_tables_of_the_other_models_have_theirs(example, dense, model):
    tables = grids(model(example, dense).infer(robust=True), labels=LABELS, terms=TERMS, n=400)
    assert tables["coefficients"].title == "Coefficients (robust standard errors)"
    assert tables["anova"].columns == ("term", "dof", "wald_chi_square", "p_value")
    shown, ratios = rows(tables["coefficients"]), rows(tables["ratios"])
    assert tuple(ratios) == LABELS[1:] and tables["ratios"].columns == ("term", "rate_ratio", "low", "high")
    for label, row in ratios.items():
        estimate, error = shown[label]["estimate"], shown[label]["standard_error"]
        if row["rate_ratio"] is None:
            assert abs(estimate) + 1.96 * error > 50
        else:
            assert row["rate_ratio"] == pytest.approx(np.exp(estimate), rel=6e-3)
            assert row["high"] == pytest.approx(np.exp(estimate + 1.96 * error), rel=6e-3)
    names = ["n", "r_squared", "null_deviance", "residual_deviance", "residual_dof", "dispersion"]
    assert [row[0] for row in tables["statistics"].rows] == names


def test_estimates_are_rounded_by_their_standard_errors(dense, example):
    exact = gaussian(example, dense).infer()
    estimates = np.array([12.34567, -0.0012345, 1_234_567.0, 0.00001, 5.0, 5.0, 5.0, 5.0])
    errors = np.array([0.0567, 0.000101, 4_560.0, 1.0, 0.0996, 1e-9, 1e9, 0.1])
    grid = grids(replace(exact, estimates=estimates, covariance=np.diag(errors**2)), labels=LABELS, terms=TERMS, n=400)[
        "coefficients"
    ]
    assert [row[1:3] for row in grid.rows] == [
        (12.346, 0.057), (-0.00123, 0.0001), (1_234_600.0, 4_600.0), (0.0, 1.0),
        (5.0, 0.1), (5.0, 1e-9), (0.0, 1e9), (5.0, 0.1),
    ]  # fmt: skip


@given(st.floats(-1e12, 1e12), st.floats(1e-9, 1e9))
def test_rounding_moves_an_estimate_by_at_most_a_twentieth_of_its_error(estimate, error):
    table = analysis(np.array([]), (), 1.0, records=100)
    exact = Inference(np.array([estimate]), np.array([[error**2]]), False, (1,), np.array([]), table)
    ours = grids(exact, labels=["a"], terms=[], n=100)
    shown = rows(ours["coefficients"])["a"]
    assert abs(shown["estimate"] - estimate) <= error / 20 * (1 + 1e-6) + abs(estimate) * 5e-15
    assert abs(shown["standard_error"] - error) <= error / 20 * (1 + 1e-6)


def test_p_values_follow_from_what_is_shown_and_small_ones_are_not_told(example, dense):
    exact = gaussian(example, dense).infer()
    estimates, errors = np.array([40.0, -40.0, 4.04, 3.9, 3.0, -2.0, 1.0, 0.0]), np.ones(8)
    grid = grids(replace(exact, estimates=estimates, covariance=np.diag(errors**2)), labels=LABELS, terms=TERMS, n=400)[
        "coefficients"
    ]
    expected = 2 * stats.t.sf([3.9, 3.0, 2.0, 1.0, 0.0], 400 - sum(exact.widths))
    assert [row[-1] for row in grid.rows[:3]] == [0.0001] * 3
    assert [row[-1] for row in grid.rows[3:]] == pytest.approx(expected, rel=5e-3)


def test_t_and_z_follow_from_what_is_shown(example, dense):
    """So they tell no more of a correlation than the rounded coefficient does."""
    for model in (gaussian, logit):
        for row in grids(model(example, dense).infer(), labels=LABELS, terms=TERMS, n=397)["coefficients"].rows:
            assert row[3] == float(f"{row[1] / row[2]:.2e}")


def test_tests_of_a_gaussian_model_follow_from_what_is_shown_and_tell_no_number_of_records(example, dense):
    """Whoever holds the rounded sums of squares and the protected n can compute all the rest."""
    data = gaussian(example, dense)
    tables = grids(data.infer(), labels=LABELS, terms=TERMS, n=397)
    anova = rows(tables["anova"])
    squares = np.array([anova[term]["sum_of_squares"] for term in TERMS])
    again = analysis(squares, data.widths[1:], anova["Residuals"]["sum_of_squares"], records=397)
    assert [anova[term]["statistic"] for term in TERMS] == pytest.approx(again.statistics, rel=5e-3)
    assert dict(tables["statistics"].rows)["sigma"] == pytest.approx(again.sigma, rel=0.05)
    assert dict(tables["statistics"].rows)["n"] == 397


@pytest.mark.parametrize("model", [gaussian, logit, counts])
def test_no_number_has_more_digits_than_it_may(example, dense, model):
    tables = grids(model(example, dense).infer(), labels=LABELS, terms=TERMS, n=20_000)
    shown = [row[3:] for row in tables["coefficients"].rows]
    shown += [[v for name, v in zip(tables["anova"].columns, row, strict=True) if name not in ("term", "dof")]
              for row in tables["anova"].rows]  # fmt: skip
    shown += [row[1:] for row in tables["statistics"].rows if row[0] not in ("n", "residual_dof")]
    for value in (v for row in shown for v in row if isinstance(v, float)):
        assert float(f"{value:.2e}") == value


@given(st.integers(100, 10**11))
def test_a_sum_is_never_shown_to_the_contribution_of_one_unit(n):
    assert 10.0 ** -digits(n) >= 1 / n * (1 - 1e-9)
    assert 10.0 ** (1 - digits(n)) <= 3.2 / np.sqrt(n)
