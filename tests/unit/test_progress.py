"""How far ingesting is: told to whoever waits, in shares that never fall, and to a terminal alone."""

from pathlib import Path

import pytest

from confide import demo
from confide.cli.terminal import told, working
from confide.demo.texts import catalog_text
from confide.progress import StagedProgress, current_progress, time_left
from confide.records.ingest import add


@pytest.mark.parametrize("preset", ["standard", "drop-q"])
def test_ingesting_tells_how_far_it_is(tmp_path: Path, preset: str) -> None:
    heard: list[tuple[str, float]] = []
    with StagedProgress(lambda doing, share: heard.append((doing, share))).applied():
        add(demo.people(500), tmp_path / "site", name="people", preset=preset, catalog=catalog_text("people"))
    shares = [share for _, share in heard]
    assert shares == sorted(shares) and shares[0] == 0.0 and 0.5 < shares[-1] <= 1.0
    assert list(dict.fromkeys(doing for doing, _ in heard)) == [
        "Coding the records",
        "Protecting the records",
        "Writing the records",
    ]
    assert len(set(shares)) > 20, "every column is told of"


def test_nobody_is_told_unless_somebody_listens() -> None:
    current_progress().report(0.5)


def test_what_is_left_is_what_the_share_and_the_time_say() -> None:
    assert time_left(0.1, 60) == "about 9 min left"
    assert time_left(0.8, 60) == "about 15 s left"
    assert time_left(0.001, 60) == time_left(0.9, 1) == ""
    assert told("Writing the records", 0.8, 60) == "Writing the records, 80 % done, about 15 s left"


def test_nothing_is_said_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with working("Reading"):
        current_progress().report(0.5)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_shows_what_is_done_and_how_far_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with working("Reading"), current_progress().stage("Writing the records", 0.0, 1.0):
        current_progress().report(0.4)
    shown = capsys.readouterr()
    assert shown.out == "" and "Writing the records, 40 % done" in shown.err
