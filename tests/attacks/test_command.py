"""`confide attack` as it is typed: exit status and files."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

CONFIDE = [sys.executable, "-c", "from confide.cli.main import main; main()"]
FEW = ["--only", "T18", "--targets", "60", "--questions", "150"]


def confide(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*CONFIDE, *map(str, words)], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(demo_site) -> Path:
    return demo_site(20_000, "people", "drop-q")


def test_the_limit_decides_the_exit_status(site: Path, tmp_path: Path) -> None:
    done = confide("attack", site, "people", *FEW, "--json", tmp_path / "out.json", "--report", tmp_path / "out.html")
    assert done.returncode == 4, done.stderr
    assert "above the limit of 5 points" in done.stdout and "secret-in-universe" in done.stdout
    [result] = json.loads((tmp_path / "out.json").read_text())["results"]
    assert result["lift"] > 0.2
    assert "secret-in-universe" in (tmp_path / "out.html").read_text()
    # The same run again asks nothing, and another limit lets it pass.
    again = confide("attack", site, "people", *FEW, "--json", tmp_path / "out.json", "--fail-above", "1")
    assert again.returncode == 0, again.stderr
    assert list((site / "red-team").glob("people-*.json"))


def test_the_limit_of_the_policy_decides_where_none_is_given(site: Path, tmp_path: Path) -> None:
    (tmp_path / "mild.toml").write_text('preset = "drop-q"\n[red_team]\nlimit = 1.0\n')
    done = confide("attack", site, "people", *FEW, "--policy", tmp_path / "mild.toml")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["attack"], "Name a site and a data set"),
        (["attack", "SITE", "people", "--only", "telepathy"], "no attack called 'telepathy'"),
        (["attack", "SITE", "people", "--policy", "opne"], "Did you mean 'open'"),
        (["attack", "SITE", "people", "--policy", "open"], "--allow-open"),
        (["attack", "SITE", "nobody"], "There are people"),
    ],
)
def test_mistakes_are_said(site: Path, words: list[str], said: str) -> None:
    done = confide(*[str(site) if word == "SITE" else word for word in words])
    assert done.returncode == 2
    assert said in done.stderr


def test_the_attacks_are_listed() -> None:
    done = confide("attack", "--list")
    assert done.returncode == 0
    assert "T18  secret-in-universe" in done.stdout and "knows:" in done.stdout
