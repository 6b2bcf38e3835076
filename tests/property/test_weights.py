"""What a table sums, nothing protected: weights, order and records of a unit mean what they should."""

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from asking import python_table

MEASURES = ["count", "weighted_count", "total", "mean"]
PEOPLE = 20

weights = st.lists(st.integers(1, 3), min_size=PEOPLE, max_size=PEOPLE)
incomes = st.lists(st.integers(0, 5000) | st.none(), min_size=PEOPLE, max_size=PEOPLE)


def asked(town: Any, people: pa.Table, *names: str) -> list[np.ndarray]:
    """Sums by town and sex on the policy that protects nothing."""
    of = "income" if {"total", "mean"} & {*names} else None
    request = python_table("people", rows="town", columns="sex", measure=list(names), of=of)
    answer = town.preset("open").of(people).desk().consider(request)
    assert not answer.reasons
    return [answer.columns[name].values for name in names]


def changed(people: pa.Table, **columns: Any) -> pa.Table:
    for name, values in columns.items():
        people = people.set_column(people.column_names.index(name), name, pa.array(values))
    return people


def small(town: Any, weight: list[int], income: list[int | None]) -> pa.Table:
    return changed(town.people.slice(0, PEOPLE), w=np.array(weight, float), income=pa.array(income, pa.float64()))


def same(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@settings(max_examples=12)
@given(weights, incomes)
def test_weight_2_is_a_doubled_record(town: Any, weight: list[int], income: list[int | None]) -> None:
    people = small(town, weight, income)
    rows = np.repeat(np.arange(PEOPLE), weight)
    again = changed(people.take(rows), w=np.ones(len(rows)), id=np.arange(len(rows)).astype(str))
    same(asked(town, people, *MEASURES[1:]), asked(town, again, *MEASURES[1:]))


@settings(max_examples=12)
@given(weights, incomes)
def test_a_count_knows_no_weights(town: Any, weight: list[int], income: list[int | None]) -> None:
    people = small(town, weight, income)
    same(asked(town, people, "count"), asked(town, changed(people, w=np.ones(PEOPLE)), "weighted_count"))


@settings(max_examples=12)
@given(weights, incomes, st.permutations(range(PEOPLE)))
def test_the_order_of_records_changes_nothing(
    town: Any, weight: list[int], income: list[int | None], order: list[int]
) -> None:
    people = small(town, weight, income)
    same(asked(town, people.take(order), *MEASURES), asked(town, people, *MEASURES))


@settings(max_examples=12)
@given(weights, incomes, st.lists(st.floats(0, 1), min_size=PEOPLE, max_size=PEOPLE))
def test_a_total_does_not_see_in_how_many_records_a_unit_has_it(
    town: Any, weight: list[int], income: list[int | None], shares: list[float]
) -> None:
    people = small(town, weight, income)
    first = [
        None if amount is None else float(round(amount * share)) for amount, share in zip(income, shares, strict=True)
    ]
    rest = [None if a is None else float(a - (b or 0)) for a, b in zip(income, first, strict=True)]
    split = pa.concat_tables([changed(people, income=pa.array(part, pa.float64())) for part in (first, rest)])
    same(asked(town, split, "total"), asked(town, people, "total"))
