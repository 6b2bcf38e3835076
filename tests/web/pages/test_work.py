"""Pages that ask nothing of the data take little work: counted in calls, which are the same on any machine."""

import asyncio
from urllib.parse import quote

import httpx
import pyarrow as pa
import pytest

from confide.answering.service import Service
from confide.site.ingest import add
from confide.web.api import create_app

BUILD = "/people/table/build?rows=county&columns=education&where=age_group=30-39,40-49;sex=female&where=occupation=11"


FORMULA = "/people/regression/build?formula=" + quote("log(income) ~ age + square(age) + sex + region + age:sex")

FEW, A_VARIABLE = 60_000, 1_000
"""Limits that guard: pages take 5,000 to 31,000 calls, and 240 or 640 for each variable where these are many."""


async def ask(app, address):
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://x") as client:
        assert (await client.get(address)).status_code == 200


def calls_for(app, address, calls_of):
    """The calls of a page that was asked for before: templates are compiled once."""
    asyncio.run(ask(app, address))
    return calls_of(lambda: asyncio.run(ask(app, address)))


@pytest.mark.parametrize(
    "address",
    [
        "/",
        "/about",
        "/people",
        "/people/variables/municipality",
        "/people/table/build",
        BUILD,
        "/people/regression/build",
        FORMULA,
        "/people/correlation/build?variables=age,income,sex",
    ],
)
def test_home_and_builders_take_little_work(site, address, calls_of):
    with Service.open(site) as service:
        assert calls_for(create_app(service), address, calls_of) < FEW


def test_a_data_set_of_400_variables_takes_as_little_for_each(tmp_path, made, calls_of):
    """Half of them in hierarchies of two levels."""
    sections = [f'[variables.c{n}]\n[variables.c{n}.codes]\na = "A"\nb = "B"\n' for n in range(200)]
    sections += [
        f'[variables.f{n}]\nparent = "c{n}"\n[variables.f{n}.codes]\n'
        'x = { label = "X", parent = "a" }\ny = { label = "Y", parent = "b" }\n'
        for n in range(200)
    ]
    data = pa.table({f"c{n}": ["a", "b"] for n in range(200)} | {f"f{n}": ["x", "y"] for n in range(200)})
    site = tmp_path / "many"
    add(data, site, name="many", catalog='title = "Many"\n' + "\n".join(sections))
    (site / "policy.toml").write_text((made / "policy.toml").read_text())
    with Service.open(site) as service:
        app = create_app(service)
        for address in ("/many", "/many/table/build?rows=c1,f2&columns=c3&where=c4=a;f5=x&where=c6=b"):
            assert calls_for(app, address, calls_of) < 400 * A_VARIABLE
