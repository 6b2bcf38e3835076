"""Maps of risk and utility, whatever is mapped."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.data.risk_utility import Goal, RiskUtilityMap
from confide.errors import Mistake

POINTS = st.lists(st.tuples(st.integers(0, 4), st.integers(-4, 0)), min_size=1, max_size=12)


def mapped(points: list[tuple[float, float]]) -> RiskUtilityMap:
    return RiskUtilityMap(*np.array(points, dtype=float).T)


@given(POINTS)
def test_unbeaten_is_what_no_other_beats_and_equals_share_it(points: list[tuple[int, int]]) -> None:
    beaten = [
        any(r <= risk and u >= utility and (r, u) != (risk, utility) for r, u in points) for risk, utility in points
    ]
    assert mapped(points).unbeaten().tolist() == [not each for each in beaten]


@given(POINTS, st.integers(0, 4))
def test_the_best_under_a_threshold_is_on_the_frontier(points: list[tuple[int, int]], threshold: int) -> None:
    found, allowed = mapped(points), [(-utility, risk) for risk, utility in points if risk <= threshold]
    if not allowed:
        with pytest.raises(Mistake, match="so little risk"):
            found.best(Goal(threshold=threshold))
        return
    row = found.best(Goal(threshold=threshold))
    assert (-found.utility[row], found.risk[row]) == min(allowed)
    assert found.unbeaten()[row]


def test_what_could_not_be_measured_is_never_chosen() -> None:
    found = mapped([(0.0, np.nan), (np.nan, 0.0), (0.3, -1.0)])
    assert found.unbeaten().tolist() == [False, False, True]
    assert found.best(Goal(slope=1.0)) == found.best(Goal(threshold=1.0)) == 2
