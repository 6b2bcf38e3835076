"""How the time and memory of everything a site does grow with its records, on every engine: one part a process, one page.

    python benchmarks/scale.py duckdb:1000000 columns:1000000     these parts, printed
    python benchmarks/scale.py --record [duckdb:60000000 …]       these or all parts; writes docs/reference/performance.json,
                                                                  of which the table in docs/reference/performance.md is made
                                                                  (then: CONFIDE_UPDATE_DOCS=1 pytest tests/docs -k performance)

People are generated into a Parquet file a million at a time, and ingested by a process of their own, whose memory is its peak.
A question is a whole request under `standard`: admitted, gathered, judged, protected, released; not the ledger's wait for the disk.
Two to five different ones of each kind follow one that warms up, because an answer that is kept costs nothing. Beside each stands what
the engine's own SQL takes: the plain GROUP BY of the same tables, or a sum over every column that the model reads. Seconds are by
the clock, so nothing else should run. PostgreSQL is started as the tests start it; what Spark costs is measured by spark.py.
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import confide
from confide import demo
from confide.answering.service import Service
from confide.engines.postgres.engine import PostgresEngine
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
    for engine, sizes in {"duckdb": (1, 10, 60), "columns": (1, 10, 60), "postgres": (10,)}.items()
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


@dataclass(frozen=True)
class Figure:
    """What was measured: seconds of Confide, of the engine's own SQL where there is such, and memory in megabytes."""

    what: str
    seconds: float
    raw: float | None = None
    megabytes: float | None = None


def people_file(rows: int, file: Path) -> None:
    """Generated people, a block at a time, as a custodian's Parquet file."""
    with pq.ParquetWriter(file, demo.people(1).schema) as writer:
        for before in range(0, rows, AT_ONCE):
            block = demo.people(min(AT_ONCE, rows - before), seed=1 + before // AT_ONCE)
            for name in ("person_id", "household_id"):
                place = block.schema.get_field_index(name)
                block = block.set_column(place, name, pc.add(block[name], pa.scalar(before)))
            writer.write_table(block.cast(writer.schema))


class Bench:
    """A site with one data set, and its engine's own SQL beside it."""

    def __init__(self, site: Path) -> None:
        self.service = Service.open(site)
        self.road = self.service._roads["people"]
        self.engine = self.road._engine
        self.raw = beside(Folder(site).store("people"))

    def ask(self, request: Request[Any], *, diagnostics: bool = False) -> None:
        considered = self.road.consider(self.road.admit(request))
        if considered.reasons:
            raise SystemExit(f"{request.title} is refused: {'; '.join(considered.reasons)}")
        self.road.release(considered, diagnostics=diagnostics)

    def query(self) -> Callable[[str], object]:
        """Runs SQL on the records, as they lie in the engine."""
        if isinstance(self.engine, PostgresEngine):
            return self._postgres
        return lambda sql: self.raw.execute(sql).fetchall()

    def _postgres(self, sql: str) -> object:
        with self.engine._sessions.question() as connection:
            return connection.execute(sql.encode()).fetchall()

    def measured(self, what: str, requests: list[Request[Any]], sql: list[str], **options: Any) -> Figure:
        """All but the first, which warms up."""
        ask, query = partial(self.ask, **options), self.query()
        seconds, raw = ([clocked(run, one) for one in some][1:] for run, some in ((ask, requests), (query, sql)))
        return Figure(what, sum(seconds) / len(seconds), sum(raw) / len(raw))

    def questions(self) -> Iterator[Figure]:
        yield self.measured("three-way table", [_table(by) for by in THREES], [self._count(by) for by in THREES])
        where = self._inside()
        counts = [self._count(by, where) for by in TWOS]
        yield self.measured("table of a two-piece universe", [_table(by, UNION) for by in TWOS], counts)
        scans = [self._scan(names) for names in _predictors()]
        for what, response, where, more in (
            ("linear model", "log(income)", None, {}),
            ("linear model of a two-piece universe", "log(income)", UNION, {}),
            ("logistic model", "employment=employed", WORKING, {}),
            ("linear model with diagnostics", "log(wages)", None, {"diagnostics": True}),
        ):
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


def clocked(run: Callable[[Any], object], given: Any) -> float:
    start = time.perf_counter()
    run(given)
    return time.perf_counter() - start


def peak() -> float:
    """The most memory that this process had, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def ingested(engine: str, file: Path, site: Path, where: str) -> Figure:
    catalog = resources.files("confide.demo").joinpath("people.toml").read_text(encoding="utf-8")
    named = "" if engine == "duckdb" else f'engine = "{engine}"\n{where}'
    start = time.perf_counter()
    confide.add(file, site, name="people", catalog=named + catalog)
    return Figure("ingest", time.perf_counter() - start, megabytes=peak())


@contextmanager
def server(engine: str) -> Iterator[str]:
    """The line of `dataset.toml` that names the server, which runs meanwhile."""
    if engine == "postgres":
        from postgres_server import running

        with running() as started:
            yield f'database = "{started.database}"\n'
    else:
        yield ""


def step(*words: str) -> Iterator[dict[str, Any]]:
    """What a process of its own measures, as it does."""
    command = [sys.executable, __file__, "--step", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield from map(json.loads, process.stdout or ())
    if process.returncode:
        raise SystemExit(f"Measuring {words[0]} failed; what is printed above it was measured.")


def stepped(words: list[str]) -> Iterator[Figure]:
    kind, site, *more = words
    if kind == "ingest":
        engine, file, where = more
        yield ingested(engine, Path(file), Path(site), where)
        return
    start = time.perf_counter()
    bench = Bench(Path(site))
    yield Figure("opening the site", time.perf_counter() - start)
    yield from bench.questions()
    yield Figure("answering", 0.0, megabytes=peak())


def measured(part: str) -> Iterator[dict[str, Any]]:
    engine, rows = part.split(":")
    with tempfile.TemporaryDirectory(prefix="confide-scale-") as folder, server(engine) as where:
        file, site = Path(folder) / "people.parquet", Path(folder) / "site"
        people_file(int(rows), file)
        for words in (("ingest", str(site), engine, str(file), where), ("ask", str(site))):
            for figure in step(*words):
                yield {"engine": engine, "rows": int(rows), **figure}


def shown(one: dict[str, Any]) -> str:
    raw = f"   raw {one['raw']:7.2f} s   ratio {one['seconds'] / one['raw']:6.2f}" if one["raw"] else ""
    memory = f"   {one['megabytes']:,.0f} MB" if one["megabytes"] else ""
    return f"{one['engine']:<9} {one['rows']:>11,}   {one['what']:<38} {one['seconds']:8.2f} s{raw}{memory}"


def record(found: list[dict[str, Any]]) -> None:
    """Keep what was measured before of other parts."""
    before = json.loads(RECORD.read_text()) if RECORD.exists() else {"figures": []}
    parts = {(one["engine"], one["rows"]) for one in found}
    figures = [one for one in before["figures"] if (one["engine"], one["rows"]) not in parts] + found
    engines = list(dict.fromkeys(part.split(":")[0] for part in PARTS))
    figures.sort(key=lambda one: (engines.index(one["engine"]), one["rows"]))
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), "duckdb": duckdb.__version__}
    RECORD.write_text(json.dumps({"machine": machine, "figures": figures}, indent=1) + "\n")


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
        found = []
        for one in measured(part):
            found.append(one)
            print(shown(one), flush=True)
        if given.record:
            record(found)


if __name__ == "__main__":
    main()
