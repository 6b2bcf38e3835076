"""Arrays that are put aside on disk are the same, and leave nothing behind."""

from pathlib import Path

import pyarrow as pa
import pytest

from confide.data import scratch
from confide.data.scratch import Scratch


@pytest.mark.parametrize("array", [pa.array([1, None, 3]), pa.array([1, 2], pa.uint8()), pa.array([None], pa.int32())])
def test_what_is_put_aside_is_what_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, array: pa.Array) -> None:
    monkeypatch.setattr(scratch, "LARGE", 0)
    kept = Scratch(tmp_path).keep(array)
    assert kept.equals(array) and kept.null_count == array.null_count
    assert not list(tmp_path.iterdir()), "the file has no name"


def test_small_arrays_stay_in_memory() -> None:
    array = pa.array([1, 2])
    assert Scratch(Path("/nowhere")).keep(array) is array
