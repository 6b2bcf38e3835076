"""`confide coprivacy` as people type it. Peers as processes are in test_peers."""

import json

import pytest
from typer.testing import CliRunner

from confide.cli.main import app
from confide.errors import Mistake, Refused

SETTINGS = """
name = "ann"
listen = "127.0.0.1:0"
certificate = "{0}/ann.pem"
certificate_key = "{0}/ann.key"
authority = "{0}/ca.pem"

[backend]
kind = "fts5"
documents = "documents.csv"

[peers]
bob = "127.0.0.1:1"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch, certificates):
    (tmp_path / "peer.toml").write_text(SETTINGS.format(certificates))
    (tmp_path / "documents.csv").write_text("title,url,text\nFlu,https://example.org,symptoms of the flu\n")
    (tmp_path / "game.csv").write_text(
        "ann,bob,payoff ann,payoff bob,help\nH,H,0,0,no\nH,P,1,0,no\nP,H,0,1,no\nP,P,0.5,0.5,yes\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> str:
    result = CliRunner().invoke(app, ["coprivacy", *words], catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_a_search_says_who_submitted_it_and_what_was_found(folder):
    said = run("search", "peer.toml", "flu symptoms", "--json", "found.json")
    assert "Submitted by yourself; 0 peers saw it." in said and "https://example.org" in said
    assert json.loads((folder / "found.json").read_text())["by"] == "ann"
    assert "Nothing was found." in run("search", "peer.toml", "tea")


def test_with_all_peers_dead_never_direct_is_refused(folder):
    with pytest.raises(Refused, match="never to do it yourself"):
        run("search", "peer.toml", "flu", "--never-direct")


def test_certificates_that_are_not_there_are_a_mistake(folder):
    (folder / "peer.toml").write_text(SETTINGS.format("nowhere"))
    with pytest.raises(Mistake, match="certificates of 'ann' cannot be read"):
        run("search", "peer.toml", "flu", "--never-direct")
    with pytest.raises(Mistake, match="certificates of 'ann' cannot be read"):
        run("peer", "peer.toml")


def test_a_simulation_shows_linkage_and_peers_asked_beside_entropies(folder):
    said = run("simulate", "--peers", "10", "--queries", "50", "--json", "found.json").splitlines()
    assert [line.partition(":")[0] for line in said[1:]] == ["coprivate", "printed", "uniform", "direct", "decoys"]
    assert "linked" in said[1] and "peers see a forwarded query" in said[1] and "δ" in said[1]
    found = json.loads((folder / "found.json").read_text())
    assert (
        found["coprivate"]["delta"]["low"] < found["coprivate"]["delta"]["share"] and found["direct"]["delta"] is None
    )


def test_a_game_says_what_rational_players_do(folder):
    said = run("game", "game.csv", "--epsilon", "0.25")
    assert "Dominant strategies: (H H); strictly: none." in said and "(H H), (H P), (P H)" in said
    assert said.count("continuum") == 2 and "pure 0.000, mixed 0.000, correlated 0.500" in said


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("simulate", "--peers", "1"), "at least 2"),
        (("simulate", "--rule", "tor"), "must be one of"),
        (("game", "nothing.csv"), "no file"),
        (("search", "nothing.toml", "flu"), "cannot be read"),
        (("search", "peer.toml", " "), "1 to 1,000"),
    ],
)
def test_what_cannot_be_done_is_a_mistake(words, complaint, folder):
    with pytest.raises(Mistake, match=complaint):
        run(*words)
