"""Attack R9: what released regressions give away of the cross-products (Gomatam et al. 2004, section 4.2)."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.answering.frontier.frontier import ReleaseChoice
from confide.answering.frontier.reconstruction import ReconstructedRegression, reconstruct, regress
from confide.errors import Mistake

seeds = st.integers(0, 10_000)


def in_correlations(matrix, like):
    scale = np.sqrt(np.diag(like))
    return matrix / np.outer(scale, scale)


RECORDS = np.random.default_rng(0).standard_normal((60, 5)) @ (np.eye(5) + 0.3)
S = RECORDS.T @ RECORDS
ALL = [(a, b) for a in range(5) for size in range(1, 5) for b in combinations([i for i in range(5) if i != a], size)]


def rebuilt(cross, models, *, coefficients_only=True):
    released = [regress(cross, response=a, predictors=b, coefficients_only=coefficients_only) for a, b in models]
    return reconstruct(released, variances=np.diag(cross))


def error(found, cross):
    return np.nanmax(np.abs(in_correlations(found.matrix - cross, cross)))


def test_all_simple_regressions_give_everything_away():
    found = rebuilt(S, [(i, (j,)) for i, j in combinations(range(5), 2)])
    assert found.known.all() and error(found, S) < 1e-10


def test_sequential_regressions_give_everything_away():
    found = rebuilt(S, [(0, tuple(range(1, size + 1))) for size in range(1, 5)])
    assert found.known.all() and error(found, S) < 1e-8


@pytest.mark.parametrize(("size", "everything"), [(1, False), (2, True), (3, True), (4, False)])
def test_all_regressions_of_one_size_give_everything_away_but_not_for_any_size_as_the_paper_says(size, everything):
    """With one response, size 1 says nothing about the predictors among each other, and full size gives 4 of 10."""
    assert rebuilt(S, [(0, b) for b in combinations(range(1, 5), size)]).known.all() == everything


def test_one_regression_with_the_covariance_of_its_coefficients_gives_everything_away():
    found = rebuilt(S, [(0, (1, 2, 3, 4))], coefficients_only=False)
    assert found.known.all() and error(found, S) < 1e-10


def test_variables_that_never_meet_stay_unknown():
    found = rebuilt(S, [(0, (1, 2)), (3, (1, 2)), (4, (3,))], coefficients_only=False)
    open_pairs = {(int(i), int(j)) for i, j in zip(*np.nonzero(np.triu(~found.known)), strict=True)}
    assert open_pairs == {(0, 3), (0, 4), (1, 4), (2, 4)}


@pytest.mark.parametrize("coefficients_only", [True, False])
def test_the_answer_space_leaves_exactly_the_strip_unknown(coefficients_only):
    release = ReleaseChoice("0", ("3", "4"), ("1", "2"), 0, 0, 0, 0)
    models = [(a, b) for a, b in ALL if release.answers(map(str, (a, *b)))]
    found = rebuilt(S, models, coefficients_only=coefficients_only)
    assert np.argwhere(~found.known).tolist() == [[0, 1], [0, 2], [1, 0], [2, 0]]
    assert error(found, S) < 1e-9


@pytest.mark.parametrize("coefficients_only", [True, False])
def test_the_answer_space_as_section_5_2_words_it_gives_the_strip_away(coefficients_only):
    """It bars {1, 2} only as predictors of 0 and the reverse, and so answers the regression of 3 on 0 and 1."""
    hidden = {1, 2}
    literal = [(a, b) for a, b in ALL if not (a == 0 and hidden & set(b)) and not (a in hidden and 0 in b)]
    found = rebuilt(S, literal, coefficients_only=coefficients_only)
    assert found.known.all() and error(found, S) < 1e-8


@settings(max_examples=50)
@given(seeds, st.lists(st.sampled_from(ALL), max_size=6), st.booleans())
def test_what_is_called_exact_is_true(cross_products, seed, models, coefficients_only):
    cross = cross_products(5, seed=seed)
    found = rebuilt(cross, models, coefficients_only=coefficients_only)
    assert error(found, cross) < 1e-5
    truth = in_correlations(cross, cross)[np.triu_indices(5, 1)]
    away = truth - found.solution
    np.testing.assert_allclose(found.freedom @ (found.freedom.T @ away), away, atol=1e-5)


def test_the_covariance_may_have_any_scale():
    one = regress(S, response=0, predictors=(1, 2, 3))
    scaled = ReconstructedRegression(0, (1, 2, 3), one.coefficients, one.r_squared, one.covariance * 17)
    a, b = (reconstruct([r], variances=np.diag(S)).matrix for r in (one, scaled))
    np.testing.assert_allclose(a, b)


def test_r_squared_adds_an_equation():
    one = regress(S, response=0, predictors=(1, 2))
    coefficients = ReconstructedRegression(0, (1, 2), one.coefficients)
    fit = ReconstructedRegression(0, (1, 2), one.coefficients, one.r_squared)
    known = [reconstruct([r], variances=np.diag(S)).known[:3, :3].all() for r in (coefficients, fit)]
    assert known == [False, True]


def test_nothing_released_leaves_everything_open():
    assert not reconstruct([], variances=np.ones(3)).exact.any()


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: ReconstructedRegression(0, (), np.array([])), "one or more other variables"),
        (lambda: ReconstructedRegression(0, (0, 1), np.ones(2)), "one or more other variables"),
        (lambda: ReconstructedRegression(0, (1, 1), np.ones(2)), "each named once"),
        (lambda: ReconstructedRegression(0, (1,), np.ones(2)), "one coefficient"),
        (lambda: ReconstructedRegression(0, (1,), np.ones(1), None, np.eye(2)), "covariance"),
        (lambda: reconstruct([ReconstructedRegression(0, (3,), np.ones(1))], variances=np.ones(2)), "no variance"),
        (lambda: reconstruct([], variances=np.array([1.0, 0.0])), "variance above zero"),
        (lambda: rebuilt_from_two_slopes(0.5, 0.6), "contradict"),
    ],
)
def test_bad_input_is_a_mistake(build, words):
    with pytest.raises(Mistake, match=words):
        build()


def rebuilt_from_two_slopes(one, other):
    return reconstruct([ReconstructedRegression(0, (1,), np.array([b])) for b in (one, other)], variances=np.ones(2))
