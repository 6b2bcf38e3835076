"""The DuckDB store: written whole or not at all, opened or refused plainly, and where its shortcuts end."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from confide.engines import Coded, StoreFacts
from confide.engines.duckdb.engine import DuckDBEngine
from confide.engines.duckdb.store import STORED_TOP, write_store
from confide.engines.memory.engine import MemoryEngine
from confide.errors import Fault
from confide.model.evidence import Tally


def coded(values: list[int], classes: list[int]) -> Coded:
    facts = StoreFacts("d", "", "mark", "", False, False, 0, {"class": "c0"}, {"value": "n1"})
    columns = {
        "unit": pa.array(range(len(values)), pa.int64()),
        "key": pa.array(range(1, len(values) + 1), pa.int32()),
        "c0": pa.array(classes, pa.uint8()),
        "n1": pa.array(values, pa.int64()),
    }
    return Coded(facts, pa.table(columns))


@pytest.mark.parametrize("top", [1, 2, STORED_TOP, STORED_TOP + 2])
@pytest.mark.parametrize("pairs_from", [0, 100])
def test_top_contributors_are_right_whether_the_stored_ones_suffice_or_not(
    tmp_path: Path, top: int, pairs_from: int
) -> None:
    """Dropped are one of the largest of class 0, only small ones of class 1, all of class 2; class 3 holds zeros."""
    values = [1000, -999, 998, 997, 996, 995, 90, 80, -70, 60, 50, 1, 7, 0, 0]
    classes = [0] * 6 + [1] * 6 + [2] + [3] * 2
    write_store(coded(values, classes), tmp_path / "s.duckdb", pairs_from=pairs_from)
    engine = DuckDBEngine(tmp_path / "s.duckdb")
    try:
        whole = engine.tally(Tally(("class",), of="value", top=top)).top
        left = engine.tally(Tally(("class",), of="value", top=top, without=(1, 11, 12))).top
        everyone = engine.tally(Tally((), of="value", top=top, without=(0, 1))).top
    finally:
        engine.close()
    largest = [[1000, 999, 998, 997, 996], [90, 80, 70, 60, 50], [7, 0, 0, 0, 0], [0] * 5]
    assert whole.tolist() == [row[:top] for row in largest]
    assert left.tolist() == [[1000, 998, 997, 996, 995][:top], largest[1][:top], largest[3][:top]]
    assert everyone.tolist() == [[998, 997, 996, 995, 90][:top]]


def test_a_store_that_cannot_be_read_is_a_fault_without_detail(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    path.write_bytes(b"secret-value" * 400)
    with pytest.raises(Fault) as fault:
        DuckDBEngine(path)
    assert "secret-value" not in str(fault.value) and "Ingest" in str(fault.value)


def test_a_database_that_is_no_store_is_a_fault(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "s.duckdb")) as db:
        db.execute("CREATE TABLE meta AS SELECT 'not json' AS facts")
    with pytest.raises(Fault):
        DuckDBEngine(tmp_path / "s.duckdb")


def test_a_store_that_cannot_be_written_leaves_the_former_one(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    write_store(coded([1, 2], [0, 1]), path)
    broken = coded([1, 2], [0, 1])
    broken = Coded(broken.facts, broken.records.drop_columns(["key"]))
    with pytest.raises(Fault):
        write_store(broken, path)
    engine = DuckDBEngine(path)
    assert engine.tally(Tally(())).records.tolist() == [2]
    engine.close()
    assert [file.name for file in tmp_path.iterdir()] == ["s.duckdb"]


def test_a_store_is_read_only(tmp_path: Path) -> None:
    write_store(coded([1], [0]), tmp_path / "s.duckdb")
    engine = DuckDBEngine(tmp_path / "s.duckdb")
    with pytest.raises(duckdb.Error):
        engine._db.execute("DELETE FROM records")
    engine.close()


def test_threads_that_share_an_engine_get_the_same_answers(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    data = coded(rng.integers(-50, 50, 3000).tolist(), rng.integers(0, 7, 3000).tolist())
    write_store(data, tmp_path / "s.duckdb")
    engine, plain = DuckDBEngine(tmp_path / "s.duckdb"), MemoryEngine(data)
    tallies = [Tally(("class",), of="value", top=3, without=tuple(range(i))) for i in range(8)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(engine.tally, tallies * 4))
    engine.close()
    expected = [plain.tally(tally) for tally in tallies]
    for number, cells in enumerate(answers):
        for name in ("places", "records", "units", "key", "total", "size", "top"):
            assert np.array_equal(getattr(cells, name), getattr(expected[number % 8], name)), name


@pytest.mark.parametrize("pairs_from", [0, 100])
def test_of_a_table_that_was_counted_all_parts_are_known(tmp_path: Path, pairs_from: int) -> None:
    write_store(coded([3, -4, 5, 6], [0, 0, 1, 2]), tmp_path / "s.duckdb", pairs_from=pairs_from)
    engine = DuckDBEngine(tmp_path / "s.duckdb")
    engine.tally(Tally((), ((("class", (0,)),),)))
    engine.close()
    part = engine.tally(Tally(("class",), ((("class", (1, 2)),),)))
    assert (part.places.tolist(), part.records.tolist(), part.key.tolist()) == ([[1], [2]], [1, 1], [3, 4])
    with pytest.raises(Fault):
        engine.tally(Tally((), of="value"))


@pytest.mark.parametrize("top", [1, 2, STORED_TOP])
@pytest.mark.parametrize("pairs_from", [0, 100])
def test_several_classes_together_have_the_largest_of_all(tmp_path: Path, pairs_from: int, top: int) -> None:
    data = coded([5, -90, 7, 80, 70, -60, 1000], [0, 0, 1, 1, 2, 2, 3])
    write_store(data, tmp_path / "s.duckdb", pairs_from=pairs_from)
    engine = DuckDBEngine(tmp_path / "s.duckdb")
    try:
        cells = engine.tally(Tally((), ((("class", (0, 2)),), (("class", (1,)),)), of="value", top=top))
    finally:
        engine.close()
    assert (cells.total.tolist(), cells.size.tolist()) == ([12], [312])
    assert cells.top.tolist() == [[90, 80, 70][:top]]


def test_a_store_of_an_older_version_says_to_ingest_again(tmp_path: Path) -> None:
    write_store(coded([1, 2, 3], [0, 0, 1]), tmp_path / "s.duckdb")
    with duckdb.connect(str(tmp_path / "s.duckdb")) as db:
        db.execute("""UPDATE meta SET facts = replace(facts, '"basis"', '"former"')""")
    with pytest.raises(Fault, match="Ingest the data again"):
        DuckDBEngine(tmp_path / "s.duckdb")


def test_a_store_whose_pairs_have_no_squares_is_scanned_for_them(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    write_store(coded([3, -4, 5], [0, 0, 1]), path, pairs_from=0)
    with duckdb.connect(str(path)) as db:
        db.execute("ALTER TABLE pairs DROP COLUMN n1_square")
        [(meta,)] = db.execute("SELECT facts FROM meta").fetchall()
        described = json.loads(meta)
        del described["squares"], described["facts"]["shifts"], described["facts"]["noise"]
        db.execute("UPDATE meta SET facts = ?", [json.dumps(described)])
    engine = DuckDBEngine(path)
    try:
        assert engine.tally(Tally(("class",), of="value")).square.tolist() == [25, 25]
    finally:
        engine.close()
