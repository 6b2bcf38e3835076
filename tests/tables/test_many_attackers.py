"""Audits of large tables, all demands and attackers at once, against a search for each of them."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from confide.tables import PPercent, Table, Threshold
from confide.tables.suppression.audit import SIDES, unmet
from confide.tables.suppression.crowd import undone
from confide.tables.suppression.problem import SuppressionProblem
from confide.tables.suppression.protection import OUTSIDER


def businesses(seed: int, *, holdings: int) -> tuple[Table, np.ndarray]:
    """A sparse table of three variables, and a pattern that is not made to protect anybody."""
    random = np.random.default_rng(seed)
    data = {name: random.choice(list(codes), 60) for name, codes in (("u", "abcd"), ("v", "xyz"), ("w", "123"))}
    data["t"] = np.round(random.lognormal(3, 1.5, 60), 1)
    data["h"] = random.integers(0, holdings, 60).astype(str)
    table = Table.from_microdata(data, by=["u", "v", "w"], of="t", holding="h").flag(Threshold(3), PPercent(15))
    return table, table.primary | ((random.random(len(table)) < 0.45) & (table.status == 0))


@pytest.mark.parametrize("holdings", [35, 500])
@pytest.mark.parametrize("attackers", ["outsider", "singletons", "contributors", "coalitions"])
@given(seed=st.integers(0, 10**6))
@example(seed=31)  # somebody knows one of two cells that move together, and of the other only what they gave
@settings(max_examples=3)
def test_all_at_once_are_undone_who_are_undone_one_by_one(attackers, holdings, seed):
    table, hidden = businesses(seed, holdings=holdings)
    problem = SuppressionProblem.of(table, attackers=attackers)
    found = undone(problem, hidden, problem.demands())
    expected = unmet(problem, hidden)
    assert {(demand.cell, SIDES[demand.side]) for demand, _ in found} == {(one.cell, one.level) for one in expected}
    outsiders = {(one.cell, one.level) for one in expected if one.attacker == OUTSIDER}
    assert {(demand.cell, SIDES[demand.side]) for demand, who in found if who == OUTSIDER} == outsiders
    blamed = {(one.cell, one.level, one.attacker) for one in expected}
    assert {(demand.cell, SIDES[demand.side], who) for demand, who in found} <= blamed


def test_nobody_undoes_what_is_not_asked_for():
    table, hidden = businesses(1, holdings=500)
    assert undone(SuppressionProblem.of(table), hidden, []) == []
