"""Correlations are those of numpy; what leaves is rounded by the number of units."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.answering.correlations.correlate import correlate, correlation_grid, sampling_errors
from confide.answering.regressions.fit import Unfit


def data(seed=1, n=500):
    rng = np.random.default_rng(seed)
    a = rng.normal(3, 2, n)
    columns = [np.ones(n), a, a + rng.normal(0, 1, n), rng.random(n) < 0.2, 1e6 * rng.lognormal(0, 1, n)]
    return np.column_stack(columns), rng.uniform(0.1, 4, n)


def gram(x, w):
    return (x * w[:, None]).T @ x


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_means_covariances_and_correlations_are_those_of_numpy(seed):
    x, w = data(seed)
    ours = correlate(gram(x, w), columns=[1, 2, 3, 4])
    covariance = np.cov(x[:, 1:].T, aweights=w, ddof=0)
    unit = np.sqrt(np.diag(covariance))
    assert ours.means == pytest.approx(np.average(x[:, 1:], axis=0, weights=w), rel=1e-12)
    assert ours.covariances / np.outer(unit, unit) == pytest.approx(covariance / np.outer(unit, unit), abs=1e-11)
    assert ours.correlations == pytest.approx(covariance / np.outer(unit, unit), abs=1e-11)
    plain = correlate(gram(x, np.ones(len(w))), columns=[1, 2, 3, 4])
    assert plain.correlations == pytest.approx(np.corrcoef(x[:, 1:].T), abs=1e-11)


def test_columns_come_in_the_order_asked():
    x, w = data()
    ours = correlate(gram(x, w), columns=[4, 1])
    other = correlate(gram(x, w), columns=[1, 4])
    assert ours.correlations == pytest.approx(other.correlations)
    assert ours.means == pytest.approx(other.means[::-1])


@pytest.mark.parametrize("value", [0.0, 1.0, 1 / 3, 1e9 / 7])
def test_a_constant_is_unfit(value):
    x, w = data()
    x[:, 2] = value
    with pytest.raises(Unfit):
        correlate(gram(x, w), columns=[1, 2])


def test_no_records_and_sums_that_are_not_finite_are_unfit():
    for sums in (np.zeros((3, 3)), np.full((3, 3), np.inf), np.full((3, 3), np.nan)):
        with pytest.raises(Unfit):
            correlate(sums, columns=[1, 2])


def test_the_table_has_the_rounded_correlations_and_nothing_else():
    x, w = data()
    grid = correlation_grid(correlate(gram(x, w), columns=[1, 2, 3]).correlations, labels=["a", "b", "c"], n=500)
    assert (grid.name, grid.columns) == ("correlations", ("variable", "a", "b", "c"))
    exact = correlate(gram(x, w), columns=[1, 2, 3]).correlations
    shown = np.array([row[1:] for row in grid.rows])
    assert (shown == np.round(exact, 3)).all(), "errors of .011 for a with b and .045 for c"
    assert "-0.0" not in str(grid.rows)


@given(st.floats(-1, 1), st.integers(30, 10**9))
def test_rounding_moves_a_correlation_by_at_most_a_twentieth_of_its_error(r, n):
    """Up to four decimals; and no digit is finer than a hundredth of the error."""
    exact = np.array([[1.0, r], [r, 1.0]])
    shown = correlation_grid(exact, labels=["a", "b"], n=n).rows[0][2]
    error = sampling_errors(exact, n)[0, 1]
    assert abs(shown - r) <= max(error / 20, 0.5e-4) * (1 + 1e-6)
    unit = max(10.0 ** (np.floor(np.log10(error) + 1e-12) - 1), 1e-4)
    assert abs(shown / unit - round(shown / unit)) < 1e-6


@pytest.mark.parametrize("n", [100, 20_000])
def test_a_correlation_near_one_has_no_more_digits_than_its_error_at_a_tenth_unexplained(n):
    exact = np.array([[1.0, 0.99987654], [0.99987654, 1.0]])
    shown = correlation_grid(exact, labels=["a", "b"], n=n).rows[0][2]
    assert shown == {100: 1.0, 20_000: 0.9999}[n]


@given(st.integers(0, 10_000), st.floats(0.01, 100), st.floats(-5, 5))
def test_units_and_origins_do_not_matter(seed, scale, shift):
    x, w = data(seed, n=50)
    moved = x.copy()
    moved[:, 1] = (x[:, 1] - shift) / scale
    before, after = (correlate(gram(one, w), columns=[1, 2]).correlations for one in (x, moved))
    assert after == pytest.approx(before, abs=1e-8)
