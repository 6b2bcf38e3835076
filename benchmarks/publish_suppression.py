"""Figures of cell suppression: how many cells and how much value it takes, and how long, beside other programs.

The generated table of 100,000 records is the one on which GaussSuppression and sdcTable were measured, with the cells of
one to three records as primaries. GaussSuppression asks that no cell can be computed, lets empty cells go, and left
intervals of width 1; so the terms of each figure are said: `apart` is an interval of width 1 or more and empty cells may
go, `by one` is one up and one down, `by the rule` is what a threshold of 4 asks for. Every pattern passed its audit, and
is one that the same table always gets. Times are seconds of CPU, and compiling is not measured.
Of the other programs only counts of cells are quoted: their versions and machines were not recorded.
"""

import csv
import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import process_time

import numpy as np
import pyarrow as pa
import pyarrow.csv

from confide.tables import (
    AllZero,
    Dominance,
    Hierarchy,
    PPercent,
    Status,
    Table,
    Threshold,
    audit_pattern,
    read_jj,
    suppress,
)
from confide.tables.files.asc import described, read_asc
from confide.tables.files.rda import read_rda
from confide.tables.suppression.suppress import Suppressed

Figure = tuple[str, float, float, str]
"""What was measured, the figure, the limit it is to stay under, and the unit."""

DATA = Path(__file__).parents[2] / "shared" / "data"
ORACLE = DATA / "tauargus_oracle"

RECORDS = DATA / "bench_table3d_100k.csv.gz"


def figures(*, quick: bool) -> Iterator[Figure]:
    if not RECORDS.exists():
        print("(the reference data are not there: only the generated table is measured)")
        yield from large(quick=quick)
        return
    suppress(generated(["sector", "siz"], {}).flag(Threshold(2_000)), cost="cells")  # compiles
    yield from peers(quick=quick)
    yield from tau_argus(quick=quick)
    yield from instances(quick=quick)
    yield from linked()
    yield from large(quick=quick)


def generated(by: list[str], hierarchies: dict[str, Hierarchy]) -> Table:
    """A table of counts in which those of one to three are primary."""
    records = pa.csv.read_csv(RECORDS, convert_options=pa.csv.ConvertOptions(include_columns=by))
    return Table.from_microdata(records, by=by, hierarchies=hierarchies).flag(Threshold(4))


def peers(*, quick: bool) -> Iterator[Figure]:
    counties = [f"R{number:02}" for number in range(1, 21)]
    regions = Hierarchy.paths([(county, f"{county}{number}") for county in counties for number in range(1, 6)])
    industries = Hierarchy.paths([(f"I{i}", f"I{i}{j}") for i in range(1, 5) for j in range(1, 5)])
    small = generated(["county", "sector", "siz"], {})
    middle = generated(["county", "ind", "siz"], {"ind": industries})
    yield from _peer("735 cells, apart (GaussSuppression 34)", apart(small), cells=34, seconds=5)
    yield from _peer("735 cells, by one (sdcTable 40 to 45)", by_one(small), cells=40, seconds=5)
    yield from _peer("735 cells, by the rule", small, cells=45, seconds=5)
    yield from _peer("3,087 cells, apart (GaussSuppression 242)", apart(middle), cells=242, seconds=10)
    yield from _peer("3,087 cells, by one (sdcTable 365)", by_one(middle), cells=242, seconds=10)
    yield from _peer("3,087 cells, by the rule", middle, cells=365, seconds=20)
    if not quick:
        table = generated(["reg", "ind", "siz"], {"reg": regions, "ind": industries})
        yield from _peer("17,787 cells, by one (GaussSuppression 1,950)", by_one(table), cells=1950, seconds=60)


def apart(table: Table) -> Table:
    """No cell may be computed; the zeros are not known to be zeros."""
    none = np.zeros(len(table))
    table = table.mark(np.flatnonzero(table.status == Status.EMPTY), "safe")
    return replace(
        table, lower_protection=none, upper_protection=none, sliding_protection=table.primary.astype(np.float64)
    )


def by_one(table: Table) -> Table:
    """Every primary may be one less or one more."""
    level = table.primary.astype(np.float64)
    return replace(table, lower_protection=level, upper_protection=level)


def _peer(words: str, table: Table, *, cells: int, seconds: float) -> Iterator[Figure]:
    found, took = _suppressed(table, cost="cells", method="fast")
    intervals = found.intervals.filter(found.intervals["primary"])
    narrowest = np.min(np.subtract(intervals["upper"], intervals["lower"]))
    yield f"{words}: secondaries, narrowest interval {narrowest:g}", len(found.secondaries), cells, "cells"
    yield "  its time", took, seconds, "s"


def _suppressed(table: Table, *, cost: str, method: str = "auto") -> tuple[Suppressed, float]:
    start = process_time()
    found = suppress(table, cost=cost, method=method, time_limit=None if method == "fast" else 120)
    return found, process_time() - start


def tau_argus(*, quick: bool) -> Iterator[Figure]:
    """The two scenarios that τ-ARGUS answered, at its own cost, the value."""
    for name, make in SCENARIOS.items():
        table = make()
        theirs = answer_of_tau_argus(name, table)
        judged = audit_pattern(table, theirs | table.primary)
        verdict = "passes our audit" if judged.passed else f"fails our audit in {len(judged.missed)} cells"
        found, took = _suppressed(table, cost="value", method="fast" if quick else "auto")
        worth, cells = float(table.value[theirs].sum()), int(theirs.sum())
        words = f"{name}: value of {len(found.secondaries)} secondaries to that of {cells} of τ-ARGUS, which {verdict}"
        yield words, found.cost / worth, 1.1, ""
        yield "  its time", took, 120, "s"


def answer_of_tau_argus(name: str, table: Table) -> np.ndarray:
    """Which cells it suppressed for the sake of others."""
    with open(ORACLE / f"{name}.txt", newline="") as file:
        status = {(first.strip(), second.strip()): mark for first, second, _, mark in csv.reader(file)}
    keys = zip(*(table.codes(variable) for variable in table.variables), strict=True)
    return np.array([status.get(key) == "11" for key in keys])


def simple() -> Table:
    return _scenario("Simple2D").flag(PPercent(15))


def holdings() -> Table:
    table = _scenario("test_1", holding="h_id")
    return table.mark(table.find(act="00"), "published").flag(PPercent(10), AllZero(reach=10))


SCENARIOS = {"Simple2D": simple, "test_1": holdings}


def _scenario(name: str, **options: str) -> Table:
    about = json.loads((ORACLE / "scenarios.json").read_text())[name]
    rda = described(ORACLE / about["micro"]) if "layout" not in about else read_rda(ORACLE / about["layout"])
    records = read_asc(ORACLE / about["micro"], rda=rda)
    codes = {by: rda.hierarchy(by, records[by].unique().to_pylist()) for by in about["table"]}
    return Table.from_microdata(records, by=about["table"], of=about["response"], hierarchies=codes, **options)


def instances(*, quick: bool) -> Iterator[Figure]:
    """The JJ instances, each with a pattern that passed its audit."""
    for name in ("act_size", "nuts_size") if quick else ("act_size", "nuts_size", "act_nuts_size"):
        table = read_jj(DATA / f"csp_{name}.jj")
        found, took = _suppressed(table, cost="given", method="fast")
        words = f"csp_{name}, {len(table):,} cells, {int(table.primary.sum())} primaries"
        yield f"{words}, cost {found.cost:,.0f}: secondaries", len(found.secondaries), np.inf, "cells"
        yield "  its time", took, 120, "s"


def linked() -> Iterator[Figure]:
    table = linked_tables()
    found, took = _suppressed(table, cost="value", method="fast")
    words = f"four linked tables, {len(table):,} cells, {int(table.primary.sum())} primaries"
    yield f"{words}: secondaries", len(found.secondaries), np.inf, "cells"
    yield "  its time", took, 60, "s"


def linked_tables() -> Table:
    """Four tables of turnover that share margins, as one."""
    activity, region = _paths("activity"), _paths("nuts_fr")
    spans = {
        "act_cj": {"ACTIVITY": activity, "CJ": None},
        "act_size": {"ACTIVITY": activity, "SIZE": None},
        "nuts_cj": {"NUTS": region, "CJ": None},
        "nuts_size": {"NUTS": region, "SIZE": None},
    }
    parts = [
        Table.from_cells(
            DATA / f"tab_rtauargus_turnover_{name}.csv.gz", by=list(by), value="TOT", frequency="N_OBS", top=["MAX"],
            hierarchies={name: codes for name, codes in by.items() if codes},
        )
        for name, by in spans.items()
    ]  # fmt: skip
    return Table.link(parts).flag(Threshold(3), Dominance(1, 85))


def _paths(name: str) -> Hierarchy:
    with gzip.open(DATA / f"tab_rtauargus_{name}_hierarchy.csv.gz", "rt", encoding="utf-8", newline="") as file:
        return Hierarchy.paths(list(csv.reader(file))[1:])


def large(*, quick: bool) -> Iterator[Figure]:
    """Businesses by activity in three levels and region in two, dominance and few contributors: 111,100 cells."""
    records, sections = (40_000, 2) if quick else (400_000, 10)
    random = np.random.default_rng(1)
    activities = [(f"A{i}", f"A{i}{j}", f"A{i}{j}{k}") for i in range(sections) for j in range(10) for k in range(10)]
    regions = [(f"R{i}", f"R{i}{j}") for i in range(9) for j in range(10)]
    data = {
        "activity": random.choice([path[-1] for path in activities], records, p=_uneven(len(activities), random)),
        "region": random.choice([path[-1] for path in regions], records, p=_uneven(len(regions), random)),
        "turnover": np.round(random.lognormal(4, 2, records), 1),
    }
    hierarchies = {"activity": Hierarchy.paths(activities), "region": Hierarchy.paths(regions)}
    table = Table.from_microdata(data, by=["activity", "region"], of="turnover", hierarchies=hierarchies)
    table = table.flag(PPercent(15), Threshold(3))
    found, took = _suppressed(table, cost="value", method="fast")
    words = f"businesses, {len(table):,} cells, {int(table.primary.sum()):,} primaries"
    yield f"{words}: secondaries", len(found.secondaries), np.inf, "cells"
    yield "  its time with the audit against every contributor", took, 600, "s"


def _uneven(codes: int, random: np.random.Generator) -> np.ndarray:
    weight = 1 / random.permutation(np.arange(1, codes + 1)) ** 0.7
    return weight / weight.sum()
