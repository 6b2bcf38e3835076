"""A file of people and one of their households: joined by what names these, drafted as two levels, and clear where they do not fit."""

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import confide
from confide import demo
from confide.demo.texts import catalog_text
from confide.errors import Mistake
from confide.records.ingest import preview
from confide.site.folder import Folder
from confide.sources.households import find_key, join_households
from confide.sources.source import Source

PEOPLE = pd.DataFrame({"person": [1, 2, 3, 4], "home": ["a", "b", "a", "ü"], "sex": ["f", "m", "m", "f"]})
HOMES = pd.DataFrame({"home": ["ü", "a", "b"], "rooms": [1, 2, None]})


def source(frame: pd.DataFrame) -> Source:
    return Source(pa.Table.from_pandas(frame, preserve_index=False))


def joined(people: pd.DataFrame, homes: pd.DataFrame, *, key: str = "home", named: str = "home") -> Source:
    return join_households(source(people), source(homes), key=key, named=named)


def test_people_have_the_columns_of_their_household() -> None:
    assert joined(PEOPLE, HOMES).table["rooms"].to_pylist() == [2, None, 2, 1]
    numbered = HOMES.assign(hid=[30, 10, 20]).drop(columns="home")
    people = PEOPLE.assign(home=["10", "20", " 10", "30"])
    assert joined(people, numbered, named="hid").table["rooms"].to_pylist() == [2, None, 2, 1]


@pytest.mark.parametrize(
    ("people", "homes", "message"),
    [
        (PEOPLE, pd.concat([HOMES, HOMES[:1]]), "'home' names 1 households of their file more than once"),
        (PEOPLE, HOMES[1:], "The household of 1 people is not in the file of households"),
        (PEOPLE[1:2], HOMES, "Nobody lives in 2 households of their file"),
        (PEOPLE.assign(home=["a", None, "a", "ü"]), HOMES, "'home' is missing in 1 records of the file of people"),
        (PEOPLE, HOMES.assign(home=["ü", "a", ""]), "'home' is missing in 1 records of the file of households"),
        (PEOPLE.drop(columns="home"), HOMES, "The file of people has no column 'home'"),
        (PEOPLE, HOMES.drop(columns="home"), "The file of households has no column 'home'"),
        (PEOPLE, HOMES.assign(sex="f"), "Column 'sex' is in the file of people and in that of households"),
    ],
)
def test_files_that_do_not_fit_are_mistakes(people: pd.DataFrame, homes: pd.DataFrame, message: str) -> None:
    with pytest.raises(Mistake, match=message):
        joined(people, homes)


def test_what_names_households_is_found_by_its_name_or_its_values() -> None:
    assert find_key(source(PEOPLE), source(HOMES)) == ("home", "home")
    assert find_key(source(PEOPLE), source(HOMES.rename(columns={"home": "hid"}))) == ("home", "hid")
    orphaned = HOMES.assign(home=["ü", "a", "c"])
    assert find_key(source(PEOPLE), source(orphaned)) == ("home", "home"), "so that orphans are told as such"
    twice = pd.concat([HOMES, HOMES[:1]])
    assert find_key(source(PEOPLE), source(twice)) == ("home", "home"), "and those that stand twice"
    with pytest.raises(Mistake, match="cannot be told: no column"):
        find_key(source(PEOPLE), source(pd.DataFrame({"x": [1.5, 2.5]})))
    both = HOMES.assign(person=[1, 2, 3])
    with pytest.raises(Mistake, match="cannot be told: it may be home or person"):
        find_key(source(PEOPLE), source(both))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """People and households in two files, and both in one."""
    place = tmp_path_factory.mktemp("files")
    people = demo.people(1_500, seed=2).to_pandas()
    people["hours"] = people["hours"].astype("Int64")
    rng = np.random.default_rng(1)
    homes = people[["household_id", "region", "municipality"]].drop_duplicates("household_id")
    homes = homes.assign(rooms=rng.integers(1, 8, len(homes)), hh_weight=rng.integers(1, 9, len(homes)))
    own = [name for name in people.columns if name not in ("region", "municipality", "county")]
    people[own].to_csv(place / "people.csv", index=False)
    homes.to_csv(place / "homes.csv", index=False)
    people[own].merge(homes, on="household_id").to_csv(place / "both.csv", index=False)
    return place


@pytest.mark.parametrize(("people", "homes"), [("people.csv", "homes.csv"), ("both.csv", "both.csv")])
def test_a_draft_has_both_levels(files: Path, tmp_path: Path, people: str, homes: str) -> None:
    lines: list[str] = []
    folder = confide.add(files / people, tmp_path / "s", name="p", households=files / homes, tell=lines.append)
    level = folder.dataset("p.households")
    assert {"region", "municipality", "rooms", "household_size", "head_sex", "head_age", "household_income"} <= set(
        level.variables
    )
    assert level.weight == "hh_weight" and folder.dataset("p").weight == "weight"
    assert not {"sex", "income", "person_id"} & set(level.variables)
    assert any("'p.households'" in line for line in lines)
    with confide.open(tmp_path / "s") as site:
        assert list(site) == ["p", "p.households"]
        assert len(site["p.households"].table(rows="region", measure="mean", of="household_income").to_arrow()) == 6
        assert len(site["p"].table(rows="household_size").to_arrow()) == 7


def test_a_draft_proposes_the_design_that_households_have_in_common(files: Path, tmp_path: Path) -> None:
    homes = pd.read_csv(files / "homes.csv")
    homes = homes.assign(psu=homes.index % 40, stratum=homes.index % 4, **{f"hh_wgt{r}": r + 1.5 for r in range(4)})
    confide.add(files / "people.csv", tmp_path / "s", name="p", households=homes)
    text = (tmp_path / "s" / "p" / "households" / "dataset.toml").read_text()
    assert '# replicates = ["hh_wgt0", "hh_wgt1", "hh_wgt2", "hh_wgt3"]' in text and 'weight = "hh_weight"' in text
    confide.add(files / "people.csv", tmp_path / "t", name="p", households=homes.drop(columns=homes.filter(like="wgt")))
    file = tmp_path / "t" / "p" / "households" / "dataset.toml"
    lines = ("[sampling]", 'strata = "stratum"', 'psu = "psu"')
    assert all(f"# {line}" in file.read_text() for line in lines)


def test_a_new_vintage_is_of_both_files(files: Path, tmp_path: Path) -> None:
    site = tmp_path / "s"
    confide.add(files / "people.csv", site, name="p", households=files / "homes.csv")
    again = confide.ingest(files / "people.csv", site, name="p", households=files / "homes.csv")
    assert again.vintage == "1" and again.update is not None and not again.update.groups["changed"].size
    with pytest.raises(Mistake, match="names the column"):
        confide.ingest(files / "people.csv", site, name="p")
    homes = pd.read_csv(files / "homes.csv")
    with pytest.raises(Mistake, match="The household of"):
        confide.ingest(files / "people.csv", site, name="p", households=homes[1:])
    assert Folder(site).vintages("p")[-1].name == "1"
    changed = preview(files / "people.csv", site, name="p", households=homes.assign(rooms=1))
    assert changed.vintage == "2" and changed.update is not None and len(changed.update.groups["changed"]) > 500


@pytest.mark.parametrize(
    ("households", "message"),
    [
        (lambda f: pd.read_csv(f / "homes.csv")[1:], "The household of"),
        (lambda f: pd.read_csv(f / "homes.csv").rename(columns={"household_id": "x"}).assign(x=0), "cannot be told"),
    ],
)
def test_nothing_is_left_of_a_site_whose_files_do_not_fit(
    files: Path, tmp_path: Path, households: Any, message: str
) -> None:
    with pytest.raises(Mistake, match=message):
        confide.add(files / "people.csv", tmp_path / "s", name="p", households=households(files))
    assert not list(tmp_path.iterdir())


def test_people_without_a_column_of_households_have_none(tmp_path: Path) -> None:
    people = demo.people(500).drop_columns(["household_id"])
    with pytest.raises(Mistake, match="No column was taken for one that names households"):
        confide.add(people, tmp_path / "s", name="p", households=people)
    assert not list(tmp_path.iterdir())


def test_people_who_all_live_alone_are_no_two_levels(tmp_path: Path) -> None:
    people = demo.people(500).to_pandas().assign(household_id=range(500))
    with pytest.raises(Mistake, match="Each household, by 'household_id', has one record"):
        confide.add(people, tmp_path / "s", name="p", households=people, catalog=catalog_text("people"))
    assert not list(tmp_path.iterdir())


def test_a_file_of_households_needs_to_know_who_lives_with_whom(files: Path, tmp_path: Path) -> None:
    text = catalog_text("people").replace('household = "household_id"', "")
    confide.add(demo.people(500), tmp_path / "s", name="p", catalog=text)
    with pytest.raises(Mistake, match="does not say who lives with whom"):
        confide.ingest(files / "people.csv", tmp_path / "s", name="p", households=files / "homes.csv")


JOBS = pd.DataFrame({"job_id": range(6), "person_id": [1, 1, 2, 3, 3, 3], "pay": [5, 7, 9, 4, 2, 1]})
PERSONS = pd.DataFrame({"person_id": [3, 1, 2], "sex": ["f", "m", "f"]})


def test_jobs_have_the_columns_of_their_person_and_who_has_none_is_left_out_and_said() -> None:
    found = join_households(source(JOBS), source(PERSONS), key="person_id", named="person_id")
    assert found.table["sex"].to_pylist() == ["m", "m", "f", "f", "f", "f"] and not found.notes
    more = pd.concat([PERSONS, pd.DataFrame({"person_id": [8, 9], "sex": ["m", "m"]})])
    found = join_households(source(JOBS), source(more), key="person_id", named="person_id")
    assert found.table.num_rows == 6
    assert found.notes == ["2 people of their file have no record, by 'person_id', and are left out."]


@pytest.mark.parametrize(
    ("jobs", "persons", "message"),
    [
        (JOBS, pd.concat([PERSONS, PERSONS[:1]]), "'person_id' names 1 people of their file more than once"),
        (JOBS, PERSONS[1:], "The person of 3 records is not in the file of people"),
        (
            JOBS.assign(person_id=[1, 1, 2, 3, 3, None]),
            PERSONS,
            "missing in 1 records of the file of records.*a person",
        ),
        (JOBS, PERSONS.assign(pay=1), "'pay' is in the file of records and in that of people"),
    ],
)
def test_jobs_and_people_that_do_not_fit_are_mistakes(jobs: pd.DataFrame, persons: pd.DataFrame, message: str) -> None:
    with pytest.raises(Mistake, match=message):
        join_households(source(jobs), source(persons), key="person_id", named="person_id")


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Jobs of 1,500 of 2,000 people, one of which stands twice."""
    rng, folder = np.random.default_rng(2), tmp_path_factory.mktemp("jobs")
    people = demo.people(2000).select(["person_id", "sex", "region", "age"])
    worker = np.repeat(people["person_id"].to_numpy()[:1500], rng.integers(1, 4, 1500))
    pay, sector = rng.lognormal(9, 0.5, len(worker)).round(), rng.choice(["farm", "factory", "office"], len(worker))
    number = np.append(np.arange(len(worker) - 1), 0)
    table = pa.table({"job_id": number, "person_id": worker, "sector": sector, "pay": pay})
    lines: list[str] = []
    confide.add(table, folder / "s", name="work", households=people, tell=lines.append)
    return folder / "s", lines


def test_people_are_the_units_of_their_jobs_and_a_level_above_them(jobs: tuple[Path, list[str]]) -> None:
    site, lines = jobs
    told = "\n".join(lines)
    assert "500 people of their file have no record, by 'person_id', and are left out." in told
    assert "1 of" in told and "values of 'job_id' stand in several records" in told and "Household, never" not in told
    dataset = Folder(site).dataset("work")
    assert (dataset.unit, dataset.household) == ("person_id", "person_id") and dataset.above is not None
    assert {"sex", "region", "person_records", "first_sector", "person_pay"} <= set(dataset.above.variables)
    with confide.open(site) as opened:
        people = opened["work.people"].table(rows="person_records", measure=["count", "total"], of="person_pay")
        work = opened["work"].table(rows="person_records", measure=["count", "total"], of="pay")
    people_of, work_of = people.to_pandas().set_index("person_records"), work.to_pandas().set_index("person_records")
    assert abs(people_of["count"]["_T"] - 1500) <= 3
    for number in ("1", "2", "3"):
        assert abs(work_of["count"][number] / people_of["count"][number] - int(number)) < 0.05, (
            "both from the same records"
        )
        assert abs(work_of["total"][number] / people_of["total"][number] - 1) < 0.02


def test_all_jobs_of_a_person_have_one_draw_of_noise(jobs: tuple[Path, list[str]]) -> None:
    """Averaged over the jobs of a person independent draws would say more of the person than the policy allows."""
    inside = next((jobs[0] / "work" / "vintages").iterdir())
    true = pq.read_table(inside / "truth.parquet")
    with duckdb.connect(inside / "records.duckdb", read_only=True) as store:
        told = store.sql("SELECT key, n1 AS told FROM records").to_arrow_table()
    both = true.select(["unit", "key", "n1"]).join(told, "key").to_pandas()
    factors = (both["told"] / both["n1"]).groupby(both["unit"])
    assert factors.std().max() < 0.001 and factors.first().std() > 0.1
