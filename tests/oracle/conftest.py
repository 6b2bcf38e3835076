"""A site whose secret, data and policy are written down, so that every byte of its answers can be."""

import asyncio
from collections.abc import Callable, Iterator
from importlib import resources

import httpx
import pytest

from confide import demo
from confide.answering.service import Service
from confide.records.ingest import add
from confide.web.api import create_app
from confide.web.questions import Questions


@pytest.fixture(scope="session")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], httpx.Response]]:
    """The demo site under a fixed secret, behind HTTP."""
    site = tmp_path_factory.mktemp("oracle") / "site"
    site.mkdir()
    (site / "secret").write_text("5eed" * 16 + "\n")
    (site / "secret").chmod(0o600)
    for name, table in (("people", demo.people(20_000)), ("firms", demo.firms(4_000))):
        text = resources.files("confide.demo").joinpath(f"{name}.toml").read_text(encoding="utf-8")
        add(table, site, name=name, catalog=text)
    policy = (site / "policy.toml").read_text().replace("per_day = 1000", "per_day = 0")
    (site / "policy.toml").write_text(policy.replace("per_minute = 120", "per_minute = 0"))
    with Service.open(site) as service:
        app = create_app(service)
        app.state.questions = Questions(service, patience=60)  # a page waits for its answer, however busy the machine

        async def get(address: str) -> httpx.Response:
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
                return await client.get(address)

        yield lambda address: asyncio.run(get(address))
