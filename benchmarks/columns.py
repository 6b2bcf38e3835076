"""How much answers from columns cost: ratios to DuckDB on the same records, measured in one run.

    python benchmarks/columns.py [--rows 10000000] [--repeat 5] [--site FOLDER]

Every figure is the median of `repeat` runs, in processor time of all threads, which other work on the machine changes less
than the clock. "raw" is DuckDB's own GROUP BY with default settings, "scan" its sum over each column of a model in one
query, both on the store beside the columns. Tables are whole requests under the policy `drop-q`: admitted, counted,
judged, protected. Every universe is asked for twice, so that its mask is there; what finding it costs is told apart.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from importlib import resources
from itertools import combinations, cycle
from math import inf
from pathlib import Path

import numpy as np
from models import design

import confide
from confide import demo
from confide.answering.service import Service
from confide.answering.universe.resolve import resolve
from confide.engines.columns.engine import ColumnsEngine
from confide.engines.sums.batches import columns_of
from confide.model.design import Design, Indicator, Number
from confide.model.evidence import Box, Step, Tally
from confide.model.request import Family, TableRequest
from confide.site.folder import Folder
from confide.spelling.python import read_arguments
from tables import UNION, beside

THREE = ("age_group", "county", "education")


class Bench:
    def __init__(self, site: Path, repeat: int) -> None:
        self.repeat, self.service = repeat, Service.open(site)
        self.road = self.service._roads["people"]
        engine = self.road._engine
        assert isinstance(engine, ColumnsEngine)
        self.engine, self.store = engine, engine._store
        self.raw = beside(Folder(site).store("people"))
        self.within = resolve(self._request(["sex"], UNION).where, self.service.datasets["people"]).boxes

    def measured(self, run: Callable[[], object]) -> float:
        run()
        times = []
        for _ in range(self.repeat):
            start = time.process_time()
            run()
            times.append(time.process_time() - start)
        return statistics.median(times)

    def told(self, name: str, ours: Callable[[], object], theirs: float, limit: float = inf) -> None:
        seconds = self.measured(ours)
        ratio, each = seconds / theirs, 1e9 / self.store.rows
        verdict = "" if limit == inf else f"limit {limit}  {'ok' if ratio <= limit else 'ABOVE'}"
        words = f"{name:<58} {seconds * each:7.1f} ns a record {theirs * each:7.1f} ns"
        print(f"{words}   ratio {ratio:5.2f}   {verdict}")

    def _request(self, rows: list[str], where: object = None) -> TableRequest:
        return read_arguments(TableRequest, "people", {"rows": rows, **({"where": where} if where else {})})

    def ask(self, rows: list[str], where: object = None) -> None:
        self.road.release(self.road.consider(self.road.admit(self._request(rows, where))))

    def query(self, sql: str) -> float:
        return self.measured(lambda: self.raw.execute(sql).fetchall())

    def count(self, by: tuple[str, ...], boxes: tuple[Box, ...] = ()) -> float:
        classes = self.engine.facts.classes
        names = ", ".join(classes[name] for name in by)

        def test(name: str, places: tuple[int, ...]) -> str:
            return f"{classes[name]} IN ({', '.join(map(str, places))})"

        where = " OR ".join(" AND ".join(test(*c) for c in box) for box in boxes)
        return self.query(f"SELECT {names}, count(*) FROM records{' WHERE ' + where if where else ''} GROUP BY {names}")

    def scan(self, model: Design) -> float:
        names = [
            name for name in columns_of(Step(model, Family.GAUSSIAN), self.engine.facts) if name not in ("unit", "key")
        ]
        return self.query(f"SELECT count(*), {', '.join(f'sum({name})' for name in names)} FROM records")


def warm_up(bench: Bench, model: Design) -> None:
    """The first table and the first step of a model: checking the columns they read, and loading or compiling loops."""
    for name, run in (
        ("table", lambda: bench.engine.tally(Tally(THREE))),
        ("step of a model", lambda: bench.engine.moments(Step(model, Family.GAUSSIAN))),
    ):
        seconds = []
        for _ in range(2):
            start = time.perf_counter()
            run()
            seconds.append(time.perf_counter() - start)
        print(f"the first {name}: {seconds[0]:.2f} s, the second {seconds[1]:.2f} s")


def measure_tables(bench: Bench) -> None:
    raw = bench.count(THREE)
    bench.told("three-way count: the engine / raw count", lambda: bench.engine.tally(Tally(THREE)), raw, 0.5)
    bench.told("three-way count: the whole request / raw count", lambda: bench.ask(list(THREE)), raw, 0.5)
    sums = Tally(THREE, of="income", weighted=True, top=3)
    bench.told("    with weights, totals and largest / raw count", lambda: bench.engine.tally(sums), raw)
    within, by = bench.within, ("education", "marital")
    raw = bench.count(by, within)
    share = bench.engine.tally(Tally((), within)).records.sum() / bench.store.rows
    print(f"two pieces with {share:.0%} of the records")
    bench.told(
        "two pieces: finding the mask / raw filtered",
        lambda: bench.engine._universes._within(0, bench.store.rows, within),
        raw,
        0.3,
    )
    bench.told("two pieces: the engine / raw filtered", lambda: bench.engine.tally(Tally(by, within)), raw, 0.3)
    others = cycle(combinations(("education", "marital", "employment", "industry"), 2))
    bench.told("two pieces: the whole request / raw filtered", lambda: bench.ask(list(next(others)), UNION), raw, 0.3)


def measure_models(bench: Bench) -> None:
    engine = bench.engine
    income, poor = Number("income", scale=1e4), Indicator("income", (0, 1, 2))
    linear, logistic = (design(bench.store.sizes, response) for response in (income, poor))
    beta = (0.01,) * linear.columns
    print(f"{len(linear.blocks) - 1} predictors, {linear.columns} columns; 1 scan is DuckDB's sum over all of them")
    scan = bench.scan(linear)
    universe = Step(linear, Family.GAUSSIAN, bench.within)
    bench.told("linear in two pieces: moments / scan", lambda: engine.moments(universe), scan, 4)
    bench.told("linear: moments / scan", lambda: engine.moments(Step(linear, Family.GAUSSIAN)), scan)
    step = Step(logistic, Family.BINOMIAL, beta=beta)
    bench.told("logistic: one step / scan", lambda: engine.moments(step), bench.scan(logistic), 4)
    for name, at in (("linear", Step(linear, Family.GAUSSIAN, beta=beta)), ("logistic", step)):
        inverse = np.linalg.pinv(engine.moments(at).gram)
        words = f"{name}: leverage, robust errors, spread / scan"
        bench.told(words, lambda at=at, inverse=inverse: engine.spread(at, inverse), scan, 8)


def make(site: Path, rows: int) -> None:
    catalog = resources.files("confide.demo").joinpath("people.toml").read_text(encoding="utf-8")
    data = demo.people(rows)
    start = time.process_time()
    confide.add(data, site, name="people", catalog='engine = "columns"\n' + catalog, preset="drop-q")
    print(f"ingested in {time.process_time() - start:.1f} s of processor time")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--site", type=Path, help="a site with the demonstration people in columns; made if not there")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        site = given.site or Path(folder) / "site"
        if not site.exists():
            make(site, given.rows)
        bench = Bench(site, given.repeat)
        print(f"{bench.store.rows:,} records, {bench.engine.size >> 20:,} MB of columns")
        warm_up(bench, design(bench.store.sizes, Number("income", scale=1e4)))
        measure_tables(bench)
        measure_models(bench)
        bench.service.close()


if __name__ == "__main__":
    main()
