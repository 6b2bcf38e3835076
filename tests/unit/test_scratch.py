"""Arrays that are put aside on disk are the same, and leave nothing behind."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from confide import demo
from confide.data import scratch
from confide.data.scratch import IN_MEMORY, Scratch
from confide.demo.texts import catalog_text
from confide.errors import Fault
from confide.model.catalog.toml import read_dataset
from confide.site.coding.encode import encode
from confide.site.secret import Secret
from confide.sources.source import read_source


@pytest.mark.parametrize("array", [pa.array([1, None, 3]), pa.array([1, 2], pa.uint8()), pa.array([None], pa.int32())])
def test_what_is_put_aside_is_what_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, array: pa.Array) -> None:
    monkeypatch.setattr(scratch, "LARGE", 0)
    kept = Scratch(tmp_path).keep(array)
    assert kept.equals(array) and kept.null_count == array.null_count
    assert not list(tmp_path.iterdir()), "the file has no name"


def test_small_arrays_stay_in_memory() -> None:
    array = pa.array([1, 2])
    assert Scratch(Path("/nowhere")).keep(array) is array


def test_where_there_is_no_room_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "LARGE", 0)
    with pytest.raises(Fault, match="put aside"):
        Scratch(tmp_path / "nowhere").keep(pa.array([1]))


def test_records_read_by_column_and_put_aside_are_coded_as_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch, "LARGE", 0)
    people, secret = read_dataset(catalog_text("people"), name="people", read_file=str), Secret(b"x" * 32)
    table = demo.people(700)
    pq.write_table(table, tmp_path / "people.parquet", row_group_size=300)
    by_column = read_source(tmp_path / "people.parquet", by_column=True).table
    found = encode(people, by_column, secret=secret, scratch=Scratch(tmp_path))
    expected = encode(people, table, secret=secret)
    assert found.records.equals(expected.records) and found.facts == expected.facts
    assert found.homes is not None and found.homes.equals(expected.homes)


@pytest.mark.parametrize("shape", [0, 5, (2, 3)])
def test_an_array_that_is_put_aside_from_the_start_is_zero_and_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: int | tuple[int, int]
) -> None:
    monkeypatch.setattr(scratch, "LARGE", 0)
    aside, plain = Scratch(tmp_path).zeros(shape, np.float64), IN_MEMORY.zeros(shape, np.float64)
    np.testing.assert_array_equal(aside, plain)
    aside += 1.5
    assert aside.dtype == plain.dtype and (aside == 1.5).all() and not list(tmp_path.iterdir())


def test_room_that_a_disk_has_not_is_said_before_it_is_written_to(tmp_path: Path) -> None:
    with pytest.raises(Fault, match="put aside"):
        Scratch(tmp_path).zeros(1 << 60, np.uint8)


def test_what_is_put_aside_stays_in_memory_that_would_hold_it_several_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch, "free_memory", lambda: 1000)
    assert Scratch.where_needed(tmp_path, 250) == IN_MEMORY
    assert Scratch.where_needed(tmp_path, 251) == Scratch(tmp_path)
    monkeypatch.setattr(scratch, "free_memory", lambda: None)
    assert Scratch.where_needed(tmp_path, 1) == Scratch(tmp_path), "where the system does not say"
