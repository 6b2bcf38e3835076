"""Walks along bounds, against the relations and bounds they must fit, and against programs for how far they can come."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from confide.tables.programs.deadline import Deadline
from confide.tables.suppression.at_once.swings import Possible, swings_within
from confide.tables.suppression.at_once.walks import Walk


def drawn(seed: int) -> tuple[sparse.csr_array, np.ndarray, np.ndarray]:
    """Twelve relations among thirty unknowns, one of them said twice, and skew bounds."""
    random = np.random.default_rng(seed)
    rows = random.choice([0.0, 0.0, 0.0, 1.0, -1.0], (12, 30))
    low, high = -random.lognormal(1, 2, 30), random.lognormal(2, 2, 30)
    return sparse.csr_array(np.vstack([rows, rows[0] + rows[1]])), low, high


def farthest(matrix: sparse.csr_array, low: np.ndarray, high: np.ndarray, side: int) -> float:
    """How far the first unknown goes to a side, by a program."""
    price = -1.0 * side * (np.arange(30) == 0)
    bounds = np.column_stack([low, high])
    return float(-linprog(price, A_eq=matrix, b_eq=np.zeros(13), bounds=bounds).fun)


def narrow(low: np.ndarray, high: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """What some know better: three unknowns exactly, and of three others an end."""
    low, high = low.copy(), high.copy()
    others = np.random.default_rng(seed).choice(np.arange(1, 30), 6, replace=False)
    low[others[:3]] = high[others[:3]] = 0.0
    low[others[3:]] /= 10
    return low, high


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("seed", range(20))
def test_a_walk_comes_no_farther_than_a_program_and_fits_all_that_is_known(seed, side):
    """To the rounding of sums of thirty numbers of such a size, and that of HiGHS."""
    matrix, low, high = drawn(seed)
    swings = swings_within(Possible(matrix, low, high), Deadline())
    low, high = narrow(low, high, seed)
    most = farthest(matrix, low, high, side)
    point = Walk(swings, 0, side, low, high).to(np.inf)
    size = float(np.abs(point).max())
    np.testing.assert_allclose(matrix @ point, 0.0, atol=1e-8 * size)
    assert (point >= low - 1e-9 * size).all()
    assert (point <= high + 1e-9 * size).all()
    assert side * point[0] <= most * (1 + 1e-6) + 1e-9


@pytest.mark.parametrize("steps", [0, 1, 3, 1000])
@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_possible_beyond_what_a_walk_says_is_the_most(seed, steps):
    matrix, low, high = drawn(seed)
    swings = swings_within(Possible(matrix, low, high), Deadline())
    low, high = narrow(low, high, seed)
    for side in (1, -1):
        walk = Walk(swings, 0, side, low, high)
        walk.to(np.inf, steps=steps)
        assert walk.most() >= farthest(matrix, low, high, side) * (1 - 1e-7) - 1e-9


def test_a_walk_that_is_held_by_few_relations_knows_that_there_is_no_other_way():
    matrix = sparse.csr_array(np.array([[1.0, 1, -1, 0, 0], [0, 0, 1, 1, -1]]))
    low, high = -np.array([9.0, 1, 9, 2, 4]), np.array([9.0, 1, 9, 2, 3])
    swings = swings_within(Possible(matrix, low, high), Deadline())
    walk = Walk(swings, 0, 1, low, high)
    assert walk.to(np.inf)[0] == pytest.approx(6.0)  # 1 from the second, 2 from the fourth, 3 from the last
    assert walk.most() == pytest.approx(6.0)
    nowhere = swings_within(Possible(matrix, 0 * low, 0 * high), Deadline())
    assert Walk(nowhere, 0, 1, low, high).most() == np.inf


def test_most_walks_come_much_farther_than_a_swing_and_many_as_far_as_a_program():
    """The shares guard against walks that end early; the programs are those of HiGHS."""
    shares = []
    for seed in range(40):
        matrix, low, high = drawn(seed)
        swings = swings_within(Possible(matrix, low, high), Deadline())
        most = farthest(matrix, low, high, 1)
        shares.append((swings.up[0] / most, Walk(swings, 0, 1, low, high).to(np.inf)[0] / most))
    swung, walked = np.array(shares).T
    assert (walked >= swung - 1e-9).all()
    assert np.median(swung) < 0.5 < 0.9 < np.median(walked)
    assert (walked > 1 - 1e-6).mean() > 0.2


@pytest.mark.parametrize("seed", range(10))
def test_a_walk_ends_where_it_must_go(seed):
    matrix, low, high = drawn(seed)
    swings = swings_within(Possible(matrix, low, high), Deadline())
    far = 0.999 * float(Walk(swings, 0, 1, low, high).to(np.inf)[0])
    walk = Walk(swings, 0, 1, low, high)
    assert walk.to(far / 2)[0] == pytest.approx(far / 2, rel=1e-12)
    assert walk.to(far)[0] == pytest.approx(far, rel=1e-12)


def test_a_walk_of_what_stands_still_or_is_held_goes_nowhere():
    matrix, low, high = drawn(1)
    swings = swings_within(Possible(matrix, low, high), Deadline())
    still = np.where(np.arange(30) == 0, 0.0, low), np.where(np.arange(30) == 0, 0.0, high)
    assert not Walk(swings, 0, 1, *still).to(1.0).any()
    nowhere = swings_within(Possible(matrix, 0 * low, 0 * high), Deadline())
    assert not Walk(nowhere, 0, 1, low, high).to(1.0).any()


def test_a_walk_that_may_take_one_step_is_the_swing():
    matrix, low, high = drawn(3)
    swings = swings_within(Possible(matrix, low, high), Deadline())
    point = Walk(swings, 0, 1, low, high).to(np.inf, steps=1)
    np.testing.assert_allclose(point, swings.shared[0] / swings.square[0] * swings.up[0])
