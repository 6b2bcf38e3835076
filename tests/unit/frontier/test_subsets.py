"""R² of all subsets against a plain Gray-code sweep, one regression per subset, and FORMULAS section 6."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.answering.frontier.subsets import all_subsets, memberships

seeds = st.integers(0, 10_000)


def sweep(a, k):
    """The sweep operator in plain Python (Goodnight 1979, in the form that undoes itself)."""
    d, size = a[k][k], len(a)
    out = [[a[i][j] - a[i][k] * a[k][j] / d for j in range(size)] for i in range(size)]
    for i in range(size):
        out[i][k] = out[k][i] = a[i][k] / abs(d)
    out[k][k] = -1 / d
    return out


def gray_code(cross):
    """R² of column 0 on every subset of the others, changing one variable at a time."""
    d = len(cross) - 1
    a, found, now = [list(row) for row in cross], [0.0] * 2**d, 0
    for step in range(1, 2**d):
        turn = (step & -step).bit_length() - 1
        a, now = sweep(a, turn + 1), now ^ (1 << turn)
        found[now] = 1 - a[0][0] / cross[0][0]
    return found


def one_by_one(cross, free):
    columns = np.flatnonzero(free) + 1
    return cross[0, columns] @ np.linalg.solve(cross[np.ix_(columns, columns)], cross[columns, 0]) / cross[0, 0]


def singles(count):
    return [[i + 1] for i in range(count)]


@given(seeds, st.integers(1, 6))
def test_all_subsets_agree_with_a_gray_code_sweep_in_plain_python(cross_products, seed, count):
    cross = cross_products(count + 1, seed=seed)
    np.testing.assert_allclose(
        all_subsets(cross, response=0, blocks=singles(count)).released, gray_code(cross), atol=1e-9
    )


@given(seeds)
def test_all_subsets_agree_with_one_regression_each(cross_products, seed):
    cross = cross_products(7, seed=seed)
    expected = [one_by_one(cross, free) for free in memberships(6)]
    np.testing.assert_allclose(all_subsets(cross, response=0, blocks=singles(6)).released, expected, atol=1e-10)


def test_near_collinear_variables_lose_no_more_than_the_solver_does():
    generator = np.random.default_rng(5)
    records = generator.standard_normal((300, 13))
    records[:, 1:] = records[:, [1]] + 1e-3 * records[:, 1:]
    cross = records.T @ records
    found = all_subsets(cross, response=0, blocks=singles(12)).released
    for subset in generator.integers(1, 2**12, 200):
        assert found[subset] == pytest.approx(one_by_one(cross, memberships(12)[subset]), abs=1e-8)


def test_the_response_may_be_any_column(cross_products):
    cross = cross_products(5)
    order = [3, 0, 1, 2, 4]
    ours = all_subsets(cross, response=3, blocks=[[0], [1], [2], [4]]).released
    np.testing.assert_allclose(ours, all_subsets(cross[np.ix_(order, order)], response=0, blocks=singles(4)).released)


def test_a_variable_of_several_columns_is_taken_whole(cross_products):
    cross = cross_products(6)
    every = all_subsets(cross, response=0, blocks=singles(5)).released
    blocks = all_subsets(cross, response=0, blocks=[[1], [2, 3], [4, 5]]).released
    np.testing.assert_allclose(blocks, every[[0b00000, 0b00001, 0b00110, 0b00111, 0b11000, 0b11001, 0b11110, 0b11111]])


@given(seeds)
def test_residuals_of_the_target_are_those_of_the_fitted_regressions(seed):
    generator = np.random.default_rng(seed)
    records = generator.standard_normal((40, 5)) @ generator.standard_normal((5, 5))
    records -= records.mean(axis=0)
    top = records[np.argsort(records[:, 0])[-4:]]
    found = all_subsets(records.T @ records, response=0, blocks=singles(4), target=top.T @ top)
    for subset, free in enumerate(memberships(4)):
        columns = np.flatnonzero(free) + 1
        slopes = np.linalg.lstsq(records[:, columns], records[:, 0])[0]
        assert found.squares[subset] == pytest.approx(np.sum((top[:, 0] - top[:, columns] @ slopes) ** 2), rel=1e-6)


def test_a_variable_more_doubles_the_subsets_and_adds_one_step(cross_products, calls_of):
    fewer, more = (
        calls_of(lambda n=n: all_subsets(cross_products(n + 1), response=0, blocks=singles(n))) for n in (14, 15)
    )
    assert more < 1.2 * fewer
