"""How much a protected table costs: ratios to the plain engine query, measured in one run.

Also: the milliseconds of a request outside the engine, and what eight HTTP clients get done against one.

    python benchmarks/tables.py [--rows 10000000] [--repeat 7]

Every figure is the median of `repeat` runs. "raw" is DuckDB's own GROUP BY on the same store with default settings.
"""

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import duckdb
import httpx

import confide
from confide import demo
from confide.answering.road import Road
from confide.answering.service import Service
from confide.answering.universe.resolve import resolve
from confide.cache import Cache
from confide.engines.duckdb.store import write_store
from confide.engines.stores import read_records
from confide.formats.jsonstat.write import write_jsonstat
from confide.model.evidence import Box
from confide.model.request import TableRequest
from confide.site.folder import Folder
from confide.spelling.python import read_arguments

UNION = [{"region": ["N", "S"], "sex": ["female"]}, {"age_group": ["20-29", "30-39"], "region": ["C"]}]


def median(run: Callable[[], object], repeat: int) -> float:
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def beside(store: Path) -> duckdb.DuckDBPyConnection:
    """DuckDB with its own settings on the records of a store, which an engine has open with its settings locked."""
    if store.with_suffix(".columns").exists():  # which DuckDB cannot read
        copied = store.with_suffix(".raw")
        write_store(read_records(store), copied, pairs_from=sys.maxsize)
        store = copied
    connection = duckdb.connect()
    connection.execute(f"ATTACH '{store}' AS store (READ_ONLY)")
    connection.execute("USE store")
    return connection


class Bench:
    def __init__(self, folder: Path, rows: int, repeat: int) -> None:
        catalog = resources.files("confide.demo").joinpath("people.toml").read_text(encoding="utf-8")
        start = time.perf_counter()
        data = demo.people(rows)
        made = time.perf_counter()
        confide.add(data, folder, name="people", catalog='engine = "duckdb"\n' + catalog)
        print(f"{rows:,} rows: generated in {made - start:.1f} s, ingested in {time.perf_counter() - made:.1f} s")
        self.rows, self.repeat, self.folder = rows, repeat, folder
        self.service = Service.open(folder)
        self.road = self.service._roads["people"]
        self.raw = beside(Folder(folder).store("people"))
        self.facts, self.kept = self.road._engine.facts, self.road._engine._kept

    def protected(self, request: TableRequest, *, again: bool = False) -> float:
        """Consider and release, without the ledger's wait for the disk; unless `again`, nothing is kept from before."""
        road = self.road
        road._engine._kept = self.kept if again else Cache(0)

        def ask() -> None:
            if not again:
                road._cached.cache_clear()
                road._cross.cache_clear()
            road.release(road.consider(road.admit(request)))

        return median(ask, self.repeat)

    def plain(self, request: TableRequest, *, sums: bool = False) -> float:
        by = ", ".join(self.facts.classes[name] for name in request.by)
        picks = f"{by}, count(*)" + (
            f", sum(weight), sum({self.facts.numbers[request.of or 'income']})" if sums else ""
        )
        boxes = resolve(request.where, self.service.datasets["people"]).boxes
        sql = f"SELECT {picks} FROM records{self._where(boxes)} GROUP BY {by}"
        return median(lambda: self.raw.execute(sql).fetchall(), self.repeat)

    def _where(self, boxes: tuple[Box, ...]) -> str:
        def test(name: str, places: tuple[int, ...]) -> str:
            return f"{self.facts.classes[name]} IN ({', '.join(map(str, places))})"

        return (" WHERE " + " OR ".join(" AND ".join(test(*c) for c in box) for box in boxes)) if boxes else ""


class Stopwatch:
    """An engine that notes how long it is asked for."""

    def __init__(self, engine: Any) -> None:
        self.facts, self._engine, self.seconds = engine.facts, engine, 0.0

    def tally(self, tally: Any) -> Any:
        return self._timed(self._engine.tally, tally)

    def units(self, within: Any, *, low: int, high: int) -> Any:
        return self._timed(self._engine.units, within, low=low, high=high)

    def _timed(self, ask: Callable[..., Any], *given: Any, **named: Any) -> Any:
        start = time.perf_counter()
        try:
            return ask(*given, **named)
        finally:
            self.seconds += time.perf_counter() - start


def overhead(bench: Bench) -> None:
    """What a request of about 1,000 cells costs outside the engine, the wait for the disk aside."""
    road = bench.road
    watch = Stopwatch(road._engine)
    timed = Road(road.dataset, watch, road._shield)
    request = read_arguments(TableRequest, "people", {"rows": ["occupation"], "columns": ["age_group"]})
    outside = []
    for _ in range(30):
        watch.seconds, start = 0.0, time.perf_counter()
        release = timed.release(timed.consider(timed.admit(request)))
        write_jsonstat(release)
        outside.append(time.perf_counter() - start - watch.seconds)
    cells = release.columns["count"].values.size
    print(f"outside the engine, {cells} cells: {statistics.median(outside) * 1e3:.1f} ms   limit 15 ms")


def different() -> Iterator[str]:
    """Tables that were not asked for before: an answer that is kept costs nothing."""
    names = ("sex", "region", "marital", "education", "employment", "industry", "county", "age_group")
    ages = ("20-29", "30-39", "40-49", "50-59", "60-69")
    for size in range(1, len(ages) + 1):
        for chosen in combinations(ages, size):
            for rows, columns in combinations(names, 2):
                yield f"/people/table.json?rows={rows}&columns={columns}&where=age_group={','.join(chosen)}"


def throughput(addresses: Iterator[str], clients: int, requests: int) -> float:
    """Tables a second over HTTP, the ledger included."""
    asked = list(islice(addresses, requests))
    with httpx.Client(base_url="http://127.0.0.1:8765", timeout=60) as http, ThreadPoolExecutor(clients) as pool:
        start = time.perf_counter()
        statuses = list(pool.map(lambda address: http.get(address).status_code, asked))
        seconds = time.perf_counter() - start
    assert set(statuses) <= {200, 403}
    return requests / seconds


def parallel(site: Path) -> None:
    policy = site / "policy.toml"
    policy.write_text(re.sub(r"per_(day|minute) = \d+", r"per_\1 = 0", policy.read_text()))
    server = subprocess.Popen([sys.executable, "-m", "confide", "serve", str(site), "--port", "8765"])
    try:
        for _ in range(100):
            try:
                httpx.get("http://127.0.0.1:8765/api/datasets")
                break
            except httpx.HTTPError:
                time.sleep(0.1)
        addresses = different()
        throughput(addresses, 1, 100)
        one, eight = throughput(addresses, 1, 300), throughput(addresses, 8, 300)
        print(f"HTTP: 1 client {one:.0f} tables/s, 8 clients {eight:.0f} tables/s   ratio {eight / one:.2f}   limit 1")
    finally:
        server.terminate()
        server.wait()


def report(name: str, ours: float, theirs: float, limit: float) -> None:
    ratio = ours / theirs
    verdict = "ok" if ratio <= limit else "ABOVE"
    print(f"{name:<66} {ours * 1e3:8.1f} ms {theirs * 1e3:8.1f} ms   ratio {ratio:5.2f}   limit {limit}  {verdict}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeat", type=int, default=7)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder) / "site", given.rows, given.repeat)
        for by in (["sex"], ["age_group", "region"], ["age_group", "county", "education"]):
            request = read_arguments(TableRequest, "people", {"rows": by})
            report(f"count by {' x '.join(by)} / raw count", bench.protected(request), bench.plain(request), 1.0)
        for by in (["industry"], ["age_group", "region"], ["age_group", "county", "education"]):
            request = read_arguments(
                TableRequest, "people", {"rows": by, "measure": ["count", "weighted_count", "total"], "of": "income"}
            )
            ours = bench.protected(request)
            report(f"count, weighted count, total by {' x '.join(by)} / raw count", ours, bench.plain(request), 1.5)
            report("    / raw count and sums", ours, bench.plain(request, sums=True), 1.2)
            again = bench.protected(request, again=True)
            report("    the second time / raw count", again, bench.plain(request), 1.5)
        request = read_arguments(TableRequest, "people", {"rows": ["education", "marital"], "where": UNION})
        bench.protected(request)
        report(
            "two pieces, rules and Drop q, second request / raw filtered count",
            bench.protected(request),
            bench.plain(request),
            2.5,
        )
        overhead(bench)
        bench.service.close()
        bench.raw.close()
        parallel(bench.folder)


if __name__ == "__main__":
    main()
