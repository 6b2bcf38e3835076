"""Result 1 and Notes 1 to 4 of Gomatam et al. (2004): the ellipsoid of a strip of unknown cross-products."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.answering.frontier.ellipsoid import Ellipsoid, strip
from confide.answering.frontier.measures import u_rsq
from confide.errors import Mistake

seeds = st.integers(0, 10_000)


def with_strip(cross, hidden, values):
    other = cross.copy()
    other[0, list(hidden)] = other[list(hidden), 0] = values
    return other


@given(seeds, st.integers(1, 4))
def test_inside_means_positive_definite_and_outside_means_not(cross_products, seed, count):
    cross, hidden = cross_products(6, seed=seed), tuple(range(1, count + 1))
    found = strip(cross, response=0, hidden=hidden)
    generator = np.random.default_rng(seed)
    points = found.sample(20, generator=generator)
    points = found.centre + (points - found.centre) * generator.uniform(0.5, 2, (20, 1))
    for point, inside in zip(points, found.contains(points), strict=True):
        smallest = np.linalg.eigvalsh(with_strip(cross, hidden, point) / np.outer(*[np.sqrt(np.diag(cross))] * 2))[0]
        assert abs(smallest) < 1e-9 or (smallest > 0) == inside


@given(seeds)
def test_the_true_strip_is_inside_and_is_not_read(cross_products, seed):
    cross, hidden = cross_products(6, seed=seed), (2, 4)
    found = strip(with_strip(cross, hidden, np.nan), response=0, hidden=hidden)
    assert found.contains(cross[0, [2, 4]])


def test_the_least_and_greatest_values_touch_the_ellipsoid(cross_products):
    found = strip(cross_products(6), response=0, hidden=(1, 2, 3))
    low, high = found.bounds()
    for i in range(3):
        touching = found.centre + found.spread[i] / np.sqrt(found.spread[i, i])
        assert touching[i] == pytest.approx(high[i])
        away = touching - found.centre
        assert away @ np.linalg.solve(found.spread, away) == pytest.approx(1)
    np.testing.assert_allclose((low + high) / 2, found.centre)


def test_at_the_centre_the_full_regression_explains_no_more_than_the_released_one(cross_products):
    cross = cross_products(6)
    found = strip(cross, response=0, hidden=(1, 2))
    full = u_rsq(with_strip(cross, (1, 2), found.centre), response=0, free=(1, 2, 3, 4, 5))
    assert full == pytest.approx(u_rsq(cross, response=0, free=(3, 4, 5)))


def test_nothing_free_leaves_the_whole_ellipsoid_of_the_predictors(cross_products):
    cross = cross_products(4)
    found = strip(cross, response=0, hidden=(1, 2, 3))
    np.testing.assert_allclose(found.centre, 0)
    np.testing.assert_allclose(found.spread, cross[0, 0] * cross[1:, 1:])


def test_draws_are_uniform(cross_products):
    """The share within radius t is t^k; 40 000 draws, 4 standard errors."""
    found = strip(cross_products(7), response=0, hidden=(1, 2, 3))
    points = found.sample(40_000, generator=np.random.default_rng(1)) - found.centre
    radius = np.sqrt(np.sum(points * np.linalg.solve(found.spread, points.T).T, axis=1))
    for t in (0.3, 0.6, 0.9):
        assert np.mean(radius < t) == pytest.approx(t**3, abs=4 * np.sqrt(t**3 * (1 - t**3) / 40_000))
    error = np.sqrt(np.diag(found.spread) / (3 + 2) / 40_000)
    assert np.all(np.abs(points.mean(axis=0)) < 4 * error)


def test_a_bounding_box_would_waste_almost_every_draw(cross_products):
    """FORMULAS section 6 says 0.1 % at k = 9; independent variables give the most, 0.64 %, and related ones less."""
    assert Ellipsoid(np.zeros(9), np.eye(9)).volume() / 2**9 == pytest.approx(0.00644, abs=1e-5)
    related = strip(cross_products(10), response=0, hidden=tuple(range(1, 10)))
    low, high = related.bounds()
    assert related.volume() / np.prod(high - low) < 0.00644


def test_volume_of_note_1_agrees_with_box_rejection(cross_products):
    """200 000 draws from the box, 4 standard errors."""
    found = strip(cross_products(6), response=0, hidden=(1, 2, 3))
    low, high = found.bounds()
    share = found.contains(np.random.default_rng(2).uniform(low, high, (200_000, 3))).mean()
    expected = found.volume() / np.prod(high - low)
    assert share == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / 200_000))


@pytest.mark.parametrize("hidden", [(), (0, 1)])
def test_a_strip_needs_hidden_variables_other_than_the_response(hidden):
    with pytest.raises(Mistake, match="one hidden variable"):
        strip(np.eye(3), response=0, hidden=hidden)


@pytest.mark.parametrize("pair", [(0, 2), (1, 2)])
@pytest.mark.parametrize("value", [1.0, 1.2])
def test_known_cross_products_that_repeat_or_contradict_are_a_mistake(pair, value):
    cross = np.eye(4)
    cross[pair] = cross[pair[::-1]] = value
    with pytest.raises(Mistake, match="positive definite"):
        strip(cross, response=0, hidden=(1,))
