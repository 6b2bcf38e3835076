"""How long pages take that ask nothing of the data, in milliseconds of the processor: the best of ten, since other work adds.

python benchmarks/pages.py
"""

import asyncio
import tempfile
import time
from importlib import resources
from pathlib import Path
from urllib.parse import quote

import httpx
from fastapi import FastAPI

import confide
from confide import demo
from confide.answering.service import Service
from confide.web.api import create_app

FORMULA = quote("log(income) ~ age + square(age) + sex + region + age:sex")
PAGES = (
    "/",
    "/about",
    "/people",
    "/people/variables/municipality",
    "/people/table/build",
    "/people/table/build?rows=county&columns=education&where=age_group=30-39,40-49;sex=female&where=occupation=11",
    f"/people/regression/build?formula={FORMULA}",
    "/people/correlation/build?variables=age,income,sex",
)
LIMIT = 50


async def milliseconds(app: FastAPI, address: str) -> float:
    found = []
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://x") as client:
        for _ in range(10):
            begun = time.process_time()
            assert (await client.get(address)).status_code == 200, address
            found.append(1e3 * (time.process_time() - begun))
    return min(found)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        catalog = resources.files("confide.demo").joinpath("people.toml").read_text(encoding="utf-8")
        site = Path(folder) / "site"
        confide.add(demo.people(20_000), site, name="people", catalog=catalog)
        policy = site / "policy.toml"
        policy.write_text(policy.read_text().replace("per_minute = 120", "per_minute = 0"))
        with Service.open(site) as service:
            app = create_app(service)
            for address in PAGES:
                took = asyncio.run(milliseconds(app, address))
                print(f"{address[:70]:<70} {took:6.1f} ms   limit {LIMIT}  {'ok' if took < LIMIT else 'ABOVE'}")


if __name__ == "__main__":
    main()
