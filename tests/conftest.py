"""What the tests of several rooms share: all engines, and one small population under any secret and policy."""

import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import settings

from asking import Desk
from confide.answering.mechanisms.safe.base import Base
from confide.answering.road import Road
from confide.answering.shield import Shield
from confide.engines import Coded, Engine
from confide.engines.columns.engine import ColumnsEngine
from confide.engines.columns.store import write_columns
from confide.engines.duckdb.engine import DuckDBEngine
from confide.engines.duckdb.store import write_store
from confide.engines.memory.engine import MemoryEngine
from confide.engines.postgres.engine import PostgresEngine
from confide.engines.postgres.store import write_postgres
from confide.engines.spark.engine import SparkEngine
from confide.engines.spark.store import write_spark
from confide.model.catalog.dataset import Dataset
from confide.model.catalog.toml import read_dataset
from confide.model.policy import PRESETS, Policy
from confide.records.protect import protect_records
from confide.site.coding.encode import encode
from confide.site.secret import Secret
from postgres_server import Server, running
from spark_cluster import Cluster
from spark_cluster import running as running_cluster

SHARED = Path(__file__).parents[2] / "shared" / "data"
NOT_RUN = pytest.StashKey[int]()

settings.register_profile("confide", deadline=None, derandomize=True)
settings.load_profile("confide")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what needs files that are not part of the project, where these are not there."""
    without = [item for item in items if item.get_closest_marker("reference") and not (SHARED / "README.md").exists()]
    if without:
        items[:] = [item for item in items if item not in set(without)]
        config.hook.pytest_deselected(items=without)
    config.stash[NOT_RUN] = len(without)
    if hasattr(config, "workeroutput"):
        config.workeroutput["not_run"] = len(without)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Every worker deselects the same tests and tells nobody but this."""
    node.config.stash[NOT_RUN] = getattr(node, "workeroutput", {}).get("not_run", 0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say loudly how many those were."""
    missed = config.stash.get(NOT_RUN, 0)
    if missed:
        words = f"{missed} reference tests were deselected and did NOT run: ../shared/data is not there."
        terminalreporter.write_line(words, red=True, bold=True)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL of this run's own."""
    with running() as server:
        yield server


@pytest.fixture(scope="session")
def spark() -> Iterator[Cluster]:
    """A Spark cluster of this run's own."""
    with running_cluster() as cluster:
        yield cluster


@pytest.fixture(params=["memory", "duckdb", "duckdb with pairs", "columns", "postgres", "spark"])
def engine_of(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[Coded], Engine]]:
    """A function from coded records to an engine; a test that uses it runs on every engine."""
    opened: list[Engine] = []

    def make(coded: Coded) -> Engine:
        if request.param == "memory":
            return MemoryEngine(coded)
        if request.param == "columns":
            path = tmp_path / f"{len(opened)}.columns"
            write_columns(coded, path)
            opened.append(ColumnsEngine(path))
            return opened[-1]
        if request.param == "postgres":
            database = request.getfixturevalue("postgres").database
            path = tmp_path / f"{len(opened)}.postgres"
            write_postgres(coded, path, database)
            opened.append(PostgresEngine(path, database))
            return opened[-1]
        if request.param == "spark":
            spark, path = request.getfixturevalue("spark"), tmp_path / f"{len(opened)}.spark"
            write_spark(coded, path, str(spark.storage))
            opened.append(SparkEngine(path, spark.cluster))
            return opened[-1]
        path = tmp_path / f"{len(opened)}.duckdb"
        write_store(coded, path, pairs_from=0 if request.param == "duckdb with pairs" else 10**9)
        opened.append(DuckDBEngine(path))
        return opened[-1]

    yield make
    for engine in opened:
        engine.close()


CATALOG = """
title = "People of two counties"
unit = "id"
weight = "w"

[variables.id]
role = "identifier"

[variables.sex]
[variables.sex.codes]
f = "Women"
m = "Men"
x = "Other, never in the data"

[variables.county]
[variables.county.codes]
A = "County A"
B = "County B"

[variables.town]
parent = "county"
[variables.town.codes]
a1 = { label = "A one", parent = "A" }
a2 = { label = "A two", parent = "A" }
a9 = { label = "A nine, deserted", parent = "A" }
b1 = { label = "B one", parent = "B" }
b2 = { label = "B two", parent = "B" }

[variables.age]
kind = "numeric"
minimum = 0
maximum = 120
cutpoints = [20, 40, 60, 110]

[variables.ill]
role = "confidential"
[variables.ill.codes]
no = "No"
yes = "Yes"

[variables.work]
group = "job"
[variables.work.codes]
yes = "In work"
no = "Not in work"

[variables.trade]
group = "job"
[variables.trade.codes]
p = "Plumber"
q = "Quarryman"
r = "Rigger"

[variables.income]
kind = "numeric"
minimum = 0
missing = [""]
"""


@lru_cache
def described(catalog: str) -> Dataset:
    return read_dataset(catalog, name="people", read_file=str)


def population(*, size: int, seed: int, visits: int = 1) -> pa.Table:
    """People as a data file; each stands in it `visits` times, with the same person and another income."""
    rng = np.random.default_rng(seed)
    town = rng.choice(["a1", "a2", "b1", "b2"], size, p=[0.3, 0.2, 0.3, 0.2])
    person = {
        "id": np.arange(size).astype(str),
        "w": rng.integers(50, 200, size) / 100,
        "sex": rng.choice(["f", "m"], size),
        "county": np.char.upper(town.astype("<U1")),
        "town": town,
        "age": rng.integers(0, 100, size).astype(float),
        "ill": rng.choice(["no", "yes"], size, p=[0.6, 0.4]),
        "work": rng.choice(["yes", "no"], size),
        "trade": rng.choice(["p", "q", "r"], size),
    }
    columns = {name: np.repeat(values, visits) for name, values in person.items()}
    income = rng.lognormal(6, 0.5, size * visits).round()
    missing = rng.random(size * visits) < 0.1
    return pa.table(columns).append_column("income", pa.array(income, mask=missing))


@dataclass(frozen=True)
class Town:
    """Where a test asks about the population: a table of people, a policy, as many secrets as it likes."""

    catalog: str = CATALOG
    people: pa.Table = field(default_factory=lambda: population(size=1200, seed=1))
    policy: Policy = PRESETS["drop-q"]
    """Every rule and mechanism is in force, so that a test can look at each; what every site does is tried as 'standard'."""

    def under(self, **sections: dict[str, object]) -> "Town":
        """The same people under a policy that differs in some fields."""
        changed = {name: replace(getattr(self.policy, name), **fields) for name, fields in sections.items()}
        return replace(self, policy=replace(self.policy, **changed))

    def preset(self, name: str) -> "Town":
        return replace(self, policy=PRESETS[name])

    def of(self, people: pa.Table) -> "Town":
        return replace(self, people=people)

    @property
    def dataset(self) -> Dataset:
        return described(self.catalog)

    def secret(self, number: int = 0) -> Secret:
        """The secret of that number: a test over many secrets says which."""
        return Secret(sha256(f"secret {number}".encode()).digest())

    def coded(self, secret: int = 0) -> Coded:
        """The records that a site would answer from: protected, if the policy asks for it."""
        true = encode(self.dataset, self.people, secret=self.secret(secret))
        return protect_records(true, self.dataset, self.policy, self.secret(secret))[0]

    def desk(self, secret: int = 0, *, base: Base | None = None) -> Desk:
        """The desk of a site with this secret, on the plain engine, and with a protected base for its counts if there is one."""
        shield = Shield(self.policy, self.secret(secret))
        read = None if base is None else lambda: base
        return Desk(Road(self.dataset, MemoryEngine(self.coded(secret)), shield, base=read))


@pytest.fixture(scope="session")
def town() -> Town:
    return Town()


@pytest.fixture(scope="session")
def people_of() -> Callable[..., pa.Table]:
    return population


@pytest.fixture
def calls_of() -> Callable[[Callable[[], object]], int]:
    """How many calls a function makes, Python's and C's, in this thread and in those it starts.

    That is what it costs, whatever else the machine is doing.
    """

    def count(run: Callable[[], object]) -> int:
        calls = 0

        def seen(frame: object, event: str, argument: object) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        before = sys.getprofile()
        threading.setprofile(seen)
        sys.setprofile(seen)
        try:
            run()
        finally:
            sys.setprofile(before)
            threading.setprofile(before)
        return calls

    return count
