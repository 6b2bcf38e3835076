"""How tests protect records: one small population with keys, under any policy and secret, before and after."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa

from confide.arrays import Bools, Floats, Ints
from confide.engines import Coded
from confide.model.catalog.dataset import Dataset
from confide.model.catalog.toml import read_dataset
from confide.model.policy import PRESETS, Policy
from confide.records.exchanges.exchange import Exchange, plan_exchanges
from confide.records.exposure import Exposure, find_exposed
from confide.records.protect import protect_records
from confide.records.report import RecordsReport
from confide.site.coding.encode import encode
from confide.site.secret import Secret

__all__ = ["CATALOG", "Protection", "catalog_of", "coded_of", "people", "records_policy", "secret_of"]

TOWNS = {f"{county.lower()}{number}": county for county in "ABCD" for number in (1, 2, 3)}
JOBS = ("shop", "mill", "none", "school", "farm", "sea", "mine", "church")

CATALOG = """
title = "People of four counties"
unit = "id"

[variables.id]
role = "identifier"

[variables.sex]
role = "key"
[variables.sex.codes]
f = "Women"
m = "Men"

[variables.county]
role = "key"
[variables.county.codes]
A = "County A"
B = "County B"
C = "County C"
D = "County D"

[variables.town]
role = "key"
parent = "county"
[variables.town.codes]
"""
CATALOG += "".join(f'{town} = {{ label = "{town}", parent = "{county}" }}\n' for town, county in TOWNS.items())
CATALOG += """
[variables.age]
kind = "numeric"
role = "key"
minimum = 0
maximum = 120
cutpoints = [10, 20, 30, 40, 50, 60, 70, 80, 90]

[variables.job]
role = "key"
[variables.job.codes]
"""
CATALOG += "".join(f'{job} = "{job}"\n' for job in JOBS)
CATALOG += """
[variables.mood]
[variables.mood.codes]
good = "Good"
bad = "Bad"

[variables.ill]
role = "confidential"
[variables.ill.codes]
no = "No"
once = "Once"
yes = "Yes"

[variables.income]
kind = "numeric"
role = "confidential"
minimum = 0
missing = [""]

[variables.tax]
kind = "numeric"
role = "confidential"
decimals = 2
"""
"""Keys of two to twelve classes, one of them with two levels and one a number; confidential classes and numbers."""


def people(size: int, *, seed: int, first: int = 0) -> pa.Table:
    """So many people, `first` the number of the first: rare classes of most keys, and an illness that goes with age."""
    rng = np.random.default_rng(seed)
    town = rng.choice(list(TOWNS), size, p=_falling(len(TOWNS)))
    age = np.minimum(rng.gamma(4, 11, size), 119).round()
    ill = np.where(rng.random(size) < age / 150, "yes", rng.choice(["no", "once"], size))
    income = np.where(rng.random(size) < 0.05, 0, rng.lognormal(7, 0.6, size).round())
    columns = {
        "id": np.arange(first, first + size).astype(str),
        "sex": rng.choice(["f", "m"], size),
        "county": np.char.upper(town.astype("<U1")),
        "town": town,
        "age": age,
        "job": rng.choice(JOBS, size, p=_falling(len(JOBS))),
        "mood": rng.choice(["good", "bad"], size),
        "ill": ill,
        "tax": (income * rng.uniform(0.1, 0.3, size)).round(2),
    }
    return pa.table(columns).append_column("income", pa.array(income, mask=rng.random(size) < 0.05))


def _falling(classes: int) -> Floats:
    """Probabilities of which each is two thirds of the one before."""
    shares = (2 / 3) ** np.arange(classes)
    return np.asarray(shares / shares.sum())


@lru_cache
def catalog_of(text: str) -> Dataset:
    return read_dataset(text, name="people", read_file=str)


def secret_of(number: int = 0) -> Secret:
    """The secret of that number: a test over several says which."""
    return Secret(sha256(f"secret {number}".encode()).digest())


def coded_of(table: pa.Table | Mapping[str, Any], *, catalog: str = CATALOG, secret: int = 0) -> Coded:
    """Records as ingest codes them."""
    table = table if isinstance(table, pa.Table) else pa.table(dict(table))
    return encode(catalog_of(catalog), table, secret=secret_of(secret))


def records_policy(*, mean_cell: float = 4.0, background_exposed: float = 0.0, **fields: Any) -> Policy:
    """The standard policy, with other `[records]`; who is alone where numbers are read exchanges no key unless a test says so."""
    standard = PRESETS["standard"]
    tables = replace(standard.tables, mean_cell=mean_cell)
    records = replace(standard.records, background_exposed=background_exposed, **fields)
    return replace(standard, tables=tables, records=records)


@dataclass(frozen=True)
class Protection:
    """The records of a table before and after, with everything that was found and planned on the way."""

    table: pa.Table
    catalog: str = CATALOG
    policy: Policy = PRESETS["standard"]
    number: int = 0

    @property
    def dataset(self) -> Dataset:
        return catalog_of(self.catalog)

    @cached_property
    def true(self) -> Coded:
        return coded_of(self.table, catalog=self.catalog, secret=self.number)

    @cached_property
    def exposure(self) -> Exposure:
        return find_exposed(self.true, self.dataset, self.policy)

    @cached_property
    def plans(self) -> dict[str, Exchange]:
        rules, secret = self.policy.records, secret_of(self.number)
        plans = plan_exchanges(self.true, self.dataset, self.exposure, rules, secret)
        return {plan.trait.name: plan for plan in plans}

    def sources(self, trait: str) -> Ints:
        """From which record each gets a trait; itself where it keeps its own."""
        source = np.arange(self.true.records.num_rows)
        source[self.plans[trait].rows] = self.plans[trait].sources
        return source

    def touched(self, trait: str) -> Bools:
        """The records that exchanged a trait."""
        return np.asarray(self.sources(trait) != np.arange(self.true.records.num_rows))

    @cached_property
    def _done(self) -> tuple[Coded, RecordsReport | None]:
        return protect_records(self.true, self.dataset, self.policy, secret_of(self.number))

    @property
    def protected(self) -> Coded:
        return self._done[0]

    @property
    def report(self) -> RecordsReport:
        report = self._done[1]
        assert report is not None
        return report

    def moved(self, name: str) -> Bools:
        """The records whose class of a variable changed."""
        return np.asarray(self.true.places(name) != self.protected.places(name))

    def counts(self, name: str) -> tuple[Ints, Ints]:
        """How many records each class has, before and after."""
        size = len(self.dataset.variables[name].codes or ())
        before, after = (np.bincount(coded.places(name), minlength=size) for coded in (self.true, self.protected))
        return before, after
