"""A SAFE base holds, whatever somebody asks for that it does not have."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from confide.answering.service import make_base
from confide.attacks.claims import NotApplicable
from confide.attacks.counts.universes.base_left_behind import BaseLeftBehind
from confide.attacks.counts.universes.changed_cells import ChangedCells
from confide.attacks.runner import LocalField, Settings, carry_out
from confide.model.policy import preset_policy

KEYS = ("age", "county", "sex")
MOST = 0.05
"""Most lift that is demanded of the attack."""


@pytest.fixture
def based(field, tmp_path: Path) -> Callable[..., LocalField]:
    """A site whose base covers these variables, under a preset apart from it."""

    def make(preset: str, by: tuple[str, ...]) -> LocalField:
        policy = preset_policy(preset)
        plain = field(replace(policy, counts=replace(policy.counts, mechanism="safe")), rows=3_000)
        site = tmp_path / "site"
        shutil.copytree(plain.site, site)
        make_base(site, "people", by=by)
        return replace(plain, site=site)

    return make


@pytest.mark.parametrize("preset", ["tablebuilder", "standard"])
def test_no_second_measure_leads_out_of_the_base(based: Callable[..., LocalField], preset: str) -> None:
    there = based(preset, (*KEYS, "income"))
    found = carry_out(BaseLeftBehind(), there, Settings(targets=60, questions=170, keys=KEYS))
    assert found.questions > 50
    assert found.lift <= MOST


def test_no_variable_beyond_the_base_is_answered(based: Callable[..., LocalField]) -> None:
    there = based("tablebuilder", KEYS)
    found = carry_out(ChangedCells(), there, Settings(targets=60, questions=170, keys=KEYS))
    assert found.refusals == found.questions
    assert found.lift <= MOST


def test_the_same_attack_without_a_base_reads_most(field) -> None:
    """So it is the base that stops it."""
    found = carry_out(ChangedCells(), field("tablebuilder", rows=3_000), Settings(targets=60, questions=170, keys=KEYS))
    assert found.lift > 0.3


def test_without_a_base_there_is_nothing_to_leave(field) -> None:
    there = field("standard")
    with pytest.raises(NotApplicable, match="SAFE base"):
        BaseLeftBehind().wants(there.truth.dataset, there.policy)
