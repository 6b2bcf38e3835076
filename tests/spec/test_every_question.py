"""What holds for universes holds for every kind of question: tables, regressions of each family, correlations."""

from typing import Any

import pytest

from asking import python_correlation, python_regression, python_table
from confide.model.request import Request

QUESTIONS = {
    "table": lambda where: python_table("people", rows="trade", where=where),
    "table of totals": lambda where: python_table("people", rows="trade", measure="total", of="income", where=where),
    "gaussian": lambda where: python_regression("people", "income ~ age + trade", where=where),
    "binomial": lambda where: python_regression("people", "ill=yes ~ age", family="binomial", where=where),
    "poisson": lambda where: python_regression("people", "income ~ age", family="poisson", where=where),
    "correlation": lambda where: python_correlation("people", ["income", "age"], where=where),
}
WOMEN: Any = {"sex": "f"}
LIMITS = [
    ("universe.variables", {"variables": 1}, {"variables": 2}, {"sex": "f", "county": "A"}),
    ("universe.pieces", {"pieces": 1}, {"pieces": 2}, [{"sex": "f"}, {"county": "A"}]),
    ("universe.gamma", {"gamma": 2_000, "complement": False}, {"gamma": 30}, WOMEN),
    ("universe.gamma_star", {"gamma_star": 2_000}, {"gamma_star": 10}, [{"sex": "f"}, {"county": "A"}]),
    ("universe.remainder", {"remainder": 2_000}, {"remainder": 10}, WOMEN),
]


def rules(town: Any, request: Request) -> list[str]:
    return [reason.rule for reason in town.desk().consider(request).reasons]


@pytest.mark.parametrize(("rule", "tight", "wide", "where"), LIMITS, ids=[limit[0] for limit in LIMITS])
@pytest.mark.parametrize("kind", QUESTIONS)
def test_a_limit_on_universes_holds_for_it(town: Any, kind: str, rule: str, tight: Any, wide: Any, where: Any) -> None:
    calm = town.under(models={"leverage_units": 1}, tables={"sparsity": 1.0, "mean_cell": 0.0})
    question = QUESTIONS[kind](where)
    assert rules(calm.under(universe=tight), question) == [rule]
    assert rules(calm.under(universe=wide), question) == []


@pytest.mark.parametrize("kind", QUESTIONS)
def test_a_universe_that_leaves_few_outside_is_refused_for_it(town: Any, kind: str) -> None:
    """Three people outside; without the rule it is answered."""
    sexes = ["m"] * 3 + ["f"] * (town.people.num_rows - 3)
    few = town.of(town.people.set_column(town.people.column_names.index("sex"), "sex", [sexes]))
    few = few.under(universe={"decide_on": "true", "remainder": 0})
    assert rules(few, QUESTIONS[kind](WOMEN)) == ["universe.complement"]
    assert rules(few.under(universe={"complement": False}), QUESTIONS[kind](WOMEN)) == []


@pytest.mark.parametrize("kind", QUESTIONS)
def test_units_are_dropped_for_it(town: Any, kind: str) -> None:
    """Few people of whom many are dropped: for one of ten secrets at least the numbers are others, whatever the rounding."""
    wide = town.under(models={"units": 0, "units_per_column": 1, "dummy": 1, "leverage_units": 1, "influence": 1.0})
    few = wide.under(tables={"sparsity": 1.0, "mean_cell": 0.0}, counts={"mechanism": "none"})
    few = few.of(town.people.slice(0, 150))
    whole = few.under(drop={"k": 0}).desk().consider(QUESTIONS[kind](None))
    seen = [few.under(drop={"k": 50}).desk(secret).consider(QUESTIONS[kind](None)) for secret in range(10)]
    assert not whole.reasons and any(numbers(answer) != numbers(whole) for answer in seen if not answer.reasons)


def numbers(answer: Any) -> Any:
    return answer.columns or answer.grids
