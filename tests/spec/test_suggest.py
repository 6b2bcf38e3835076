"""What is offered instead of a refused request."""

from typing import Any

import pytest

from asking import python_table
from confide.answering.tables.nearby import near_tables
from confide.model.catalog.toml import read_dataset

CATALOG = """
[variables.sex.codes]
f = "F"
m = "M"

[variables.age]
kind = "numeric"
minimum = 0
cutpoints = [20, 40, 60]
missing = [""]
"""
PEOPLE = read_dataset(CATALOG, name="people", read_file=str)


@pytest.mark.parametrize(
    ("asked", "offered"),
    [
        (["20-39"], ["0-19", "20-39", "40-59"]),
        (["0-19"], ["0-19", "20-39"]),
        (["60+", "missing"], ["40-59", "60+", "missing"]),
        (["missing"], None),
    ],
)
def test_wider_bins_hold_those_asked_for_and_the_ones_beside_them(asked: list[str], offered: Any) -> None:
    near = near_tables(python_table("people", rows="sex", where={"age": asked}), PEOPLE)
    wider = [each.request.where for each in near if each.words.startswith("wider bins")]
    assert wider == ([python_table("people", rows="sex", where={"age": offered}).where] if offered else [])
