"""The tables that are kept with a large file, counted in one pass: those of the plain engine, however variables are put together."""

import itertools
from importlib import resources

import numpy as np
import pyarrow as pa
import pytest

from confide import demo
from confide.engines import Coded, StoreFacts
from confide.engines.duckdb import bundles, pair_tables
from confide.engines.duckdb.bundles import find_bundles
from confide.engines.duckdb.pair_tables import count_pairs, stored_pairs
from confide.engines.memory.engine import MemoryEngine
from confide.model.catalog.toml import read_dataset
from confide.model.evidence import Tally
from confide.site.coding.encode import encode
from confide.site.secret import Secret

CATALOG = resources.files("confide.demo").joinpath("people.toml").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def people() -> Coded:
    dataset = read_dataset(CATALOG, name="people", read_file=str)
    return encode(dataset, demo.people(2_000), secret=Secret(b"x" * 32))


@pytest.mark.parametrize(
    ("combinations", "cells", "memory"),
    [(64, 1 << 17, 1 << 28), (1, 500, 1), (2_000, 1 << 20, 1 << 22)],
    ids=["as they are", "each for itself, a pass for each", "many together"],
)
def test_stored_tables_are_those_of_the_plain_engine(
    people: Coded, monkeypatch: pytest.MonkeyPatch, combinations: int, cells: int, memory: int
) -> None:
    monkeypatch.setattr(bundles, "MOST_COMBINATIONS", combinations)
    monkeypatch.setattr(bundles, "BATCH", 300)
    monkeypatch.setattr(pair_tables, "CROSS_CELLS", cells)
    monkeypatch.setattr(pair_tables, "CELL_BYTES", memory)
    sizes, plain = people.sizes, MemoryEngine(people)
    tables = {table["pair"][0].as_py(): table for table in count_pairs(people, sizes, ["income", "children"])}
    assert len(tables) == len(stored_pairs(sizes)) == 1 + len(sizes) + len(list(itertools.combinations(sizes, 2)))
    for number, by in list(enumerate(stored_pairs(sizes)))[::7]:
        expected = plain.tally(Tally(by, of="income", weighted=True, top=3))
        found = tables[number].sort_by([("a", "ascending"), ("b", "ascending")])
        assert found["records"].to_pylist() == expected.records.tolist()
        assert found["key"].to_pylist() == expected.key.tolist()
        assert found["weight"].to_pylist() == expected.weight.tolist()
        income = people.facts.numbers["income"]
        for part in ("total", "size", "square"):
            assert found[f"{income}_{part}"].to_pylist() == getattr(expected, part).tolist()
        tops = [[*top, 0, 0][:3] for top in found[f"{income}_top"].to_pylist()]
        assert tops == expected.top.tolist()
        assert np.column_stack([found["a"], found["b"]])[:, : len(by)].tolist() == expected.places.tolist()


def test_what_follows_from_another_variable_is_counted_with_it(people: Coded) -> None:
    columns = {name: people.records[column].to_numpy() for name, column in people.facts.classes.items()}
    found = find_bundles(columns, people.sizes, people.records.num_rows)
    [places] = [bundle for bundle in found if "municipality" in bundle.names]
    assert {"county", "region"} <= set(places.names)
    assert len(places.places) == len(np.unique(columns["municipality"]))
    assert sorted(name for bundle in found for name in bundle.names) == sorted(people.sizes)


def test_a_file_without_classes_has_one_table() -> None:
    facts = StoreFacts("d", "", "mark", "", False, False, 0, {}, {"value": "n1"})
    records = pa.table({"unit": [1, 2], "key": pa.array([5, 3], pa.int32()), "n1": pa.array([-4, 3], pa.int64())})
    [table] = count_pairs(Coded(facts, records), {}, ["value"])
    assert table.to_pylist() == [
        {"pair": 0, "a": 0, "b": 0, "records": 2, "key": 6, "weight": 2}
        | {"n1_total": -1, "n1_size": 7, "n1_square": 25, "n1_top": [4, 3]}
    ]
