"""Fits from sums agree with statsmodels, and everything that has no fit is the one `Unfit`."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st

from confide.answering.regressions.fit import Unfit, fit, fit_null
from confide.model.request import Family

CLOSE = 1e-8

ONE = [family for family in Family if not family.several]


def response(example, family):
    if family is Family.GAUSSIAN:
        return example.eta + example.rng.normal(0, 0.3, len(example.eta))
    if family is Family.BINOMIAL:
        return (example.rng.random(len(example.eta)) < 1 / (1 + np.exp(-example.eta))).astype(float)
    return example.rng.poisson(np.exp(example.eta)).astype(float)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("family", ONE)
def test_coefficients_and_covariance_agree_with_statsmodels(example, dense, family, weighted):
    y, w = response(example, family), example.w if weighted else np.ones(len(example.w))
    fitted = dense(example.x, y, example.widths, family, w).fit()
    unit = np.abs(example.x).max(axis=0)  # statsmodels' pseudo-inverse needs columns of like size
    if family is Family.GAUSSIAN:
        theirs = sm.WLS(y, example.x / unit, weights=w).fit()
        covariance = theirs.normalized_cov_params
    else:
        kind = sm.families.Binomial() if family is Family.BINOMIAL else sm.families.Poisson()
        theirs = sm.GLM(y, example.x / unit, family=kind, var_weights=w).fit(tol=1e-12, tol_criterion="params")
        covariance = theirs.cov_params()
        assert fitted.moments.deviance == pytest.approx(theirs.deviance, rel=CLOSE)
    assert fitted.beta == pytest.approx(theirs.params / unit, rel=CLOSE)
    errors, their_errors = np.sqrt(np.diag(fitted.inverse)), np.sqrt(np.diag(covariance)) / unit
    assert errors == pytest.approx(their_errors, rel=CLOSE)
    correlations = fitted.inverse / np.outer(errors, errors)
    their_correlations = covariance / np.outer(np.sqrt(np.diag(covariance)), np.sqrt(np.diag(covariance)))
    assert correlations == pytest.approx(their_correlations, abs=CLOSE)


@pytest.mark.parametrize("family", [Family.BINOMIAL, Family.POISSON])
def test_the_null_model_has_the_mean_of_the_response(example, dense, family):
    data = dense(example.x, response(example, family), example.widths, family, example.w)
    mean = np.average(data.y, weights=data.w)
    link = np.log(mean / (1 - mean)) if family is Family.BINOMIAL else np.log(mean)
    assert fit_null(data.step, data.question).beta == pytest.approx([link], rel=CLOSE)


def test_a_gaussian_fit_takes_one_step_and_the_others_end_at_their_maximum(example, dense):
    assert dense(example.x, response(example, Family.GAUSSIAN), example.widths).fit().steps == 1
    data = dense(example.x, response(example, Family.POISSON), example.widths, Family.POISSON)
    fitted = data.fit()
    assert 3 < fitted.steps < 12
    gradient = fitted.moments.score - fitted.moments.gram @ fitted.beta
    assert gradient * np.sqrt(np.diag(fitted.inverse)) == pytest.approx(0, abs=1e-9)


def assert_unfit(data):
    with pytest.raises(Unfit, match="^The model cannot be fitted to these data.$"):
        data.fit()


@pytest.mark.parametrize("family", ONE)
def test_dependent_columns_are_unfit(example, dense, family):
    y = response(example, family)
    twice = np.column_stack([example.x, example.x[:, 1] * 1e5])
    assert_unfit(dense(twice, y, (*example.widths, 1), family))
    together = np.column_stack([example.x, 3 * example.x[:, 1] - 1e-3 * example.x[:, 6] + 2])
    assert_unfit(dense(together, y, (*example.widths, 1), family))
    assert_unfit(dense(np.column_stack([example.x, np.zeros(len(y))]), y, (*example.widths, 1), family))


@pytest.mark.parametrize("family", ONE)
def test_no_records_or_fewer_units_than_columns_are_unfit(example, dense, family):
    y = response(example, family)
    assert_unfit(dense(example.x[:0], np.zeros(0), example.widths, family))
    assert_unfit(dense(example.x[:7], y[:7], example.widths, family))
    assert_unfit(dense(example.x, y, example.widths, family, unit=np.arange(len(y)) % 7))


@pytest.mark.parametrize("tiny", [0.0, 1e-10, 1e-15])
@pytest.mark.parametrize("separated", [1, 3, 200])
def test_a_class_in_which_everyone_says_yes_is_unfit(dense, separated, tiny):
    """Quasi-separation, be the class ever so small: its deviance stands still long before its coefficient does."""
    rng = np.random.default_rng(4)
    member = np.arange(5_000) < separated
    x = np.column_stack([np.ones(5_000), member])
    y = np.where(member, 1.0, (rng.random(5_000) < 0.4).astype(float))
    assert_unfit(dense(x, y, (1, 1), Family.BINOMIAL, tiny=tiny))
    assert_unfit(dense(x, np.where(member, 0.0, rng.poisson(2.0, 5_000)), (1, 1), Family.POISSON, tiny=tiny))


@pytest.mark.parametrize("tiny", [0.0, 1e-10, 1e-15])
def test_a_number_that_separates_completely_is_unfit(dense, tiny):
    number = np.linspace(-1, 1, 100)
    x = np.column_stack([np.ones(100), number])
    assert_unfit(dense(x, (number > 0.1).astype(float), (1, 1), Family.BINOMIAL, tiny=tiny))
    touching = np.where(number > 0, 1.0, 0.0)
    x[[49, 50], 1] = 0.0
    assert_unfit(dense(x, touching, (1, 1), Family.BINOMIAL, tiny=tiny))


@pytest.mark.parametrize("factor", [1e-12, 1e12])
def test_the_size_of_the_weights_does_not_matter(example, dense, factor):
    x, w = example.x[:, [0, 1]], example.w
    y = response(example, Family.BINOMIAL)
    plain, times = (dense(x, y, (1, 1), Family.BINOMIAL, one).fit() for one in (w, w * factor))
    assert times.beta == pytest.approx(plain.beta, rel=CLOSE)
    assert times.steps == plain.steps
    member = np.column_stack([x[:, 0], y * (np.arange(len(y)) < 40)])
    assert_unfit(dense(member, y, (1, 1), Family.BINOMIAL, w * factor))


def test_rare_events_are_not_separation(dense):
    member = np.arange(400_000) < 200_000
    y = np.where(member, np.arange(400_000) % 40_000 == 0, np.arange(400_000) % 10 == 0).astype(float)
    data = dense(np.column_stack([np.ones(400_000), member]), y, (1, 1), Family.BINOMIAL)
    rare, usual = 5 / 200_000, 0.1
    expected = np.log(rare / (1 - rare)) - np.log(usual / (1 - usual))
    assert data.fit().beta[1] == pytest.approx(expected, rel=CLOSE)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_constant_response_has_no_binomial_fit(example, dense, value):
    assert_unfit(dense(example.x, np.full(len(example.eta), value), example.widths, Family.BINOMIAL))


def test_counts_that_are_all_zero_are_unfit(example, dense):
    assert_unfit(dense(example.x, np.zeros(len(example.eta)), example.widths, Family.POISSON))


def test_sums_that_are_not_finite_are_unfit(example, dense):
    y = response(example, Family.GAUSSIAN)
    assert_unfit(dense(example.x, np.where(np.arange(len(y)) == 3, np.inf, y), example.widths))
    assert_unfit(dense(example.x * np.where(np.arange(8) == 7, 1e200, 1), y, example.widths))


def test_too_few_steps_are_unfit(example, dense):
    data = dense(example.x, response(example, Family.BINOMIAL), example.widths, Family.BINOMIAL)
    with pytest.raises(Unfit):
        fit(data.step, data.question, most_steps=3)


def test_one_column_gives_the_mean(dense):
    data = dense(np.ones((5, 1)), np.array([1.0, 2, 3, 4, 10]), (1,))
    assert data.fit().beta == pytest.approx([4.0])


@given(st.integers(-40, 40), st.integers(-40, 40), st.integers(0, 1_000))
def test_the_unit_of_a_number_does_not_matter(dense, power, other, seed):
    """Least squares and logits with columns in any units have the same predictions."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(60), rng.normal(size=(60, 2))])
    units = np.array([1.0, 10.0**power, 10.0**other])
    y = rng.normal(size=60)
    yes = (rng.random(60) < 0.5).astype(float)
    for family, values in ((Family.GAUSSIAN, y), (Family.BINOMIAL, yes)):
        plain, scaled = (dense(m, values, (1, 2), family).fit() for m in (x, x * units))
        assert scaled.beta * units == pytest.approx(plain.beta, rel=1e-9, abs=1e-12)
