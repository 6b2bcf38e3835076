"""`confide workload` on the command line: what it prints, writes and refuses; and the last line of `confide check`."""

import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, fields
from io import StringIO
from pathlib import Path

import pytest

from confide.attacks.workload.proportions import STATISTICS
from confide.attacks.workload.summary import Usefulness
from confide.cli.main import main


@dataclass(frozen=True)
class Done:
    status: int
    out: str
    err: str


def run(*words: object) -> Done:
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["confide", *map(str, words)])
        patch.delenv("CONFIDE_TOKEN", raising=False)
        try:
            main()
            status = 0
        except SystemExit as leave:
            status = int(leave.code or 0)
    return Done(status, out.getvalue(), err.getvalue())


def test_it_prints_tables_and_writes_json_and_a_page(site: Path, tmp_path: Path) -> None:
    page, data = tmp_path / "page.html", tmp_path / "out.json"
    done = run("workload", site, "people", "--questions", 20, "--json", data, "--report", page)
    assert done.status == 0 and not done.err
    assert done.out.startswith("What an honest analyst gets of 'people' under drop-q, version 1\n")
    for words in ("Questions answered", "Rules that refuse", "Errors in units of the sampling error", "of 24 honest"):
        assert words in done.out
    written = json.loads(data.read_text())
    assert set(written) == {field.name for field in fields(Usefulness)}
    assert written["asked"] == 24 and written["kinds"][0]["kind"] == "counts"
    assert sum(s["asked"] for s in written["kinds"] if s["kind"] in STATISTICS) == 4
    text = page.read_text()
    assert "Do not publish it" in text and text.count("<figure") == 2 and "<script" not in text


def test_the_same_words_give_the_same_output(site: Path) -> None:
    words = ("workload", site, "people", "--questions", 8, "--seed", 3)
    assert run(*words) == run(*words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["people", "--policy", "open"], "protects nothing. For teaching only: add --allow-open"),
        (["people", "--policy", "opne"], "'opne' is no preset and cannot be read as a file"),
        (["poeple"], "Did you mean 'people'?"),
        (["people", "--ledger"], "The ledger has no question about 'people'"),
        (["people", "--truth", "x.csv"], "--truth is for a site elsewhere"),
    ],
)
def test_mistakes_are_said(site: Path, words: list[str], said: str) -> None:
    done = run("workload", site, *words)
    assert done.status == 2 and said in done.err and not done.out


def test_what_needs_a_site_here_is_said_of_one_elsewhere() -> None:
    done = run("workload", "http://127.0.0.1:9", "people", "--ledger")
    assert done.status == 2 and "--ledger needs a site on this machine" in done.err


def test_a_place_without_a_site_is_a_mistake(tmp_path: Path) -> None:
    done = run("workload", tmp_path / "nothing", "people")
    assert done.status == 2 and "There is no site" in done.err


def test_open_is_measured_where_it_is_allowed(site: Path) -> None:
    done = run("workload", site, "people", "--policy", "open", "--allow-open", "--questions", 6)
    assert done.status == 0 and "under open, version 1" in done.out


def test_a_draft_is_measured(site: Path, tmp_path: Path) -> None:
    (tmp_path / "draft.toml").write_text("name = 'strict'\n[tables]\nmean_cell = 1e9\n[models]\nunits = 1000000000\n")
    done = run("workload", site, "people", "--policy", tmp_path / "draft.toml", "--questions", 6, "--statistics", 0)
    assert done.status == 0 and "of 6 honest questions 0 are answered" in done.out and "Nothing is answered" in done.out


def test_check_ends_with_one_line_a_data_set(site: Path) -> None:
    done = run("check", site)
    last = done.out.splitlines()[-1]
    assert last.startswith("note         people: of 60 honest questions ") and last.endswith("More: confide workload.")
    assert not (site / "ledger.jsonl").exists()
