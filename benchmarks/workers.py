"""What a second worker brings: answers a second with one worker and with two, of many people at once.

    python benchmarks/workers.py [--rows 20000] [--seconds 8] [--rounds 3] [--mixed] [--apart] [--state postgresql]

Servers run one at a time, each for the same time, one worker and two in turn; the ratio is that of the medians of one run. Questions
are different, so that every answer is made and recorded: small tables, or with `--mixed` three of them and then a linear model. The
clients are in a process of their own, which shares the machine. With `--apart` two sites of one worker each run at once, too, which
share nothing: more than these nothing that is shared can bring. What other programs took of the machine is told: where that is more
than some hundredths of a core, two workers had no two cores. With `--state postgresql` the site keeps its state there, as if several
machines served it: a server that loses nothing, started for this as the tests do, whose processor time is counted with the workers'.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from statistics import median

from load import PORT, Client, People, different, make_site, mixed

from confide.site.ledger import verify

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from postgres_server import running

CLIENTS = 32
WORKERS = (1, 2)
WARM_UP = 5.0
"""Seconds before anything is measured: each worker loads what it needs when it first needs it."""


@contextmanager
def served(site: Path, workers: int, *, port: int = PORT) -> Iterator[subprocess.Popen[bytes]]:
    words = [sys.executable, "-m", "confide", "serve", str(site), "--port", str(port), "--workers", str(workers)]
    process = subprocess.Popen(words, stderr=subprocess.PIPE)
    try:
        assert process.stderr and b"Serving" in process.stderr.readline()  # when all workers answer
        yield process
    finally:
        process.terminate()
        process.wait()


def processor(*pids: int) -> float:
    """Seconds of the processor that servers and the processes they started have taken."""
    children = [int(pid) for each in pids for pid in Path(f"/proc/{each}/task/{each}/children").read_text().split()]
    used = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in (*pids, *children)]
    return sum(int(each[11]) + int(each[12]) for each in used) / os.sysconf("SC_CLK_TCK")


def machine() -> float:
    """Seconds of the processor that everything on the machine has taken."""
    user, nice, system, _, _, *interrupts = map(int, Path("/proc/stat").read_text().split()[1:8])
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")


async def ask(client: Client, addresses: Iterator[str], until: float) -> int:
    """So many answers somebody was given, or refusals."""
    many = 0
    while time.perf_counter() < until:
        status, _ = await client.get(next(addresses))
        assert status in (200, 403), status
        many += 1
    return many


@dataclass(frozen=True)
class Crowd:
    """People who ask a site at once."""

    people: People
    clients: int = CLIENTS
    port: int = PORT


async def asked(crowds: Sequence[Crowd], addresses: Iterator[str], seconds: float, *pids: int) -> float:
    """Answers a second."""
    clients = [Client(each.people.one(), port=each.port) for each in crowds for _ in range(each.clients)]
    for some in (WARM_UP, seconds):
        begun, used, mine, all_used = time.perf_counter(), processor(*pids), time.process_time(), machine()
        many = sum(await asyncio.gather(*(ask(client, addresses, begun + some) for client in clients)))
        took, used, mine = time.perf_counter() - begun, processor(*pids) - used, time.process_time() - mine
        others = machine() - all_used - used - mine
    for client in clients:
        client.close()
    each = f"{1e3 * used / many:.1f} ms of the processor each, {1e3 * mine / many:.2f} of the client's"
    cores = f"{used / took:.2f} cores, others {others / took:.2f}"
    print(f"{many / took:6.1f} answers a second; {cores}; {each}", flush=True)
    return many / took


def asked_apart(sites: Mapping[Path, Crowd], addresses: Iterator[str], seconds: float) -> float:
    """Answers a second of sites that share nothing but the machine."""
    with ExitStack() as running:
        servers = [running.enter_context(served(site, 1, port=crowd.port)) for site, crowd in sites.items()]
        print(f"{len(sites)} sites  :", end=" ")
        return asyncio.run(asked([*sites.values()], addresses, seconds, *(server.pid for server in servers)))


def site_of(folder: Path, rows: int) -> Path:
    """A site whose questions take places among those of a day."""
    site = make_site(folder, rows)
    policy = site / "policy.toml"
    policy.write_text(policy.read_text().replace("per_day = 0", "per_day = 100000"))
    return site


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--rows", type=int, default=20_000)
    options.add_argument("--seconds", type=float, default=8.0)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--state", choices=["folder", "postgresql"], default="folder")
    options.add_argument("--mixed", action="store_true", help="every fourth question is a model")
    options.add_argument("--apart", action="store_true", help="two sites at once, too, which share nothing")
    given = options.parse_args()
    found: dict[int, list[float]] = {workers: [] for workers in WORKERS}
    apart = list[float]()
    addresses = cycle(
        mixed() if given.mixed else different()
    )  # a server starts anew each round, and keeps no answer of the one before
    shared = running(durable=True) if given.state == "postgresql" else nullcontext()
    with tempfile.TemporaryDirectory() as folder, shared as database:
        site = site_of(Path(folder) / "site", given.rows)
        sites = [site_of(Path(folder) / f"apart-{number}", given.rows) for number in WORKERS if given.apart]
        crowds = {site: Crowd(People(site), CLIENTS // len(WORKERS), PORT + at) for at, site in enumerate(sites)}
        people, others = People(site), list[int]()
        if database:
            (site / "site.toml").write_text(f'state = "{database.database}"\n')
            others = [int((database.folder / "data" / "postmaster.pid").read_text().split()[0])]
        for _ in range(given.rounds):
            for workers in WORKERS:
                with served(site, workers) as process:
                    print(f"{workers} worker{'s' if workers > 1 else ' '}:", end=" ")
                    crowd = [Crowd(people)]
                    found[workers].append(asyncio.run(asked(crowd, addresses, given.seconds, process.pid, *others)))
            if given.apart:
                apart.append(asked_apart(crowds, addresses, given.seconds))
        checked = verify(site / "ledger.jsonl")
        print(f"The ledger of {checked.entries} entries is {'whole' if checked.problem is None else checked.problem}.")
    one, two = (median(found[workers]) for workers in WORKERS)
    print(f"Two workers to one: {two / one:.2f}")
    if apart:
        print(f"Two sites that share nothing to one: {median(apart) / one:.2f}")


if __name__ == "__main__":
    main()
