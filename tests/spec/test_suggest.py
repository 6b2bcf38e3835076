"""What is offered instead of a refused request."""

from typing import Any

import pytest

from asking import PLACES_AND_WORK, python_regression, python_table
from confide.answering.nearby import BEFORE_TABLES
from confide.answering.regressions.nearby import near_models
from confide.answering.tables.nearby import near_tables
from confide.demo.texts import catalog_text
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


HIERARCHIES = (
    PLACES_AND_WORK
    + """
[variables.age]
kind = "numeric"
minimum = 0
missing = [""]
cutpoints = [20, 40, 60]

[variables.young]
of = "age"
cutpoints = [40]

[variables.income]
kind = "numeric"
minimum = 0
"""
)
PLACES = read_dataset(HIERARCHIES, name="people", read_file=str)


def offered(request: Any) -> dict[str, Any]:
    near = {
        "table": lambda: near_tables(request, PLACES),
        "regression": lambda: near_models(request, PLACES),
    }[request.ask]()
    found = [(each.words, each.request) for each in near]
    assert len({asked for _, asked in found}) == len(found) and request not in [asked for _, asked in found]
    return dict(found)


def test_a_condition_is_offered_by_a_coarser_form_that_holds_it_in_every_piece() -> None:
    where = [{"town": ["a1"], "sex": "f"}, {"town": ["a2", "b1"]}]
    found = offered(python_table("people", rows="work", where=where))
    lifted = python_table("people", rows="work", where=[{"county": ["A"], "sex": "f"}, {"county": ["A", "B"]}])
    assert found["'county' instead of 'town' in 'where'"] == lifted
    assert found["without the condition on 'town'"] == python_table("people", rows="work", where={"sex": "f"})


@pytest.mark.parametrize(
    ("bins", "coarse"),
    [(["20-39"], ["0-39"]), (["20-39", "40-59"], ["0-39", "40+"]), (["60+", "missing"], ["40+", "missing"])],
)
def test_bins_are_offered_by_those_of_a_recode_with_fewer_cutpoints(bins: list[str], coarse: list[str]) -> None:
    found = offered(python_table("people", rows="sex", where={"age": bins}))
    words = f"'young' ({', '.join(sorted(coarse))}) instead of 'age' in 'where'"
    assert found[words] == python_table("people", rows="sex", where={"young": coarse})


def test_two_changes_come_after_one_and_everyone_after_what_keeps_some_of_the_universe() -> None:
    request = python_table("people", rows="town", columns="work", where={"sex": "f", "age": "20-39"})
    words = [each for each in offered(request) if not each.startswith("wider")]
    first_pair = next(i for i, each in enumerate(words) if ", and " in each)
    assert words[0] == "'county' instead of 'town'" and words[first_pair - 1] == "everyone instead of this universe"
    assert all(", and " in each for each in words[first_pair:])
    assert "'county' instead of 'town', and without the condition on 'sex'" in words


def test_what_one_change_brings_in_no_second_takes_out() -> None:
    dataset = read_dataset(catalog_text("people"), name="people", read_file=str)
    near = list(near_tables(python_table("people", rows=["municipality", "occupation"]), dataset))
    words = [each.words for each in near]
    assert "'occupation_sub' instead of 'occupation', and 'region' instead of 'municipality'" in words
    assert not [each for each in words if "instead of 'county'" in each or "without 'county'" in each]
    assert len({each.request for each in near}) == len(near)


def test_those_who_have_a_value_are_offered_instead_of_missing_codes() -> None:
    found = offered(python_table("people", rows="work", where={"sex": "f"}))
    stated = python_table("people", rows="work", where={"sex": "f", "work": ["yes", "no"]})
    assert found["those whose 'work' is not missing"] == stated


def test_a_model_is_offered_in_logarithms_coarser_and_with_less() -> None:
    found = offered(python_regression("people", "income ~ age + town + sex + sex:town", where={"work": "yes"}))
    assert found["log(income) instead of income and log(age) instead of age"] == python_regression(
        "people", "log(income) ~ log(age) + town + sex + sex:town", where={"work": "yes"}
    )
    assert found["'county' instead of 'town'"].formula.variables == ("age", "county", "sex")
    without = found["without the interaction sex:town, and everyone instead of this universe"]
    assert without == python_regression("people", "income ~ age + town + sex")


def test_a_table_of_means_follows_the_nearest_models() -> None:
    """By the first class that the model names, over its universe: where few units carry every model, means may still be told."""
    request = python_regression("people", "income ~ town + work + age", where={"sex": "f"})
    near = list(near_models(request, PLACES))
    wanted = python_table("people", rows="town", measure="mean", of="income", where={"sex": "f"})
    [place] = [at for at, each in enumerate(near) if each.request == wanted]
    assert 0 < place <= BEFORE_TABLES < len(near) - 1
    assert near[place].words == "the mean of 'income' by 'town', as a table"
