"""On disk: the store has protected records only; the true ones stand apart, are not needed to answer, and renew it."""

import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import confide
from confide.engines.duckdb.store import read_store
from confide.errors import Mistake
from confide.model.policy import PRESETS, write_policy
from confide.records.ingest import protect_again
from confide.records.keeping import read_report, read_truth
from confide.site.coding.encode import encode
from confide.site.folder import Folder
from protecting import CATALOG, people

SIZE = 2000
SECRET = "5a" * 32
HOMES = CATALOG.replace('unit = "id"', 'unit = "id"\nhousehold = "home"')


def made(path: Path, *, table: pa.Table | None = None, preset: str = "standard", catalog: str = CATALOG) -> Folder:
    """A site with a secret of its own, so that nothing depends on a draw."""
    path.mkdir()
    (path / "secret").write_text(SECRET)
    (path / "secret").chmod(0o600)
    (path / "policy.toml").write_text(write_policy(PRESETS[preset], preset=preset))
    return confide.add(people(SIZE, seed=1) if table is None else table, path, name="people", catalog=catalog)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return made(tmp_path / "site")


def asked(folder: Folder) -> list[float]:
    with confide.open(folder.path) as site:
        return list(
            site["people"].table(rows=["county"], of="income", measure=["count", "mean"]).to_arrow()["mean"].to_pylist()
        )


def change(folder: Folder, **fields: object) -> None:
    policy = PRESETS["standard"]
    policy = replace(policy, records=replace(policy.records, **fields))
    (folder.path / "policy.toml").write_text(write_policy(policy, preset="standard"))


def test_the_store_has_protected_records_and_the_true_ones_stand_apart(folder: Folder) -> None:
    true = encode(folder.dataset("people"), people(SIZE, seed=1), secret=folder.secret())
    kept, stored = read_truth(folder, "people"), read_store(folder.store("people"))
    assert kept.records.equals(true.records) and kept.facts == true.facts
    assert stored.facts.records == PRESETS["standard"].records_mark != ""
    by_key = [np.argsort(coded.records["key"].to_numpy()) for coded in (kept, stored)]
    before, after = (coded.numbers("income")[order] for coded, order in zip((kept, stored), by_key, strict=True))
    there = before > 0
    assert np.std(after[there] / before[there]) > 0.14
    assert np.mean(after[there] == before[there]) < 0.01


def test_truth_and_report_are_for_their_owner_alone(folder: Folder) -> None:
    for file in (folder.truth("people"), folder.report("people")):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_households_are_kept_with_the_true_records_and_in_no_store(tmp_path: Path) -> None:
    home = pa.array([str(number // 3) for number in range(SIZE)])
    folder = made(tmp_path / "site", table=people(SIZE, seed=1).append_column("home", home), catalog=HOMES)
    kept = read_truth(folder, "people")
    assert kept.households is not None and len(np.unique(kept.households)) == (SIZE + 2) // 3
    assert "household" not in read_store(folder.store("people")).records.column_names
    mark = read_store(folder.store("people")).facts.data
    protect_again(folder.path, name="people")
    assert read_store(folder.store("people")).facts.data == mark


def test_a_site_answers_without_the_true_records_and_says_what_needs_them(folder: Folder) -> None:
    answer = asked(folder)
    away = folder.truth("people").rename(folder.path / "elsewhere.parquet")
    assert asked(folder) == answer
    with pytest.raises(Mistake, match="protected records of 'people' only") as mistake:
        read_truth(folder, "people")
    assert "truth.parquet" in str(mistake.value) and mistake.value.suggestions
    with pytest.raises(Mistake, match="protected records"):
        protect_again(folder.path, name="people")
    away.rename(folder.truth("people"))
    assert read_truth(folder, "people").records.num_rows == SIZE


def test_true_records_that_cannot_be_read_are_a_mistake(folder: Folder) -> None:
    whole = folder.truth("people").read_bytes()
    for wrong in (b"", b"not a table", whole[: len(whole) // 2]):
        folder.truth("people").write_bytes(wrong)
        with pytest.raises(Mistake, match="cannot be read as true records"):
            read_truth(folder, "people")
    pq.write_table(pa.table({"a": [1]}), folder.truth("people"))
    with pytest.raises(Mistake, match="cannot be read as true records"):
        read_truth(folder, "people")


def test_the_report_is_read_back_or_not_there(folder: Folder) -> None:
    report = read_report(folder, "people")
    assert report is not None and report.records == SIZE
    folder.report("people").write_bytes(b"\xff\xfe")
    with pytest.raises(Mistake, match="UTF-8"):
        read_report(folder, "people")
    folder.report("people").unlink()
    assert read_report(folder, "people") is None


def test_of_a_policy_that_protects_no_records_nothing_is_kept(tmp_path: Path) -> None:
    folder = made(tmp_path / "site", preset="drop-q")
    assert not folder.truth("people").exists() and not folder.report("people").exists()
    assert read_store(folder.store("people")).facts.records == ""
    assert read_truth(folder, "people").records.num_rows == SIZE  # those of the store


@pytest.mark.parametrize("field", ["noise", "background", "keys"])
def test_a_policy_changed_after_ingest_is_a_mistake_until_the_records_are_protected_again(
    folder: Folder, field: str
) -> None:
    answer, before = asked(folder), read_store(folder.store("people")).facts
    change(folder, **{field: {"noise": 0.2, "background": 0.2, "keys": 2}[field]})
    with pytest.raises(Mistake, match=r"not protected as the policy's \[records\] asks") as mistake:
        asked(folder)
    assert "confide records" in mistake.value.suggestions[0] and "--renew" in mistake.value.suggestions[0]
    protect_again(folder.path, name="people")
    assert asked(folder) and read_store(folder.store("people")).facts.data != before.data
    change(folder)
    protect_again(folder.path, name="people")
    assert asked(folder) == answer and read_store(folder.store("people")).facts == before


def test_a_mean_cell_changed_after_ingest_is_a_mistake_too(folder: Folder) -> None:
    """Who is exposed follows from what the rules let pass."""
    policy = PRESETS["standard"]
    looser = replace(policy, tables=replace(policy.tables, mean_cell=1.0))
    (folder.path / "policy.toml").write_text(write_policy(looser, preset="standard"))
    with pytest.raises(Mistake, match="not protected as the policy"):
        asked(folder)


def test_what_has_nothing_to_do_with_the_records_can_be_changed_without_renewing_them(folder: Folder) -> None:
    policy = PRESETS["standard"]
    other = replace(policy, counts=replace(policy.counts, variance=3.0), output=replace(policy.output, digits=2))
    (folder.path / "policy.toml").write_text(write_policy(other, preset="standard"))
    assert asked(folder)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('[variables.job]\nrole = "key"', '[variables.job]\nrole = "other"'),
        ('[variables.ill]\nrole = "confidential"', '[variables.ill]\nrole = "other"'),
        ('kind = "numeric"\nrole = "confidential"\nminimum = 0', 'kind = "numeric"\nminimum = 0'),
    ],
)
def test_a_role_changed_after_ingest_is_a_mistake_until_the_records_are_protected_again(
    folder: Folder, old: str, new: str
) -> None:
    """What is a key and what is confidential decides who is exposed and what has noise."""
    assert old in CATALOG
    folder.catalog("people").write_text(CATALOG.replace(old, new))
    with pytest.raises(Mistake, match=r"not protected as dataset\.toml asks") as mistake:
        asked(folder)
    assert "--renew" in mistake.value.suggestions[0]
    protect_again(folder.path, name="people")
    assert asked(folder)


def test_a_household_declared_after_ingest_is_a_mistake(folder: Folder) -> None:
    folder.catalog("people").write_text(HOMES)
    with pytest.raises(Mistake, match="confide ingest"):
        asked(folder)


def test_a_role_may_change_where_records_are_not_protected(tmp_path: Path) -> None:
    folder = made(tmp_path / "site", preset="drop-q")
    folder.catalog("people").write_text(
        CATALOG.replace('[variables.job]\nrole = "key"', '[variables.job]\nrole = "other"')
    )
    assert asked(folder)


def test_turning_protection_off_and_on_takes_the_true_records_back_and_away(folder: Folder) -> None:
    answer = asked(folder)
    (folder.path / "policy.toml").write_text(write_policy(PRESETS["drop-q"], preset="drop-q"))
    with pytest.raises(Mistake, match="not protected as the policy"):
        asked(folder)
    protect_again(folder.path, name="people")
    assert not folder.truth("people").exists() and read_store(folder.store("people")).facts.records == ""
    change(folder)
    protect_again(folder.path, name="people")
    assert folder.truth("people").exists() and asked(folder) == answer


def test_a_failed_ingest_leaves_store_and_true_records_as_they_were(folder: Folder) -> None:
    files = [folder.store("people"), folder.truth("people"), folder.report("people")]
    before = [file.read_bytes() for file in files]
    with pytest.raises(Mistake):
        confide.ingest(people(0, seed=1), folder.path, name="people")
    assert [file.read_bytes() for file in files] == before
    confide.ingest(people(SIZE, seed=2), folder.path, name="people")
    assert read_truth(folder, "people").numbers("age").tolist() == people(SIZE, seed=2)["age"].to_pylist()


def test_a_failed_addition_leaves_no_true_records_behind(tmp_path: Path) -> None:
    wrong = people(100, seed=1).set_column(1, "sex", pa.array(["x"] * 100))
    with pytest.raises(Mistake):
        confide.add(wrong, tmp_path / "site", name="people", catalog=CATALOG)
    assert list(tmp_path.iterdir()) == []


def test_answers_carry_the_ceiling(folder: Folder) -> None:
    with confide.open(folder.path) as site:
        notes = site["people"].table(rows=["county"]).notes
    assert any(note.startswith("Even who had all protected records") for note in notes)
