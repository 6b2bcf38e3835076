"""Whoever kills an ingest at any step finds the former data, or is told that there are none; the next one leaves no litter."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import confide
from confide import demo
from confide.answering.service import Service
from confide.demo.texts import catalog_text
from confide.errors import Mistake
from confide.model.request import TableRequest
from confide.records.ingest import add

KILLED = """
    import os, signal, sys
    from confide import demo
    from confide.demo.texts import catalog_text
    from confide.progress import StagedProgress
    from confide.records.ingest import add, ingest

    again, site, stage, reports = sys.argv[1] == "again", sys.argv[2], sys.argv[3], int(sys.argv[4])
    heard = []

    def tell(doing, share):
        heard.append(doing)
        if heard.count(stage) == reports:
            os.kill(os.getpid(), signal.SIGKILL)

    with StagedProgress(tell).applied():
        if again:
            ingest(demo.people(600, seed=2), site, name="people")
        else:
            add(demo.people(600), site, name="people", catalog=catalog_text("people"))
"""

STEPS = [
    ("Coding the records", 9),
    ("Protecting the records", 3),
    ("Writing the records", 1),
    ("Writing the records", 2),
]


def killed(what: str, site: Path, stage: str, reports: int) -> None:
    words = [sys.executable, "-c", textwrap.dedent(KILLED), what, str(site), stage, str(reports)]
    assert subprocess.run(words, check=False).returncode == -signal.SIGKILL


def litter(site: Path) -> set[str]:
    """Files that a site has beside those of a vintage that is whole."""
    return {str(path.relative_to(site)) for path in site.rglob("*") if "partial" in path.name or "tmp" in path.name}


def counted(site: Path) -> object:
    with Service.open(site) as service:
        return service.answer(TableRequest("people", rows=("age_group",))).digest


@pytest.mark.parametrize(("stage", "reports"), STEPS)
def test_killed_while_data_are_loaded_anew_the_former_ones_answer(tmp_path: Path, stage: str, reports: int) -> None:
    site = tmp_path / "site"
    add(demo.people(600), site, name="people", catalog=catalog_text("people"))
    before = counted(site)
    killed("again", site, stage, reports)
    assert counted(site) == before
    confide.ingest(demo.people(600, seed=2), site, name="people")
    assert counted(site) != before and not litter(site) and len(os.listdir(site / "people" / "vintages")) == 1


@pytest.mark.parametrize(("stage", "reports"), STEPS)
def test_killed_while_a_site_is_made_nothing_is_there_and_it_can_be_loaded(
    tmp_path: Path, stage: str, reports: int
) -> None:
    site = tmp_path / "site"
    killed("first", site, stage, reports)
    with pytest.raises(Mistake, match="people"):
        counted(site)
    with pytest.raises(Mistake, match="already") as told:
        add(demo.people(600), site, name="people", catalog=catalog_text("people"))
    assert "confide ingest" in str(told.value.suggestions)
    confide.ingest(demo.people(600), site, name="people")
    assert counted(site) and not litter(site) and len(os.listdir(site / "people" / "vintages")) == 1
