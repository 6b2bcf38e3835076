"""Whom mixtures of points keep from a demand, against a linear program over all mixtures."""

import numpy as np
import pytest
from scipy.optimize import linprog

from confide.tables.suppression.at_once.mixtures import KnownMoves, Swung, kept, settled, stronger

POINTS = 8

STILL = Swung(0.0, *(np.zeros(30) for _ in range(4)))


def farthest(reach: np.ndarray, moves: np.ndarray, low: float, high: float) -> float:
    """How far a mixture goes at most where the unknown is from `low` to `high`."""
    found = linprog(
        -reach, A_ub=np.array([moves, -moves]), b_ub=[high, -low], A_eq=np.ones((1, len(reach))), b_eq=[1.0]
    )
    return float(-found.fun)


def drawn(seed: int) -> tuple[np.ndarray, KnownMoves]:
    """Points of 30 unknowns, the true table first, and insiders who know something of one of the others than the first each."""
    random = np.random.default_rng(seed)
    places = np.column_stack([np.zeros(30), random.normal(0.3, 1.0, (30, POINTS))])
    low, high = -random.exponential(0.2, 29), random.exponential(0.2, 29)
    low[::3] = high[::3] = 0.0
    return places, KnownMoves(np.arange(30), np.arange(1, 30), low, high)


@pytest.mark.parametrize("seed", range(20))
def test_a_demand_is_kept_from_those_from_whom_the_best_mixture_keeps_it(seed):
    places, boxes = drawn(seed)
    best = [farthest(places[0], places[1 + who], boxes.low[who], boxes.high[who]) for who in range(29)]
    for share in (0.3, 0.7, 1.0):
        found = kept(places[0], places, boxes, np.full(29, share), STILL)
        np.testing.assert_array_equal(found, np.array(best) >= share)


@pytest.mark.parametrize("seed", range(20))
def test_what_the_last_point_settles_is_what_was_not_settled_before(seed):
    places, boxes = drawn(seed)
    need = np.full(29, 0.8)
    before = kept(places[0, :-1], np.ascontiguousarray(places[:, :-1]), boxes, need, STILL)
    left = np.flatnonzero(~before)
    reach = np.array([0]), np.array([1.0])
    found = settled(np.zeros(len(left), np.int64), left, need[left], reach, places, boxes, tuple(np.zeros((3, 30))))
    np.testing.assert_array_equal(found, kept(places[0], places, boxes, need, STILL)[left])


def test_who_knows_two_unknowns_is_kept_from_a_demand_by_a_part_of_a_point_that_goes_far_enough():
    places = np.array([[0.0, 4.0], [0.0, 2.0], [0.0, -2.0]])
    boxes = KnownMoves(np.array([0, 2]), np.array([1, 2]), np.array([-0.6, -0.6]), np.array([0.6, 0.6]))
    assert kept(places[0], places, boxes, np.array([1.0]), STILL).all()
    assert not kept(places[0], places, boxes, np.array([1.5]), STILL).any()


def test_who_need_not_be_kept_from_a_demand_is():
    places, boxes = drawn(1)
    assert kept(np.zeros(POINTS + 1), places, boxes, np.zeros(29), STILL).all()


def test_who_knows_less_of_the_same_unknown_than_another_follows_from_them():
    low, high = np.array([-2.0, -1, -1, 0, -1, -3]), np.array([3.0, 2, 1, 0, 2, 1])
    boxes = KnownMoves(np.array([0, 1, 2, 4, 5, 6]), np.array([7, 7, 7, 8, 7, 7]), low, high)
    assert stronger(boxes).tolist() == [
        1,
        -1,
        -1,
        1,
        -1,
    ]  # of equals the first; two unknowns and half outside are by themselves
    assert stronger(KnownMoves(np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0))).tolist() == []
