"""Files are written whole or not at all, and what a killed writer leaves does not stay."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from confide.data.replacing import replacing

KILLED = """
import os, signal, sys
from confide.data.replacing import replacing
with replacing(sys.argv[1]) as partial:
    partial.write_text("half of")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_next_writer_removes_what_a_killed_one_has_left(tmp_path: Path) -> None:
    place = tmp_path / "out[1].csv"
    place.write_text("before")
    assert subprocess.run([sys.executable, "-c", KILLED, str(place)]).returncode == -signal.SIGKILL
    assert place.read_text() == "before"
    assert len(list(tmp_path.glob("*.partial"))) == 1
    with replacing(place) as partial:
        partial.write_text("after")
    assert [file.name for file in tmp_path.iterdir()] == ["out[1].csv"]
    assert place.read_text() == "after"


def test_what_another_is_writing_at_the_moment_stays(tmp_path: Path) -> None:
    place = tmp_path / "out.csv"
    with replacing(place) as first:
        first.write_text("first")
        with replacing(place) as second:
            second.write_text("second")
        assert place.read_text() == "second"
    assert place.read_text() == "first"
    assert list(tmp_path.iterdir()) == [place]


def test_files_of_others_stay(tmp_path: Path) -> None:
    theirs = [tmp_path / name for name in ("out.csv.partial", "out.csv.old.partial", "my-out.csv.0123abcd.partial")]
    for file in theirs:
        file.write_text("theirs")
    with replacing(tmp_path / "out.csv") as partial:
        partial.write_text("mine")
    assert sorted(tmp_path.iterdir()) == sorted([*theirs, tmp_path / "out.csv"])


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    place = tmp_path / "out.csv"
    place.write_text("before")
    with pytest.raises(ZeroDivisionError), replacing(place) as partial:
        partial.write_text("half of")
        raise ZeroDivisionError
    assert place.read_text() == "before"
    assert list(tmp_path.iterdir()) == [place]
