"""Vintages: new data stand beside the old until they are whole, changes of few units show nobody, old receipts still hold."""

import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import confide
from confide.answering.service import Service, list_vintages, reproduce
from confide.errors import Mistake, Refused
from confide.model.policy import Policy, UpdateRules, preset_policy, write_policy
from confide.model.request import TableRequest
from confide.records.ingest import Ingested, preview, protect_again, prune
from confide.site.folder import Folder
from confide.site.locking import alone
from confide.site.policy_drafts import Drafts, PolicyDraft
from confide.site.state import FileState

ROWS = 1200
TABLE = TableRequest("people", rows=("sex",), columns=("region",))


def survey(first: int = 0, rows: int = ROWS) -> pa.Table:
    """People numbered from `first` on; whoever is in two surveys is the same in both."""
    rng = np.random.default_rng(7)
    everybody = {
        "id": np.arange(2 * ROWS),
        "sex": rng.choice(["f", "m"], 2 * ROWS),
        "region": rng.choice(["n", "s", "w"], 2 * ROWS),
        "income": rng.lognormal(10, 0.5, 2 * ROWS).round(),
    }
    return pa.table(everybody).slice(first, rows)


def richer(table: pa.Table, people: int) -> pa.Table:
    """The same survey after so many people earn more."""
    more = table["income"].to_numpy() + (np.arange(table.num_rows) < people)
    return table.set_column(table.column_names.index("income"), "income", pa.array(more))


Made = Callable[..., Path]


@pytest.fixture(params=["drop-q", "standard"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Made:
    """Make a site of true or of protected records, with its own rules for updates."""

    def making(**rules: object) -> Path:
        confide.add(survey(), tmp_path / "site", name="people", preset=request.param)
        return ruled(tmp_path / "site", **rules)

    return making


def ruled(site: Path, **rules: object) -> Path:
    folder = Folder(site)
    policy = replace(folder.policy(), updates=UpdateRules(**rules))  # type: ignore[arg-type]
    (site / "policy.toml").write_text(write_policy(policy, preset="standard"))
    return site


def asked(site: Path, name: str = "people") -> object:
    with Service.open(site) as service:
        return service.answer(replace(TABLE, dataset=name)).digest


def names(site: Path) -> list[str]:
    return [vintage.name for vintage in Folder(site).vintages("people")]


def folders(site: Path) -> list[str]:
    return sorted(each.name for each in (site / "people" / "vintages").iterdir())


def counts(done: Ingested) -> tuple[int, ...]:
    assert done.update is not None
    return (*(len(units) for units in done.update.groups.values()), done.update.same)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (survey(), (0, 0, 0, ROWS)),
        (survey(rows=ROWS + 30), (30, 0, 0, ROWS)),
        (survey(first=25), (25, 25, 0, ROWS - 25)),
        (richer(survey(first=20), 15), (20, 20, 15, ROWS - 35)),
    ],
)
def test_what_an_update_shows_is_counted_before_it_is_loaded(
    make: Made, data: pa.Table, expected: tuple[int, ...]
) -> None:
    site = make(least=10)
    before = asked(site)
    found = preview(data, site, name="people")
    assert counts(found) == expected and asked(site) == before and names(site) == ["1"]
    assert counts(confide.ingest(data, site, name="people")) == expected
    assert names(site) == (["1"] if expected[-1] == ROWS and not expected[0] else ["2"])


def test_the_records_of_a_unit_are_compared_in_whatever_order(tmp_path: Path) -> None:
    visits = pa.concat_tables([survey(), richer(survey(), ROWS)])
    confide.add(visits, tmp_path / "site", name="people", preset="drop-q")
    catalog = Folder(tmp_path / "site").catalog("people")
    catalog.write_text(re.sub(r"(?m)^unit = .*$", 'unit = "id"', catalog.read_text()))
    ruled(tmp_path / "site", least=0)
    confide.ingest(visits, tmp_path / "site", name="people")
    order = np.random.default_rng(1).permutation(visits.num_rows)
    assert counts(preview(visits.take(order), tmp_path / "site", name="people")) == (0, 0, 0, ROWS)
    without = visits.slice(0, visits.num_rows - 1)  # one of two visits of the last person
    assert counts(preview(without, tmp_path / "site", name="people")) == (0, 0, 1, ROWS - 1)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (survey(rows=ROWS + 9), "9 new"),
        (survey(rows=ROWS - 1), "1 gone"),
        (richer(survey(), 5), "5 changed"),
        (survey(first=9), "9 new and 9 gone"),
    ],
)
def test_an_update_of_few_units_is_refused_and_changes_nothing(make: Made, data: pa.Table, words: str) -> None:
    site = make(least=10)
    before, there = asked(site), (site / "people" / "vintages.json").read_bytes()
    for load in (preview, confide.ingest):
        with pytest.raises(Refused) as refused:
            load(data, site, name="people")
        assert refused.value.reasons[0].rule == "updates.least" and words in str(refused.value.reasons[0])
    assert asked(site) == before and folders(site) == ["1"]
    assert (site / "people" / "vintages.json").read_bytes() == there


def test_an_update_of_just_enough_units_is_loaded(make: Made) -> None:
    site = make(least=10)
    assert counts(confide.ingest(survey(first=10), site, name="people"))[:2] == (10, 10)


def test_few_units_wait_as_they_were_until_there_are_enough(make: Made) -> None:
    site = make(least=10, few="wait")
    before = asked(site)
    first = richer(survey(rows=ROWS + 6), 40)
    done = confide.ingest(first, site, name="people")
    assert done.waiting == ("So few wait, and stay as they were: 6 new.",) and counts(done) == (6, 0, 40, ROWS - 40)
    assert (
        asked(site) == before or Folder(site).policy("people").records.changes
    )  # no count of anybody changed but by noise
    assert counts(preview(first, site, name="people")) == (6, 0, 0, ROWS)  # the forty are in, the six are not
    done = confide.ingest(richer(survey(rows=ROWS + 12), 40), site, name="people")
    assert not done.waiting and counts(done) == (12, 0, 0, ROWS)


@pytest.mark.parametrize("data", [survey(rows=ROWS - 3), richer(survey(), 4), survey(first=2)])
def test_while_all_changes_wait_the_answers_are_the_same(make: Made, data: pa.Table) -> None:
    site = make(least=10, few="wait", kept=1)
    before = asked(site)
    assert confide.ingest(data, site, name="people").waiting
    assert asked(site) == before


def test_as_many_older_vintages_are_kept_as_the_policy_says(make: Made) -> None:
    site = make(least=0, kept=2)
    for first in (10, 20, 30, 40):
        confide.ingest(survey(first), site, name="people")
    assert names(site) == ["3", "4", "5"] and folders(site) == ["3", "4", "5"]
    ruled(site, kept=0)
    assert names(site) == ["3", "4", "5"]  # until somebody says so
    assert prune(site, name="people") == ["3", "4"]
    assert names(site) == ["5"] and folders(site) == ["5"]


def test_an_older_vintage_is_asked_about_by_its_name_where_the_policy_allows(make: Made) -> None:
    site = make(least=0, kept=1)
    first = asked(site)
    confide.ingest(survey(first=300), site, name="people", vintage="2026")
    second = asked(site)
    assert first != second
    with pytest.raises(Mistake, match="no data set"):
        asked(site, "people@1")
    assert asked(site, "people@2026") == second
    ruled(site, kept=1, asked=True)
    assert asked(site, "people@1") == first and asked(site, "people@2026") == second == asked(site)
    with confide.open(site) as opened:
        assert list(opened) == ["people"]
        assert opened["people@1"].table(rows="sex").receipt != opened["people"].table(rows="sex").receipt
        with pytest.raises(Mistake, match="no data set"):
            opened["people@2"]


def test_questions_about_all_vintages_share_one_quota(make: Made) -> None:
    site = make(least=0, kept=1, asked=True)
    confide.ingest(survey(first=300), site, name="people")
    policy = Folder(site).policy()
    (site / "policy.toml").write_text(
        write_policy(replace(policy, quota=replace(policy.quota, per_day=2)), preset="standard")
    )
    for _ in range(2):  # opened again, the ledger still knows
        with Service.open(site) as service:
            if not len(service.audit) or not any(e.who == "ana" for e in service._entries()):
                service.answer(replace(TABLE, dataset="people@1"), who="ana")
                service.answer(TABLE, who="ana")
            with pytest.raises(Refused, match="2 questions"):
                service.answer(replace(TABLE, dataset="people@1"), who="ana")


def test_a_receipt_is_reproduced_while_its_vintage_and_its_policy_are_kept(make: Made) -> None:
    site = make(least=0, kept=1, asked=True)
    with Service.open(site) as service:
        receipt = service.answer(TABLE).receipt
    confide.ingest(survey(first=300), site, name="people")
    changed = replace(Folder(site).policy(), version=2, output=replace(Folder(site).policy().output, digits=3))
    (site / "policy.toml").write_text(write_policy(changed, preset="standard"))
    with Service.open(site) as service:
        assert service.answer(TABLE).receipt != receipt
        assert service.answer(replace(TABLE, dataset="people@1")).receipt != receipt  # another policy
    found = reproduce(site, receipt)
    assert found.same and found.vintage == "1" and found.release.receipt == receipt
    with pytest.raises(Mistake, match="No answer"):
        reproduce(site, "cfd-0")
    confide.ingest(survey(first=400), site, name="people")
    with pytest.raises(Mistake, match="no longer kept"):
        reproduce(site, receipt)


def test_the_receipt_of_a_vintage_is_the_one_it_had_as_the_newest(make: Made) -> None:
    site = make(least=0, kept=1, asked=True)
    with Service.open(site) as service:
        receipt = service.answer(TABLE).receipt
    confide.ingest(survey(first=300), site, name="people")
    with Service.open(site) as service:
        assert service.answer(replace(TABLE, dataset="people@1")).receipt == receipt


def test_vintages_may_differ_in_their_codes_and_each_has_its_own_codebook(make: Made) -> None:
    site = make(least=0, kept=1, asked=True)
    first = asked(site)
    catalog = Folder(site).catalog("people")
    catalog.write_text(catalog.read_text().replace("w = ", "west = "))
    new = survey().to_pandas().replace({"region": {"w": "west"}})
    found = confide.ingest(pa.Table.from_pandas(new), site, name="people")
    assert found.update is not None and found.update.recoded == ("region",)
    assert counts(found) == (0, 0, 0, ROWS) and "region" in found.lines()[1]
    assert asked(site, "people@1") == first
    with confide.open(site) as opened:
        assert opened["people"].table(rows="sex", where={"region": "west"})
        assert opened["people@1"].table(rows="sex", where={"region": "w"})
        with pytest.raises(Mistake, match="west"):
            opened["people@1"].table(rows="sex", where={"region": "west"})


def test_few_units_cannot_wait_if_the_codes_changed_as_well(make: Made) -> None:
    site = make(least=10, few="wait")
    catalog = Folder(site).catalog("people")
    catalog.write_text(catalog.read_text().replace("w = ", "west = "))
    new = survey(rows=ROWS + 1).to_pandas().replace({"region": {"w": "west"}})
    with pytest.raises(Mistake, match="1 new, who cannot wait"):
        confide.ingest(pa.Table.from_pandas(new), site, name="people")


def test_an_older_vintage_that_was_protected_in_another_way_is_kept_and_not_served(tmp_path: Path) -> None:
    site = tmp_path / "site"
    confide.add(survey(), site, name="people", preset="drop-q")
    ruled(site, least=0, kept=1, asked=True)
    confide.ingest(survey(first=300), site, name="people")
    policy = Policy(records=preset_policy("standard").records, updates=UpdateRules(kept=1, asked=True))
    (site / "policy.toml").write_text(write_policy(policy, preset="drop-q"))
    protect_again(site, name="people")
    assert asked(site) and names(site) == ["1", "2"]
    with pytest.raises(Mistake, match="no data set"):
        asked(site, "people@1")
    assert "not protected" in list_vintages(site, "people")[1].words


def test_records_from_before_there_were_vintages_are_answered_from_and_replaced(make: Made) -> None:
    site = make(least=10)
    before, home = asked(site), site / "people"
    for file in (home / "vintages" / "1").iterdir():
        if file.name != "dataset.toml":
            file.rename(home / file.name)
    (home / "vintages" / "1" / "dataset.toml").unlink()
    (home / "vintages" / "1").rmdir()
    (home / "vintages.json").unlink()
    assert asked(site) == before
    with pytest.raises(Refused):
        confide.ingest(survey(first=1), site, name="people")
    confide.ingest(survey(first=300), site, name="people")
    assert asked(site) != before and not (home / "records.duckdb").exists() and not (home / "truth.parquet").exists()


KILLED = """
    import os, signal, sys
    import pyarrow.parquet
    import confide
    from confide.records import ingest
    from confide.records.levels import protecting
    def killed(*args, **more):
        os.kill(os.getpid(), signal.SIGKILL)
    setattr(protecting if hasattr(protecting, sys.argv[3]) else ingest, sys.argv[3], killed)
    confide.ingest(pyarrow.parquet.read_table(sys.argv[1]), sys.argv[2], name="people")
"""


@pytest.mark.parametrize("at", ["write_stores", "write_kept", "write_vintages", "remove_unlisted"])
def test_killed_in_the_middle_one_whole_vintage_answers(make: Made, tmp_path: Path, at: str) -> None:
    site = make(least=0)
    pa.parquet.write_table(survey(first=300), tmp_path / "new.parquet")
    before = asked(site)
    words = [sys.executable, "-c", textwrap.dedent(KILLED), str(tmp_path / "new.parquet"), str(site), at]
    assert subprocess.run(words, check=False).returncode == -signal.SIGKILL
    switched = at == "remove_unlisted"
    assert (asked(site) == before) == (not switched) and names(site) == (["2"] if switched else ["1"])
    confide.ingest(survey(first=300), site, name="people")
    assert asked(site) != before and len(folders(site)) == 1


def test_two_who_load_at_once_are_told_apart(make: Made) -> None:
    site = make()
    with alone(site / "people", doing="loading 'people'"), pytest.raises(Mistake, match="loading 'people' now"):
        confide.ingest(survey(first=300), site, name="people")
    assert names(site) == ["1"]


def test_of_two_custodians_who_enforce_at_once_one_is_told(make: Made) -> None:
    site = make()
    folder = Folder(site)
    drafts = Drafts(folder, FileState())
    drafts.save(PolicyDraft(replace(folder.policy(), name="new"), "standard"))
    with alone(site, doing="putting a policy in force"), pytest.raises(Mistake, match="putting a policy in force now"):
        drafts.enforce()
    assert drafts.enforce().name == "new"
    with pytest.raises(Mistake, match="no draft") as told:
        drafts.enforce()
    assert "new, version 2" in str(told.value.suggestions)


@pytest.mark.parametrize("name", ["", "a b", "../x", "a@b", ".x", "x" * 61])
def test_a_vintage_has_a_name_that_can_stand_in_an_address(make: Made, name: str) -> None:
    with pytest.raises(Mistake, match="cannot name a vintage"):
        confide.ingest(survey(first=300), make(), name="people", vintage=name)


def test_a_name_is_given_once(make: Made) -> None:
    with pytest.raises(Mistake, match="already"):
        confide.ingest(survey(first=300), make(), name="people", vintage="1")


def test_without_the_true_records_nobody_can_say_what_an_update_shows(tmp_path: Path) -> None:
    confide.add(survey(), tmp_path / "site", name="people", preset="standard")
    Folder(tmp_path / "site").truth("people").unlink()
    with pytest.raises(Mistake, match="What the update shows cannot be told"):
        confide.ingest(survey(first=300), tmp_path / "site", name="people")


def test_a_broken_list_of_vintages_is_a_clear_mistake(make: Made) -> None:
    site = make()
    (site / "people" / "vintages.json").write_text("{")
    with pytest.raises(Mistake, match="cannot be read as a list of vintages"):
        asked(site)


def test_going_over_to_new_data_lets_questions_under_way_end_on_the_old(make: Made) -> None:
    site = make(least=0)
    with Service.open(site) as service:
        question = service.admit(TABLE)
        receipt, before = service.receipt(question), service.answer(TABLE).digest
        confide.ingest(survey(first=300), site, name="people")
        assert service.answer(TABLE).digest == before  # until it is told
        service.reload()
        after = service.answer(TABLE)
        assert after.digest != before and after.receipt != receipt
        assert service.receipt(question) == receipt and service.answer(question).digest == before
        confide.ingest(survey(first=400), site, name="people")
        service.reload()
        with pytest.raises(Mistake, match="Ask again"):
            service.answer(question)


def test_what_cannot_be_opened_changes_nothing_of_an_open_site(make: Made) -> None:
    site = make(least=0)
    with Service.open(site) as service:
        before = service.answer(TABLE)
        (site / "policy.toml").write_text("preset = 'standart'")
        with pytest.raises(Mistake, match="standart"):
            service.reload()
        assert service.answer(TABLE) == before
