"""The primary rules on cells small enough to check by hand, and on any cells against a plain loop."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import Mistake
from confide.tables.sensitivity import Contributions, Dominance, PPercent, Threshold

cells = st.lists(st.lists(st.integers(-50, 50), max_size=6), max_size=8)


def summarised(contributors: list[list[int]], columns: int = 3) -> Contributions:
    ordered = [sorted((abs(float(y)) for y in cell), reverse=True) for cell in contributors]
    top = np.zeros((len(ordered), columns))
    for row, cell in zip(top, ordered, strict=True):
        row[: len(cell)] = cell[:columns]
    units = np.array([len(cell) for cell in ordered], dtype=np.int64)
    return Contributions(units, np.array([sum(cell) for cell in ordered], dtype=np.float64), top)


def test_a_threshold_marks_cells_below_it_and_not_empty_ones():
    assert Threshold(3).marks(summarised([[], [1], [1, 1], [1, 1, 1]])).tolist() == [False, True, True, False]


def test_dominance_marks_a_share_above_k_and_not_exactly_k():
    assert Dominance(n=1, k=90).marks(summarised([[90, 10], [91, 9], [1, 1]])).tolist() == [False, True, False]
    assert Dominance(n=2, k=70).marks(summarised([[40, 30, 30], [41, 30, 29]])).tolist() == [False, True]


def test_p_percent_marks_a_remainder_below_p_and_not_exactly_p():
    assert PPercent(10).marks(summarised([[90, 8, 2], [80, 12, 8], [50, 50], [5]])).tolist() == [
        True,
        False,
        True,
        True,
    ]


def test_signs_do_not_hide_a_dominant_contributor():
    assert Dominance(n=1, k=80).marks(summarised([[-90, 5, 5]])).tolist() == [True]


def test_contributors_of_nothing_are_marked_by_their_number_only():
    nothing = summarised([[0, 0]])
    assert [rule.marks(nothing).tolist() for rule in (Threshold(3), Dominance(1, 50), PPercent(10))] == [
        [True],
        [False],
        [False],
    ]


@given(cells, st.integers(1, 3), st.integers(1, 99))
def test_rules_agree_with_a_plain_loop(contributors, n, percent):
    sizes = [sorted(map(abs, cell), reverse=True) for cell in contributors]
    summary = summarised(contributors)
    assert Threshold(n).marks(summary).tolist() == [0 < len(c) < n for c in sizes]
    assert Dominance(n, percent).marks(summary).tolist() == [100 * sum(c[:n]) > percent * sum(c) for c in sizes]
    assert PPercent(percent).marks(summary).tolist() == [100 * sum(c[2:]) < percent * sum(c[:1]) for c in sizes]


@given(st.sampled_from([Threshold(5), Dominance(2, 1), PPercent(100)]), st.floats(0, 1e9))
def test_a_cell_of_no_units_is_never_marked(rule, value):
    stray = Contributions(np.array([0]), np.array([value]), np.array([[value, 0.0]]))
    assert rule.marks(stray).tolist() == [False]


@pytest.mark.parametrize("rule", [Threshold(3), Dominance(1, 75), PPercent(10)])
def test_a_table_of_no_cells_has_no_marks(rule):
    marks = rule.marks(summarised([]))
    assert marks.shape == (0,)
    assert marks.dtype == np.bool_


@pytest.mark.parametrize(
    "bad",
    [
        lambda: Threshold(0),
        lambda: Dominance(n=0, k=50),
        lambda: Dominance(n=1, k=0),
        lambda: Dominance(n=1, k=100),
        lambda: Dominance(n=1, k=float("nan")),
        lambda: PPercent(0),
        lambda: PPercent(101),
        lambda: PPercent(float("nan")),
    ],
)
def test_parameters_out_of_range_are_mistakes(bad):
    with pytest.raises(Mistake, match="must be"):
        bad()


@pytest.mark.parametrize(("rule", "columns"), [(Dominance(n=3, k=90), 2), (PPercent(10), 1)])
def test_a_rule_that_needs_more_contributors_than_were_kept_is_a_mistake(rule, columns):
    with pytest.raises(Mistake, match="the table has kept"):
        rule.marks(summarised([[5, 3, 1]], columns))
