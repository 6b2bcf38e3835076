"""Sites to attack: the demo's data sets under a fixed secret."""

from collections.abc import Callable
from functools import cache
from importlib import resources
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from confide import demo
from confide.attacks.runner import LocalField
from confide.attacks.truth.truth import Truth, truth_of_site
from confide.model.policy import Policy, preset_policy
from confide.records.ingest import add, ingest

Field = Callable[..., LocalField]


@pytest.fixture(scope="session")
def demo_site(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A demo data set of so many rows as a site under a preset, whose secret is always the same."""

    @cache
    def make(rows: int, name: str, preset: str = "standard") -> Path:
        site = made(tmp_path_factory.mktemp("sites") / f"{name}{rows}")
        text = resources.files("confide.demo").joinpath(f"{name}.toml").read_text(encoding="utf-8")
        if preset != "standard":
            (site / "policy.toml").write_text(f'preset = "{preset}"\n', encoding="utf-8")
        add(getattr(demo, name)(rows), site, name=name, catalog=text)
        return site

    return make


@pytest.fixture(scope="session")
def field(demo_site: Callable[..., Path]) -> Field:
    """`field("tablebuilder", rows=20_000, name="people")`: what an attack is carried out on; also with a policy."""
    read: Callable[[Path, str], Truth] = cache(truth_of_site)

    def make(policy: str | Policy, *, rows: int = 20_000, name: str = "people") -> LocalField:
        chosen = preset_policy(policy) if isinstance(policy, str) else policy
        site = demo_site(rows, name)
        return LocalField(site, name, chosen, read(site, name))

    return make


@pytest.fixture(scope="session")
def two_a_county(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str | Policy], LocalField]:
    """People without weights who were drawn in two districts of each county, one with a quarter of its households."""
    site = made(tmp_path_factory.mktemp("sites") / "two")
    _in_districts(site, 6_000)
    truth = truth_of_site(site, "people")
    return lambda policy: LocalField(
        site, "people", preset_policy(policy) if isinstance(policy, str) else policy, truth
    )


def made(site: Path) -> Path:
    """A folder for a site with a secret that is known."""
    site.mkdir()
    (site / "secret").touch(0o600)
    (site / "secret").write_text("5e" * 32 + "\n", encoding="ascii")
    return site


def _in_districts(site: Path, size: int) -> pa.Table:
    people = demo.people(size).drop_columns(["municipality", "weight"])
    homes = people["household_id"].to_numpy()
    side = np.where(np.random.default_rng(7).random(homes.max() + 1)[homes] < 0.25, "a", "b")
    district = np.char.add(np.asarray(people["county"].to_numpy(zero_copy_only=False), str), side)
    codes = [f'{code} = {{ label = "{code}", parent = "{code[:-1]}" }}' for code in np.unique(district)]
    text = resources.files("confide.demo").joinpath("people.toml").read_text(encoding="utf-8")
    first, last = text.index("[variables.municipality]"), text.index("[variables.age]")
    area = '[variables.district]\nrole = "key"\ngroup = "geography"\nparent = "county"\n\n[variables.district.codes]\n'
    text = "\n".join([text[:first], area + "\n".join(codes), text[last:]]).replace('weight = "weight"\n', "")
    people = people.append_column("district", pa.array(district))
    add(people, site, name="people", catalog=text.replace("[variables.person_id]", DRAWN + "\n[variables.person_id]"))
    return people


DRAWN = """
[sampling]
strata = "county"
psu = "district"
"""


HOMES = """
title = "Households"
key = "household_id"
[variables.region]
[variables.county]
[variables.household_size]
take = "size"
cutpoints = [2, 3, 4, 5, 6]
[variables.jobless]
take = "any"
from = "employment"
among = ["unemployed"]
[variables.all_income]
take = "sum"
from = "income"
cutpoints = [20000, 40000, 60000, 80000, 120000]
[variables.mean_age]
take = "mean"
from = "age"
cutpoints = [20, 30, 40, 50, 60, 70]
[variables.head_education]
take = "head"
from = "education"
"""


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], LocalField]:
    """The households of people as a level above them, with what is taken of these in every way."""
    site, people = made(tmp_path_factory.mktemp("sites") / "homes"), demo.people(5_000)
    text = resources.files("confide.demo").joinpath("people.toml").read_text(encoding="utf-8")
    add(people, site, name="people", catalog=text)
    (site / "people" / "homes").mkdir()
    (site / "people" / "homes" / "dataset.toml").write_text(HOMES, encoding="utf-8")
    ingest(people, site, name="people")
    truth = truth_of_site(site, "people.homes")
    return lambda preset: LocalField(site, "people.homes", preset_policy(preset), truth)


@pytest.fixture(scope="session")
def homes_two_a_county(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], LocalField]:
    """The households of people who were drawn in two districts of each county, as a level with a design of its own."""
    site = made(tmp_path_factory.mktemp("sites") / "homes_two")
    people = _in_districts(site, 12_000)
    text = HOMES.replace("[variables.county]\n", "[variables.county]\n[variables.district]\n")
    (site / "people" / "homes").mkdir()
    first = text.index("[variables.region]")
    text = text[:first] + DRAWN + text[first:]
    (site / "people" / "homes" / "dataset.toml").write_text(text, encoding="utf-8")
    ingest(people, site, name="people")
    truth = truth_of_site(site, "people.homes")
    return lambda preset: LocalField(site, "people.homes", preset_policy(preset), truth)
