"""A site that keeps to itself: an engine that reaches nothing but its file, files for nobody else, and texts that break nothing."""

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Barrier, Thread

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import confide
from confide.data.private import only_mine
from confide.engines.duckdb.engine import DuckDBEngine
from confide.errors import Mistake
from confide.microdata.plan import Plan
from confide.model.catalog.toml import read_dataset
from confide.model.policy import read_policy
from confide.model.toml import parse_toml
from confide.records.ingest import MOST_COLUMNS, preview
from confide.site.access import PersonRole, Reach, add_token, declare
from confide.site.policy_drafts import Drafts
from confide.site.state import FileState
from confide.sources import sealed
from confide.sources.source import read_source
from confide.spelling.pasted import read_pasted


@pytest.fixture(scope="module")
def survey() -> pa.Table:
    draw = np.random.default_rng(1)
    return pa.table(
        {"sex": draw.integers(1, 3, 3000), "age": draw.integers(0, 90, 3000), "pay": draw.normal(3, 1, 3000)}
    )


@pytest.fixture
def everything_allowed() -> Iterator[None]:
    """A process that gives away all that it makes, unless somebody says otherwise."""
    before = os.umask(0)
    yield
    os.umask(before)


# ---- the engine

REACHING = [
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM read_text('{here}/secret')",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM survey",
    "COPY (SELECT 1) TO '{here}/stolen.csv'",
    "EXPORT DATABASE '{here}/stolen'",
    "ATTACH '{here}/other.duckdb'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "SET allowed_configs = ['memory_limit']",
    "SET memory_limit = '900GB'",
    "SET temp_directory = '/tmp'",
    "SET autoload_known_extensions = true",
    "CREATE PERSISTENT SECRET s (TYPE s3)",
]


@pytest.mark.parametrize("sql", REACHING)
def test_no_statement_reaches_anything_but_the_store(tmp_path: Path, survey: pa.Table, sql: str) -> None:
    folder = confide.add(survey, tmp_path / "site", name="people")
    before = sorted(tmp_path.rglob("*"))
    engine = DuckDBEngine(folder.store("people"))
    try:
        with pytest.raises(duckdb.Error):
            engine._db.execute(sql.replace("{here}", str(tmp_path)))
    finally:
        engine.close()
    assert sorted(tmp_path.rglob("*")) == before


def test_what_does_not_fit_into_memory_lies_beside_the_file_and_goes_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealed, "_memory", lambda: 2 * 40 * 2**20)
    numbers = pa.table({"a": np.random.default_rng(1).integers(0, 2**60, 3_000_000), "b": np.arange(3_000_000)})
    with sealed.open_sealed(tmp_path / "a.duckdb") as db:
        db.register("numbers", numbers)
        db.execute("CREATE TABLE kept AS SELECT * FROM numbers ORDER BY a")
        assert db.execute("SELECT count(*) FROM kept").fetchall() == [(3_000_000,)]
        assert {file.name for file in tmp_path.iterdir()} <= {"a.duckdb", "a.duckdb.wal", "a.duckdb.tmp"}
    assert [file.name for file in tmp_path.iterdir()] == ["a.duckdb"]


def test_a_container_has_the_memory_of_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealed, "whole_memory", lambda: 600 * 2**20)
    with sealed.open_sealed(tmp_path / "a.duckdb") as db:
        assert db.execute("SELECT current_setting('memory_limit')").fetchall() == [("300.0 MiB",)]


def test_one_file_can_be_opened_twice_whatever_it_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb.connect(str(tmp_path / "data.duckdb")).close()
    monkeypatch.chdir(tmp_path)
    with (
        sealed.open_sealed(tmp_path / "data.duckdb", read_only=True),
        sealed.open_sealed(Path("data.duckdb"), read_only=True) as db,
    ):
        assert db.execute("SELECT 1").fetchall() == [(1,)]


def test_a_data_file_whose_view_reads_another_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a\n1\n")
    with duckdb.connect(str(tmp_path / "given.duckdb")) as db:
        db.execute(f"CREATE VIEW people AS SELECT * FROM read_csv('{tmp_path}/secret.csv')")
    with pytest.raises(Mistake):
        read_source(tmp_path / "given.duckdb", table="people")


# ---- files


def test_everything_under_a_site_is_its_owners_alone(
    tmp_path: Path, survey: pa.Table, everything_allowed: None
) -> None:
    site = tmp_path / "site"
    folder = confide.add(survey, site, name="people")
    confide.ingest(survey, site, name="people")
    add_token(folder.access, name="ana", role=PersonRole.ANALYST)
    declare(folder.access, Reach.TOKENS)
    (site / "draft.toml").touch(0o600)
    (site / "draft.toml").write_text("name = 'new'\n")
    Drafts(folder, FileState()).enforce()
    with confide.open(site) as opened:
        opened["people"].table(rows=["sex"])
        during = [*site.rglob("*")]
        modes = {file.relative_to(site): stat.S_IMODE(file.stat().st_mode) for file in [site, *during]}
    assert len(modes) >= 10
    for file, mode in modes.items():
        assert mode == (0o700 if (site / file).is_dir() else 0o600), (file, oct(mode))
    assert os.umask(0) == 0, "the process is as it was"


def test_several_at_once_leave_a_process_as_it_was(tmp_path: Path, everything_allowed: None) -> None:
    ready, wrong = Barrier(4), []

    def make(number: int) -> None:
        ready.wait()
        for turn in range(50):
            with only_mine():
                (tmp_path / f"{number}-{turn}").write_text("x")
                if stat.S_IMODE((tmp_path / f"{number}-{turn}").stat().st_mode) != 0o600:
                    wrong.append((number, turn))

    threads = [Thread(target=make, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and os.umask(0) == 0


# ---- texts

BREAKING = {
    "lists in lists": "x = " + "[" * 100_000 + "]" * 100_000,
    "sections in sections": "x = " + "{a=" * 50_000 + "1" + "}" * 50_000,
    "points": ".".join(["a"] * 500) + " = 1",
    "many digits": "x = " + "9" * 10_000,
    "more than 64 bits": "x = 9223372036854775808",
    "more than 64 bits within": "[[x]]\ny = [{z = -99999999999999999999}]",
}


@pytest.mark.parametrize("kind", BREAKING)
def test_toml_that_is_deep_or_huge_is_a_mistake_wherever_it_is_read(kind: str) -> None:
    text = BREAKING[kind]
    for read in (
        lambda: parse_toml(text, what="it"),
        lambda: read_policy(text),
        lambda: read_dataset(text, name="people", read_file=lambda name: ""),
        lambda: Plan.parse(text),
    ):
        with pytest.raises(Mistake, match="not valid TOML"):
            read()


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"ask":' * 100_000,
        '{"ask": ' + "9" * 10_000 + "}",
        '{"ask": "table", "rows": ' + "[" * 9_000 + "}",
    ],
    ids=["lists", "objects", "digits", "rows"],
)
def test_json_that_is_deep_or_huge_is_a_mistake(text: str) -> None:
    with pytest.raises(Mistake):
        read_pasted(text)


# ---- wide files


def test_a_file_of_ten_thousand_columns_is_told_at_once_what_is_too_much(tmp_path: Path) -> None:
    names = [f"v{number}" for number in range(10_000)]
    rows = [",".join(names), *(",".join(str((row * k) % 7) for k in range(10_000)) for row in range(200))]
    (tmp_path / "wide.csv").write_text("\n".join(rows) + "\n")
    began = time.process_time()
    with pytest.raises(Mistake, match=f"10000 columns, and a data set has at most {MOST_COLUMNS}"):
        confide.add(tmp_path / "wide.csv", tmp_path / "site", name="wide")
    assert time.process_time() - began < 60, "guards against looking at every column first, which takes minutes"
    assert not (tmp_path / "site").exists()


def test_more_keys_than_can_be_looked_at_together_are_a_mistake(tmp_path: Path) -> None:
    draw = np.random.default_rng(2)
    table = pa.table({f"k{number}": draw.integers(0, 3, 50) for number in range(150)})
    with pytest.raises(Mistake, match="150 keys, too many"):
        confide.add(table, tmp_path / "site", name="wide")
    assert not (tmp_path / "site").exists()


def test_a_wide_file_is_loaded_where_a_description_leaves_out_most_of_it(tmp_path: Path) -> None:
    draw = np.random.default_rng(3)
    table = pa.table({f"v{number}": draw.integers(0, 3, 200) for number in range(10_000)})
    few = table.select(["v1", "v7", "v9999"])
    confide.add(few, tmp_path / "site", name="wide")
    pa.parquet.write_table(table, tmp_path / "wide.parquet")
    preview(tmp_path / "wide.parquet", tmp_path / "site", name="wide")
    confide.ingest(tmp_path / "wide.parquet", tmp_path / "site", name="wide")
    with confide.open(tmp_path / "site") as site:
        assert set(site["wide"].variables) == {"v1", "v7", "v9999"}
