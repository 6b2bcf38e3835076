"""Parts from sums of subsets."""

import numpy as np

from confide.attacks.totals.parts import parts_of_sums, subsets


def test_exact_sums_give_exact_parts() -> None:
    chosen, parts = subsets(5), np.array([3.0, 50.0, 7.0, 200.0, 1000.0])
    found, _ = parts_of_sums(chosen, chosen @ parts, np.full(len(chosen), 1e-6))
    assert np.allclose(found, parts, rtol=1e-4)


def test_the_stated_variance_is_that_of_the_error() -> None:
    """200 draws with noise of 3.5 %: the mean squared error over the variance is 1 within 5 standard errors (0.1 each)."""
    rng, chosen, parts = np.random.default_rng(3), subsets(5), np.array([100.0, 150.0, 80.0, 200.0, 120.0])
    sums, ratios = chosen @ parts, []
    for _ in range(200):
        found, variance = parts_of_sums(
            chosen, sums * (1 + 0.035 * rng.standard_normal(len(sums))), np.full(len(sums), 0.035)
        )
        ratios.append((found[-1] - parts[-1]) ** 2 / variance[-1])
    assert abs(np.mean(ratios) - 1) < 0.5


def test_a_part_that_no_sum_holds_is_not_known() -> None:
    chosen = subsets(3)
    sums = np.where(chosen[:, 2], np.nan, chosen @ np.array([5.0, 6.0, 7.0]))
    found, variance = parts_of_sums(chosen, sums, np.full(len(sums), 0.01))
    assert np.isinf(variance[2])
    assert np.isfinite(variance[:2]).all()
    assert np.allclose(found[:2], [5, 6], rtol=1e-3)


def test_zeros_say_nothing_unless_all_are_zero() -> None:
    chosen = subsets(2)
    assert parts_of_sums(chosen, np.zeros(3), np.full(3, 0.1))[1].tolist() == [0, 0]
    assert np.isinf(parts_of_sums(chosen, np.full(3, np.nan), np.full(3, 0.1))[1]).all()
