"""What rules on universes and tables look at, on exact counts (their edges stand apart); then how a refusal hides the edge."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from asking import python_table
from confide.tables.perturbation.transitions import transitions

PERSON = {"sex": "f", "town": "a1", "age": 30, "ill": "no", "work": "yes", "trade": "p", "income": 1000}
QUIET = {"tables": {"sparsity": 1.0, "mean_cell": 0.0, "class_disclosure": False}, "drop": {"k": 0}}
"""Rules on tables out of the way of those on universes."""


def people(*groups: tuple[int, dict[str, Any]]) -> pa.Table:
    """So many people of each kind, otherwise alike."""
    rows = [{**PERSON, **kind} for number, kind in groups for _ in range(number)]
    columns = {name: [row[name] for row in rows] for name in PERSON}
    columns["county"] = [name[0].upper() for name in columns["town"]]
    return pa.table({"id": [str(i) for i in range(len(rows))], "w": [1.0] * len(rows), **columns})


def rules(town: Any, *, rows: Any = "ill", **words: Any) -> list[str]:
    return [reason.rule for reason in town.desk().consider(python_table("people", rows=rows, **words)).reasons]


@pytest.fixture
def exact(town: Any) -> Any:
    """The paper as written: Γ = 75, Γ* = 25, decided on true counts."""
    return town.preset("census-mas").under(**QUIET)


def test_a_small_cell_is_no_small_margin(exact: Any) -> None:
    """One man without work, but many men and many without work."""
    crowd = exact.of(people((100, {}), (100, {"work": "no"}), (80, {"sex": "m"}), (1, {"sex": "m", "work": "no"})))
    assert rules(crowd, where={"sex": "f", "work": "yes"}) == []


@pytest.mark.parametrize(("number", "refused"), [(74, True), (75, False)])
def test_gamma_is_the_least_number_of_units_in_a_universe(exact: Any, number: int, refused: bool) -> None:
    crowd = exact.of(people((number, {}), (100, {"sex": "m"})))
    assert rules(crowd, where={"sex": "f"}) == (["universe.gamma"] if refused else [])
    assert rules(exact.of(people((number, {})))) == (["universe.gamma"] if refused else [])


def test_gamma_looks_at_each_class_but_at_all_bins_together(exact: Any) -> None:
    by_class = exact.of(people((50, {}), (50, {"town": "b1"}), (100, {"town": "b2"})))
    assert rules(by_class, where={"town": ["a1", "b1"]}) == ["universe.gamma"]
    by_bin = exact.of(people((50, {"age": 30}), (50, {"age": 50}), (100, {"age": 70})))
    assert rules(by_bin, where={"age": ["20-39", "40-59"]}) == []
    assert rules(by_bin, where={"age": "20-39"}) == ["universe.gamma"]


def test_gamma_looks_at_classes_that_fill_a_coarser_one_as_one(exact: Any) -> None:
    crowd = exact.of(people((50, {"town": "b1"}), (50, {"town": "b2"}), (100, {})))
    assert rules(crowd, where={"town": ["b1", "b2"]}) == []
    part = exact.of(people((50, {}), (50, {"town": "a2"}), (100, {"town": "a9"}), (100, {"town": "b1"})))
    assert rules(part, where={"town": ["a1", "a2"]}) == ["universe.gamma"], "two of three towns fill no county"
    assert rules(crowd, where={"town": "b1"}) == ["universe.gamma"]


@pytest.mark.parametrize(("number", "refused"), [(0, False), (1, True), (9, True), (10, False)])
def test_the_remainder_is_what_another_choice_of_codes_would_add(exact: Any, number: int, refused: bool) -> None:
    """The lone man, old woman or last town of a county must not be the difference of two universes."""
    near = exact.under(universe={"remainder": 10, "gamma": 20})
    said = ["universe.remainder"] if refused else []
    crowd = near.of(people((100, {}), (90, {"town": "b1"}), (80, {"town": "b1", "sex": "m"}), (number, {"sex": "m"})))
    assert rules(crowd, where={"town": "a1", "sex": "f"}) == said
    assert rules(crowd, where=[{"town": "a1", "sex": "f"}, {"town": "b1"}]) == said
    assert rules(crowd, where={"town": ["a1", "b1"], "sex": "f"}) == said, "class by class of the other conditions"
    assert rules(crowd, where={"town": "b1", "sex": "f"}) == []
    aged = near.of(people((100, {}), (100, {"age": 50}), (number, {"age": 70}), (200, {"town": "b1", "age": 70})))
    assert rules(aged, where={"town": "a1", "age": ["20-39"]}) == said, "every bin beside the chosen ones"
    assert rules(aged, where={"town": "a1", "age": ["20-39", "40-59", "60-109"]}) == said, "and every chosen one"
    assert rules(aged, where={"town": "a1"}) == []
    county = near.of(people((100, {}), (number, {"town": "a2"}), (100, {"town": "b1"}), (100, {"town": "b2"})))
    assert rules(county, where={"town": "a1"}) == said, "the rest of a county that is chosen in part"
    assert rules(county, where={"town": "b1"}) == [], "the rest of the file is large, and so is that of county B"


def test_levels_of_one_hierarchy_exclude_each_other_never_but_two_recodes_of_a_number_do(town: Any) -> None:
    recode = town.catalog + '\n[variables.generation]\nof = "age"\ncutpoints = [50]\n'
    crowd = replace(town, catalog=recode).under(**QUIET)
    assert rules(crowd, rows="age", where={"generation": "50+"}) == ["tables.exclusion"]
    assert rules(crowd, rows="town", where={"county": "A"}) == []


def test_a_whole_group_in_one_confidential_class_is_a_disclosure(exact: Any) -> None:
    crowd = exact.under(tables={"class_disclosure": True})
    one_class = people((100, {}), (100, {"sex": "m"}), (5, {"sex": "m", "ill": "yes"}))
    assert rules(crowd.of(one_class), rows=["sex", "ill"]) == ["tables.class_disclosure"]
    both = people((100, {}), (1, {"ill": "yes"}), (100, {"sex": "m"}), (5, {"sex": "m", "ill": "yes"}))
    assert rules(crowd.of(both), rows=["sex", "ill"]) == []
    assert rules(crowd.of(one_class), rows=["sex", "work"]) == []
    assert rules(crowd.under(tables={"class_disclosure": False}).of(one_class), rows=["sex", "ill"]) == []


@pytest.mark.parametrize("rows", [["ill", "town"], ["town", "ill"], ["work", "ill", "town"], ["ill", "town", "work"]])
def test_a_group_is_a_class_of_the_other_variables_wherever_the_confidential_one_stands(exact: Any, rows: Any) -> None:
    """A town of healthy people beside two mixed ones discloses; that everybody lives in one town does not."""
    crowd = exact.under(tables={"class_disclosure": True})
    mixed = [(50, {"town": name, "ill": ill}) for name in ("b1", "b2") for ill in ("no", "yes")]
    assert rules(crowd.of(people((50, {}), *mixed)), rows=rows) == ["tables.class_disclosure"]
    assert rules(crowd.of(people(*mixed[:2])), rows=rows) == []
    assert rules(crowd.of(people(*mixed)), rows=rows) == []


def test_gamma_looks_at_each_class_of_every_variable(exact: Any) -> None:
    """Women of a1 and men of b1 are few; the four classes together are many, and so is every margin."""
    sizes = {("a1", "f"): 74, ("a1", "m"): 80, ("b1", "f"): 80, ("b1", "m"): 80, ("b2", "f"): 90}
    crowd = people(*[(number, {"town": town, "sex": sex}) for (town, sex), number in sizes.items()])
    where = {"town": ["a1", "b1"], "sex": ["f", "m"]}
    assert rules(exact.of(crowd), where=where) == ["universe.gamma"]
    assert rules(exact.under(universe={"gamma": 74}).of(crowd), where=where) == []


def test_several_reasons_are_all_given(exact: Any) -> None:
    crowd = exact.of(people((70, {}), (2, {"sex": "m"}), (90, {"town": "b1"})))
    assert rules(crowd, where={"sex": "f", "town": "a1"}) == ["universe.marginals", "universe.gamma"]


def refusals(town: Any, *, women: int, secrets: int) -> float:
    """How often the universe of so many women is refused, over secrets."""
    crowd = town.of(people((women, {}), (60, {"sex": "m"})))
    request = python_table("people", rows="ill", where={"sex": "f"})
    found = [[r.rule for r in crowd.desk(number).consider(request).reasons] for number in range(secrets)]
    assert all(reasons in ([], ["universe.gamma"]) for reasons in found)
    return sum(map(bool, found)) / secrets


def test_near_the_threshold_a_refusal_is_a_matter_of_chance_with_the_promised_rate(town: Any) -> None:
    """300 secrets for each number of women around Γ = 30; rates within 4 standard errors of the noise's distribution,
    and between neighbours at most the largest single probability of the noise apart, plus 3 standard errors."""
    protected = town.under(**QUIET).under(universe={"gamma": 30})
    limits, secrets = protected.policy.universe, 300
    row = transitions(D=limits.noise_distance, V=limits.noise_variance, js=0).matrix[-1]
    numbers = range(28, 33)
    rates = [refusals(protected, women=number, secrets=secrets) for number in numbers]
    for number, rate in zip(numbers, rates, strict=True):
        below = np.arange(-limits.noise_distance, limits.noise_distance + 1) + number < limits.gamma
        promised = float(row[below].sum())
        assert 0 < promised < 1
        assert abs(rate - promised) < 4 * np.sqrt(promised * (1 - promised) / secrets)
    for one, two in pairwise(rates):
        error = np.sqrt((one * (1 - one) + two * (1 - two)) / secrets)
        assert abs(one - two) <= row.max() + 3 * error


@pytest.mark.parametrize(("distance", "variance"), [(3, 1.0), (1, 0.9)])
def test_further_than_the_noise_from_the_threshold_decisions_are_always_equal(
    town: Any, distance: int, variance: float
) -> None:
    limits = {"gamma": 30, "noise_distance": distance, "noise_variance": variance}
    protected = town.under(**QUIET).under(universe=limits)
    for women, rate in ((30 + distance, 0), (31 + distance, 0), (29 - distance, 1), (28 - distance, 1)):
        assert refusals(protected, women=women, secrets=60) == rate


def test_a_release_says_nothing_of_the_noise_in_it(town: Any) -> None:
    """Thirty women at Γ = 30, 400 secrets: among those released the noise still has mean zero, within 4 standard errors."""
    protected = town.under(**QUIET).under(universe={"gamma": 30}).of(people((30, {}), (60, {"sex": "m"})))
    request = python_table("people", rows="ill", where={"sex": "f"})
    answers = [protected.desk(number).consider(request) for number in range(400)]
    noise = np.array([answer.columns["count"].values[-1] - 30 for answer in answers if not answer.reasons])
    assert 200 < len(noise) < 360
    assert abs(noise.mean()) < 4 * np.sqrt(protected.policy.counts.variance / len(noise))


def test_a_table_that_passes_its_rules_says_nothing_of_the_noise_in_it(town: Any) -> None:
    """Eighty people at a mean cell of 16 over five towns, 400 secrets: the rule and the total have draws of their own, so
    the noise of the totals released has mean zero within 4 standard errors."""
    protected = town.under(**QUIET).under(universe={"gamma": 0}, tables={"mean_cell": 16.0}).of(people((80, {})))
    request = python_table("people", rows="town")
    answers = [protected.desk(number).consider(request) for number in range(400)]
    assert {reason.rule for answer in answers for reason in answer.reasons} == {"tables.mean_cell"}
    noise = np.array([answer.columns["count"].values[-1] - 80 for answer in answers if not answer.reasons])
    assert 200 < len(noise) < 360
    assert abs(noise.mean()) < 4 * np.sqrt(protected.policy.counts.variance / len(noise))


def test_what_is_outside_has_a_draw_of_its_own(town: Any) -> None:
    """Thirty people outside at Γ = 30, in one town or in the other: over forty secrets the two decisions are not always equal."""
    crowd = town.under(**QUIET).under(universe={"gamma": 30, "remainder": 0, "marginals": False})
    crowd = crowd.of(people((100, {}), (30, {"town": "b1"}), (30, {"town": "b2"})))
    decisions = []
    for number in range(40):
        desk = crowd.desk(number)
        asked = [python_table("people", rows="ill", where={"town": ["a1", name]}) for name in ("b1", "b2")]
        decisions.append(["universe.complement" in [r.rule for r in desk.consider(one).reasons] for one in asked])
    assert {first == second for first, second in decisions} == {True, False}
