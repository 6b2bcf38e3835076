"""Audits of large tables, all demands and attackers at once, against a search for each of them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from confide.tables import PPercent, Status, Table, Threshold, audit
from confide.tables.programs.deadline import Deadline
from confide.tables.suppression import audit as audit_module
from confide.tables.suppression.at_once import crowd, points, swings
from confide.tables.suppression.at_once import undone as undone_module
from confide.tables.suppression.at_once.undone import undone
from confide.tables.suppression.audit import SIDES, unmet
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
    found = [(one.demand, one.attacker) for one in undone(problem, hidden, problem.demands(), Deadline())]
    expected = unmet(problem, hidden, Deadline())
    assert {(demand.cell, SIDES[demand.side]) for demand, _ in found} == {(one.cell, one.level) for one in expected}
    outsiders = {(one.cell, one.level) for one in expected if one.attacker == OUTSIDER}
    assert {(demand.cell, SIDES[demand.side]) for demand, who in found if who == OUTSIDER} == outsiders
    blamed = {(one.cell, one.level, one.attacker) for one in expected}
    assert {(demand.cell, SIDES[demand.side], who) for demand, who in found} <= blamed


@pytest.mark.parametrize(("where", "name", "value"), [
    (swings, "LARGEST", 0), (undone_module, "FEW", 0), (crowd, "PATIENCE", 0), (crowd, "FEW", 1), (crowd, "MANY", 0),
    (points, "FEW", 1.0),
])  # fmt: skip
@pytest.mark.parametrize("seed", [31, 77])
def test_without_walks_or_with_nothing_else_the_same_are_undone(monkeypatch, where, name, value, seed):
    table, hidden = businesses(seed, holdings=35)
    problem = SuppressionProblem.of(table)
    usual = {one.demand for one in undone(problem, hidden, problem.demands(), Deadline())}
    monkeypatch.setattr(where, name, value)
    if (name, value) == ("LARGEST", 0):
        monkeypatch.setattr(undone_module, "FEW", 0)
    assert {one.demand for one in undone(problem, hidden, problem.demands(), Deadline())} == usual
    assert usual


@pytest.mark.parametrize("seed", range(4))
def test_cells_that_can_slide_one_way_only_are_looked_at_with_the_others(monkeypatch, seed):
    """A contributor of nothing is alone in a cell: it must have two possible values, and cannot be less than 0."""
    random = np.random.default_rng(seed)
    data = {name: random.choice(list(codes), 40) for name, codes in (("u", "abcd"), ("v", "xyz"))}
    data["t"] = np.where(random.random(40) < 0.3, 0.0, np.round(random.lognormal(3, 1.5, 40), 1))
    data["u"][0], data["t"][0] = "e", 0.0
    table = Table.from_microdata(data, by=["u", "v"], of="t").flag(Threshold(3), PPercent(15))
    few = (table.status == 0) & (random.random(len(table)) < 0.4)
    table = replace(table, status=np.where(few, Status.SECONDARY, table.status).astype(np.int8))
    assert any(not demand.side for demand in SuppressionProblem.of(table).demands())
    usual = audit(table)
    monkeypatch.setattr(audit_module, "MANY", -1)
    monkeypatch.setattr(audit_module, "unmet", lambda problem, hidden, deadline, *, but: [])  # nothing is left to it
    assert set(audit(table).missed) == set(usual.missed)


def test_nobody_undoes_what_is_not_asked_for():
    table, hidden = businesses(1, holdings=500)
    assert list(undone(SuppressionProblem.of(table), hidden, [], Deadline())) == []


class Patience(Deadline):
    """A deadline after so many looks at the clock."""

    looks = 0

    @property
    def over(self) -> bool:
        self.looks -= 1
        return self.looks < 0


@given(seed=st.integers(0, 10**6), looks=st.integers(0, 120))
@example(seed=1, looks=0)
@settings(max_examples=12)
def test_when_time_is_over_a_level_is_missed_for_sure_or_kept_for_sure_or_undecided(seed, looks):
    table, hidden = businesses(seed, holdings=35)
    problem = SuppressionProblem.of(table)
    sure = {one.demand for one in undone(problem, hidden, problem.demands(), Deadline())}
    deadline = Patience()
    deadline.looks = looks
    found = list(undone(problem, hidden, problem.demands(), deadline))
    missed, undecided = ({one.demand for one in found if bool(one.undecided) == open} for open in (False, True))
    assert not missed & undecided
    assert missed <= sure <= missed | undecided
    assert all(0 < one.undecided <= 1 + len(problem.insiders) for one in found if one.demand in undecided)
