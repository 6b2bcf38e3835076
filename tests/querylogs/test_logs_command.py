"""`confide logs` as a custodian types it."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from confide.cli.main import app
from confide.errors import Mistake

TOPICS = "id,parent,name,words\n1,,Sports,football tennis goal\n2,,Music,piano opera song\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log of forty users and its topics, where commands run."""
    random = np.random.default_rng(1)
    words = [["football", "tennis", "goal"], ["piano", "opera", "song"]]
    lines = [f"user{user},{word} {user}" for user in range(40) for word in random.choice(words[user % 2], 5)]
    (tmp_path / "log.csv").write_text("user,query\n" + "\n".join(lines) + "\nuser0,\n")
    (tmp_path / "topics.csv").write_text(TOPICS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> str:
    result = CliRunner().invoke(app, ["logs", *words], catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


TAXONOMY = ("--taxonomy", "topics.csv", "--words", "names")


def test_a_log_is_anonymised_and_told_of(folder):
    said = run("anonymise", "log.csv", *TAXONOMY, "--k", "4", "-o", "public.csv")
    assert "200 lines of 40 users" in said and "1 empty queries left" in said and "100% on level 1" in said
    with (folder / "public.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["cluster", "size", "query"] and len({row["cluster"] for row in rows}) == 10
    assert (folder / "log.csv.key").stat().st_mode & 0o077 == 0
    assert "user" not in (folder / "public.csv").read_text()


def test_the_rare_filter_says_its_cost_before_anything_is_clustered(folder):
    with pytest.raises(Mistake, match="nothing would be left"):
        run("anonymise", "log.csv", *TAXONOMY, "--rare", "queries", "-o", "public.csv")
    assert not (folder / "public.csv").exists()


def test_check_tells_what_filters_cost_and_clusters_keep_and_draws_it(folder):
    said = run("check", "log.csv", *TAXONOMY, "--teaching-seed", "1", "--report", "page.html")
    assert "would keep 0.0% of lines" in said
    assert [line[:5] for line in said.splitlines() if line.startswith("k =")] == ["k = 2", "k = 3", "k = 4", "k = 5"]
    page = (folder / "page.html").read_text()
    assert page.count("<figure") == 3 and "Do not publish it" in page


def test_attack_prints_what_an_intruder_achieves(folder):
    said = run("attack", "log.csv", *TAXONOMY, "--teaching-seed", "1", "--targets", "3", "--json", "found.json")
    assert "Knowing 1 query" in said and "Knowing 3 queries" in said and "2 planted users" in said
    found = json.loads((folder / "found.json").read_text())
    assert [link["known"] for link in found["links"]] == [1, 2, 3] and 0 <= found["planted"] <= 1


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--k", "1"), "at least 2"),
        (("--k", "41"), "fewer users than k"),
        (("--preset", "bing"), "no preset 'bing'"),
        (("--words", "verbs"), "no words 'verbs'"),
        (("--query", "qeury"), "no column 'qeury'. Did you mean 'query'"),
        (("--rare", "users"), "not 'users'"),
        (("--similarity", "cosine"), "must be one of minima, ruzicka"),
        (("--best", "0"), "one topic or more"),
        (("--output", "log.csv"), "replace the confidential"),
        (("--output", "public.doc"), "Cannot write"),
    ],
)
def test_what_cannot_be_done_is_a_mistake_and_nothing_is_written(words, complaint, folder):
    with pytest.raises(Mistake, match=complaint):
        run("anonymise", "log.csv", *TAXONOMY, "-o", "public.csv", *words)
    assert not list(folder.glob("public*"))


def test_without_a_taxonomy_wordnet_is_offered(folder):
    with pytest.raises(Mistake, match="--words hypernyms"):
        run("anonymise", "log.csv", "-o", "public.csv")


def test_broken_lines_stop_the_command_unless_they_are_skipped(folder):
    with (folder / "log.csv").open("a") as file:
        file.write("eve,a,b\n")
    with pytest.raises(Mistake, match="1 of 202 lines of log.csv are broken"):
        run("anonymise", "log.csv", *TAXONOMY, "-o", "public.csv")
    assert "1 broken lines left." in run("anonymise", "log.csv", *TAXONOMY, "-o", "public.csv", "--skip-bad")
