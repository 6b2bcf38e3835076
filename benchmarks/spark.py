"""How much answers from Spark cost: ratios to its own plain count of the same records, measured in one run.

    python benchmarks/spark.py [--rows 1000000] [--repeat 5]

Every figure is the mean of `repeat` runs, in processor time of this process, the driver, both executors and their Pythons. "raw" is
a plain GROUP BY, "scan" a sum over each column of a model in one query, both on the Parquet that the engine reads. The cluster is a
master and two workers of one core on this machine, started for this as the tests do.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import resources
from itertools import combinations, cycle
from pathlib import Path

import numpy as np
from models import design

import confide
from confide import demo
from confide.answering.service import Service
from confide.answering.universe.resolve import resolve
from confide.engines.spark.driver import _DRIVERS
from confide.engines.spark.engine import SparkEngine
from confide.engines.sql import inside
from confide.engines.sums.batches import columns_of
from confide.model.design import Number
from confide.model.evidence import Step, Tally
from confide.model.request import Family, TableRequest
from confide.spelling.python import read_arguments
from tables import UNION

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from spark_cluster import Cluster, below, running

THREE = ("age_group", "county", "education")
TICK = os.sysconf("SC_CLK_TCK")


class Bench:
    def __init__(self, site: Path, repeat: int, cluster: Cluster) -> None:
        self.repeat, self.service = repeat, Service.open(site)
        self.road = self.service._roads["people"]
        engine = self.road._engine
        assert isinstance(engine, SparkEngine)
        self.engine, self.sizes = engine, engine._relation.sizes
        self.roots = [process.pid for process in cluster._processes.values()]
        self.roots += [driver._process.pid for driver in _DRIVERS._running.values()]
        self.within = resolve(self._request(["sex"], UNION).where, self.service.datasets["people"]).boxes
        self.rows = int(engine.tally(Tally(())).records[0])

    def clock(self) -> float:
        """Processor seconds of all processes, and of those that have ended."""
        ticks = 0
        for pid in {each for root in self.roots for each in below(root)}:
            with suppress(OSError):
                ticks += sum(map(int, Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:15]))
        return time.process_time() + ticks / TICK

    def measured(self, run: Callable[[], object]) -> float:
        for _ in range(3):  # Java compiles what is run often
            run()
        start = self.clock()
        for _ in range(self.repeat):
            run()
        return (self.clock() - start) / self.repeat

    def told(self, name: str, ours: Callable[[], object], theirs: float) -> None:
        seconds, each = self.measured(ours), 1e9 / self.rows
        words = f"{name:<58} {seconds * each:7.0f} ns a record {theirs * each:7.0f} ns"
        print(f"{words}   ratio {seconds / theirs:5.2f}", flush=True)

    def _request(self, rows: list[str], where: object = None) -> TableRequest:
        return read_arguments(TableRequest, "people", {"rows": rows, **({"where": where} if where else {})})

    def ask(self, rows: list[str], where: object = None) -> None:
        self.road.release(self.road.consider(self.road.admit(self._request(rows, where))))

    def query(self, sql: str) -> float:
        def run() -> None:
            with self.engine._records.question() as question:
                question.ask(sql)

        return self.measured(run)

    def count(self, by: tuple[str, ...], condition: str = "true") -> float:
        names = ", ".join(self.engine.facts.classes[name] for name in by)
        return self.query(f"SELECT {names}, count(*) FROM records WHERE {condition} GROUP BY {names}")


def measure_tables(bench: Bench) -> None:
    engine = bench.engine
    raw = bench.count(THREE)
    bench.told("three-way count: the engine / raw count", lambda: engine.tally(Tally(THREE)), raw)
    bench.told("three-way count: the whole request / raw count", lambda: bench.ask(list(THREE)), raw)
    for words, share in (("", 0.0), (" where they matter", 0.3)):
        sums = Tally(THREE, of="income", weighted=True, top=3, share=share)
        bench.told(f"    with weights, totals and largest{words} / raw", lambda sums=sums: engine.tally(sums), raw)
    by = ("education", "marital")
    raw = bench.count(by, inside(bench.within, engine.facts, bench.sizes))
    bench.told("two pieces: the engine / raw filtered", lambda: engine.tally(Tally(by, bench.within)), raw)
    others = cycle(combinations(("education", "marital", "employment", "industry"), 2))
    bench.told("two pieces: the whole request / raw filtered", lambda: bench.ask(list(next(others)), UNION), raw)


def measure_models(bench: Bench) -> None:
    engine = bench.engine
    linear = design(dict(bench.sizes), Number("income", scale=1e4))
    names = [name for name in columns_of(Step(linear, Family.GAUSSIAN), engine.facts) if name not in ("unit", "key")]
    print(f"{len(linear.blocks) - 1} predictors, {linear.columns} columns; 1 scan is Spark's sum over all of them")
    scan = bench.query(f"SELECT count(*), {', '.join(f'sum({name})' for name in names)} FROM records")
    step = Step(linear, Family.GAUSSIAN, beta=(0.01,) * linear.columns)
    bench.told("linear: moments / scan", lambda: engine.moments(step), scan)
    within = Step(linear, Family.GAUSSIAN, bench.within)
    bench.told("linear in two pieces: moments / scan", lambda: engine.moments(within), scan)
    inverse = np.linalg.pinv(engine.moments(step).gram)
    words = "linear: leverage, robust errors, spread / scan"
    bench.told(words, lambda: engine.spread(step, inverse), scan)


def make(site: Path, rows: int, cluster: Cluster) -> None:
    catalog = resources.files("confide.demo").joinpath("people.toml").read_text(encoding="utf-8")
    data = demo.people(rows)
    where = f'engine = "spark"\ncluster = "{cluster.cluster}"\nstorage = "{cluster.storage}"\n'
    start = time.process_time()
    confide.add(data, site, name="people", catalog=where + catalog, preset="drop-q")
    print(f"ingested in {time.process_time() - start:.0f} s of the processor", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, running() as cluster:
        make(Path(folder) / "site", given.rows, cluster)
        bench = Bench(Path(folder) / "site", given.repeat, cluster)
        print(f"{bench.rows:,} records")
        measure_tables(bench)
        measure_models(bench)
        bench.service.close()


if __name__ == "__main__":
    main()
