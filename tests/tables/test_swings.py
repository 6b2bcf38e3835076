"""Swings of unknowns, against the bounds and relations they must fit, and against programs for whoever they mend points for."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from confide.tables.programs.deadline import Deadline
from confide.tables.suppression.at_once.mixtures import KnownMoves, Swung, kept
from confide.tables.suppression.at_once.swings import Possible, Swings, swings_within


def drawn(seed: int) -> tuple[sparse.csr_array, np.ndarray, np.ndarray]:
    """Twelve relations among thirty unknowns, one of them said twice, and skew bounds."""
    random = np.random.default_rng(seed)
    rows = random.choice([0.0, 0.0, 0.0, 1.0, -1.0], (12, 30))
    return (
        sparse.csr_array(np.vstack([rows, rows[0] + rows[1]])),
        -random.lognormal(1, 2, 30),
        random.lognormal(2, 2, 30),
    )


def every(swings: Swings) -> np.ndarray:
    """The swing of each unknown by 1, in columns."""
    return swings.shared / swings.square


@pytest.mark.parametrize("seed", range(10))
def test_swings_fit_relations_and_bounds_and_reach_one_of_these(seed):
    matrix, low, high = drawn(seed)
    swings = swings_within(Possible(matrix, low, high), Deadline())
    for ends in (swings.up, swings.down):
        points = every(swings) * ends
        np.testing.assert_allclose(np.diag(points), ends)
        np.testing.assert_allclose(matrix @ points, 0.0, atol=1e-9 * float(np.abs(points).max()))
        over = np.maximum(points / high[:, None], points / low[:, None]).max(axis=0)
        np.testing.assert_allclose(over[np.abs(ends) > 0], 1.0)


@pytest.mark.parametrize("seed", range(10))
def test_whom_swings_keep_from_a_demand_a_program_keeps_from_it_too(seed):
    matrix, low, high = drawn(seed)
    swings = swings_within(Possible(matrix, low, high), Deadline())
    swing, up = every(swings), float(swings.up[0])
    others = np.arange(1, 30)
    boxes = KnownMoves(np.arange(30), others, np.zeros(29), np.zeros(29))
    farthest = [_farthest(matrix, low, high, other) for other in others.tolist()]
    swung = Swung(up, swing[1:, 0] * up, swings.down[1:], swings.up[1:], swing[0, 1:])
    for share in (0.05, 0.3, 1.0):
        found = kept(np.zeros(1), np.zeros((30, 1)), boxes, np.full(29, share * up), swung)
        assert not (found & (np.array(farthest) < share * up * (1 - 1e-9))).any()
        assert found.any() or share == 1.0


def _farthest(matrix: sparse.csr_array, low: np.ndarray, high: np.ndarray, still: int) -> float:
    """How far the first unknown goes if another stands still."""
    bounds = np.column_stack([low, high])
    bounds[still] = 0.0
    price = -1.0 * (np.arange(30) == 0)
    return float(-linprog(price, A_eq=matrix, b_eq=np.zeros(13), bounds=bounds).fun)


def test_who_knows_nothing_has_no_swings_and_what_cannot_move_none_either():
    nothing = swings_within(Possible(sparse.csr_array((0, 0)), np.zeros(0), np.zeros(0)), Deadline())
    assert len(nothing.up) == 0
    possible = Possible(sparse.csr_array([[1.0, 1.0]]), np.array([-1.0, 0.0]), np.array([1.0, 0.0]))
    fixed = swings_within(possible, Deadline())
    assert fixed.up.tolist() == fixed.down.tolist() == [0.0, 0.0]
