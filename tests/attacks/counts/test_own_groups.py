"""Groups of an intruder's own that do not nest: they work where they are judged by themselves, and are not."""

from dataclasses import replace

import pytest

from confide.answering.road import Road
from confide.attacks.counts.universes.own_groups import OwnGroups
from confide.attacks.runner import Settings, carry_out
from confide.model.policy import Policy, preset_policy


@pytest.fixture
def weak() -> Policy:
    """Cell keys alone, and a rule on the mean cell of a table."""
    policy = preset_policy("tablebuilder")
    return replace(policy, tables=replace(policy.tables, sparsity=1.0, mean_cell=2.0))


def test_groups_that_are_judged_by_themselves_tell_single_classes(field, weak, monkeypatch) -> None:
    monkeypatch.setattr(Road, "_crosses", lambda road, question: ())
    result = carry_out(OwnGroups(), field(weak, rows=10_000), Settings(targets=40, questions=60))
    assert result.success > 0.6
    assert result.lift > 0.25


def test_judged_as_what_they_are_made_of_they_are_not_answered(field, weak) -> None:
    result = carry_out(OwnGroups(), field(weak, rows=10_000), Settings(targets=40, questions=60))
    assert result.claimed == 0
    assert result.refusals == result.questions and set(result.rules) == {"tables.mean_cell"}
