"""Every rule on totals, at its edge and just beside it, each alone; and that noise is there and each variable's own."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from asking import python_table

LENIENT = {
    "universe": {
        "gamma": 0,
        "gamma_star": 0,
        "marginals": False,
        "complement": False,
        "decide_on": "true",
        "remainder": 0,
    },
    "tables": {"sparsity": 1.0, "mean_cell": 0.0, "class_disclosure": False},
    "drop": {"k": 0},
    "counts": {"mechanism": "none"},
}
OFF = {"mechanism": "none", "units": 0, "dominance_k": 100.0, "p_percent": 0.0, "risk_limit": 1.0}
"""No rule on totals and no noise."""


def firms(town: Any, incomes: list[float]) -> Any:
    """People of town a1 with these incomes, and a hundred of b1 with 1,000 each."""
    number = len(incomes) + 100
    people = town.people.slice(0, number)
    towns = np.where(np.arange(number) < len(incomes), "a1", "b1")
    given = {"town": towns, "county": np.char.upper(towns.astype("<U1")), "w": np.ones(number)}
    given["income"] = np.array([*incomes, *[1000.0] * 100])
    for name, values in given.items():
        people = people.set_column(people.column_names.index(name), name, pa.array(values))
    return town.under(**LENIENT).of(people)


def total(crowd: Any, *, secret: int = 0, of: str = "income", **rules: Any) -> tuple[str, float]:
    """The mark and the value of the total of town a1."""
    desk = crowd.under(totals={**OFF, **rules}).desk(secret)
    column = desk.consider(python_table("people", rows="town", measure="total", of=of)).columns["total"]
    return str(column.marks[0]), float(column.values[0])


@pytest.mark.parametrize(("number", "mark"), [(4, "c"), (5, ""), (6, "")])
def test_the_least_units_behind_a_total(town: Any, number: int, mark: str) -> None:
    assert total(firms(town, [1000.0] * number), units=5)[0] == mark


@pytest.mark.parametrize(("rest", "mark"), [(300.0, "c"), (400.0, "")])
def test_the_two_largest_may_not_dominate(town: Any, rest: float, mark: str) -> None:
    """1,000 and 700 of 2,000 are 85 percent, of 2,100 fewer: beyond the limit is withheld."""
    incomes = [1000.0, 700.0, rest / 2 - 1, rest / 2 - 1]
    assert total(firms(town, incomes), dominance_n=2, dominance_k=85.0)[0] == mark
    assert total(firms(town, incomes), dominance_n=1, dominance_k=85.0)[0] == ""


@pytest.mark.parametrize(("rest", "mark"), [(99.0, "c"), (101.0, "")])
def test_the_second_may_not_estimate_the_first_to_within_p_percent(town: Any, rest: float, mark: str) -> None:
    assert total(firms(town, [1000.0, 700.0, rest]), p_percent=10.0)[0] == mark


def test_a_protected_total_is_another_and_each_secret_gives_its_own(town: Any) -> None:
    """Noise of Ma et al. (2016) is between half and twice beta of the total, never none on an odd number of units.

    Totals are rounded to thousands, the second digit of their standard error, so by 0.5 %.
    """
    crowd = firms(town, [1000.0] * 99)
    truth = total(crowd)[1]
    seen = {total(crowd, secret=secret, mechanism="ma", beta=0.03)[1] for secret in range(10)}
    assert len(seen) > 3 and all(0.014 - 0.005 < abs(value / truth - 1) < 0.0601 + 0.005 for value in seen)


def test_each_variable_has_noise_of_its_own(town: Any) -> None:
    """Two variables with the same values; of twenty secrets most give them different totals."""
    crowd = firms(town, [50.0] * 99)
    ages = pa.array(np.full(crowd.people.num_rows, 50.0))
    crowd = crowd.of(crowd.people.set_column(crowd.people.column_names.index("age"), "age", ages))
    pairs = [
        [total(crowd, secret=secret, of=of, mechanism="ma")[1] for of in ("age", "income")] for secret in range(20)
    ]
    assert sum(first != second for first, second in pairs) > 15


def test_a_threshold_looks_at_protected_units(town: Any) -> None:
    """Five units at a threshold of five: withheld for some secrets and not for others."""
    crowd = firms(town, [1000.0] * 5).under(universe={"decide_on": "protected"})
    assert {total(crowd, secret=secret, units=5)[0] for secret in range(40)} == {"", "c"}


def test_sensitivity_is_judged_against_the_protected_total(town: Any) -> None:
    """A cell at the edge of the p% rule: withheld where noise makes its total smaller, and not where it makes it larger."""
    crowd = firms(town, [1000.0, 700.0, 100.0])
    assert {total(crowd, secret=secret, p_percent=10.0, mechanism="ma")[0] for secret in range(20)} == {"", "c"}
