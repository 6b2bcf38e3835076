"""Two `confide serve` on two folders of one site: asked over HTTP, killed, and without their database for a while."""

import os
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest

from confide.site import ledger
from confide.site.access import PersonRole, Reach, add_token, declare
from confide.site.folder import Folder
from postgres_server import Server, running

LONG = 120
NAMES = ("region", "education", "marital", "age_group", "employment", "sex")
QUESTIONS = [f"/people/table.json?rows={rows}&columns={columns}" for rows, columns in permutations(NAMES, 2)]
QUOTA = 20


@pytest.fixture
def database() -> Iterator[Server]:
    with running() as server:
        yield server


@pytest.fixture
def sites(site: Path, database: Server, policy: Callable[..., None]) -> list[Path]:
    """A site with an analyst and a custodian, and its copy."""
    policy(site, per_day=QUOTA)
    (site / "site.toml").write_text(f'state = "{database.database}"\n')
    declare(Folder(site).access, Reach.TOKENS)
    return [site, Path(shutil.copytree(site, site.parent / "other"))]


@pytest.fixture
def token(sites: list[Path]) -> dict[str, str]:
    shown = add_token(Folder(sites[0]).access, name="ana", role=PersonRole.ANALYST)
    shutil.copy(Folder(sites[0]).access, Folder(sites[1]).access)
    return {"Authorization": f"Bearer {shown}"}


def test_two_servers_give_one_chain_and_one_quota_although_workers_are_killed(
    sites: list[Path], token: dict[str, str], serve: Callable[..., Any]
) -> None:
    """One server has two workers, which are killed again and again; every answer that arrived is recorded, and the quota holds."""
    servers = [serve(sites[0], "--workers", "2"), serve(sites[1])]
    answers, statuses, ended = list[str](), Counter[int](), list[bool]()

    def ask(server: Any, questions: list[str]) -> None:
        with httpx.Client(timeout=LONG, headers=token) as client:
            for question in questions:
                try:
                    found = client.get(server.url + question)
                except httpx.TransportError:
                    continue
                statuses[found.status_code] += 1
                if found.status_code == 200:
                    answers.append(found.headers["etag"].strip('"'))

    def kill() -> None:
        pid = servers[0].process.pid
        while not ended:
            workers = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            if len(workers) == 2 and answers:
                os.kill(int(workers[len(answers) % 2]), signal.SIGKILL)
            time.sleep(0.4)

    threads = [Thread(target=ask, args=(servers[n % 2], QUESTIONS[n::4] * 2)) for n in range(4)]
    killer = Thread(target=kill)
    for thread in (*threads, killer):
        thread.start()
    for thread in threads:
        thread.join()
    ended.append(True)
    killer.join()
    found = [ledger.verify(Folder(site).ledger) for site in sites]
    assert not any(each.problem for each in found) and len({each.head for each in found}) == 1
    entries = [*ledger.read_questions(Folder(sites[1]).ledger)]
    assert len(entries) <= QUOTA and set(answers) <= {entry.receipt for entry in entries if entry.outcome == "released"}
    assert statuses[200] and set(statuses) <= {200, 403, 429, 500, 503}


def test_without_the_database_nothing_is_answered_and_servers_go_on_when_it_is_back(
    sites: list[Path], token: dict[str, str], serve: Callable[..., Any], database: Server
) -> None:
    one, other = (serve(site) for site in sites)
    assert one.get(QUESTIONS[0], headers=token).status_code == 200
    database.stop()
    try:
        lost = other.get(QUESTIONS[1], headers=token)
        assert lost.status_code == 500 and "noted under" in lost.json()["detail"]
        assert "postgres" not in lost.text and "confide-pg" not in lost.text
        assert other.get("/ready").status_code == 503 and other.get("/health").status_code == 200
    finally:
        database.start()
    assert [server.get("/ready").status_code for server in (one, other)] == [200, 200]
    assert [server.get(QUESTIONS[2], headers=token).status_code for server in (other, one)] == [200, 200]
    assert len([*ledger.read_questions(Folder(sites[0]).ledger)]) == 3
    assert ledger.verify(Folder(sites[1]).ledger).head == ledger.verify(Folder(sites[0]).ledger).head


def test_a_second_server_on_one_folder_is_told_who_has_it(
    sites: list[Path], serve: Callable[..., Any], run: Any
) -> None:
    server = serve(sites[0])
    done = run("serve", sites[0], "--port", "1")
    assert done.returncode == 1 and f"process {server.process.pid}" in done.stderr.decode()
