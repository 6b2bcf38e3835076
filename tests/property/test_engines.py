"""Every engine gives the same integers as the plain reference, for any records and any tally."""

import tempfile
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.engines import Coded, Engine, StoreFacts
from confide.engines.columns.engine import ColumnsEngine
from confide.engines.columns.store import write_columns
from confide.engines.duckdb.engine import DuckDBEngine
from confide.engines.duckdb.store import write_store
from confide.engines.memory.engine import MemoryEngine
from confide.engines.postgres.engine import PostgresEngine
from confide.engines.postgres.store import write_postgres
from confide.engines.spark.engine import SparkEngine
from confide.engines.spark.store import write_spark
from confide.engines.squares import square_shifts
from confide.model.design import Number
from confide.model.evidence import Box, Tally
from confide.model.formula import Transform
from spark_cluster import Cluster

SIZES = {"s": 2, "t": 5, "u": 3, "huge": 40_000}
VALUES = st.one_of(st.none(), st.sampled_from([0, 1, -1, 2, 500, -500]), st.integers(-(2**40), 2**40))
"""Few values, so that ties and zeros are common among the largest of a cell."""


@st.composite
def microdata(draw: st.DrawFn) -> Coded:
    rows = draw(st.integers(0, 60))
    several, weighted, negative, complete = (draw(st.booleans()) for _ in range(4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    unit = rng.integers(-(2**63), 2**63 - 1, size=rows)
    if several and rows:
        unit = rng.choice(unit[: max(1, rows // 3)], rows)
    values = draw(st.lists(VALUES, min_size=rows, max_size=rows))
    columns = {
        "unit": pa.array(unit, pa.int64()),
        "key": pa.array(rng.integers(-(2**31), 2**31, size=rows), pa.int32()),
    }
    if weighted:
        columns["weight"] = pa.array(rng.integers(0, 10**6, size=rows), pa.int64())
    for name, size in SIZES.items():
        kind = pa.uint8() if size <= 255 else pa.uint16()
        places = rng.integers(0, min(size, draw(st.integers(1, size))), size=rows)
        columns[f"c_{name}"] = pa.array(places, kind)
    whole = [v if v is None or negative else abs(v) for v in values]
    whole = [v or 0 for v in whole] if complete else whole
    columns["n_v"] = pa.array(whole, pa.int64())
    records, numbers = pa.table(columns), {"v": "n_v"}
    classes = {n: f"c_{n}" for n in SIZES}
    shifts = square_shifts(records, numbers)
    facts = StoreFacts("d", "", "", "", several, weighted, 2, classes, numbers, shifts=shifts)
    facts = replace(facts, values={"v": "n_v"}, value_decimals={"v": 0})
    return Coded(facts, records)


@st.composite
def boxes(draw: st.DrawFn, names: list[str]) -> tuple[Box, ...]:
    """Disjoint boxes: they differ in the first variable."""
    first, *others = draw(st.permutations(names))
    places = draw(st.permutations(range(min(SIZES[first], 6))))
    cuts = sorted(draw(st.lists(st.integers(1, len(places)), min_size=1, max_size=2, unique=True)))
    found = []
    for start, end in zip([0, *cuts[:-1]], cuts, strict=True):
        conditions = [(first, tuple(places[start:end]))]
        for name in draw(st.lists(st.sampled_from(others), max_size=2, unique=True)) if others else []:
            some = draw(st.sets(st.integers(0, min(SIZES[name], 6) - 1), min_size=1))
            conditions.append((name, tuple(some)))
        found.append(tuple(sorted(conditions)))
    return tuple(found)


@st.composite
def tallies(draw: st.DrawFn, units: list[int]) -> Tally:
    names = draw(st.lists(st.sampled_from(sorted(SIZES)), min_size=1, max_size=4, unique=True))
    narrow = draw(st.booleans())  # at most two variables in all: the stored pairs can answer
    span = names[:2] if narrow else list(SIZES)
    by = draw(st.lists(st.sampled_from(span), max_size=3, unique=True))
    of = draw(st.sampled_from([None, "v"]))
    return Tally(
        by=tuple(by),
        within=draw(boxes(span)) if draw(st.booleans()) else (),
        without=tuple(draw(st.lists(st.sampled_from([*units, 7]), max_size=8, unique=True))),
        of=of,
        weighted=draw(st.booleans()),
        top=draw(st.sampled_from([0, 1, 3, 5])) if of else 0,
        share=draw(st.sampled_from([0.0, 0.0, 0.2, 0.4, 0.9])),
        complete=tuple(Number("v", t) for t in draw(st.lists(st.sampled_from(Transform), max_size=2, unique=True))),
    )


def open_duckdb(coded: Coded, folder: Path, data: st.DataObject) -> Engine:
    write_store(coded, folder / "s.duckdb", pairs_from=data.draw(st.sampled_from([0, 10**9])))
    return DuckDBEngine(folder / "s.duckdb")


def open_columns(coded: Coded, folder: Path, data: st.DataObject) -> Engine:
    write_columns(coded, folder / "s.columns")
    return ColumnsEngine(folder / "s.columns")


@pytest.fixture(scope="module", params=["duckdb", "columns", "postgres"])
def opened(request: pytest.FixtureRequest) -> Callable[[Coded, Path, st.DataObject], Engine]:
    if request.param != "postgres":
        return {"duckdb": open_duckdb, "columns": open_columns}[request.param]
    database = request.getfixturevalue("postgres").database

    def open_postgres(coded: Coded, folder: Path, data: st.DataObject) -> Engine:
        write_postgres(coded, folder / "s.postgres", database)
        return PostgresEngine(folder / "s.postgres", database)

    return open_postgres


@settings(max_examples=50)
@given(data=st.data())
def test_every_engine_equals_memory_in_every_field(
    opened: Callable[[Coded, Path, st.DataObject], Engine], data: st.DataObject
) -> None:
    agrees(opened, data)


@settings(max_examples=5)  # a question to a cluster takes a tenth of a second and more
@given(data=st.data())
def test_spark_equals_memory_in_every_field(spark: Cluster, data: st.DataObject) -> None:
    def opened(coded: Coded, folder: Path, data: st.DataObject) -> Engine:
        write_spark(coded, folder / "s.spark", str(spark.storage))
        return SparkEngine(folder / "s.spark", spark.cluster)

    agrees(opened, data)


def agrees(opened: Callable[[Coded, Path, st.DataObject], Engine], data: st.DataObject) -> None:
    coded = data.draw(microdata())
    keys = coded.records["unit"].to_pylist()
    with tempfile.TemporaryDirectory() as folder:
        engine, plain = opened(coded, Path(folder), data), MemoryEngine(coded)
        try:
            for tally in data.draw(st.lists(tallies(keys), min_size=4, max_size=10)):
                assert _content(engine.tally(tally)) == _content(plain.tally(tally)), tally
            within = data.draw(boxes(sorted(SIZES))) if data.draw(st.booleans()) else ()
            edge = st.sampled_from([*keys, -(2**63), 2**63 - 1])
            low, high = sorted([data.draw(edge), data.draw(edge)])
            found, expected = (e.units(within, low=low, high=high).tolist() for e in (engine, plain))
            assert found == expected
        finally:
            engine.close()


def _content(cells: object) -> list[object]:
    values = [(f.name, getattr(cells, f.name)) for f in fields(cells)]  # type: ignore[arg-type]
    return [
        (name, value.dtype, value.shape, value.tolist()) if isinstance(value, np.ndarray) else (name, value)
        for name, value in values
    ]
