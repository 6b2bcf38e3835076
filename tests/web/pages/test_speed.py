"""Pages that ask nothing of the data are quick: in seconds of the processor, the best of some runs, since other work adds."""

import asyncio
import time

import httpx
import pyarrow as pa
import pytest

from confide.answering.service import Service
from confide.site.ingest import add
from confide.web.api import create_app

BUILD = "/people/table/build?rows=county&columns=education&where=age_group=30-39,40-49;sex=female&where=occupation=11"


async def seconds(app, address):
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://x") as client:
        found = []
        for _ in range(10):
            begun = time.process_time()
            assert (await client.get(address)).status_code == 200
            found.append(time.process_time() - begun)
    return min(found)


@pytest.mark.parametrize(
    "address", ["/", "/about", "/people", "/people/variables/municipality", "/people/table/build", BUILD]
)
def test_home_and_builder_take_under_50_ms(site, address):
    with Service.open(site) as service:
        assert asyncio.run(seconds(create_app(service), address)) < 0.05


def test_a_data_set_of_400_variables_is_as_quick(tmp_path, made):
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
            assert asyncio.run(seconds(app, address)) < 0.05
