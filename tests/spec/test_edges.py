"""Every rule of the registry says no on one side of its limit and on that side only, for every kind of question."""

from typing import Any

import pytest

from confide.answering.road import ANALYSES
from confide.answering.rules.registry import RULES
from edges import EDGES, MODELS, Edge

CASES = [
    pytest.param(edge, kind, place, visits, id=f"{edge.rule}-{edge.counted}-{kind}-{place}-{visits}")
    for edge in EDGES
    for kind in edge.kinds
    for place, visits in (*((place, 1) for place in range(edge.places)), (edge.places - 1, 2))
]


@pytest.mark.parametrize(("edge", "kind", "place", "visits"), CASES)
def test_a_rule_says_no_on_one_side_of_its_limit(town: Any, edge: Edge, kind: str, place: int, visits: int) -> None:
    for number in edge.refused:
        crowd, request = edge.asked(town, number, kind=kind, place=place, visits=visits)
        found = [reason.rule for reason in crowd.desk(base=edge.base).consider(request).reasons]
        assert found == edge.expected(number), number


def kinds_of(rule: str) -> set[str]:
    """The kinds of questions that a rule concerns."""
    asked = {analysis.kind.ask for analysis in ANALYSES if rule in [one.name for one in analysis.rules]}
    return {kind for ask in asked for kind in (MODELS if ask == "regression" else (ask,))}


@pytest.mark.parametrize("rule", [rule.name for rule in RULES])
def test_every_rule_has_its_edge_for_every_kind_of_question(rule: str) -> None:
    """A new rule, or a new kind of question under an old one, wants an entry here, on which it fires and does not fire."""
    own = [edge for edge in EDGES if edge.rule == rule]
    assert {kind for edge in own for kind in edge.kinds} == kinds_of(rule)
    assert all({edge.expected(n) == [rule] for n in edge.refused} == {True, False} for edge in own)


def test_there_is_no_edge_of_a_rule_that_is_gone() -> None:
    assert {edge.rule for edge in EDGES} == {rule.name for rule in RULES}
