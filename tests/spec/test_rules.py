"""Every rule, at its edge and just beside it, on exact counts; then how a refusal on protected counts hides the edge."""

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


@pytest.mark.parametrize(("number", "refused"), [(0, False), (1, True), (2, True), (3, False)])
def test_no_marginal_one_or_two(exact: Any, number: int, refused: bool) -> None:
    """A margin counts wherever it is in the table of the universe variables, in the universe or outside it."""
    crowd = exact.of(people((100, {}), (100, {"work": "no"}), (number, {"sex": "m"}), (90, {"town": "b1"})))
    found = rules(crowd, where={"sex": "f", "work": "yes"})
    assert found == (["universe.marginals"] if refused else [])
    other = exact.of(people((100, {}), (100, {"sex": "m"}), (number, {"work": "no"}), (90, {"town": "b1"})))
    assert rules(other, where={"sex": "f", "work": "yes"}) == found, "the margin of either variable"


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


@pytest.mark.parametrize(("number", "refused"), [(0, False), (3, True), (24, True), (25, False)])
def test_gamma_star_is_the_least_number_in_an_overlap_that_is_not_empty(exact: Any, number: int, refused: bool) -> None:
    crowd = exact.of(
        people((100, {"work": "no"}), (100, {"sex": "m"}), (number, {}), (100, {"sex": "m", "work": "no"}))
    )
    found = rules(crowd, where=[{"sex": "f"}, {"work": "yes"}])
    assert found == (["universe.gamma_star"] if refused else [])


@pytest.mark.parametrize(("number", "refused"), [(0, False), (3, True), (74, True), (75, False)])
def test_a_universe_leaves_nobody_or_gamma_units_outside(exact: Any, number: int, refused: bool) -> None:
    crowd = exact.under(universe={"complement": True}).of(people((100, {}), (number, {"sex": "m"})))
    assert rules(crowd, where={"sex": "f"}) == (["universe.complement"] if refused else [])


SHAPES = [
    ("tables.dimensions", {"tables": {"dimensions": 2}}, {"rows": ["sex", "ill", "work"]}, {"rows": ["sex", "ill"]}),
    ("tables.cells", {"tables": {"cells": 14}}, {"rows": ["sex", "town"]}, {"rows": ["ill", "town"]}),
    (
        "universe.variables",
        {"universe": {"variables": 1}},
        {"where": {"sex": "f", "work": "yes"}},
        {"where": {"sex": "f"}},
    ),
    (
        "universe.pieces",
        {"universe": {"pieces": 2}},
        {"where": [{"sex": "f"}, {"sex": "m"}, {"work": "yes"}]},
        {"where": [{"sex": "f"}, {"sex": "m"}]},
    ),
    ("tables.exclusion", {}, {"rows": "trade", "where": {"work": "yes"}}, {"rows": "trade", "where": {"sex": "f"}}),
    ("tables.exclusion", {}, {"rows": "sex", "columns": ["work", "trade"]}, {"rows": ["town", "county"]}),
]


@pytest.mark.parametrize(("rule", "policy", "beyond", "within"), SHAPES)
def test_what_a_request_may_look_like(
    town: Any, rule: str, policy: Any, beyond: dict[str, Any], within: dict[str, Any]
) -> None:
    calm = town.under(**QUIET).under(universe={"gamma": 0, "gamma_star": 0, "marginals": False, "complement": False})
    calm = calm.under(**policy)
    assert rules(calm, **beyond) == [rule]
    assert rules(calm, **within) == []


def test_levels_of_one_hierarchy_exclude_each_other_never_but_two_recodes_of_a_number_do(town: Any) -> None:
    recode = town.catalog + '\n[variables.generation]\nof = "age"\ncutpoints = [50]\n'
    crowd = replace(town, catalog=recode).under(**QUIET)
    assert rules(crowd, rows="age", where={"generation": "50+"}) == ["tables.exclusion"]
    assert rules(crowd, rows="town", where={"county": "A"}) == []


@pytest.mark.parametrize(("small", "refused"), [(2, False), (3, True)])
def test_sparse_cells_may_be_at_most_their_share_of_the_occupied_ones(exact: Any, small: int, refused: bool) -> None:
    """Four occupied cells, of which half may have fewer than five units; empty ones do not count."""
    towns = ["a1", "a2", "b1", "b2"]
    sizes = [4] * small + [100] * (4 - small)
    crowd = exact.under(tables={"sparsity": 0.5, "sparse_below": 5})
    crowd = crowd.of(people(*[(size, {"town": name}) for size, name in zip(sizes, towns, strict=True)]))
    assert rules(crowd, rows="town") == (["tables.sparsity"] if refused else [])
    assert rules(crowd.of(people((4, {}), (4, {"town": "a2"}), (100, {"town": "b1"}))), rows="town") == [
        "tables.sparsity"
    ]
    fives = people(*[(max(size, 5), {"town": name}) for size, name in zip(sizes, towns, strict=True)])
    assert rules(crowd.of(fives), rows="town") == []


@pytest.mark.parametrize(("number", "refused"), [(79, True), (80, False)])
def test_units_a_cell_on_average_over_the_declared_cells(exact: Any, number: int, refused: bool) -> None:
    """Five declared towns and sixteen units a cell: eighty units, wherever they live."""
    crowd = exact.under(tables={"mean_cell": 16.0}).of(people((number, {})))
    assert rules(crowd, rows="town") == (["tables.mean_cell"] if refused else [])


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


@pytest.mark.parametrize("few", ["a1", "b1", "b2"])
def test_every_piece_is_judged_not_the_first_alone(exact: Any, few: str) -> None:
    """Γ and the remainder, whichever of three pieces breaks them."""
    towns = ["a1", "b1", "b2"]
    where = [{"town": name} for name in towns]
    sizes = [(74 if name == few else 100, {"town": name}) for name in towns]
    small = exact.of(people(*sizes, (100, {"town": "a2"})))
    assert rules(small, where=where) == ["universe.gamma"]
    assert rules(small.under(universe={"gamma": 74}), where=where) == []
    near = exact.under(universe={"remainder": 10, "gamma": 20})
    where = [{"town": name, "sex": "f"} for name in towns]
    for number, said in ((9, ["universe.remainder"]), (10, [])):
        men = [(number if name == few else 50, {"town": name, "sex": "m"}) for name in towns]
        assert rules(near.of(people(*sizes, *men, (100, {"town": "a2"}))), where=where) == said


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
