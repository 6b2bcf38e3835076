"""A data set under a policy of its own, beside one that follows the site: rules, mechanisms, quota, records, replays."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import confide
from asking import python_table
from confide.answering.service import Service, check, replay
from confide.attacks.codebook import read_public_policy
from confide.attacks.red_team import named_policy, open_field
from confide.attacks.workload.generator import Generator
from confide.attacks.workload.measuring import measure_site
from confide.errors import Mistake, Refused
from confide.model.policy import PRESETS, Policy, write_policy
from confide.site.folder import Folder
from confide.site.ledger import read
from confide.site.policies import kept

SECRET = "5e" * 32
OWN = """
name = "own"
version = 4
[tables]
dimensions = 1
[counts]
mechanism = "none"
[quota]
per_day = 5
[red_team]
limit = 0.5
"""
CROSSED = {"rows": "sex", "columns": "work"}


@pytest.fixture
def site(tmp_path: Path, town: Any) -> Path:
    """`people` under the site's policy and `guests`, the same records, under one of their own, under a fixed secret."""
    path = tmp_path / "site"
    path.mkdir()
    (path / "secret").touch(0o600)
    (path / "secret").write_text(SECRET + "\n")
    (path / "policy.toml").write_text(write_policy(PRESETS["standard"], preset="standard"))
    confide.add(town.people, path, name="people", catalog=town.catalog)
    confide.add(town.people, path, name="guests", catalog=town.catalog, policy=OWN)
    return path


@pytest.fixture
def service(site: Path) -> Iterator[Service]:
    with Service.open(site, allow_open=True) as opened:
        yield opened


def asked(service: Service, name: str, **words: Any) -> str:
    try:
        service.answer(python_table(name, **words))
    except Refused as refused:
        return f"{refused.policy}: {', '.join(reason.rule for reason in refused.reasons)}"
    return "released"


def test_rules_and_refusals_are_those_of_the_data_set(service: Service) -> None:
    assert service.policy_of("people") == service.policy and service.follows("people")
    assert service.policy_of("guests").title == "own, version 4" and not service.follows("guests")
    assert asked(service, "people", **CROSSED) == "released"
    assert asked(service, "guests", **CROSSED) == "own, version 4: tables.dimensions"


def test_mechanisms_and_notes_are_those_of_the_data_set(service: Service, town: Any) -> None:
    exact = service.answer(python_table("guests", rows="sex"))
    noisy = service.answer(python_table("people", rows="sex"))
    told = [any(note.startswith("Counts are changed at random") for note in each.notes) for each in (noisy, exact)]
    assert told == [True, False]
    assert exact.policy == "own, version 4" and noisy.policy == "standard, version 1"
    assert exact.columns["count"].values[-1] == town.people.num_rows


def test_the_quota_of_a_data_set_is_its_own(service: Service) -> None:
    assert [asked(service, "guests", rows="sex") for _ in range(6)] == ["released"] * 5 + [
        "own, version 4: quota.per_day"
    ]
    assert all(asked(service, "people", rows="sex") == "released" for _ in range(6))


def test_ledger_and_receipts_name_the_policy_of_the_data_set(service: Service) -> None:
    for name in ("people", "guests"):
        asked(service, name, rows="sex")
    marks = {entry.dataset: entry.policy for entry in read(service.papers.ledger)}
    assert all(service.policy_of(name).mark in marks[name] for name in marks) and marks["people"] != marks["guests"]


def test_a_receipt_changes_with_the_own_policy_and_not_with_the_site_s(site: Path) -> None:
    def receipts() -> list[str]:
        with Service.open(site, allow_open=True) as opened:
            return [opened.receipt(opened.admit(python_table(name, rows="sex"))) for name in ("people", "guests")]

    people, guests = receipts()
    Folder(site).own("guests").write_text(OWN + "[output]\ndigits = 3\n")
    assert receipts()[0] == people and receipts()[1] != guests


def test_a_client_reads_the_policy_of_the_data_set_with_the_codebook(site: Path) -> None:
    with confide.open(site, allow_open=True) as opened:
        for name in ("people", "guests"):
            assert read_public_policy(opened[name].codebook) == Folder(site).policy(name)


def test_replaying_a_draft_of_the_site_tries_what_follows_it(service: Service) -> None:
    """`guests` take the limit of cells from the site, and its number of dimensions not."""
    for name in ("people", "guests"):
        asked(service, name, rows="sex")
    tables = service.policy.tables
    few = list(service.replay(replace(service.policy, tables=replace(tables, cells=1))))
    assert [(each.request["dataset"], each.after) for each in few] == [
        ("people", "tables.cells"),
        ("guests", "tables.cells"),
    ]
    flat = list(service.replay(replace(service.policy, tables=replace(tables, dimensions=1))))
    assert [each.request["dataset"] for each in flat] == ["people"]


def test_replaying_a_draft_of_a_data_set_tries_that_one(service: Service) -> None:
    for name in ("people", "guests"):
        asked(service, name, **CROSSED)
    wider = replace(service.policy_of("guests"), tables=service.policy.tables)
    here = list(service.replay(wider, dataset="guests"))
    assert [(each.request["dataset"], each.before, each.after) for each in here] == [
        ("guests", "tables.dimensions", "released")
    ]
    service.close()
    assert list(replay(service.papers.path, wider, dataset="guests", allow_open=True)) == here
    with pytest.raises(Mistake, match="no data set called 'guest'"):
        list(replay(service.papers.path, wider, dataset="guest", allow_open=True))


def test_a_draft_must_be_possible_for_what_it_is_for(service: Service) -> None:
    safe = replace(service.policy, counts=replace(service.policy.counts, mechanism="safe"))
    for dataset in (None, "guests"):
        with pytest.raises(Mistake, match="SAFE"):
            service.must_be_possible(safe, dataset=dataset)


def test_a_check_says_whose_policy_is_risky(site: Path) -> None:
    risky = [finding.text for finding in check(site, allow_open=True) if finding.kind == "risky"]
    assert "guests: Counts are not perturbed (counts.mechanism)." in risky
    assert not any(text.startswith("people: Counts") for text in risky)
    Folder(site).own("guests").unlink()
    assert not any("Counts are not perturbed" in finding.text for finding in check(site))


@pytest.mark.parametrize("preset", ["open", "census-mas"])
def test_a_data_set_whose_policy_protects_nothing_needs_a_flag(site: Path, town: Any, preset: str) -> None:
    Folder(site).own("guests").write_text(f"preset = '{preset}'\n")
    confide.ingest(town.people, site, name="guests")
    if preset == "open":
        with pytest.raises(Mistake, match=r"'open' in .*guests.policy\.toml protects nothing.*--allow-open"):
            Service.open(site)
    with Service.open(site, allow_open=preset == "open") as opened:
        assert opened.policy_of("guests") == PRESETS[preset]


def test_a_mistake_in_a_data_set_s_policy_stops_the_start(site: Path) -> None:
    Folder(site).own("guests").write_text("[tables]\ndimension = 1\n")
    with pytest.raises(Mistake, match=r"guests.policy\.toml.*Did you mean 'dimensions'"):
        Service.open(site)


def test_every_policy_that_was_in_force_is_kept_with_its_data_set(site: Path) -> None:
    for digits in (4, 3):
        Folder(site).own("guests").write_text(f"{OWN}[output]\ndigits = {digits}\n")
        Service.open(site, allow_open=True).close()
    folder = Folder(site)
    assert [each.policy.output.digits for each in kept(folder, name="guests")] == [4, 3]
    assert len(kept(folder)) == 1 and kept(folder, name="people") == []


def test_attacks_and_workloads_stand_under_the_policy_of_the_data_set(site: Path) -> None:
    expected: dict[str, Policy] = {name: Folder(site).policy(name) for name in ("people", "guests")}
    for name, policy in expected.items():
        with open_field(site, name) as field:
            assert field.policy == policy and field.policy.red_team.limit == (0.05 if name == "people" else 0.5)


def test_a_copy_to_attack_under_another_policy_leaves_the_own_one_behind(site: Path) -> None:
    """Otherwise `confide attack --policy open` would attack the data set under its own."""
    with open_field(site, "guests", policy=PRESETS["tablebuilder"]) as field, field.opened() as copy:
        assert copy is not None
        told = read_public_policy(copy.codebook("guests"))
    assert told.name == "tablebuilder" and told.counts.mechanism == "cell-key"


@pytest.mark.parametrize(
    ("text", "named", "digits"), [("preset = 'site'\n", "standard for guests", 6), ("", "standard", 4)]
)
def test_a_file_that_is_tried_starts_from_the_site_if_it_says_so(
    site: Path, tmp_path: Path, text: str, named: str, digits: int
) -> None:
    """As the drafts of a data set do that the pages keep."""
    (site / "policy.toml").write_text("[output]\ndigits = 6\n")
    (tmp_path / "draft.toml").write_text(text)
    found = named_policy(str(tmp_path / "draft.toml"), site=site, dataset="guests")
    assert (found.name, found.output.digits) == (named, digits)


def test_a_workload_is_measured_under_the_own_policy(site: Path) -> None:
    found = measure_site(site, "guests", generator=Generator(questions=3, seed=1))
    assert found.policy == "own, version 4"
