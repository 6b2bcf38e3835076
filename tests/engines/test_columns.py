"""The columns engine: its file is private, whole or refused plainly; and its shortcuts give what the plain engine gives."""

import json
import os
import re
import shutil
import stat
import struct
import zlib
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from threading import Event

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import confide
from confide.attacks.truth.copies import CopiedUnits, copied
from confide.attacks.truth.truth import truth_of_site
from confide.cancellation import Cancellation, Stopped
from confide.engines import Coded, Engine, StoreFacts, stores
from confide.engines.columns import parallel, table, tallies, universes
from confide.engines.columns.elementary import exponentials, logarithms
from confide.engines.columns.engine import ColumnsEngine
from confide.engines.columns.store import ColumnsStore, write_columns
from confide.engines.duckdb.engine import DuckDBEngine
from confide.engines.memory.engine import MemoryEngine
from confide.engines.order import in_stored_order
from confide.engines.squares import square_shifts
from confide.engines.sums.kernels import TINY
from confide.errors import Fault, Mistake
from confide.model.design import Number
from confide.model.evidence import Box, Cells, Tally
from confide.model.formula import Transform
from confide.site import doctor
from confide.site.coding.encode import encode
from confide.site.doctor import examine
from confide.site.folder import Folder

SIZES = {"a": 3, "b": 7, "c": 300}
WITHIN: tuple[Box, ...] = ((("a", (0,)), ("b", (1, 2, 3))), (("a", (1,)), ("c", tuple(range(0, 300, 2)))))


def people(n: int = 2000, *, several: bool = False, seed: int = 1) -> Coded:
    draw = np.random.default_rng(seed)
    unit = draw.integers(-(2**63), 2**63 - 1, n)
    unit = unit[draw.integers(0, max(n // 3, 1), n)] if several else unit
    facts = StoreFacts(
        *("d", "", "mark", "", several, True, 2),
        classes={name: f"c_{name}" for name in SIZES},
        numbers={"small": "n1", "large": "n2"},
        values={"small": "n1", "large": "n2"},
        value_decimals={"small": 0, "large": 1},
    )
    columns = {
        "unit": pa.array(unit),
        "key": pa.array(draw.integers(-(2**31), 2**31 - 1, n).astype(np.int32)),
        "weight": pa.array(draw.integers(0, 500, n)),
        **{
            f"c_{k}": pa.array(draw.integers(0, s, n), pa.uint8() if s < 256 else pa.uint16()) for k, s in SIZES.items()
        },
        "n1": pa.array(draw.integers(-50, 50, n), mask=draw.random(n) < 0.1),
        "n2": pa.array(draw.integers(-(2**40), 2**40, n)),
    }
    records = pa.table(columns)
    return Coded(replace(facts, shifts=square_shifts(records, facts.numbers)), records)


def opened(coded: Coded, folder: Path) -> ColumnsEngine:
    write_columns(coded, folder / "s.columns")
    return ColumnsEngine(folder / "s.columns")


def content(cells: Cells) -> list[object]:
    values = [getattr(cells, field.name) for field in fields(cells)]
    return [value.tolist() if isinstance(value, np.ndarray) else value for value in values]


def tallies_of(coded: Coded) -> list[Tally]:
    gone = tuple(coded.records["unit"].to_pylist()[:40])
    complete = (Number("small", Transform.LOG), Number("large", Transform.SQRT))
    return [
        Tally(()),
        Tally(("b", "a"), of="small", weighted=True, top=3),
        Tally(("c",), WITHIN, gone, of="large", top=2),
        Tally(("c", "a", "b"), WITHIN, of="small", weighted=True, top=1),
        Tally(("a",), WITHIN, complete=complete),
        Tally((), without=gone, of="small", top=5, share=0.3),
    ]


def same(engine: Engine, coded: Coded) -> None:
    plain = MemoryEngine(coded)
    for tally in tallies_of(coded):
        assert content(engine.tally(tally)) == content(plain.tally(tally)), tally


@pytest.mark.parametrize("several", [False, True])
def test_a_file_of_many_segments_gives_what_one_gives(
    several: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "SEGMENT", 192)
    coded = people(several=several)
    engine = opened(coded, tmp_path)
    same(engine, coded)
    assert (
        engine.units(WITHIN, low=0, high=2**62).tolist()
        == MemoryEngine(coded).units(WITHIN, low=0, high=2**62).tolist()
    )


@pytest.mark.parametrize(("module", "name", "value"), [(universes, "LISTED_CELLS", 1), (table, "DENSE_CELLS", 1)])
def test_universes_and_tables_that_are_too_large_to_be_listed_give_the_same(
    module: object, name: str, value: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, value)
    for several in (False, True):
        coded = people(several=several)
        same(opened(coded, tmp_path), coded)


def test_compiled_tallies_say_what_their_python_text_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = {name: getattr(tallies, name) for name in ("add_cells", "_add_units", "_contribute", "_end_unit")}
    for name, function in compiled.items():
        monkeypatch.setattr(tallies, name, function.py_func)
    monkeypatch.setattr(table, "add_cells", compiled["add_cells"].py_func)
    for several in (False, True):
        coded = people(150, several=several)
        same(opened(coded, tmp_path), coded)


def test_masks_are_kept_up_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(universes, "KEPT_BYTES", 2 * 256)
    kept = opened(people(), tmp_path)._universes
    boxes: list[tuple[Box, ...]] = [((("b", (place,)),),) for place in range(3)]
    first = kept.mask(boxes[0])
    assert kept.mask(boxes[0]) is first
    for box in boxes[1:]:
        kept.mask(box)
    assert kept.mask(boxes[0]) is not first


def test_a_question_is_stopped_between_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "SEGMENT", 192)
    engine, cancellation, begun = opened(people(), tmp_path), Cancellation(), Event()

    def add(*given: object) -> None:
        begun.set()
        cancellation.stop()

    monkeypatch.setattr(table, "add_cells", add)
    with cancellation.applied(), pytest.raises(Stopped):
        engine.tally(Tally(("a",)))
    assert begun.is_set()


def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        write_columns(people(), tmp_path / "s.columns")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "s.columns").stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["s.columns"]


def test_what_cannot_be_written_leaves_the_former_file(tmp_path: Path) -> None:
    coded = people()
    write_columns(coded, tmp_path / "s.columns")
    broken = Coded(coded.facts, coded.records.drop_columns(["c_b"]))
    with pytest.raises(Fault, match="untouched"):
        write_columns(broken, tmp_path / "s.columns")
    same(ColumnsEngine(tmp_path / "s.columns"), coded)
    assert [file.name for file in tmp_path.iterdir()] == ["s.columns"]


def of_another_version(written: bytes) -> bytes:
    """The same file with another format in its index."""
    length, _ = struct.unpack("<QI", written[-24:-12])
    index = json.loads(written[-24 - length : -24])
    text = json.dumps({**index, "format": 99}).encode()
    return written[: -24 - length] + text + struct.pack("<QI", len(text), zlib.crc32(text)) + written[-12:]


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda written: b"", "cannot be opened"),
        (lambda written: b"secret-value" * 400, "is not a file of columns"),
        (lambda written: written[:5000], "is cut off"),
        (lambda written: written[:40], "is not a file of columns"),
        (lambda written: written[:64], "is cut off"),
        (lambda written: written[:-100] + b"?" + written[-99:], "is damaged"),
        (of_another_version, "another version"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_fault_without_detail(
    spoil: Callable[[bytes], bytes], words: str, tmp_path: Path
) -> None:
    path = tmp_path / "s.columns"
    write_columns(people(), path)
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(Fault, match=words) as fault:
        ColumnsEngine(path)
    assert "secret-value" not in str(fault.value) and "Ingest" in str(fault.value)


def test_a_missing_file_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(Fault, match="is missing"):
        ColumnsEngine(tmp_path / "s.columns")


def test_a_damaged_column_is_never_answered_from(tmp_path: Path) -> None:
    path = tmp_path / "s.columns"
    write_columns(people(), path)
    offset = ColumnsStore(path).column("c_b").offset
    written = bytearray(path.read_bytes())
    written[offset + 17] ^= 1
    path.write_bytes(written)
    engine = ColumnsEngine(path)
    assert engine.tally(Tally(("a",))).records.sum() == 2000
    for tally in (Tally(("b",)), Tally(("a",), ((("b", (1,)),),))):
        with pytest.raises(Fault, match="is damaged"):
            engine.tally(tally)


def test_numbers_are_stored_as_narrow_as_they_may_be(tmp_path: Path) -> None:
    write_columns(people(), tmp_path / "s.columns")
    store = ColumnsStore(tmp_path / "s.columns")
    kinds = {name: store.column(name).kind for name in ("c_a", "c_c", "key", "weight", "n1", "n2", "unit")}
    assert kinds == {"c_a": 1, "c_c": 2, "key": -4, "weight": -4, "n1": -4, "n2": -8, "unit": -8}
    assert store.column("n1").least == store.column("n1").missing and store.column("n2").least > -(2**41)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, town) -> Path:
    path = tmp_path_factory.mktemp("columns") / "site"
    confide.add(town.people, path, name="people", catalog='engine = "columns"\n' + town.catalog, preset="drop-q")
    return path


def test_a_site_answers_from_columns_what_it_answers_from_duckdb(site: Path, tmp_path: Path, town) -> None:
    other = shutil.copytree(site, tmp_path / "other")
    catalog = other / "people" / "dataset.toml"
    catalog.write_text(catalog.read_text().replace('engine = "columns"', 'engine = "duckdb"'))
    confide.ingest(town.people, other, name="people")
    asked = {"rows": ["town", "sex"], "where": [{"sex": ["f"]}, {"sex": ["m"], "work": ["yes"]}]}
    model = {"formula": "income ~ age + sex + town", "where": {"work": "yes"}}
    found = []
    for path in site, other:
        with confide.open(path) as opened:
            people = opened["people"]
            measures = {"measure": ["count", "weighted_count", "total"], "of": "income"}
            answers = [people.table(**asked), people.table(**asked, **measures), people.regression(**model)]
            found.append([str(answer) for answer in answers])
    assert found[0] == found[1]


def test_an_engine_that_was_not_ingested_for_is_a_mistake_that_says_what_to_do(tmp_path: Path, town) -> None:
    path = tmp_path / "site"
    confide.add(town.people, path, name="people", catalog=town.catalog, preset="drop-q")
    catalog = path / "people" / "dataset.toml"
    catalog.write_text('engine = "columns"\n' + catalog.read_text())
    with pytest.raises(Mistake, match="not ingested for the engine 'columns'") as caught:
        confide.open(path)
    assert "confide ingest" in str(caught.value.suggestions)
    confide.ingest(town.people, path, name="people")
    with confide.open(path) as opened_again:
        assert opened_again["people"].table(rows="sex")


def test_an_unknown_engine_is_a_mistake_that_offers_the_nearest(tmp_path: Path, town) -> None:
    with pytest.raises(Mistake, match="auto, duckdb, columns") as caught:
        catalog = 'engine = "column"\n' + town.catalog
        confide.add(town.people, tmp_path / "site", name="people", catalog=catalog)
    assert "columns" in str(caught.value.suggestions)


def test_the_doctor_says_how_much_memory_columns_take(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [memory] = [each for each in examine(Folder(site)) if each.what == "memory"]
    assert memory.found.startswith("columns of people take 1 MB of ") and not memory.mend
    monkeypatch.setattr(doctor, "whole_memory", lambda: 40_960)
    [memory] = [each for each in examine(Folder(site)) if each.what == "memory"]
    assert 'engine = "duckdb"' in memory.mend
    monkeypatch.setattr(doctor, "whole_memory", lambda: None)
    [memory] = [each for each in examine(Folder(site)) if each.what == "memory"]
    assert re.fullmatch(r"columns of people take 1 MB; all were read and checked in \d\.\d s", memory.found)
    assert not memory.mend


def test_the_doctor_finds_a_damaged_column_that_nobody_has_asked_for(site: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(site, tmp_path / "copy"))
    file = Folder(copy).store("people").with_suffix(".columns")
    written = bytearray(file.read_bytes())
    written[ColumnsStore(file).column("key").offset + 3] ^= 1
    file.write_bytes(written)
    [memory] = [each for each in examine(Folder(copy)) if each.what == "memory"]
    assert memory.mend and "records.columns is damaged" in memory.found


def test_auto_writes_columns_of_a_large_file_where_they_fit(
    tmp_path: Path, town, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    confide.add(town.people, small, name="people", catalog=town.catalog, preset="drop-q")
    monkeypatch.setattr(stores, "COLUMNS_FROM", len(town.people))
    confide.add(town.people, large, name="people", catalog=town.catalog, preset="drop-q")
    assert answered_by(small) is DuckDBEngine and answered_by(large) is ColumnsEngine
    [memory] = [each for each in examine(Folder(large)) if each.what == "memory"]
    assert memory.found.startswith("columns of people take ")
    [memory] = [each for each in examine(Folder(small)) if each.what == "memory"]
    assert memory.found == "DuckDB takes up to half of it"

    monkeypatch.setattr(stores, "whole_memory", lambda: 4096)
    confide.ingest(town.people, large, name="people")
    assert not Folder(large).store("people").with_suffix(".columns").exists()
    assert answered_by(large) is DuckDBEngine


def test_records_are_kept_once_and_read_from_the_columns_as_they_were_written(site: Path, tmp_path: Path, town) -> None:
    folder = Folder(site)
    coded = encode(folder.dataset("people"), town.people, secret=folder.secret())
    read = stores.read_records(folder.store("people"))
    assert read.records.equals(in_stored_order(coded.records)) and read.facts == coded.facts
    with duckdb.connect(shutil.copy(folder.store("people"), tmp_path / "copy.duckdb"), read_only=True) as db:
        assert db.sql("SHOW TABLES").fetchall() == [("meta",)]


def test_duckdb_has_to_be_ingested_for_where_there_were_columns(site: Path, town, tmp_path: Path) -> None:
    other = shutil.copytree(site, tmp_path / "other")
    catalog = other / "people" / "dataset.toml"
    catalog.write_text(catalog.read_text().replace('engine = "columns"', 'engine = "duckdb"'))
    with pytest.raises(Fault, match="no records.*columns.*Ingest the data again"):
        confide.open(other)
    [data] = [each for each in examine(Folder(other)) if each.what == "data sets"]
    assert data.mend and "has no records" in data.found
    confide.ingest(town.people, other, name="people")
    with confide.open(other) as opened:
        assert opened["people"].table(rows="sex")


def answered_by(site: Path) -> type:
    dataset, store = Folder(site).dataset("people"), Folder(site).store("people")
    engine = stores.open_engine(store, dataset)
    engine.close()
    return type(engine)


@pytest.mark.parametrize("without", [None, 3])
def test_a_site_of_columns_is_attacked_like_any_other(site: Path, without: int | None) -> None:
    truth, policy = truth_of_site(site, "people"), Folder(site).policy("people")
    units = None if without is None else np.unique(truth.units)[:without]
    with copied(site, "people", policy, truth=truth, units=CopiedUnits(units)) as copy:
        assert copy["people"].table(rows="sex")


def test_exponentials_and_logarithms_are_right_to_two_units_in_the_last_place() -> None:
    draw = np.random.default_rng(3)
    exponents = np.concatenate([draw.uniform(-700, 700, 5000), draw.normal(size=5000), [0.0, 700.0, -700.0]])
    positive = np.concatenate([np.exp(draw.uniform(-36, 36, 5000)), draw.random(5000) + TINY, [0.5, TINY, 1 - TINY]])
    for of, numbers, exact in ((exponentials, exponents, np.exp), (logarithms, positive, np.log)):
        found, bits = np.empty(len(numbers)), np.empty(len(numbers), np.int64)
        of(numbers, len(numbers), bits, found)
        expected = exact(numbers.astype(np.longdouble))
        assert np.all(np.abs(found - expected) <= 2 * np.spacing(np.abs(expected.astype(np.float64))))
        text = np.empty(len(numbers))
        of.py_func(numbers, len(numbers), bits, text)  # type: ignore[attr-defined]
        assert np.array_equal(found, text)
    one = np.ones(1)
    logarithms(one, 1, np.empty(1, np.int64), one)
    assert one.tolist() == [0.0]


def test_a_store_of_models_without_values_asks_to_be_ingested_again(tmp_path: Path) -> None:
    coded = people()
    old = Coded(replace(coded.facts, values={}, value_decimals={}), coded.records)
    with pytest.raises(Fault, match="Ingest the data again"):
        opened(old, tmp_path).tally(Tally((), complete=(Number("small"),)))
