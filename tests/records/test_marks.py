"""Records are protected as they were before: what is measured of the red team, and an update of a site, rest on it."""

from dataclasses import replace

import pytest

from confide import demo
from confide.data import threads
from confide.demo.texts import catalog_text
from confide.engines import Coded
from confide.model.catalog.dataset import Dataset
from confide.model.catalog.toml import read_dataset
from confide.model.policy import PRESETS, Policy
from confide.records.protect import protect_records
from confide.site.coding.encode import encode
from confide.site.secret import Secret

SECRET = Secret(bytes(32))
FIRMS = replace(PRESETS["standard"].records, background=0.02, noise=0.2, dominance=0.3)
"""What the policy of the demonstration's firms has of its own: totals that few dominate, units with several records."""


@pytest.mark.parametrize(
    ("name", "rows", "mark"),
    [("people", 20_000, "5fbf7cd121012282"), ("people", 1_000, "ec70276fc2d085d2"), ("firms", 1_000, "0e3c2df279150123")],
)  # fmt: skip
def test_protected_records_are_those_of_before(name: str, rows: int, mark: str) -> None:
    protected, _ = protect_records(*_given(name, rows), SECRET)
    assert protected.facts.data == mark


@pytest.mark.parametrize("name", ["people", "firms"])
def test_what_every_core_does_is_what_one_does(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    alone, report = protect_records(*_given(name, 2_000), SECRET)
    monkeypatch.setattr(threads, "FEW", 0)
    together, other = protect_records(*_given(name, 2_000), SECRET)
    assert (together.facts, other) == (alone.facts, report)
    assert together.records.equals(alone.records)


def _given(name: str, rows: int) -> tuple[Coded, Dataset, Policy]:
    dataset = read_dataset(catalog_text(name), name=name, read_file=str)
    table = {"people": demo.people, "firms": demo.firms}[name](rows)
    standard = PRESETS["standard"]
    policy = standard if name == "people" else replace(standard, records=FIRMS)
    return encode(dataset, table, secret=SECRET), dataset, policy


def test_whoever_moves_so_that_a_table_by_county_changes_stays_in_the_region_if_that_will_do() -> None:
    coded, dataset, policy = _given("people", 5_000)
    protected, _ = protect_records(coded, dataset, policy, SECRET)
    moved = {name: (protected.classes(name) != coded.classes(name)).mean() for name in ("region", "county")}
    assert moved["county"] > 0.15 and moved["region"] < moved["county"] / 2
