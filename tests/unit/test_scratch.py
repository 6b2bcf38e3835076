"""Arrays that are put aside on disk are the same, and leave nothing behind."""

from pathlib import Path

import pyarrow as pa
import pytest

from confide.data import scratch
from confide.data.scratch import Scratch
from confide.errors import Fault


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
