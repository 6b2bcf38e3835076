"""Transition matrices: Giessing and Höhne (2011), Table 1, and what every matrix promises."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from confide.errors import Mistake
from confide.tables.perturbation.transitions import feasible, feasible_pairs, intervals, transitions

# Rows 1..8, columns 0, 3, 4, ..., 13 (trailing zeros left out).
TABLE_1 = {
    3: [
        [0.667, 0.332, 0.001],
        [0.334, 0.666],
        [0.125, 0.687, 0.063, 0.063, 0.063],
        [0.000, 0.601, 0.099, 0.100, 0.100, 0.100],
        [0.000, 0.167, 0.167, 0.416, 0.083, 0.083, 0.083],
        [0.000, 0.072, 0.072, 0.072, 0.571, 0.072, 0.072, 0.072],
        [0.000, 0.000, 0.072, 0.072, 0.072, 0.571, 0.072, 0.072, 0.072],
        [0.000, 0.000, 0.000, 0.072, 0.072, 0.072, 0.571, 0.072, 0.072, 0.072],
    ],
    4: [
        [0.667, 0.333],
        [0.334, 0.666],
        [0.120, 0.700, 0.082, 0.045, 0.027, 0.026],
        [0.064, 0.076, 0.700, 0.068, 0.037, 0.029, 0.026],
        [0.000, 0.143, 0.143, 0.542, 0.043, 0.043, 0.043, 0.043],
        [0.000, 0.063, 0.063, 0.063, 0.662, 0.038, 0.038, 0.038, 0.038],
        [0.000, 0.032, 0.033, 0.034, 0.050, 0.700, 0.050, 0.034, 0.033, 0.032],
        [0.000, 0.000, 0.032, 0.033, 0.034, 0.050, 0.700, 0.050, 0.034, 0.033, 0.032],
    ],
    5: [
        [0.667, 0.333],
        [0.334, 0.666],
        [0.119, 0.700, 0.082, 0.050, 0.028, 0.014, 0.007],
        [0.062, 0.076, 0.704, 0.075, 0.037, 0.020, 0.014, 0.012],
        [0.025, 0.068, 0.068, 0.700, 0.059, 0.027, 0.019, 0.018, 0.017],
        [0.000, 0.057, 0.057, 0.057, 0.700, 0.041, 0.023, 0.021, 0.021, 0.021],
        [0.000, 0.025, 0.035, 0.035, 0.062, 0.700, 0.060, 0.028, 0.020, 0.018, 0.018],
        [0.000, 0.015, 0.016, 0.019, 0.032, 0.068, 0.700, 0.068, 0.032, 0.019, 0.016, 0.015],
    ],
}
ANY_STAY = [None, 0.0, 0.5, 0.7, 1.0]


def square(t, rows, columns):
    """The matrix in the paper's layout: row is the true count, column the perturbed one."""
    wide = np.zeros((rows, rows + 2 * t.D))
    for i in range(rows):
        wide[i, i : i + 2 * t.D + 1] = t.matrix[min(i, len(t.matrix) - 1)]
    assert not wide[:, : t.D].any()  # nothing below zero
    wide = np.pad(wide[:, t.D :], ((0, 0), (0, columns)))
    return wide[:, :columns]


def check_promises(t):
    d = np.arange(-t.D, t.D + 1)
    small = square(t, t.D + t.js + 2, t.js + 1)[:, 1:]
    assert t.matrix.shape == (t.D + t.js + 2, 2 * t.D + 1)
    assert t.matrix.min() >= 0
    assert not small.any()
    assert t.matrix[0].tolist() == (d == 0).tolist()
    assert t.matrix.sum(axis=1) == pytest.approx(1, abs=1e-9)
    assert t.matrix @ d == pytest.approx(0, abs=1e-9)
    assert t.matrix[1:] @ d**2 == pytest.approx(t.V, abs=1e-9)


def lp(i, D, js, goal, *, V=None, keep=None, falling=False):
    """The least value of goal, one number per possible move, over all rows i, by linear programming."""
    d = possible_moves(i, D, js)
    rows, right = [np.ones(len(d)), d], [1, 0]
    for row, value in [(d**2, V), (d == 0, keep)]:
        if value is not None:
            rows, right = [*rows, row], [*right, value]
    unit = np.eye(len(d))
    outwards = [*pairwise(np.flatnonzero(d < 0)[::-1]), *pairwise(np.flatnonzero(d > 0))] if falling else []
    rises = np.array([unit[far] - unit[near] for near, far in outwards]).reshape(-1, len(d))
    result = linprog(goal, A_ub=rises, b_ub=np.zeros(len(rises)), A_eq=np.array(rows), b_eq=right, bounds=(0, 1))
    assert result.status == 0
    return result.fun


def possible_moves(i, D, js):
    return np.array([j - i for j in range(max(0, i - D), i + D + 1) if j == 0 or j > js])


@pytest.mark.parametrize(("D", "stay", "tolerance"), [(3, 1.0, 0.001), (4, 0.7, 0.010), (5, 0.7, 0.0165)])
def test_table_1_of_giessing_and_hoehne_is_reproduced(D, stay, tolerance):
    """Printed to three decimals for V = 2 + epsilon; .002 is the epsilon that fits best."""
    ours = square(transitions(D=D, V=2.002, js=2, stay=stay), 9, 14)[1:, [0, *range(3, 14)]]
    printed = np.array([row + [0.0] * (12 - len(row)) for row in TABLE_1[D]])
    assert abs(ours - printed).max() < tolerance


@pytest.mark.parametrize(("stay", "keeps", "moves"), [(None, 0.28, 1.08), (0.7, 0.70, 0.68), (1.0, 45 / 55, 30 / 55)])
def test_stay_is_the_lever_between_keeping_and_moving(stay, keeps, moves):
    last = transitions(D=5, V=2.0, js=2, stay=stay).matrix[-1]
    assert last[5] == pytest.approx(keeps, abs=0.005)
    assert last @ abs(np.arange(-5, 6)) == pytest.approx(moves, abs=0.005)


def test_row_1_at_the_least_variance_has_two_outcomes_only():
    row = transitions(D=3, V=2.0, js=2).matrix[1]
    assert row == pytest.approx([0, 0, 2 / 3, 0, 0, 1 / 3, 0], abs=1e-15)


@pytest.mark.parametrize("D", [3, 4, 5, 9, 15])
@pytest.mark.parametrize("stay", ANY_STAY)
def test_promises_hold_at_the_least_and_the_greatest_variance(D, stay):
    for V in feasible(D=D, js=2, stay=stay):
        check_promises(transitions(D=D, V=V, js=2, stay=stay))


@given(st.integers(0, 4), st.integers(1, 12), st.floats(0, 1), st.sampled_from(ANY_STAY))
@settings(max_examples=100, deadline=None)
def test_promises_hold_wherever_a_matrix_exists(js, more, position, stay):
    D = js + more
    try:
        least, greatest = feasible(D=D, js=js, stay=stay)
    except Mistake:
        assume(False)
    V = min(greatest, least + position * (greatest - least))
    assume(V >= 1e-6)
    check_promises(transitions(D=D, V=V, js=js, stay=stay))


@pytest.mark.parametrize(("js", "D"), [(0, 1), (0, 3), (1, 2), (1, 6), (2, 3), (2, 5), (2, 15), (3, 4), (3, 5), (3, 8)])
def test_feasible_variances_are_those_of_linear_programming(js, D):
    rows = range(1, D + js + 2)
    least = max(lp(i, D, js, possible_moves(i, D, js) ** 2) for i in rows)
    greatest = min(-lp(i, D, js, -(possible_moves(i, D, js) ** 2)) for i in rows)
    assert feasible(D=D, js=js) == pytest.approx((least, greatest), abs=1e-9)
    assert feasible(D=D, js=js) == ([0, 1, 2, 4][js], D)


@pytest.mark.parametrize(("D", "V", "js"), [(3, 2.1, 2), (5, 2.5, 2), (5, 4.5, 1), (8, 1.5, 1), (4, 0.3, 0)])
@pytest.mark.parametrize("stay", [None, 0.0, 0.3, 0.7, 0.8])
def test_no_other_row_has_more_entropy(D, V, js, stay):
    """Entropy is concave: p is the best row if the gradient -log p at p promises no gain towards any other row."""
    matrix = transitions(D=D, V=V, js=js, stay=stay).matrix
    for i in range(1, len(matrix)):
        p = matrix[i, D + possible_moves(i, D, js)]
        if p.all():
            held = stay is not None and i > js
            gain = p @ np.log(p) - lp(i, D, js, np.log(p), V=V, keep=matrix[i, D] if held else None, falling=held)
            assert gain < 1e-6


@pytest.mark.parametrize("stay", [0.3, 0.7, 0.8, 1.0])
@pytest.mark.parametrize("V", [2.0, 2.5, 3.5])
def test_with_stay_probabilities_fall_on_both_sides(stay, V):
    D, js = 5, 2
    for i in range(js + 1, D + js + 2):
        row = transitions(D=D, V=V, js=js, stay=stay).matrix[i]
        allowed = possible_moves(i, D, js)
        left, right = row[D + allowed[allowed < 0]], row[D + allowed[allowed > 0]]
        assert (np.diff(left) >= -1e-12).all()
        assert (np.diff(right) <= 1e-12).all()


@pytest.mark.parametrize("stay", [0.0, 0.7, 1.0])
@pytest.mark.parametrize(("D", "V", "js"), [(3, 2.0, 2), (4, 2.0, 2), (5, 3.0, 2), (6, 1.2, 1), (4, 0.3, 0)])
def test_stay_is_kept_or_the_nearest_possible(D, V, js, stay):
    matrix = transitions(D=D, V=V, js=js, stay=stay).matrix
    for i in range(js + 1, len(matrix)):
        here = (possible_moves(i, D, js) == 0).astype(float)
        nearest = np.clip(stay, lp(i, D, js, here, V=V, falling=True), -lp(i, D, js, -here, V=V, falling=True))
        assert matrix[i, D] == pytest.approx(nearest, abs=1e-7)


def test_small_counts_may_be_shown_if_js_is_0():
    t = transitions(D=3, V=1.0, js=0)
    check_promises(t)
    assert t.matrix[1, 3] > 0.2
    assert t.matrix[2, 2] > 0.1


@pytest.mark.parametrize("stay", [None, 0.7])
def test_a_large_matrix_takes_little_work(calls_of, stay):
    """The limit guards: there are 8,000 and 18,000 calls, which take less than 100 ms."""
    assert calls_of(lambda: transitions(D=15, V=2.71828, js=2, stay=stay)) < 40_000


def test_a_matrix_is_made_once_and_cannot_be_written():
    t = transitions(D=5, V=2.0, js=2)
    assert t is transitions(D=5, V=2.0, js=2)
    with pytest.raises(ValueError, match="read-only"):
        t.matrix[0, 0] = 1


@pytest.mark.parametrize("stay", [None, 0.7])
def test_draws_have_the_frequencies_of_the_matrix(stay):
    """200,000 draws a row, seed fixed, every frequency within 4.5 standard errors."""
    t, n = transitions(D=5, V=2.0, js=2, stay=stay), 200_000
    rng = np.random.default_rng(11)
    for i in range(12):
        p = t.matrix[min(i, len(t.matrix) - 1)]
        drawn = np.bincount(t.draw(np.full(n, i), rng.random(n)) - i + t.D, minlength=2 * t.D + 1)
        assert (abs(drawn / n - p) <= 4.5 * np.sqrt(p * (1 - p) / n)).all()


@given(st.integers(0, 3), st.integers(1, 9), st.floats(0, 1), st.sampled_from(ANY_STAY), st.integers(0, 2**32))
@settings(max_examples=50, deadline=None)
def test_draws_never_show_a_small_count_and_keep_zeros(js, more, position, stay, seed):
    try:
        least, greatest = feasible(D=js + more, js=js, stay=stay)
    except Mistake:
        assume(False)
    V = min(greatest, least + position * (greatest - least))
    assume(V >= 1e-6)
    t = transitions(D=js + more, V=V, js=js, stay=stay)
    counts = np.repeat(np.arange(30), 200)
    # The ends of the interval and the bounds between outcomes, with their neighbours, are where rounding would show.
    bounds = np.unique(np.clip(t.matrix.cumsum(axis=1), 0, np.nextafter(1, 0)))
    hard = np.concatenate([[0.0, 5e-324], bounds, np.nextafter(bounds, 0), np.clip(bounds + 1e-16, 0, bounds.max())])
    for uniforms in (np.random.default_rng(seed).random(6000), np.random.default_rng(seed).choice(hard, 6000)):
        drawn = t.draw(counts, uniforms)
        assert not ((drawn > 0) & (drawn <= js)).any()
        assert drawn.min() >= 0
        assert (drawn[counts == 0] == 0).all()
        rows = np.minimum(counts, len(t.matrix) - 1)
        assert (t.matrix[rows, drawn - counts + t.D] > 0).all()


def test_draws_rise_with_the_uniform_number():
    t = transitions(D=4, V=2.5, js=2)
    for i in range(9):
        assert (np.diff(t.draw(np.full(1001, i), np.linspace(0, 0.999999, 1001))) >= 0).all()


def test_draws_keep_shape_and_type():
    t = transitions(D=4, V=2.5, js=2)
    drawn = t.draw(np.array([[0, 1], [2, 10**12]]), np.full((2, 2), 0.3))
    assert drawn.shape == (2, 2)
    assert drawn.dtype == np.int64
    assert t.draw(np.array([], dtype=np.int64), np.array([])).shape == (0,)


@pytest.mark.parametrize(
    ("parameters", "advice"),
    [
        ({"D": 5, "V": 1.9, "js": 2}, "at least 2 and at most 5"),
        ({"D": 5, "V": 5.1, "js": 2}, "at least 2 and at most 5"),
        ({"D": 3, "V": 3.0, "js": 2, "stay": 0.7}, "at least 2 and at most 2.22222"),
        ({"D": 3, "V": 3.0, "js": 2, "monotone": True}, "at least 2 and at most 2.22222"),
        ({"D": 3, "V": float("nan"), "js": 2}, "at least 2 and at most 3"),
        ({"D": 3, "V": 0.0, "js": 0}, "at least 1e-06 and at most 3"),
        ({"D": 2, "V": 2.0, "js": 2}, "D of at least 3"),
        ({"D": 3, "V": 2.0, "js": -1}, "js of 0 or more"),
        ({"D": 5, "V": 6.0, "js": 4}, "larger D"),
        ({"D": 5, "V": 2.0, "js": 2, "stay": 1.1}, "from 0 to 1"),
    ],
)
def test_an_impossible_matrix_is_a_mistake_that_says_what_is_possible(parameters, advice):
    with pytest.raises(Mistake, match=advice):
        transitions(**parameters)


@pytest.mark.parametrize(("count", "uniform"), [(-1, 0.5), (3, 1.0), (3, -0.1), (3, float("nan"))])
def test_counts_and_uniforms_out_of_range_are_mistakes(count, uniform):
    with pytest.raises(Mistake):
        transitions(D=5, V=2.0, js=2).draw(np.array([count]), np.array([uniform]))


@pytest.mark.parametrize(("D", "V"), [(5, 2.0), (5, 5.0), (15, 2.0), (15, 15.0), (3, 2.0)])
def test_monotone_rows_fall_on_both_sides_and_have_the_most_entropy_that_do(D, V):
    t = transitions(D=D, V=V, js=2, monotone=True)
    check_promises(t)
    for i in range(3, len(t.matrix)):
        moves = possible_moves(i, D, 2)
        p = t.matrix[i, D + moves]
        assert (np.diff(p[moves < 0]) >= -1e-12).all()
        assert (np.diff(p[moves > 0]) <= 1e-12).all()
        if p.all():
            assert p @ np.log(p) - lp(i, D, 2, np.log(p), V=V, falling=True) < 1e-6


@pytest.mark.parametrize("wishes", [{}, {"monotone": True}, {"stay": 0.7}])
@pytest.mark.parametrize("symmetry", [0.0, 0.02])
@pytest.mark.parametrize(("D", "V"), [(3, 2.0), (5, 2.0), (5, 2.5), (9, 3.0)])
def test_symmetry_bounds_the_difference_of_the_steps_next_to_the_count(D, V, symmetry, wishes):
    """At most the bound, or the least that linear programming finds."""
    t = transitions(D=D, V=V, js=2, symmetry=symmetry, **wishes)
    check_promises(t)
    for i in range(4, len(t.matrix)):
        d = possible_moves(i, D, 2)
        tilt, keep = (d == 1) * 1.0 - (d == -1), t.matrix[i, D] if wishes.get("stay") else None
        lowest = lp(i, D, 2, tilt, V=V, keep=keep, falling=bool(wishes))
        highest = -lp(i, D, 2, -tilt, V=V, keep=keep, falling=bool(wishes))
        least = max(0.0, lowest, -highest)
        assert abs(t.matrix[i, D + 1] - t.matrix[i, D - 1]) <= max(symmetry, least) + 2e-6


def test_without_need_symmetry_changes_nothing():
    plain, bounded = (transitions(D=5, V=2.0, js=2, symmetry=bound) for bound in (None, 0.5))
    assert (plain.matrix == bounded.matrix).all()


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize(
    ("D", "V", "js"), [(3, 2.0, 2), (3, 2.1, 2), (5, 2.0, 2), (5, 4.0, 1), (2, 0.5, 0), (1, 0.5, 0)]
)
def test_intervals_are_those_of_linear_programming(D, V, js, monotone):
    low, high = intervals(D=D, V=V, js=js, monotone=monotone)
    for i in range(1, D + js + 2):
        moves = possible_moves(i, D, js)
        falling = monotone and 0 in moves
        for k, unit in enumerate(np.eye(len(moves))):
            assert low[i, D + moves[k]] == pytest.approx(lp(i, D, js, unit, V=V, falling=falling), abs=1e-8)
            assert high[i, D + moves[k]] == pytest.approx(-lp(i, D, js, -unit, V=V, falling=falling), abs=1e-8)


def test_every_matrix_lies_within_the_intervals():
    for V in (2.0, 2.5, 5.0):
        low, high = intervals(D=5, V=V, js=2)
        for stay in (None, 0.3, 0.7, 1.0):
            if feasible(D=5, js=2, stay=stay)[1] >= V:
                matrix = transitions(D=5, V=V, js=2, stay=stay).matrix
                assert ((low - 1e-9 <= matrix) & (matrix <= high + 1e-9)).all()


@pytest.mark.parametrize("js", range(8))
def test_the_report_of_pairs_starts_where_matrices_do(js):
    report = feasible_pairs(js=js, largest=20).to_pylist()
    first = report[0]["D"]
    assert [row["D"] for row in report] == list(range(first, 21))
    for row in report:
        assert feasible(D=row["D"], js=js) == (row["least"], row["greatest"])
    with pytest.raises(
        Mistake, match=f"at least {first}, with V of at least {report[0]['least']:g}" if first - 1 > js else "D"
    ):
        feasible(D=first - 1, js=js)


def test_a_symmetry_below_0_is_a_mistake():
    with pytest.raises(Mistake, match="0 or more"):
        transitions(D=5, V=2.0, js=2, symmetry=-0.1)
    with pytest.raises(Mistake, match="0 or more"):
        transitions(D=5, V=2.0, js=2, symmetry=float("nan"))
