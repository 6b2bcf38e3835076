"""Questions and a rule found by machine."""

import numpy as np
import pytest

from confide.attacks.claims import Known, NotApplicable, UnitTargets
from confide.attacks.intruder import Intruder, values
from confide.attacks.runner import Settings, carry_out
from confide.attacks.search.evolving import Search
from confide.attacks.search.invented import targets
from confide.attacks.search.panel import Panel
from confide.attacks.search.rule import fit, log_belief
from confide.attacks.search.shapes import Shape, mutated, random_shape
from confide.attacks.simulation import simulated
from confide.model.policy import preset_policy


def test_the_search_finds_an_attack_where_cells_are_keyed_alone(field) -> None:
    result = carry_out(Search(), field("tablebuilder"), Settings(targets=40, questions=150))
    assert result.success > 0.65
    assert result.lift > 0.25


def test_the_rule_learns_which_feature_tells_the_class_and_which_does_not() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, 300)
    features = rng.standard_normal((300, 3, 2))
    features[np.arange(300), truth, 0] += 2.0
    weights = fit(features[:150], truth[:150], np.zeros(3))
    assert weights[0] > 1.0
    assert abs(weights[1]) < 0.3  # two standard errors
    assert (log_belief(features[150:], weights, np.zeros(3)).argmax(axis=1) == truth[150:]).mean() > 0.8


def test_a_site_of_the_intruders_own_answers_as_the_policy_says(field) -> None:
    there = field("open", rows=3_000)
    rng = np.random.default_rng(1)
    people = {name: rng.integers(0, size, 500) for name, size in (("sex", 2), ("region", 5), ("age", 18))}
    book = there.truth.dataset
    with simulated(book, preset_policy("open"), people, rng) as site:
        release = Intruder(site, book, there.policy, rng, 10).table(
            "region", where={"sex": [book.variable("sex").codes.names[1]]}
        )
        expected = np.bincount(people["region"][people["sex"] == 1], minlength=5)
        assert values(release).tolist() == expected.tolist()
    with simulated(book, preset_policy("standard"), people, rng) as site:
        asked = Intruder(site, book, there.policy, rng, 10)
        assert asked.table("region", "sex", "age") is None
        assert asked.refused


def test_a_question_serves_all_targets_in_a_bin(field) -> None:
    """Without their bin: one question a bin; with the bins that are always in: one for all."""
    book = field("open", rows=3_000).truth.dataset
    known = Known(4, {"age": np.array([1, 1, 2, 3]), "municipality": np.arange(4), "sex": np.array([0, 0, 1, 1])})
    intruder = Intruder(None, book, preset_policy("open"), np.random.default_rng(1), 10, known)
    panel = Panel(intruder, UnitTargets(("age", "municipality", "sex"), "income"), np.ones(18, bool), np.ones(10, bool))
    assert panel.cost(Shape(("second",), False, (("all", "all"), ("without", "all")))) == 4
    assert panel.cost(Shape(("second",), False, (("some", "all"), ("all", "all")))) == 1
    assert panel.cost(Shape(("second",), False, (("all", "own"), ("all", "others")))) == 2


def test_mutation_changes_a_shape_and_keeps_it_one() -> None:
    rng = np.random.default_rng(1)
    shapes = [random_shape(rng) for _ in range(200)]
    children = [mutated(shape, rng) for shape in shapes]
    assert all(2 <= len(child.sides) <= 3 for child in children)
    assert sum(child != shape for child, shape in zip(children, shapes, strict=True)) > 100


def test_invented_targets_are_alone_on_their_keys() -> None:
    rng = np.random.default_rng(1)
    people = {name: rng.integers(0, size, 300) for name, size in (("a", 6), ("b", 20), ("c", 2), ("s", 3))}
    known, truth = targets(people, UnitTargets(("a", "b", "c"), "s"))
    for target in range(known.size):
        same = np.logical_and.reduce([people[key] == known.places[key][target] for key in "abc"])
        assert same.sum() == 1
        assert people["s"][same] == truth[target]
    assert known.size >= 20


def test_nothing_is_learnt_where_nobody_invented_is_alone() -> None:
    people = {name: np.zeros(300, np.int64) for name in "abcs"}
    with pytest.raises(NotApplicable, match="invents"):
        targets(people, UnitTargets(("a", "b", "c"), "s"))
