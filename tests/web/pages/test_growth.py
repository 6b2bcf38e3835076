"""The work of a page that asks nothing of the data grows with its variables, not with their square. Seconds are for benchmarks."""

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest

from confide.answering.service import Service
from confide.records.ingest import add
from confide.web.api import create_app

PAGES = ("/many", "/many/table/build?rows=c1,f2&columns=c3&where=c4=a;f5=x&where=c6=b")


def site_of(size: int, folder: Path, policy: Path) -> Path:
    """A site whose data set has so many variables, half of them in hierarchies of two levels."""
    sections = [f'[variables.c{n}]\n[variables.c{n}.codes]\na = "A"\nb = "B"\n' for n in range(size // 2)]
    sections += [
        f'[variables.f{n}]\nparent = "c{n}"\n[variables.f{n}.codes]\n'
        'x = { label = "X", parent = "a" }\ny = { label = "Y", parent = "b" }\n'
        for n in range(size // 2)
    ]
    columns = {f"c{n}": ["a", "b"] for n in range(size // 2)} | {f"f{n}": ["x", "y"] for n in range(size // 2)}
    site = folder / f"many {size}"
    add(pa.table(columns), site, name="many", catalog='title = "Many"\n' + "\n".join(sections))
    (site / "policy.toml").write_text(policy.read_text())
    return site


@contextmanager
def counting() -> Iterator[list[int]]:
    """How many functions are called meanwhile, in this thread and in those it starts."""
    calls = [0]

    def note(frame: Any, event: str, given: Any) -> None:
        calls[0] += event == "call"

    before = sys.getprofile()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(before)
        threading.setprofile(None)


def calls(app: Any, address: str) -> int:
    async def get() -> int:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
            return (await client.get(address)).status_code

    assert asyncio.run(get()) == 200, "templates are compiled the first time"
    with counting() as counted:
        assert asyncio.run(get()) == 200
    return counted[0]


@pytest.mark.parametrize("address", PAGES)
def test_twice_the_variables_are_at_most_about_twice_the_work(tmp_path: Path, made: Path, address: str) -> None:
    work = []
    for size in (100, 200):
        with Service.open(site_of(size, tmp_path, made / "policy.toml")) as service:
            work.append(calls(create_app(service), address))
    assert work[1] < 2.5 * work[0], work
