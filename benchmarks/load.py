"""What a site does under load: clients at once, one analyst who floods it, and memory over many requests.

python benchmarks/load.py [--rows 1000000] [--requests 3000] [--site FOLDER]

The site is served by a process of its own; the clients are in this one, each a person with a token. `--site` keeps the site for the
next run. Times are wall times: other work of the machine adds to them.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from itertools import combinations, cycle
from pathlib import Path
from statistics import median, quantiles

import httpx

import confide
from confide import demo
from confide.site.access import PersonRole, Reach, add_token, declare

CLIENTS = (1, 8, 64)
FLOOD = 100
NAMES = ("region", "county", "sex", "marital", "education", "employment", "age_group", "industry", "occupation_major")
NUMBERS = ("age", "children", "hours", "income", "wages", "taxes")
PORT = 8765


def tables() -> list[str]:
    """Small tables, all different: most of a universe, so that few come from stored tables."""
    pairs = list(combinations(NAMES, 2))
    wheres = ["", "&where=sex=female", "&where=sex=male", "&where=employment=employed"]
    return [f"/people/table.json?rows={a}&columns={b}{where}" for where in wheres for a, b in pairs]


def correlations() -> list[str]:
    """Open correlations, each a scan of all records."""
    triples = [",".join(three) for three in combinations(NUMBERS, 3)]
    wheres = [f"region={region}" for region in ("N", "E", "S", "W")] + ["sex=female", "sex=male"]
    return [f"/people/correlation.json?variables={names}&where={where}" for names in triples for where in wheres][
        :FLOOD
    ]


def make_site(folder: Path, rows: int) -> Path:
    catalog = resources.files("confide.demo").joinpath("people.toml").read_text(encoding="utf-8")
    confide.add(demo.people(rows), folder, name="people", catalog=catalog)
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

    def __init__(self, who: dict[str, str]) -> None:
        headers = {"Host": f"127.0.0.1:{PORT}", **who}
        self._rest = " HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n"
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.took: list[float] = []

    async def get(self, address: str) -> tuple[int, bytes]:
        """The status and the body of an answer."""
        begun = time.perf_counter()
        reader, writer = self._streams = self._streams or await asyncio.open_connection("127.0.0.1", PORT)
        writer.write(f"GET {address}{self._rest}".encode("ascii"))
        head = await reader.readuntil(b"\r\n\r\n")
        body = await reader.readexactly(int(head.lower().partition(b"content-length:")[2].split(None, 1)[0]))
        self.took.append(time.perf_counter() - begun)
        return int(head[9:12]), body

    def close(self) -> None:
        if self._streams:
            self._streams[1].close()


async def at_once(site: Served, many: int, addresses: Sequence[str], share: int) -> dict[str, set[tuple[int, bytes]]]:
    """So many clients, each with its share of the addresses; what each address was answered."""
    clients, before, mine = [Client(site.people.one()) for _ in range(many)], site.processor(), time.process_time()
    found: dict[str, set[tuple[int, bytes]]] = {}

    async def ask(number: int, client: Client) -> None:
        for at in range(share):
            address = addresses[(number * 7 + at) % len(addresses)]
            found.setdefault(address, set()).add(await client.get(address))

    begun = time.perf_counter()
    await asyncio.gather(*(ask(*each) for each in enumerate(clients)))
    seconds, took = time.perf_counter() - begun, sorted(t for client in clients for t in client.took)
    print(
        f"{many:3} clients: {len(took) / seconds:6.1f} tables a second, median {median(took):.3f} s, "
        f"p99 {quantiles(took, n=100)[98]:.3f} s, longest {took[-1]:.3f} s; "
        f"{1e3 * (site.processor() - before) / len(took):.1f} ms of the processor each, "
        f"{1e3 * (time.process_time() - mine) / len(took):.2f} ms of the client's"
    )
    for client in clients:
        client.close()
    return found


async def load(site: Served) -> None:
    """Answers are those of one client alone, whoever asks at the same time."""
    addresses = tables()
    serial = await at_once(site, 1, addresses, len(addresses))
    for many in CLIENTS[1:]:
        found = await at_once(site, many, addresses, max(10, len(addresses) * 8 // many))
        same = all(found[address] <= serial[address] for address in found)
        print(f"    answers equal to the serial run: {'yes' if same else 'NO'}")


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
    """What the server has of memory, from time to time."""
    addresses, step = cycle(tables()), max(1, requests // 6)
    told = [site.resident()]
    for _ in range(0, requests, step):
        clients = [Client(site.people.one()) for _ in range(8)]

        async def ask(client: Client) -> None:
            for _ in range(step // 8):
                await client.get(next(addresses))

        await asyncio.gather(*map(ask, clients))
        told.append(site.resident())
    print(f"memory over {requests} requests: {', '.join(f'{each:.0f}' for each in told)} MiB")


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--requests", type=int, default=3_000)
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
