"""Frames written to files."""

import csv
import io

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.data.writing import csv_bytes, write_frame
from confide.errors import Mistake
from confide.sources.source import read_source

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)


@given(st.lists(st.tuples(TEXT, TEXT, st.integers(-5, 5)), max_size=5), st.tuples(TEXT, TEXT))
def test_every_text_is_read_back(rows: list[tuple[str, str, int]], names: tuple[str, str]) -> None:
    columns = [*names, "n"]
    kinds = [pa.string(), pa.string(), pa.int64()]
    frame = pa.table([pa.array([row[i] for row in rows], kinds[i]) for i in range(3)], names=columns)
    read = list(csv.reader(io.StringIO(csv_bytes(frame).decode(), newline="")))
    assert read == [columns, *([a, b, str(n)] for a, b, n in rows)]


def test_quotes_stand_only_around_what_needs_them() -> None:
    frame = pa.table({"a": pa.array(["x", 'say "x"', None, "1\r2"]).dictionary_encode(), "b": [1.5, 2.0, None, 1e20]})
    assert csv_bytes(frame) == b'a,b\nx,1.5\n"say ""x""",2\n,\n"1\r2",1e+20\n'


def test_a_slice_of_a_frame_is_written_alone() -> None:
    frame = pa.table({"a": ["x", "y", "z"]}).slice(1, 1)
    assert csv_bytes(frame) == b"a\ny\n"


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_a_file_holds_the_frame(ending: str, tmp_path) -> None:
    frame = pa.table({"a": ["x", "y"], "b": ["007", None]})
    write_frame(frame, tmp_path / f"out.{ending}")
    assert read_source(tmp_path / f"out.{ending}").table.equals(frame)


def test_what_cannot_be_written_is_a_mistake(tmp_path) -> None:
    with pytest.raises(Mistake, match="Known endings"):
        write_frame(pa.table({"a": [1]}), tmp_path / "out.doc")
