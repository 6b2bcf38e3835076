"""How the time and memory of everything a site does grow with its records, on every engine: one part a process, one page.

    python benchmarks/scale.py duckdb:1000000 columns:1000000     these parts, printed
    python benchmarks/scale.py --record [duckdb:60000000 …]       these or all parts; writes docs/reference/performance.json,
                                                                  of which the table in docs/reference/performance.md is made
                                                                  (then: CONFIDE_UPDATE_DOCS=1 pytest tests/docs -k performance)

People are generated into a Parquet file a million at a time, and ingested by a process of their own, whose memory is watched.
A question is a whole request under `standard`: admitted, gathered, judged, protected, released; not the ledger's wait for the disk.
One to five different ones of each kind follow one that warms up, because an answer that is kept costs nothing: fewer where one takes
long. Beside each stands what the engine's own SQL takes: the plain GROUP BY of the same tables, or a sum over every column that the
model reads. Seconds are of the processor, of all cores together and of servers and executors too, so that other work of the machine
hardly counts; those by the clock are kept beside them. PostgreSQL and a Spark of two workers are started as the tests start
them. What was measured is kept step by step: a run that is cut off loses nothing.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from importlib import resources
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from memory import Memory

import confide
from confide import demo
from confide.answering.service import Service
from confide.engines.postgres.engine import PostgresEngine
from confide.engines.spark.engine import SparkEngine
from confide.model.request import RegressionRequest, Request, TableRequest
from confide.site.folder import Folder
from confide.spelling.python import read_arguments
from tables import UNION, beside

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "docs" / "reference" / "performance.json"
sys.path.append(str(ROOT / "tests"))

AT_ONCE = 1_000_000
PARTS = tuple(
    f"{engine}:{rows}"
    for engine, sizes in {"duckdb": (1, 10, 60), "columns": (1, 10, 60), "postgres": (10,), "spark": (10,)}.items()
    for rows in (millions * 1_000_000 for millions in sizes)
)

THREES = (
    ("sex", "county", "education"),
    ("age_group", "county", "education"),
    ("age_group", "industry", "marital"),
    ("county", "industry", "employment"),
)
TWOS = (("education", "marital"), ("education", "employment"), ("industry", "marital"), ("age_group", "industry"))
WORKING = [{"age_group": ["20-29", "30-39", "40-49", "50-59"]}]
"""Of ten million people hardly any child or pensioner is employed, and no model tells apart how hardly."""

PREDICTORS = ("region", "age_group", "sex", "marital", "country_of_birth", "children", "education", "industry")


MODELS: dict[str, tuple[str, object, dict[str, bool]]] = {
    "linear model": ("log(income)", None, {}),
    "linear model of a two-piece universe": ("log(income)", UNION, {}),
    "logistic model": ("employment=employed", WORKING, {}),
    "linear model with diagnostics": ("log(wages)", None, {"diagnostics": True}),
}
TABLES = ("three-way table", "table of a two-piece universe")
KINDS = ("ingest", "opening the site", *TABLES, *MODELS, "answering")
PATIENCE = 60.0
"""Seconds of the processor for the questions of a kind."""

TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Figure:
    """What was measured: seconds of the processor, of Confide and of the engine's own SQL where there is such; Confide's by the clock;
    memory in megabytes, of its own and with the pages of files.
    """

    what: str
    seconds: float
    raw: float | None = None
    clock: float | None = None
    megabytes: float | None = None
    own: float | None = None


def people_file(rows: int, file: Path) -> None:
    """Generated people, a block at a time, as a custodian's Parquet file."""
    with pq.ParquetWriter(file, demo.people(1).schema) as writer:
        for before in range(0, rows, AT_ONCE):
            block = demo.people(min(AT_ONCE, rows - before), seed=1 + before // AT_ONCE)
            for name in ("person_id", "household_id"):
                place = block.schema.get_field_index(name)
                block = block.set_column(place, name, pc.add(block[name], pa.scalar(before)))
            writer.write_table(block.cast(writer.schema))


class Watch:
    """Tells time: of the processor, taken by this process, all that it has started and some servers; and by the clock."""

    def __init__(self, servers: Sequence[int]) -> None:
        self._servers = servers

    def processor(self) -> float:
        from spark_cluster import below

        ticks = 0
        for pid in {each for root in (os.getpid(), *self._servers) for each in below(root)} | set(self._servers):
            with suppress(OSError):  # its own, and of those it started that have ended
                ticks += sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]))
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.process_time() + ended.ru_utime + ended.ru_stime + ticks / TICK

    def taken(self, run: Callable[[Any], object], given: Any) -> tuple[float, float]:
        """Seconds of the processor, and by the clock."""
        begun, start = self.processor(), time.perf_counter()
        run(given)
        return self.processor() - begun, time.perf_counter() - start


class Bench:
    """A site with one data set, and its engine's own SQL beside it."""

    def __init__(self, site: Path, watch: Watch) -> None:
        self.service, self.watch = Service.open(site), watch
        self.road = self.service._roads["people"]
        self.engine = self.road._engine

    def ask(self, request: Request[Any], *, diagnostics: bool = False) -> None:
        considered = self.road.consider(self.road.admit(request))
        if considered.reasons:
            raise SystemExit(f"{request.title} is refused: {'; '.join(considered.reasons)}")
        self.road.release(considered, diagnostics=diagnostics)

    def query(self) -> Callable[[str], object]:
        """Runs SQL on the records, as they lie in the engine."""
        if isinstance(self.engine, PostgresEngine):
            return self._postgres
        if isinstance(self.engine, SparkEngine):
            return self._spark
        raw = beside(Folder(self.service.papers.path).store("people"))
        return lambda sql: raw.execute(sql).fetchall()

    def _postgres(self, sql: str) -> object:
        with self.engine._sessions.question() as connection:
            return connection.execute(sql.encode()).fetchall()

    def _spark(self, sql: str) -> object:
        with self.engine._records.question() as question:
            return question.ask(sql)

    def measured(self, what: str, requests: list[Request[Any]], raw: float, **options: Any) -> Figure:
        """All but the first, which warms up; no more of them once they took `PATIENCE`."""
        ask, taken = partial(self.ask, **options), self.watch.taken
        taken(ask, requests[0])
        ours: list[tuple[float, float]] = []
        for one in requests[1:]:
            if sum(seconds for seconds, _ in ours) < PATIENCE:
                ours.append(taken(ask, one))
        seconds, clock = (sum(some) / len(ours) for some in zip(*ours, strict=True))
        return Figure(what, seconds, raw, clock)

    def raw(self, sql: list[str]) -> float:
        """What the engine's own SQL takes, all but the first: the median, for a process of a server that ends takes its time along."""
        return median(self.watch.taken(self.query(), one)[0] for one in sql[1:])

    def questions(self) -> Iterator[Figure]:
        counts = self.raw([self._count(by) for by in THREES])
        yield self.measured(TABLES[0], [_table(by) for by in THREES], counts)
        where = self._inside()
        counts = self.raw([self._count(by, where) for by in TWOS])
        yield self.measured(TABLES[1], [_table(by, UNION) for by in TWOS], counts)
        scans = self.raw([self._scan(names) for names in _predictors()])
        for what, (response, where, more) in MODELS.items():
            models = [_model(response, names, where) for names in _predictors() if _tells_little(response, names)]
            yield self.measured(what, models, scans, **more)

    def _count(self, by: tuple[str, ...], where: str = "") -> str:
        names = ", ".join(self.engine.facts.classes[name] for name in by)
        return f"SELECT {names}, count(*) FROM records{where} GROUP BY {names}"

    def _scan(self, names: tuple[str, ...]) -> str:
        classes, numbers = self.engine.facts.classes, self.engine.facts.numbers
        columns = [classes[name] for name in names] + [numbers["income"]]
        return f"SELECT count(*), {', '.join(f'sum({column})' for column in columns)} FROM records"

    def _inside(self) -> str:
        dataset, classes = self.service.datasets["people"], self.engine.facts.classes

        def test(name: str, codes: list[str]) -> str:
            known = [code.code for code in dataset.variable(name).codes or ()]
            return f"{classes[name]} IN ({', '.join(str(known.index(code)) for code in codes)})"

        return " WHERE " + " OR ".join(" AND ".join(test(*one) for one in piece.items()) for piece in UNION)


def _table(by: tuple[str, ...], where: object = None) -> Request[Any]:
    return read_arguments(TableRequest, "people", {"rows": list(by), **({"where": where} if where else {})})


def _predictors() -> list[tuple[str, ...]]:
    """All, and all but one or two."""
    without = ((), ("marital",), ("children",), ("industry",), ("industry", "marital"), ("industry", "children"))
    return [tuple(name for name in PREDICTORS if name not in left) for left in without]


def _tells_little(response: str, names: tuple[str, ...]) -> bool:
    """Who has no industry is not employed: with ten million people no rule lets such a model pass."""
    return "=" not in response or "industry" not in names


def _model(response: str, names: tuple[str, ...], where: object) -> Request[Any]:
    formula = f"{response} ~ {' + '.join(names)}"
    family = {"family": "binomial"} if "=" in response else {}
    return read_arguments(
        RegressionRequest, "people", {"formula": formula, **family, **({"where": where} if where else {})}
    )


def ingested(engine: str, file: str, site: Path, where: str) -> None:
    catalog = resources.files("confide.demo").joinpath("people.toml").read_text(encoding="utf-8")
    confide.add(file, site, name="people", catalog=f'engine = "{engine}"\n{where}{catalog}')


@contextmanager
def server(engine: str) -> Iterator[tuple[str, list[int]]]:
    """The lines of `dataset.toml` that name the server, which runs meanwhile, and its processes."""
    if engine == "postgres":
        from postgres_server import running

        with running() as started:
            first = int((started.folder / "data" / "postmaster.pid").read_text().split()[0])
            yield f'database = "{started.database}"\n', [first]
    elif engine == "spark":
        from spark_cluster import running as cluster

        with cluster() as begun:
            where = f'cluster = "{begun.cluster}"\nstorage = "{begun.storage}"\n'
            yield where, [process.pid for process in begun._processes.values()]
    else:
        yield "", []


def step(*words: str) -> Iterator[dict[str, Any]]:
    """What a process of its own measures, as it does."""
    command = [sys.executable, __file__, "--step", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield from map(json.loads, process.stdout or ())
    if process.returncode:
        raise SystemExit(f"Measuring {words[0]} failed; what is printed above it was measured.")


def stepped(words: list[str]) -> Iterator[Figure]:
    kind, site, servers, *more = words
    watch, memory = Watch(json.loads(servers)), Memory()
    if kind == "ingest":
        engine, file, where = more
        seconds, clock = watch.taken(lambda file: ingested(engine, file, Path(site), where), file)
        yield Figure("ingest", seconds, clock=clock, megabytes=memory.all, own=memory.own)
        return
    benches: list[Bench] = []
    seconds, clock = watch.taken(lambda site: benches.append(Bench(site, watch)), Path(site))
    yield Figure("opening the site", seconds, clock=clock)
    with benches[0].service:
        yield from benches[0].questions()
    yield Figure("answering", 0.0, megabytes=memory.all, own=memory.own)


def measured(part: str) -> Iterator[dict[str, Any]]:
    engine, rows = part.split(":")
    with tempfile.TemporaryDirectory(prefix="confide-scale-") as folder, server(engine) as (where, pids):
        file, site, servers = Path(folder) / "people.parquet", Path(folder) / "site", json.dumps(pids)
        people_file(int(rows), file)
        for words in (("ingest", str(site), servers, engine, str(file), where), ("ask", str(site), servers)):
            for figure in step(*words):
                yield {"engine": engine, "rows": int(rows), **figure}
                file.unlink(missing_ok=True)  # after the ingest it only takes room


def shown(one: dict[str, Any]) -> str:
    raw = f"   raw {one['raw']:7.2f} s   ratio {one['seconds'] / one['raw']:6.2f}" if one["raw"] else ""
    memory = f"   {one['megabytes']:,.0f} MB, {one['own']:,.0f} of its own" if one["megabytes"] else ""
    return f"{one['engine']:<9} {one['rows']:>11,}   {one['what']:<38} {one['seconds']:8.2f} s{raw}{memory}"


def record(found: dict[str, Any]) -> None:
    """Keep a figure, and what was measured before of anything else."""
    before = json.loads(RECORD.read_text()) if RECORD.exists() else {"figures": []}
    figures = [one for one in before["figures"] if _key(one) != _key(found)] + [found]
    engines = list(dict.fromkeys(part.split(":")[0] for part in PARTS))
    figures.sort(key=lambda one: (engines.index(one["engine"]), one["rows"], KINDS.index(one["what"])))
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), "duckdb": duckdb.__version__}
    RECORD.write_text(json.dumps({"machine": machine, "figures": figures}, indent=1) + "\n")


def _key(one: dict[str, Any]) -> tuple[str, int, str]:
    return one["engine"], one["rows"], one["what"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=PARTS, help="engine:rows")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--step", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.step:
        for figure in stepped(given.step):
            print(json.dumps(asdict(figure)), flush=True)
        return
    for part in given.parts:
        for one in measured(part):
            print(shown(one), flush=True)
            if given.record:
                record(one)


if __name__ == "__main__":
    main()
