"""Invariant transition matrices: Giessing and Höhne (2011), Tables 2 and 3, and what every one promises."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from confide import tables
from confide.errors import Mistake
from confide.tables.perturbation.invariance import invariant, invariant_matrix

EXAMPLE_1 = [96, 32, 20, 16, 15, 13, 9, 6]
"""Printed up to the count 5; the others are the sums of the rows and columns of Table 2."""

# Rows 0-3, 4, 5, 6; columns 0-3, 4, 5, 6, 7, 8.
TABLE_2 = [
    [144.62403, 2.9690406, 0.4069246, 0, 0, 0],
    [2.9690406, 11.81552, 1.0893785, 0.1260606, 0, 0],
    [0.4069246, 1.0893785, 12.211631, 1.196397, 0.0956693, 0],
    [0, 0.1260606, 1.196397, 10.676843, 0.9239783, 0.0767213],
]
# Rows 1 to 6; columns 0, 3, 4, 5, 6.
TABLE_3 = [
    [60.531974, 35.468026, 0, 0, 0],
    [9.510658, 22.489342, 0, 0, 0],
    [4.6240348, 12, 2.9690406, 0.4069246, 0],
    [0, 2.9690406, 11.81552, 1.0893785, 0.1260606],
    [0, 0.4069246, 1.0893785, 12.211631, 1.196397],
    [0, 0, 0.1260606, 1.196397, 10.676843],
]


def expected(t, frequencies):
    """How many cells of each count become how many of each count, on average."""
    n = len(frequencies)
    square = np.zeros((n + 1, n + 1 + 2 * t.D))
    for count in range(n + 1):
        square[count, count : count + 2 * t.D + 1] = t.matrix[count]
    assert not square[:, : t.D].any()
    assert not square[:, t.D + n + 1 :].any()
    return np.array([0, *frequencies])[:, None] * square[:, t.D : t.D + n + 1]


def test_table_2_of_giessing_and_hoehne_is_reproduced():
    """Stay .7, steps .15 and alpha .4 give every printed digit; nobody says how often the counts above 8 occur."""
    joint = np.array([148.0, 16, 15, 13, 9, 6, 6])
    initial = 0.7 * np.eye(7) + 0.15 * (np.eye(7, k=1) + np.eye(7, k=-1))
    initial[0, :2], initial[-1, -1] = [0.925, 0.075], 0.85
    moved = joint[:, None] * invariant_matrix(initial, joint, alpha=0.4)
    assert abs(moved[:4, :6] - TABLE_2).max() < 1e-5


def test_table_3_of_giessing_and_hoehne_is_reproduced():
    moved = expected(invariant(EXAMPLE_1), EXAMPLE_1)
    assert abs(moved[1:7, [0, 3, 4, 5, 6]] - TABLE_3).max() < 1e-5
    assert moved[:, [0, 3]].sum() == pytest.approx(148)


frequency_lists = st.lists(st.integers(0, 500), min_size=8, max_size=30)


@given(frequency_lists, st.sampled_from([2, 4, 6]), st.integers(0, 4), st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=150, deadline=None)
def test_frequencies_of_larger_counts_and_number_and_sum_of_small_ones_are_kept(frequencies, D, js, alpha, stay):
    assume(sum(frequencies))
    try:
        t = invariant(frequencies, D=D, js=js, alpha=alpha, stay=stay)
    except Mistake as mistake:
        assert "too few" in str(mistake)
        return
    counts, given_ = np.arange(len(frequencies) + 1), np.array([0, *frequencies])
    moved = expected(t, frequencies)
    now = moved.sum(axis=0)
    assert t.matrix.min() >= -1e-15
    assert t.matrix.sum(axis=1) == pytest.approx(1)
    assert now[js + 2 :] == pytest.approx(given_[js + 2 :], abs=1e-6)
    assert now[: js + 2].sum() == pytest.approx(given_[: js + 2].sum())
    assert (now @ counts) == pytest.approx(given_ @ counts)
    assert not now[1 : js + 1].any()
    if js == 0:
        assert now == pytest.approx(given_, abs=1e-6)
    assert not t.matrix[js + 2 :, : max(0, t.D - D)].any()


def test_draws_follow_the_matrix_and_larger_counts_stay():
    t = invariant(EXAMPLE_1)
    rng = np.random.default_rng(5)
    counts = np.repeat(np.arange(1, 9), [1000 * f for f in EXAMPLE_1])
    drawn = np.bincount(t.draw(counts, rng.random(len(counts))), minlength=9)
    assert not drawn[1:3].any()
    # A frequency drawn from 1,000 copies has a standard error of 0.07 at most: seven of them.
    assert abs(drawn[4:9] / 1000 - EXAMPLE_1[3:]).max() < 0.5
    assert t.draw(np.array([0, 9, 10**9]), np.array([0.99, 0.99, 0.99])).tolist() == [0, 9, 10**9]


def test_the_matrix_can_be_written_and_read_as_a_ptable(tmp_path):
    from confide.tables.files.ptable import PTable

    t = tables.invariant(EXAMPLE_1)
    tables.write_ptable(PTable.of(t), tmp_path / "p.csv")
    back = tables.read_ptable(tmp_path / "p.csv").transitions()
    assert back.matrix == pytest.approx(t.matrix)


def test_too_few_counts_at_the_edge_say_what_alpha_helps():
    frequencies = [50, 40, 1, 60, 60, 50, 40, 30]
    with pytest.raises(Mistake, match="too few cells with the count 3") as found:
        invariant(frequencies)
    most = float(str(found.value.suggestions[0]).split()[-1].rstrip("."))
    invariant(frequencies, alpha=most * 0.999)


@pytest.mark.parametrize(
    ("frequencies", "parameters", "words"),
    [
        (EXAMPLE_1, {"D": 3}, "even"),
        (EXAMPLE_1, {"D": 0}, "even"),
        (EXAMPLE_1, {"alpha": 1.5}, "alpha"),
        (EXAMPLE_1, {"stay": -0.1}, "stay"),
        (EXAMPLE_1, {"js": -1}, "js"),
        ([5, 4, 3], {}, "1 to at least 4"),
        ([], {}, "1 to at least 4"),
        ([0] * 9, {}, "0 or more"),
        ([5, 4, 3, -2, 5], {}, "0 or more"),
        ([5, 4, float("nan"), 2, 5], {}, "missing"),
    ],
)
def test_what_cannot_be_is_a_mistake(frequencies, parameters, words):
    with pytest.raises(Mistake, match=words):
        invariant(frequencies, **parameters)


def test_a_matrix_of_many_counts_is_made_without_a_loop_over_them(calls_of):
    few, many = ([10_000 // count for count in range(1, last)] for last in (51, 201))
    assert calls_of(lambda: invariant(many)) <= calls_of(lambda: invariant(few)) + 10
