"""What insiders work out from one relation after the other, against a linear program over all relations."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from confide.tables.suppression.at_once.mixtures import KnownMoves
from confide.tables.suppression.at_once.passing_on import MET, AskedMoves, net_of, out_of_reach


def farthest(matrix: np.ndarray, low: np.ndarray, high: np.ndarray, of: int, side: int) -> float:
    cost = np.zeros(len(low))
    cost[of] = -side
    found = linprog(cost, A_eq=matrix, b_eq=np.zeros(len(matrix)), bounds=np.column_stack([low, high]))
    return float(-found.fun)


def every(count: int, insiders: int, amount: float) -> AskedMoves:
    """Each unknown to each side, for each insider."""
    who, of, side = (part.ravel() for part in np.meshgrid(range(insiders), range(count), (1, -1), indexing="ij"))
    return AskedMoves(who, of, side, np.full(len(who), amount))


def test_what_is_known_of_one_unknown_is_passed_on_along_relations():
    matrix = sparse.csr_array([[1.0, 1, 1, 0, 0], [0, 0, 1, 1, -1]])
    net = net_of(matrix, np.array([-3.0, -3, -9, -2, -2]), np.array([3.0, 3, 9, 2, 2]))
    knows_the_first = KnownMoves(np.array([0, 1]), np.array([0]), np.array([0.0]), np.array([0.0]))
    asked = every(5, 1, 3.0)
    # The third moves against the second alone, so 3 at most; that is as far as all could go without it.
    assert out_of_reach(asked, net, knows_the_first).tolist() == [True] * 2 + [False] * 4 + [True] * 4
    far = asked._replace(amount=np.full(10, 3.1))
    assert out_of_reach(far, net, knows_the_first).tolist() == [True] * 10


@pytest.mark.parametrize("seed", range(30))
def test_nothing_is_out_of_reach_that_a_program_reaches(seed):
    random = np.random.default_rng(seed)
    matrix = random.choice([-1.0, 0, 0, 1], (5, 9))
    low, high = -random.exponential(2, 9), random.exponential(2, 9)
    boxes = KnownMoves(np.array([0, 1, 3]), np.array([0, 1, 2]), np.array([0, -0.1, low[2]]), np.array([0, 0.1, 0.0]))
    asked = every(9, 2, 0.5)
    found = out_of_reach(asked, net_of(sparse.csr_array(matrix), low, high), boxes)
    for who, of, side in zip(asked.who[found], asked.of[found], asked.side[found], strict=True):
        mine = slice(boxes.starts[who], boxes.starts[who + 1])
        known = low.copy(), high.copy()
        known[0][boxes.of[mine]], known[1][boxes.of[mine]] = boxes.low[mine], boxes.high[mine]
        reached = farthest(matrix, *known, of, side) >= 0.5 * (1 - MET)
        assert not reached
    assert found.any() and not found.all()
