"""People and their households at every door: pages, addresses, formats, commands, Python."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import confide
from confide import demo

LEVEL = "survey.households"
ADDRESS = f"/{LEVEL}/table"


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("homes") / "site"
    people = demo.people(2_000, seed=4)
    confide.add(people, site, name="survey", households=people)
    return site


@pytest.fixture(scope="module")
def here(homes: Path, run: Any) -> list[str]:
    """A table of households as Python and the command line give it, before the site is served."""
    done = run("table", homes, LEVEL, "--rows", "region", "--format", "csv")
    assert done.returncode == 0, done.stderr
    with confide.open(homes) as site:
        return [site[LEVEL].table(rows="region").to_csv(), done.stdout.decode()]


@pytest.fixture(scope="module")
def served(homes: Path, here: list[str], starting: Callable[..., Any]) -> Iterator[Any]:
    server = starting(homes)
    yield server
    server.kill()


def test_pages_list_both_levels_and_ask_about_each(served: Any) -> None:
    home = served.get("/").text
    assert 'href="/survey"' in home and f'href="/{LEVEL}"' in home
    assert "Persons in the household" in served.get(f"/{LEVEL}").text
    assert served.get(f"/{LEVEL}/variables/head_sex").status_code == 200
    assert served.get(f"/{LEVEL}/table/build").status_code == 200
    page = served.get(f"{ADDRESS}?rows=region&columns=household_size")
    assert page.status_code == 200 and "survey: households" in page.text
    assert [d["name"] for d in served.get("/api/datasets").json()["datasets"]] == ["survey", LEVEL]


@pytest.mark.parametrize("ending", ["json", "csv", "xlsx"])
def test_every_format_has_a_table_of_households(served: Any, ending: str) -> None:
    answer = served.get(f"{ADDRESS}.{ending}?rows=region")
    assert answer.status_code == 200 and len(answer.content) > 100


def test_commands_and_python_ask_in_the_same_words(served: Any, here: list[str]) -> None:
    with confide.open(served.url) as elsewhere:
        assert [elsewhere[LEVEL].table(rows="region").to_csv()] * 2 == here


@pytest.mark.parametrize("command", ["check", "doctor"])
def test_what_looks_after_a_site_knows_both_levels(homes: Path, run: Any, command: str) -> None:
    done = run(command, homes)
    assert done.returncode == 0, done.stderr
    assert LEVEL in done.stdout.decode()


def test_a_report_on_the_records_of_households_can_be_read(homes: Path, run: Any) -> None:
    shown = run("records", homes, LEVEL).stdout.decode()
    assert "records are exposed by their keys" in shown
    refused = run("records", homes, LEVEL, "--renew")
    assert refused.returncode == 2 and b"is made of 'survey'" in refused.stderr
