"""The cheapest pattern: against every pattern there is, and what the bounds and the gap say of others."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from confide.errors import Mistake
from confide.tables import PPercent, Status, Table, Threshold, audit_pattern, suppress
from confide.tables.programs.deadline import Deadline
from confide.tables.suppression.optimal import optimise
from confide.tables.suppression.problem import SuppressionProblem

rows = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(1, 60), st.sampled_from("pqrst")),
    min_size=3,
    max_size=14,
)


def table_of(rows, **options) -> Table:
    data = {name: [row[at] for row in rows] for at, name in enumerate(("u", "v", "t", "h"))}
    return Table.from_microdata(data, by=["u", "v"], of="t", **options).flag(Threshold(2), PPercent(20))


def records_of(rows, whose) -> list:
    return [({"u": u, "v": v}, whose(number, h), float(t)) for number, (u, v, t, h) in enumerate(rows)]


def with_secondaries(table: Table, cells) -> Table:
    status = table.status.copy()
    status[list(cells)] = Status.SECONDARY
    return replace(table, status=status)


def least(table: Table, cost, attackers, intruder) -> float | None:
    """What the cheapest of all sufficient patterns costs, by trying them in the order of their cost."""
    safe = np.flatnonzero(table.status == Status.SAFE).tolist()
    patterns = [cells for size in range(len(safe) + 1) for cells in combinations(safe, size)]
    for cells in sorted(patterns, key=lambda cells: cost[list(cells)].sum()):
        if next(intruder.breaks(with_secondaries(table, cells), attackers), None) is None:
            return float(cost[list(cells)].sum())
    return None


@given(rows, st.booleans(), st.sampled_from(["value", "cells"]))
@settings(max_examples=12)
def test_no_pattern_is_cheaper_than_the_optimal_one(intruder, rows, holding, cost):
    table = table_of(rows, holding="h" if holding else None)
    assume(table.primary.any() and (table.status == Status.SAFE).sum() <= 6)
    attackers = intruder.contributors(table, records_of(rows, lambda n, h: h if holding else str(n)))
    problem = SuppressionProblem.of(table, cost=cost)
    expected = least(table, problem.cost, attackers, intruder)
    if expected is None:
        with pytest.raises(Mistake, match="cannot be protected"):
            suppress(table, cost=cost, method="optimal")
        return
    found = optimise(problem, ~problem.shown, Deadline())
    assert found.cost == pytest.approx(expected)
    assert found.bound == pytest.approx(expected, rel=1e-6)
    assert found.gap == pytest.approx(0, abs=1e-6)
    assert not intruder.undoes(with_secondaries(table, np.flatnonzero(found.suppressed & ~table.primary)), attackers)


@given(st.integers(0, 10**6))
@settings(max_examples=3)
def test_the_bound_is_below_every_sufficient_pattern(seed):
    random = np.random.default_rng(seed)
    data = {"u": random.choice(list("abcd"), 60), "v": random.choice(list("wxyz"), 60), "t": random.integers(1, 99, 60)}
    table = Table.from_microdata(data, by=["u", "v"], of="t").flag(Threshold(3))
    fast, best = (suppress(table, method=method, time_limit=None) for method in ("fast", "optimal"))
    assert fast.bound is None and fast.gap is None
    assert best.bound <= best.cost * (1 + 1e-9)
    assert best.bound <= fast.cost * (1 + 1e-9)
    assert best.cost <= fast.cost * (1 + 1e-9)
    assert best.gap == pytest.approx((best.cost - best.bound) / best.cost if best.cost else 0, abs=1e-9)


def test_a_table_that_needs_no_secondary_costs_nothing():
    data = {"a": ["x", "y", "z"], "t": [5.0, 6, 7]}
    table = Table.from_microdata(data, by=["a"], of="t").flag(Threshold(2))
    found = suppress(table, method="optimal")
    assert (found.cost, found.bound, found.gap, found.secondaries) == (0, 0, 0, [])


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("protection", ["both", "sliding"])
def test_no_secondary_of_the_fast_method_could_be_shown_by_itself(seed, protection):
    random = np.random.default_rng(seed)
    data = {name: random.choice(list(codes), 40) for name, codes in (("u", "abcd"), ("v", "xyz"), ("w", "12"))}
    data["t"] = random.integers(1, 1000, 40)
    of = "t" if seed % 2 else None
    table = Table.from_microdata(data, by=["u", "v", "w"], of=of).flag(Threshold(3), protection=protection)
    found = suppress(table, method="fast", cost="cells")
    assert found.secondaries
    for cell in found.secondaries:
        shown = found.table.suppressed.copy()
        shown[cell] = False
        assert not audit_pattern(found.table, shown).passed
