"""Sites are made whole or not at all, and a failed ingest leaves the old data answering."""

import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

import confide
from confide.errors import Fault, Mistake, Refused
from confide.site.folder import RESERVED, Folder, check_name, create_folder, write_whole

ROWS = 2000
STORED = ["records.duckdb", "records.json", "truth.parquet"]
"""What stands beside the catalog in a vintage of a data set whose records are protected."""


def survey(rows: int = ROWS, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "id": np.arange(rows),
            "sex": rng.choice(["f", "m"], rows),
            "age": rng.integers(0, 90, rows),
            "income": rng.lognormal(10, 0.5, rows).round(),
        }
    )


def files(path: Path) -> list[str]:
    return sorted(str(file.relative_to(path)) for file in path.rglob("*"))


def asked(site: Path) -> list[float]:
    with confide.open(site) as opened:
        return list(opened["people"].table(rows=["sex"]).to_arrow()["count"].to_pylist())


def test_a_data_file_becomes_a_site_that_answers(tmp_path: Path) -> None:
    survey().to_pandas().to_csv(tmp_path / "survey.csv", index=False)
    folder = confide.add(tmp_path / "survey.csv", tmp_path / "site", name="people")
    assert files(tmp_path / "site") == [
        "access.toml",
        "people",
        "people/dataset.toml",
        "people/profile.html",
        "people/profile.json",
        "people/vintages",
        "people/vintages.json",
        "people/vintages/1",
        "people/vintages/1/dataset.toml",
        "people/vintages/1/records.duckdb",
        "people/vintages/1/records.json",
        "people/vintages/1/truth.parquet",
        "policy.toml",
        "secret",
    ]
    assert asked(tmp_path / "site")
    assert folder.dataset("people").unit == "id"
    for file in (folder.store("people"), folder.truth("people"), folder.report("people")):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "site" / "secret").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "site" / "people").stat().st_mode) == 0o700


def test_every_kind_of_source_gives_the_same_answer(tmp_path: Path) -> None:
    table = survey()
    table.to_pandas().to_csv(tmp_path / "a.csv", index=False)
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    pyreadstat.write_sav(table.to_pandas(), tmp_path / "a.sav")
    confide.add(table, tmp_path / "site", name="people")
    answer = asked(tmp_path / "site")
    for source in (tmp_path / "a.csv", tmp_path / "a.parquet", tmp_path / "a.sav", table.to_pandas()):
        confide.ingest(source, tmp_path / "site", name="people")
        assert asked(tmp_path / "site") == answer, source


def test_a_second_data_set_keeps_policy_and_secret(tmp_path: Path) -> None:
    site = tmp_path / "site"
    confide.add(survey(), site, name="people", preset="census-mas")
    before = (site / "secret").read_bytes(), (site / "policy.toml").read_bytes()
    confide.add(survey(seed=2), site, name="more", preset="standard")
    assert ((site / "secret").read_bytes(), (site / "policy.toml").read_bytes()) == before
    assert Folder(site).names() == ["more", "people"]


def test_a_second_data_set_has_its_own_policy_if_it_wants_another_preset(tmp_path: Path) -> None:
    site, presets = tmp_path / "site", {"people": "drop-q", "same": "drop-q", "none": None, "other": "tablebuilder"}
    for name, preset in presets.items():
        confide.add(survey(), site, name=name, preset=preset)
    folder = Folder(site)
    assert [name for name in presets if not folder.follows(name)] == ["other"]
    assert {name: folder.policy(name).name for name in presets} == dict.fromkeys(presets, "drop-q") | {
        "other": "tablebuilder"
    }


def test_a_data_set_is_added_with_the_text_of_its_policy_or_not_at_all(tmp_path: Path) -> None:
    site = tmp_path / "site"
    confide.add(survey(), site, name="people", policy="[output]\ndigits = 2\n")
    assert Folder(site).policy("people").output.digits == 2 and Folder(site).policy().output.digits == 4
    before = files(site)
    for wrong in ({"policy": "[output]\ndigit = 2\n"}, {"preset": "strict"}):
        with pytest.raises(Mistake, match="digits|No preset called 'strict'"):
            confide.add(survey(), site, name="more", **wrong)
    assert files(site) == before


def test_a_policy_that_was_put_there_before_the_data_is_used_and_not_overwritten(tmp_path: Path) -> None:
    confide.add(survey(), tmp_path / "site", name="people")
    own = Folder(tmp_path / "site").own("more")
    own.parent.mkdir()
    own.write_text("[output]\ndigits = 2\n")
    with pytest.raises(Mistake, match="there already"):
        confide.add(survey(), tmp_path / "site", name="more", preset="tablebuilder")
    folder = confide.add(survey(), tmp_path / "site", name="more")
    assert own.read_text() == "[output]\ndigits = 2\n" and folder.policy("more").output.digits == 2


def test_a_data_set_is_not_added_twice_nor_ingested_unknown(tmp_path: Path) -> None:
    confide.add(survey(), tmp_path / "site", name="people")
    with pytest.raises(Mistake, match="already"):
        confide.add(survey(), tmp_path / "site", name="people")
    with pytest.raises(Mistake, match="'people'"):
        confide.ingest(survey(), tmp_path / "site", name="peple")
    with pytest.raises(Mistake, match="no site"):
        confide.ingest(survey(), tmp_path / "nowhere", name="people")


BROKEN = {
    "codes": pa.table({"sex": ["f", "x"]}),
    "no records": survey(0),
    "weight": survey(50).append_column("weight", pa.array(np.linspace(-1, 1, 50))),
}


@pytest.mark.parametrize("what", BROKEN)
def test_data_that_do_not_fit_leave_nothing_behind(tmp_path: Path, what: str) -> None:
    catalog = "[variables.sex.codes]\nf = 'F'\n" if what == "codes" else None
    with pytest.raises(Mistake):
        confide.add(BROKEN[what], tmp_path / "site", name="people", catalog=catalog)
    assert files(tmp_path) == []


@pytest.mark.parametrize("options", [{"preset": "standart"}, {"catalog": "titel = 1"}, {"name": "9"}])
def test_wrong_words_leave_nothing_behind(tmp_path: Path, options: dict[str, str]) -> None:
    with pytest.raises(Mistake):
        confide.add(survey(), tmp_path / "site", **{"name": "people", **options})
    assert files(tmp_path) == []


def test_a_failed_second_data_set_leaves_the_first_alone(tmp_path: Path) -> None:
    site = tmp_path / "site"
    confide.add(survey(), site, name="people")
    before = {name: (site / name).read_bytes() for name in files(site) if (site / name).is_file()}
    with pytest.raises(Mistake):
        confide.add(survey(), site, name="more", catalog="[variables.sex.codes]\nf = 'F'\n")
    assert {name: (site / name).read_bytes() for name in files(site) if (site / name).is_file()} == before


def test_a_failed_ingest_leaves_the_old_store_answering(tmp_path: Path) -> None:
    site = tmp_path / "site"
    confide.add(survey(), site, name="people")
    answer = asked(site)
    for source in (pa.table({"sex": ["f"]}), survey(0), survey().drop_columns("age"), tmp_path / "none.csv"):
        with pytest.raises(Mistake):
            confide.ingest(source, site, name="people")
    assert asked(site) == answer
    confide.ingest(survey(seed=5), site, name="people")
    assert asked(site) != answer
    kept = [f"vintages/2/{name}" for name in ("dataset.toml", *STORED)]
    assert files(site / "people") == [
        "dataset.toml",
        "profile.html",
        "profile.json",
        "vintages",
        "vintages.json",
        "vintages/2",
        *kept,
    ]


FULL = """
    import resource, signal, sys
    import pyarrow.parquet
    import confide
    data, site, verb, size = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    table = pyarrow.parquet.read_table(data)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    try:
        getattr(confide, verb)(table, site, name="people")
    except confide.Fault as fault:
        print("Fault", fault)
"""


def run_out_of_room(tmp_path: Path, verb: str, size: int) -> str:
    """Run a command in a process that may write files of so many bytes at most: the disk is full."""
    pa.parquet.write_table(survey(50_000), tmp_path / "more.parquet")
    words = [sys.executable, "-c", textwrap.dedent(FULL), str(tmp_path / "more.parquet"), str(tmp_path / "site"), verb]
    done = subprocess.run([*words, str(size)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_full_disk_leaves_the_old_store_answering(tmp_path: Path) -> None:
    site = tmp_path / "site"
    confide.add(survey(), site, name="people")
    answer = asked(site)
    before = files(site)
    assert "Fault The store could not be written" in run_out_of_room(tmp_path, "ingest", 200_000)
    assert files(site) == before
    assert asked(site) == answer


@pytest.mark.parametrize("size", [200_000, 20])
def test_a_full_disk_leaves_no_half_made_site(tmp_path: Path, size: int) -> None:
    assert "could not be written" in run_out_of_room(tmp_path, "add", size)
    assert files(tmp_path) == ["more.parquet"]


def test_a_text_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    write_whole(tmp_path / "a", "one")
    write_whole(tmp_path / "a", "two")
    assert (tmp_path / "a").read_text() == "two"
    with pytest.raises(Fault, match="could not be written"):
        write_whole(tmp_path / "none" / "a", "three")
    assert files(tmp_path) == ["a"]


@pytest.mark.parametrize("name", ["people", "People-2021_b", "a", "a" * 60])
def test_names_of_letters_digits_and_dashes_are_fine(name: str) -> None:
    check_name(name)


@pytest.mark.parametrize(
    "name", ["", "2021", "a b", "a/b", "..", "a.b", "größe", "a\n", "a" * 61, "API", *sorted(RESERVED)]
)
def test_other_names_are_mistakes(name: str) -> None:
    with pytest.raises(Mistake, match="--name"):
        check_name(name)


def test_a_name_that_is_an_address_of_the_site_is_said_to_be_one() -> None:
    with pytest.raises(Mistake, match="a page of every site is at that address.*--name my_jobs"):
        check_name("jobs")


def test_files_that_are_missing_or_unreadable_are_mistakes_that_name_them(tmp_path: Path) -> None:
    folder = create_folder(tmp_path / "site")
    assert folder.names() == []
    with pytest.raises(Mistake, match=r"people.dataset\.toml is missing"):
        folder.dataset("people")
    (tmp_path / "site" / "people").mkdir()
    (tmp_path / "site" / "people" / "dataset.toml").touch()
    (tmp_path / "site" / "policy.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(Mistake, match=r"policy\.toml cannot be read as UTF-8"):
        folder.policy()
    (tmp_path / "site" / "policy.toml").unlink()
    with pytest.raises(Mistake, match=r"policy\.toml is missing"):
        folder.policy()
    (tmp_path / "site" / "secret").unlink()
    with pytest.raises(Mistake, match="secret"):
        folder.secret()


def test_a_codes_file_stands_beside_the_catalog(tmp_path: Path) -> None:
    site = tmp_path / "site"
    (site / "people").mkdir(parents=True)
    (site / "people" / "sex.csv").write_text("code,label\nf,Women\nm,Men\n")
    folder = confide.add(survey(), site, name="people", catalog="[variables.sex]\ncodes_file = 'sex.csv'\n")
    assert [code.label for code in folder.dataset("people").variables["sex"].codes or ()] == ["Women", "Men"]
    with pytest.raises(Mistake, match=r"none\.csv is missing"):
        confide.add(survey(), site, name="more", catalog="[variables.sex]\ncodes_file = 'none.csv'\n")
    kept = [f"vintages/1/{name}" for name in ("dataset.toml", *STORED[:2], "sex.csv", *STORED[2:])]
    assert files(site / "people") == ["dataset.toml", "sex.csv", "vintages", "vintages.json", "vintages/1", *kept]


def test_a_site_cannot_be_made_where_a_file_stands(tmp_path: Path) -> None:
    (tmp_path / "site").write_text("a file")
    with pytest.raises(Mistake, match="cannot be made"):
        confide.add(survey(), tmp_path / "site", name="people")
    assert (tmp_path / "site").read_text() == "a file"


def test_a_store_of_another_catalog_or_secret_does_not_open(tmp_path: Path) -> None:
    site = tmp_path / "site"
    folder = confide.add(survey(), site, name="people")
    text = folder.catalog("people").read_text()
    folder.catalog("people").write_text(text.replace('f = "f"', 'f = "Women"'))
    assert asked(site)
    folder.catalog("people").write_text(text.replace("minimum = 0", "minimum = -5"))
    with pytest.raises(Mistake, match="confide ingest"):
        asked(site)
    folder.catalog("people").write_text(text)
    (site / "secret").write_text("ab" * 32)
    with pytest.raises(Mistake, match="another secret"):
        asked(site)


def visits(path: Path, *, preset: str) -> None:
    """Twelve units make 240 records of town x; with a column of 26 letters. Once with units, once without."""
    units = np.r_[np.arange(300), np.arange(300, 312).repeat(20)]
    letter = np.array(list("abcdefghijklmnopqrstuvwxyz"))[np.arange(len(units)) % 26]
    table = pd.DataFrame(
        {"id": units, "town": np.where(units < 300, "y", "x"), "sex": np.where(units % 2, "f", "m"), "letter": letter}
    )
    confide.add(table, path, name="people", preset=preset)
    confide.add(table.drop(columns="id"), path, name="records", preset=preset)


def test_a_unit_with_several_records_counts_once_for_rules_of_the_universe(tmp_path: Path) -> None:
    """240 records are enough for any rule, twelve units too few for the universe."""
    visits(tmp_path / "site", preset="drop-q")
    with confide.open(tmp_path / "site") as site:
        assert site["records"].table(rows=["sex"], where={"town": ["x"]})
        with pytest.raises(Refused, match="universe"):
            site["people"].table(rows=["sex"], where={"town": ["x"]})


def test_a_unit_with_several_records_counts_once_for_the_cross(tmp_path: Path) -> None:
    """104 cells: 540 records are more than four a cell, 312 units fewer."""
    visits(tmp_path / "site", preset="standard")
    with confide.open(tmp_path / "site") as site:
        assert site["records"].table(rows=["sex", "town", "letter"])
        with pytest.raises(Refused, match="too many cells"):
            site["people"].table(rows=["sex", "town", "letter"])


def test_where_memory_would_not_do_it_is_said_before_records_are_protected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("confide.records.ingest.PROTECTING", 1 << 50)
    with pytest.raises(Fault, match=r"Protecting 2,000 records takes about .* of memory, and .* are free"):
        confide.add(survey(), tmp_path / "site", name="survey")
    assert not (tmp_path / "site").exists()
    confide.add(survey(), tmp_path / "site", name="survey", preset="drop-q")
