"""The audit of questions finds what attacks left in the ledger, and nothing in the questions of honest analysts."""

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from asking import python_table
from confide.answering.service import TOGETHER, QuestionAudit, Service
from confide.attacks.counts.pairs.differencing import Differencing
from confide.attacks.counts.partitions import Partitions
from confide.attacks.counts.universes.changed_cells import ChangedCells
from confide.attacks.runner import LocalField, RemoteField, Settings, carry_out
from confide.attacks.workload.generator import Generator
from confide.attacks.workload.roads import true_answers
from confide.attacks.workload.sizes import TrueSizes
from confide.client import LocalSite
from confide.errors import Refused
from confide.model.policy import AuditRules, Policy, preset_policy, write_policy
from confide.site.folder import Folder

ROWS = 10_000
HONEST = 5.0
"""Small sets isolated: more than honest analysts did, far less than any attack, when this was written (see the test)."""

FAR = 20
"""An attack isolates more than so many times that limit."""


@contextmanager
def recording(field: LocalField, place: Path, policy: Policy | None = None) -> Iterator[LocalSite]:
    """A copy of the site, whose ledger is kept while it is open."""
    shutil.copytree(field.site, place / "site")
    (place / "site" / "policy.toml").write_text(write_policy(policy or field.policy, preset="standard"))
    with LocalSite(Service.open(place / "site", suggestions=0)) as site:
        yield site


def attacked(site: LocalSite, field: LocalField, attack: Any, *, questions: int) -> QuestionAudit:
    remote = RemoteField(site, field.name, field.policy, field.truth)
    carry_out(attack, remote, Settings(targets=60, questions=questions))
    return site.service.audit_questions("people")


def honest(service: Service, field: LocalField, *, questions: int, askers: int = 1) -> QuestionAudit:
    with true_answers(field.truth, store=Folder(field.site).store("people")) as true:
        drawn = Generator(questions=questions, seed=1).draw(field.truth.dataset, TrueSizes(true))
    for number, request in enumerate(drawn.requests):
        try:
            service.answer(request, who=f"analyst {number % askers}")
        except Refused:
            continue
    return service.audit_questions("people")


@pytest.mark.parametrize(
    ("attack", "kind"), [(Differencing(), "cells"), (ChangedCells(), "pairs"), (Partitions(), "cells")]
)
def test_what_an_attack_asked_is_found(
    field: Callable[..., LocalField], tmp_path: Path, attack: Any, kind: str
) -> None:
    """Measured under `standard` where the cross is judged, 10,000 people, 120 questions: T2 245, T17 173, T4 279."""
    here = field("standard", rows=ROWS)
    with recording(here, tmp_path) as site:
        found = attacked(site, here, attack, questions=120)
    sys.stdout.write(f"{attack.code} {attack.name}: {found.worst:.1f} small sets, {found.asked} questions\n")
    assert found.worst > FAR * HONEST
    assert found.findings[0].kind == kind and found.findings[0].entries
    assert found.above(HONEST) == [("local", "people")]


def test_three_hundred_honest_questions_isolate_hardly_anything(
    field: Callable[..., LocalField], tmp_path: Path
) -> None:
    here = field("standard", rows=ROWS)
    with recording(here, tmp_path) as site:
        found = honest(site.service, here, questions=300, askers=3)
    sys.stdout.write(f"honest: {found.worst:.1f} small sets, {found.asked} questions\n")
    assert found.asked == 300 and set(found.scores) == {(f"analyst {n}", "people") for n in range(3)} | {
        (TOGETHER, "people")
    }
    assert found.worst < HONEST


def test_accounts_that_share_an_attack_are_found_together(field: Callable[..., LocalField], tmp_path: Path) -> None:
    """Two accounts with a universe each: neither has a pair."""
    here = field("standard", rows=ROWS)
    ages = [code.code for code in here.truth.dataset.variables["age_group"].codes or ()]
    with recording(here, tmp_path) as site:
        for who, chosen in (("ann", ages), ("bob", ages[:-1])):
            request = python_table("people", rows=["county", "marital"], where={"age_group": chosen})
            site.service.answer(request, who=who)
        found = site.service.audit_questions("people")
    assert found.scores["ann", "people"] == found.scores["bob", "people"] == 0
    assert found.scores[TOGETHER, "people"] > HONEST


def test_a_limit_refuses_what_would_isolate_more_and_nothing_else(
    field: Callable[..., LocalField], tmp_path: Path
) -> None:
    here = field("standard", rows=ROWS)
    limited = replace(preset_policy("standard"), audit=AuditRules(limit=HONEST))
    with recording(here, tmp_path, limited) as site:
        found = attacked(site, here, Differencing(), questions=60)
        summary = site.service.audit.summary()
        sys.stdout.write(
            f"T2 under a limit of {HONEST:g}: {found.worst:.1f} small sets, {summary.everything.refused} refused\n"
        )
        assert summary.rules["audit.limit"] > 20
        assert found.worst <= HONEST
        assert honest(site.service, here, questions=60).worst <= HONEST
        assert site.service.audit.summary().rules["audit.limit"] == summary.rules["audit.limit"]
