"""R_pred, the attained R², R_res, U_rsq, U_rsqwt: closed forms, simulations and where the paper is wrong."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.answering.frontier.measures import attained, r_pred, r_res, simulate, u_rsq, u_rsqwt

seeds = st.integers(0, 10_000)

rhos, counts = st.floats(0, 1), st.integers(0, 30)


def test_the_figure_of_formulas_section_6():
    assert r_pred(0.4506, 3) == pytest.approx(0.7803, abs=1e-4)


def test_result_2_by_simulation(cross_products):
    """Mean and distribution of R² over uniform draws; 20 000 draws, 4 standard errors."""
    cross, hidden = cross_products(7, strength=0.5), (1, 2, 3)
    rho = u_rsq(cross, response=0, free=(4, 5, 6))
    found = simulate(cross, response=0, hidden=hidden, draws=20_000, generator=np.random.default_rng(3)).model
    assert found.min() >= rho - 1e-12 and found.max() < 1
    assert found.mean() == pytest.approx(r_pred(rho, 3), abs=4 * found.std() / np.sqrt(20_000))
    for u in (0.3, 0.6, 0.9):
        expected = ((u - rho) / (1 - rho)) ** 1.5
        assert np.mean(found < u) == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / 20_000))


@pytest.mark.parametrize("hidden", [(1,), (1, 2, 3), (1, 2, 3, 4, 5, 6)])
def test_attained_r_squared_by_simulation_and_whatever_the_truth(cross_products, hidden):
    """20 000 draws, 4 standard errors, on three data sets."""
    for seed in range(3):
        cross = cross_products(7, seed=seed, strength=0.5)
        free = tuple(i for i in range(1, 7) if i not in hidden)
        rho = u_rsq(cross, response=0, free=free)
        found = simulate(cross, response=0, hidden=hidden, draws=20_000, generator=np.random.default_rng(4)).attained
        assert found.mean() == pytest.approx(attained(rho, len(hidden)), abs=4 * found.std() / np.sqrt(20_000))


def test_r_pred_rises_with_suppression():
    """FORMULAS section 6: nothing released gives .818 for k = 9."""
    assert r_pred(0.0, 9) == pytest.approx(0.818, abs=5e-4)
    assert r_pred(0.1, 8) > r_pred(0.2, 1)


@given(rhos, rhos, counts)
def test_r_pred_rises_with_suppression_below_the_stated_share(rho, share, k):
    """Suppressing a variable that explains `share` of what is left raises R_pred if share < 1 / (k + 3)."""
    free = rho + (1 - rho) * share
    if abs(share - 1 / (k + 3)) > 1e-6 and rho < 1 - 1e-6:
        assert (r_pred(rho, k + 1) > r_pred(free, k)) == (share < 1 / (k + 3))


@given(rhos, rhos, counts)
def test_attained_never_falls_when_a_variable_is_freed_and_never_exceeds_the_released_r_squared(rho, share, k):
    free = rho + (1 - rho) * share
    assert attained(rho, k + 1) <= attained(free, k) + 1e-12
    assert attained(rho, k) <= rho + 1e-12


@given(rhos)
def test_with_nothing_suppressed_all_agree(rho):
    assert attained(rho, 0) == pytest.approx(rho) and r_pred(rho, 0) == pytest.approx(rho)


def test_r_res_is_infinite_where_the_target_fits_exactly():
    assert r_res(0.0, 5) == np.inf and r_res(-1e-18, 5) == np.inf


@given(seeds)
def test_u_rsq_is_the_r_squared_of_least_squares(seed):
    generator = np.random.default_rng(seed)
    records = generator.standard_normal((30, 4))
    records -= records.mean(axis=0)
    slopes = np.linalg.lstsq(records[:, [1, 3]], records[:, 0])[0]
    left = records[:, 0] - records[:, [1, 3]] @ slopes
    expected = 1 - left @ left / (records[:, 0] @ records[:, 0])
    assert u_rsq(records.T @ records, response=0, free=(1, 3)) == pytest.approx(expected)


def test_u_rsqwt_adds_the_weights_of_the_free_variables():
    free = np.array([[True, False, True], [False, False, False]])
    np.testing.assert_allclose(u_rsqwt(np.array([0.5, 0.0]), free, np.array([0.1, 0.2, 0.3])), [0.9, 0.0])
