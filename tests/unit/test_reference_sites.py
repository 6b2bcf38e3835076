"""Real files, as a newcomer meets them: init, check, ask."""

import itertools
import random
from pathlib import Path

import pytest

import confide
from confide.answering.opening import open_roads
from confide.answering.road import Road
from confide.answering.service import check as check_site
from confide.model.catalog.dataset import Dataset, Role
from confide.model.request import TableRequest

DATA = Path(__file__).parents[3] / "shared" / "data"

pytestmark = pytest.mark.reference


def site(tmp_path: Path, file: str) -> Dataset:
    """The drafted catalog of a site made from a file, checked to have no table by one variable refused for its draft."""
    folder = confide.add(DATA / file, tmp_path, name="d")
    assert check_site(tmp_path)
    return folder.dataset("d")


def parents(dataset: Dataset) -> dict[str, str]:
    return {v.name: v.parent for v in dataset.variables.values() if v.parent}


def test_households_of_eu_silc(tmp_path: Path) -> None:
    dataset = site(tmp_path, "eusilc_laeken.csv.gz")
    assert (dataset.unit, dataset.weight) == ("rb030", "rb050")
    assert dataset.variables["db030"].role == "identifier"
    assert dataset.household == "db030"
    assert not parents(dataset)
    with confide.open(tmp_path) as opened:
        answer = opened["d"].table(rows=["db040"], columns=["rb090"], where={"age": ["20-24", "25-34"]}).to_arrow()
    assert len(answer) == 30


def test_enterprises_with_levels_in_columns(tmp_path: Path) -> None:
    dataset = site(tmp_path, "business_rtauargus_indiv.csv.gz")
    assert parents(dataset) == {"A21": "A10", "NUTS2": "NUTS1", "NUTS3": "NUTS2"}
    assert dataset.weight == "WEIGHT"
    with confide.open(tmp_path) as opened:
        answer = opened["d"].table(rows=["NUTS1"], measure=["total"], of="TURNOVER").to_arrow()
    assert all(value > 0 for value in answer["total"].drop_null().to_pylist())


def test_persons_with_words_among_their_numbers(tmp_path: Path) -> None:
    dataset = site(tmp_path, "acs2019_nist_ma.csv.gz")
    assert parents(dataset) == {"INDP": "INDP_CAT"}
    assert dataset.weight == "PWGTP"
    assert dataset.variables["WGTP"].role == "identifier"
    assert (dataset.variables["PINCP"].kind, dataset.variables["PINCP"].missing) == ("numeric", ("N",))


def test_establishments_of_maine(tmp_path: Path) -> None:
    dataset = site(tmp_path, "synth_business_maine_2021.csv.gz")
    assert dataset.unit == "establishment"
    assert dataset.variables["enterprise"].role == "identifier"
    codes = dataset.variables["size_class"].codes
    assert codes is not None and codes.names[:3] == ("0-4", "5-9", "10-19")
    assert parents(dataset) == {"naics6": "naics6_group"} and len(dataset.variables["naics6_group"].codes or ()) == 23
    assert not dataset.variables["naics6"].numeric and not dataset.variables["county_fips"].numeric


def test_enterprises_with_several_records_a_holding(tmp_path: Path) -> None:
    dataset = site(tmp_path, "tauargus_example_enterprise.csv.gz")
    assert dataset.unit == "h_id"
    assert parents(dataset) == {"mun": "region"}


def test_a_dictionary_in_json_gives_its_labels(tmp_path: Path) -> None:
    dictionary = DATA / "acs2019_nist_dictionary.json"
    dataset = confide.add(DATA / "acs2019_nist_ma.csv.gz", tmp_path, name="d", dictionary=dictionary).dataset("d")
    codes = dataset.variables["MSP"].codes
    assert codes is not None and [c.label for c in codes if c.missing] == ["N/A (age less than 15 years)"]
    assert dataset.variables["DPHY"].label != "DPHY" and dataset.variables["DPHY"].role is Role.CONFIDENTIAL


def share(road: Road, size: int, most: int) -> float:
    """How many of so many tables by some variables, drawn at random, are answered."""
    names = [v.name for v in road.dataset.variables.values() if v.classifies]
    asked = [
        by
        for by in itertools.combinations(names, size)
        if len({road.dataset.levels(name)[0].name for name in by}) == size
    ]
    asked = random.Random(1).sample(asked, min(most, len(asked)))
    found = [not road.consider(road.admit(TableRequest("d", by))).reasons for by in asked]
    return sum(found) / len(found)


@pytest.mark.parametrize(
    ("file", "codebook", "two", "three"),
    [
        ("acs2019_nist_ma.csv.gz", None, 0.95, 0.85),
        ("acs2019_nist_ma.csv.gz", "acs2019_nist_dictionary.json", 0.95, 0.85),
        ("synth_business_maine_2021.csv.gz", None, 0.95, 0.85),
        ("eusilc_laeken.csv.gz", None, 0.95, 0.85),
        ("census_income_kdd_test.parquet", None, 0.95, 0.75),
        ("ihsn_testdata_sdcmicro.csv.gz", None, 0.95, 0.85),
        ("casc_tarragona.csv.gz", None, 0.95, 0.85),
    ],
)
def test_what_a_draft_answers_without_an_edit(
    tmp_path: Path, file: str, codebook: str | None, two: float, three: float
) -> None:
    """The goal is 95 % by two variables and 85 % by three; where the limit is lower, long code lists miss it, and it guards only."""
    folder = confide.add(DATA / file, tmp_path, name="d", dictionary=DATA / codebook if codebook else None)
    with open_roads(folder, None, allow_open=True) as roads:
        assert share(roads["d"], 2, 120) >= two
        assert share(roads["d"], 3, 120) >= three
