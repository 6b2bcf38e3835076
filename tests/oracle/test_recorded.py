"""Answers do not change by accident: two hundred questions through every door, as they were answered when recorded.

A change that is meant to move numbers records anew, and its diff says how many questions it moved:

    CONFIDE_RECORD=1 .venv/bin/pytest tests/oracle
"""

import hashlib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

RECORDED = Path(__file__).with_name("recorded.json")
ANSWERS: dict[str, dict[str, str]] = json.loads(RECORDED.read_text())
DOORS = {"page": "", "json": ".json", "csv": ".csv"}


def ask(doors: Callable[[str], httpx.Response], address: str) -> dict[str, str]:
    """Status and digest of the answer at each door; what a page says of its own machinery (assets, job numbers) aside."""
    kind, _, query = address.partition("?")
    found = {}
    for door, ending in DOORS.items():
        answer = doors(f"/{kind}{ending}?{query}")
        text = re.sub(r'(/static/[^"?]+)\?[^"]*|/charts/[^"]+', r"\1", answer.text)
        found[door] = f"{answer.status_code} {hashlib.sha256(text.encode()).hexdigest()[:16]}"
    return found


@pytest.mark.parametrize("address", ANSWERS)
def test_the_answer_is_the_one_recorded(doors, recording, address):
    found = ask(doors, address)
    recording[address] = found
    assert "CONFIDE_RECORD" in os.environ or found == ANSWERS[address]


@pytest.fixture(scope="module")
def recording():
    """What is found; written down at the end if that is wanted."""
    if "CONFIDE_RECORD" in os.environ and "PYTEST_XDIST_WORKER" in os.environ:
        pytest.fail(
            "Record in one process, without -n: each of several would write its own answers over those of the others."
        )
    found = dict(ANSWERS)
    yield found
    if "CONFIDE_RECORD" in os.environ:
        RECORDED.write_text(json.dumps(found, indent=1) + "\n")
