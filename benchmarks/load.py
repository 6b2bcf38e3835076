"""What a site does under load: clients at once, one analyst who floods it, and memory over many requests.

python benchmarks/load.py [--rows 1000000] [--requests 20000] [--site FOLDER]

The site is served by a process of its own; the clients are in this one, each a person with a token. `--site` keeps the site for the
next run, with its ledger. Times are wall times: other work of the machine adds to them; the processor's are of the server alone.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from itertools import combinations, cycle, pairwise
from pathlib import Path
from random import Random
from statistics import median, quantiles
from urllib.parse import quote

import httpx

import confide
from confide import demo
from confide.site.access import PersonRole, Reach, add_token, declare

CLIENTS = (1, 8, 64)
EACH = 18
"""So many questions each of the most clients asks."""
FLOOD = 100
NAMES = ("region", "county", "sex", "marital", "education", "employment", "age_group", "industry", "occupation_major")
CONDITIONS = ("region", "sex", "marital", "education", "employment", "industry", "occupation_major")
NUMBERS = ("age", "children", "hours", "income", "wages", "taxes")
RESPONSES, TERMS = NUMBERS[2:], ("sex", "education", "marital", "age_group", "region", "employment", "industry")
PORT = 8765
MEMORY = (2_000, 5_000, 10_000, 20_000)
"""After so many requests the memory of the server is told."""

_CATALOG = resources.files("confide.demo").joinpath("people.toml")


def tables() -> list[str]:
    """Small tables, all different: most of a universe, so that few come from stored tables."""
    pairs = list(combinations(NAMES, 2))
    wheres = ["", "&where=sex=female", "&where=sex=male", "&where=employment=employed"]
    return [f"/people/table.json?rows={a}&columns={b}{where}" for where in wheres for a, b in pairs]


def different() -> list[str]:
    """Small tables of one or two conditions, all different, in an order drawn once for all runs: some 40,000."""
    variables = tomllib.loads(_CATALOG.read_text(encoding="utf-8"))["variables"]
    codes = {name: [f"{name}={code}" for code in variables[name]["codes"]] for name in CONDITIONS}
    wheres = [one for name in CONDITIONS for one in codes[name]]
    wheres += [f"{one};{other}" for a, b in combinations(CONDITIONS, 2) for one in codes[a] for other in codes[b]]
    found = [f"/people/table.json?rows={a}&columns={b}&where={w}" for w in wheres for a, b in combinations(NAMES, 2)]
    Random(1).shuffle(found)
    return found


def models() -> list[str]:
    """Linear models of one to three classes in a part of all people, all different, in an order drawn once for all runs."""
    terms = [" + ".join(some) for many in (1, 2, 3) for some in combinations(TERMS, many)]
    wheres = ["", "&where=sex=female", "&where=sex=male", "&where=employment=employed"]
    wheres += [f"&where=region={region}" for region in ("N", "E", "S", "W")]
    asked = [(f"{number} ~ {term}", where) for number in RESPONSES for term in terms for where in wheres]
    found = [f"/people/regression.json?formula={quote(formula)}{where}" for formula, where in asked]
    Random(1).shuffle(found)
    return found


def mixed() -> list[str]:
    """Three tables, then a model."""
    three = zip(*[iter(different())] * 3, strict=False)
    return [one for some, model in zip(three, cycle(models()), strict=False) for one in (*some, model)]


def correlations() -> list[str]:
    """Open correlations, each a scan of all records."""
    triples = [",".join(three) for three in combinations(NUMBERS, 3)]
    wheres = [f"region={region}" for region in ("N", "E", "S", "W")] + ["sex=female", "sex=male"]
    return [f"/people/correlation.json?variables={names}&where={where}" for names in triples for where in wheres][
        :FLOOD
    ]


def make_site(folder: Path, rows: int) -> Path:
    confide.add(demo.people(rows), folder, name="people", catalog=_CATALOG.read_text(encoding="utf-8"))
    policy = folder / "policy.toml"
    text = policy.read_text().replace("per_minute = 120", "per_minute = 0").replace("per_day = 1000", "per_day = 0")
    policy.write_text(text)
    declare(folder / "access.toml", Reach.TOKENS)
    add_token(folder / "access.toml", name="custodian", role=PersonRole.CUSTODIAN)
    return folder


class People:
    """Persons with a token each; nobody is used twice, so that nothing is answered from what they asked before."""

    def __init__(self, site: Path) -> None:
        self._file, self._made = site / "access.toml", 0

    def one(self) -> dict[str, str]:
        self._made += 1
        name = f"person-{os.getpid()}-{self._made}"
        return {"Authorization": f"Bearer {add_token(self._file, name=name, role=PersonRole.ANALYST)}"}


@dataclass(frozen=True)
class Served:
    """A site that is being served."""

    people: People
    process: subprocess.Popen[bytes]

    def processor(self) -> float:
        """Seconds of the processor that the server has taken."""
        used = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(used[11]) + int(used[12])) / os.sysconf("SC_CLK_TCK")

    def resident(self) -> float:
        """The memory that it has, in MiB."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@contextmanager
def served(site: Path) -> Iterator[Served]:
    words = [sys.executable, "-m", "confide", "serve", str(site), "--port", str(PORT)]
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    try:
        while True:
            try:
                httpx.get(f"http://127.0.0.1:{PORT}/login")
                break
            except httpx.TransportError:
                time.sleep(0.1)
        yield Served(People(site), process)
    finally:
        process.terminate()
        process.wait()


class Client:
    """A person with one connection; notes how long everything took. It does no more than it must: it shares the machine."""

    def __init__(self, who: dict[str, str], *, port: int = PORT) -> None:
        self._port, headers = port, {"Host": f"127.0.0.1:{port}", **who}
        self._rest = " HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n"
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.took: list[float] = []

    async def get(self, address: str) -> tuple[int, bytes]:
        """The status and the body of an answer."""
        begun = time.perf_counter()
        reader, writer = self._streams = self._streams or await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(f"GET {address}{self._rest}".encode("ascii"))
        head = await reader.readuntil(b"\r\n\r\n")
        body = await reader.readexactly(int(head.lower().partition(b"content-length:")[2].split(None, 1)[0]))
        self.took.append(time.perf_counter() - begun)
        return int(head[9:12]), body

    def close(self) -> None:
        if self._streams:
            self._streams[1].close()


Answers = dict[str, set[tuple[int, bytes]]]
"""What each address was answered: one answer, if all is well."""


async def at_once(site: Served, shares: Sequence[Sequence[str]], what: str) -> Answers:
    """A client for each share of the addresses, all at once; what each address was answered."""
    clients, before, mine = [Client(site.people.one()) for _ in shares], site.processor(), time.process_time()
    found: Answers = {}

    async def ask(client: Client, addresses: Sequence[str]) -> None:
        for address in addresses:
            found.setdefault(address, set()).add(await client.get(address))
        client.close()

    begun = time.perf_counter()
    await asyncio.gather(*map(ask, clients, shares))
    seconds, took = time.perf_counter() - begun, sorted(t for client in clients for t in client.took)
    print(
        f"{len(shares):3} clients, {what}: {len(took) / seconds:6.1f} tables a second, median {median(took):.3f} s, "
        f"p99 {quantiles(took, n=100)[98]:.3f} s, longest {took[-1]:.3f} s; "
        f"{1e3 * (site.processor() - before) / len(took):.1f} ms of the processor each, "
        f"{1e3 * (time.process_time() - mine) / len(took):.2f} ms of the client's",
        flush=True,
    )
    return found


def compare(found: Answers, serial: Answers) -> None:
    same = all(found[address] == serial[address] and len(serial[address]) == 1 for address in found)
    print(f"    answers equal to the serial run: {'yes' if same else 'NO'}")


async def load(site: Served) -> None:
    """Answers are those of one client alone, whoever asks at the same time, of what others asked and of what nobody did."""
    addresses = tables()
    serial = await at_once(site, [addresses], "first")
    for many in CLIENTS[1:]:
        share = len(addresses) * 8 // many
        shares = [[addresses[(n * 7 + at) % len(addresses)] for at in range(share)] for n in range(many)]
        compare(await at_once(site, shares, "asked by others, too"), serial)
    fresh = different()[-EACH * CLIENTS[-1] :]
    found = await at_once(site, [fresh[n :: CLIENTS[-1]] for n in range(CLIENTS[-1])], "all different")
    compare(found, await at_once(site, [fresh], "the same again"))


async def beside(people: People) -> tuple[list[float], list[float]]:
    """The times of small tables of somebody, and of static pages."""
    asker, stranger = Client(people.one()), Client({})
    _, page = await stranger.get("/login")
    static = "/static/" + page.decode().partition("/static/")[2].partition('"')[0]
    stranger.took.clear()
    for address in tables()[40:60]:
        assert (await asker.get(address))[0] in (200, 403)
        for _ in range(3):
            assert (await stranger.get(static))[0] == 200
    asker.close()
    stranger.close()
    return asker.took, stranger.took


async def flood(people: People) -> None:
    """One analyst opens many correlations; another asks for small tables."""
    first = await beside(people)
    alone, static_alone = await beside(people)
    flooder = people.one()
    limits = httpx.Limits(max_connections=FLOOD)
    async with httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{PORT}", headers=flooder, timeout=600, limits=limits
    ) as http:
        asking = [asyncio.create_task(http.get(address)) for address in correlations()]
        await asyncio.sleep(1)
        busy, static_busy = await beside(people)
        open_still = sum(not task.done() for task in asking)
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
    after, _ = await beside(people)
    for what, one, other in (("small table", alone, busy), ("static page", static_alone, static_busy)):
        print(
            f"{what}: alone {median(one) * 1e3:.1f} ms (p95 {quantiles(one, n=20)[18] * 1e3:.1f}), under the flood "
            f"{median(other) * 1e3:.1f} ms (p95 {quantiles(other, n=20)[18] * 1e3:.1f}), {median(other) / median(one):.1f} times"
        )
    print(f"    {open_still} of {FLOOD} correlations were still open; first tables {median(first[0]) * 1e3:.1f} ms")
    print(f"    after all were abandoned: small table {median(after) * 1e3:.1f} ms")


async def memory(site: Served, requests: int) -> None:
    """What the server has of memory, from time to time, while it is asked different questions by ever more people."""
    addresses, told = different(), [f"{site.resident():.0f} at first"]
    for begin, end in pairwise([0, *(mark for mark in MEMORY if mark < requests), requests]):
        for start in range(begin, end, 1_000):
            some = addresses[start : min(start + 1_000, end)]
            await at_once(site, [some[n::8] for n in range(8)], f"to request {start + len(some)}")
        told.append(f"{site.resident():.0f} after {end}")
    print(f"memory in MiB: {', '.join(told)}")


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--requests", type=int, default=20_000)
    options.add_argument("--site", type=Path)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = given.site or Path(folder) / "site"
        if not path.exists():
            make_site(path, given.rows)
        with served(path) as site:
            asyncio.run(flood(site.people))
            asyncio.run(load(site))
            asyncio.run(memory(site, given.requests))


if __name__ == "__main__":
    main()
