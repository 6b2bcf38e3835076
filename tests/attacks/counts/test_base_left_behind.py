"""A SAFE base holds until somebody asks for more than it has."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from confide.answering.service import make_base
from confide.attacks.claims import NotApplicable
from confide.attacks.counts.universes.base_left_behind import BaseLeftBehind
from confide.attacks.counts.universes.changed_cells import ChangedCells
from confide.attacks.runner import LocalField, Settings, carry_out
from confide.model.policy import preset_policy


@pytest.fixture
def based(field, tmp_path: Path) -> LocalField:
    """A site whose base covers every variable of the attack; apart from it, cell keys alone."""
    policy = preset_policy("tablebuilder")
    plain = field(replace(policy, counts=replace(policy.counts, mechanism="safe")), rows=3_000)
    site = tmp_path / "site"
    shutil.copytree(plain.site, site)
    make_base(site, "people", by=["age", "county", "sex", "income"])
    return replace(plain, site=site)


def test_a_second_measure_leads_out_of_the_base(based: LocalField) -> None:
    settings = Settings(targets=40, questions=170, keys=("age", "county", "sex"))
    inside, outside = (carry_out(attack, based, settings) for attack in (ChangedCells(), BaseLeftBehind()))
    assert outside.success > 0.8
    assert outside.lift > 0.3
    assert inside.success < outside.success - 0.3


def test_without_a_base_there_is_nothing_to_leave(field) -> None:
    there = field("standard")
    with pytest.raises(NotApplicable, match="SAFE base"):
        BaseLeftBehind().wants(there.truth.dataset, there.policy)
