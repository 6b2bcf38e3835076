"""The linear programs behind suppression, against scipy's: our simplex, the contraction of unknowns, and their bounds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

from confide.tables import Hierarchy
from confide.tables.suppression.contraction import contract, tighten
from confide.tables.suppression.simplex import FOUND, IMPOSSIBLE, LOST, REACH, Costs, cheapest, graph_of, tableau_for
from confide.tables.table.build import every_cell, relate

seeds = st.integers(0, 2**32 - 1)


def relations(random: np.random.Generator) -> sparse.csr_array:
    """Those of a table of one to three variables, some with a hierarchy."""
    hierarchies = []
    for variable in "uvw"[: random.integers(1, 4)]:
        up = dict.fromkeys(f"{variable}{code}" for code in range(random.integers(2, 5)))
        if random.random() < 0.5:
            up |= {f"{variable}0{part}": f"{variable}0" for part in "ab"}
        hierarchies.append(Hierarchy.of(up))
    return sparse.csr_array(relate(hierarchies, every_cell(hierarchies)).matrix)


def costs(random: np.random.Generator, cells: int) -> Costs:
    amount = float(random.choice([1e-3, 0.3, 1, 1e4]))
    room = amount * 10 ** random.uniform(-1, 2, (2, cells))
    up = np.where(random.random(cells) < 0.5, np.inf, room[0])
    down = room[1] * random.choice([0, 1], cells, p=[0.1, 0.9])
    price = random.choice([1e-3, 1.0, 3.0], cells) * random.uniform(0.5, 2, cells)
    return Costs(up, down, price, random.random(cells) < random.choice([0, 0.2]), amount, amount)


def the_cheapest(matrix: sparse.csr_array, c: Costs, target: int, side: int) -> float | None:
    """What scipy says it costs, in amounts, to move the target; None if it cannot move so far."""
    rooms = [np.where(c.barred, 0.0, np.minimum(room, REACH * c.amount)) / c.amount for room in (c.up, c.down)]
    prices = [c.price / np.clip(room / c.amount, 1e-9, 1) for room in (c.up, c.down)]
    cells = len(c.price)
    cost, lower, upper = np.concatenate(prices), np.zeros(2 * cells), np.concatenate(rooms)
    there, back = (target, target + cells)[::side]
    cost[there], lower[there], upper[there], upper[back] = 0.0, 1.0, 1.0, 0.0
    twice = sparse.hstack([matrix, -matrix])
    found = linprog(cost, A_eq=twice, b_eq=np.zeros(matrix.shape[0]), bounds=np.column_stack([lower, upper]))
    return found.fun if found.status == 0 else None


@given(seeds, st.sampled_from([1, -1]))
@settings(max_examples=60)
def test_the_simplex_finds_what_is_cheapest_or_that_there_is_nothing(seed, side):
    random = np.random.default_rng(seed)
    matrix = relations(random)
    c = costs(random, matrix.shape[1])
    target = int(random.choice(np.flatnonzero(~c.barred))) if not c.barred.all() else 0
    (c.up if side > 0 else c.down)[target] = 2 * c.amount
    graph = graph_of(matrix)
    tableau = tableau_for(graph)
    outcome, cells, moves = cheapest(graph, tableau, c, target, side * c.amount, np.inf, 400)
    expected = the_cheapest(matrix, c, target, side)
    assert outcome == (IMPOSSIBLE if expected is None else FOUND)
    if outcome == FOUND:
        move = np.zeros(matrix.shape[1])
        move[cells] = moves
        assert np.abs(matrix @ move).max() < 1e-9 * c.amount
        assert (move <= c.up + 1e-9 * c.amount).all()
        assert (-move <= c.down + 1e-9 * c.amount).all()
        assert not move[c.barred].any()
        assert move[target] == side * c.amount
        each = np.where(move > 0, move / np.minimum(c.amount, c.up), -move / np.clip(c.down, 1e-9 * c.amount, c.amount))
        each[target] = 0.0
        assert (each * c.price).sum() == pytest.approx(expected, rel=1e-6, abs=1e-9)
    # The working memory is as it was, for the next search.
    assert not any(part.any() for part in (tableau.rows, tableau.size, tableau.off, tableau.seen, tableau.solved))
    assert (tableau.column == -1).all()


def test_a_search_that_must_not_be_dear_or_long_ends():
    random = np.random.default_rng(1)
    matrix = sparse.csr_array(relate([Hierarchy.flat("abc")] * 2, every_cell([Hierarchy.flat("abc")] * 2)).matrix)
    cells = matrix.shape[1]
    c = Costs(*np.full((2, cells), 5.0), np.ones(cells), np.zeros(cells, dtype=bool), 1.0, 1.0)
    graph = graph_of(matrix)
    tableau = tableau_for(graph)
    target = int(random.integers(cells))
    # A circle of four: three others move.
    assert len(cheapest(graph, tableau, c, target, 1.0, 3.1, 400)[1]) >= 4
    assert cheapest(graph, tableau, c, target, 1.0, 2.9, 400)[0] not in (FOUND, IMPOSSIBLE)
    assert cheapest(graph, tableau, c, target, 1.0, np.inf, 1)[0] == LOST


def ends(matrix: sparse.csr_array, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """The least and the largest of every unknown, by scipy, to within a wide box."""
    box = np.column_stack([np.maximum(lower, -1e4), np.minimum(upper, 1e4)])
    equations = {"A_eq": matrix, "b_eq": np.zeros(matrix.shape[0])} if matrix.shape[0] else {}
    found = [
        [linprog(sign * row, **equations, bounds=box).fun * sign for sign in (1, -1)] for row in np.eye(len(lower))
    ]
    return np.array(found).reshape(-1, 2)


@given(seeds)
@settings(max_examples=15)
def test_contraction_and_tightening_keep_what_every_cell_can_be(seed):
    random = np.random.default_rng(seed)
    matrix = relations(random)
    cells = np.sort(random.permutation(matrix.shape[1])[: random.integers(1, 16)])
    some = sparse.csr_array(matrix[:, cells])
    lower = -random.integers(0, 9, len(cells)).astype(np.float64)
    upper = np.where(random.random(len(cells)) < 0.3, np.inf, random.integers(0, 9, len(cells)))
    small = contract(some, lower, upper)
    assert len(small.lower) <= len(cells)
    low, high = tighten(small.matrix, small.lower, small.upper)
    assert (low >= small.lower).all()
    assert (high <= small.upper).all()
    unknown = np.vstack([ends(small.matrix, low, high), [0.0, 0.0]])
    moved = np.sort(unknown[small.of] * np.where(small.of < 0, 0.0, small.factor)[:, None], axis=1)
    expected = ends(some, lower, upper)
    # Beyond the box of the oracle all is without limit.
    near = np.abs(expected).max(axis=1) < 1e3
    assert moved[near] == pytest.approx(expected[near], abs=1e-6)
    assert (np.abs(moved[~near]).max(axis=1) >= 1e3).all()


def test_unknowns_that_are_fixed_by_a_contradiction_of_two_relations_cannot_move():
    # x = y and x = -y.
    found = contract(sparse.csr_array([[1.0, -1], [1, 1]]), np.array([-5.0, -5]), np.array([5.0, 5]))
    assert found.of.tolist() == [-1, -1]
    assert contract(sparse.csr_array((0, 2)), np.zeros(2), np.ones(2)).of.tolist() == [0, 1]
