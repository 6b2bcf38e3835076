"""Several processes that serve one site: one chain, one quota, one login, whoever answers; and what happens when one is killed."""

import os
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path
from typing import Any
from zlib import crc32

import httpx
import pytest

import confide
from confide.errors import Denied, Fault
from confide.site import ledger
from confide.site.access import Person, PersonRole, Project, Reach, TokenTerms, add_project, add_token, declare
from confide.site.folder import Folder
from confide.web.authentication import Asker
from confide.web.serving.homes import Homes
from confide.web.serving.server import LONGEST_END, listen
from confide.web.serving.workers import LONGEST

LONG = 120
NAMES = ("region", "education", "marital", "age_group", "employment", "sex")
PLACES = [f"rows={rows}&columns={columns}" for rows, columns in permutations(NAMES, 2)]
QUESTIONS = [
    f"/people/table.json?{place}{where}"
    for where in ("", "&where=sex=female", "&where=sex=male", "&where=employment=employed")
    for place in PLACES
]
OF_FIRMS = [
    f"/firms/table.json?rows={rows}&columns={columns}{measure}"
    for rows, columns in permutations(("region", "industry_section", "legal_form", "size_class"), 2)
    for measure in ("", "&measure=total&of=turnover", "&measure=mean&of=employees", "&measure=total&of=exports")
]
PEOPLE = {
    home: [name for name in map("person {}".format, range(40)) if crc32(f"person {name}".encode()) % 2 == home][:2]
    for home in (0, 1)
}
"""Two of whom the first worker answers, and two of whom the second does."""

TOKEN = dict[str, str]


@pytest.fixture
def tokens(site: Path) -> TOKEN:
    """What each of them shows; they share a project with a quota, and have tokens of their own."""
    file = Folder(site).access
    declare(file, Reach.TOKENS)
    people = tuple(name for home in PEOPLE.values() for name in home)
    add_project(file, Project("together", "Asked together", people=people, datasets=("firms",), quota=20))
    shown = {name: add_token(file, name=name, role=PersonRole.ANALYST) for name in people}
    terms = TokenTerms("together", project="together")
    shown |= {f"{name} together": add_token(file, name=name, role=PersonRole.ANALYST, terms=terms) for name in people}
    return shown | {"carla": add_token(file, name="carla", role=PersonRole.CUSTODIAN)}


@pytest.fixture
def several(site: Path, serve: Callable[..., Any], tokens: TOKEN) -> Any:
    """The site, served by two workers that both answer."""
    server = serve(site, "--workers", "2")
    until(lambda: "Who may reach the site" in server.log.read_text())
    return server


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def workers_of(several: Any) -> list[int]:
    """The processes of the workers, the first first."""
    pid = several.process.pid
    return sorted(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def until(holds: Callable[[], object]) -> None:
    """Wait until something holds: only a test that fails waits long."""
    for _ in range(20 * LONG):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it never held")


def entries(site: Path) -> list[ledger.Entry]:
    return list(ledger.read_questions(Folder(site).ledger))


def test_everybody_has_one_worker_whatever_they_ask_for():
    homes = Homes(0, (socket.socket(), socket.socket(), socket.socket()))
    carla, strange = Asker(Person("carla", PersonRole.CUSTODIAN), None, "a"), Asker(Denied("No."), None, "b")
    found = set[int]()
    for name in map(str, range(30)):
        asker = Asker(Person(name, PersonRole.ANALYST), None, "b")
        mine = {
            homes.home(path, asker) for path in ("/", "/people/table", "/jobs/1", "/charts/x/light.svg", "/loginstats")
        }
        assert len(mine) == 1 and homes.home("/login", asker) == homes.home("/", strange)
        found |= mine
    assert found == {0, 1, 2} and homes.home("/people/table", carla) == homes.home("/custodian", carla) == 0
    for door in homes.doors:
        door.close()


def test_a_quota_shared_by_people_of_both_workers_is_neither_exceeded_nor_wasted(site, tokens, several):
    outcomes, lock = Counter[str](), threading.Lock()

    def ask(name: str, questions: list[str]) -> None:
        with httpx.Client(timeout=LONG, headers=bearer(tokens[f"{name} together"])) as client:
            for question in questions:
                found = client.get(several.url + question)
                rules = [reason["rule"] for reason in found.json()["reasons"]] if found.status_code == 403 else []
                with lock:
                    outcomes["full" if rules == ["quota.project"] else "counted"] += 1

    everybody = [name for home in PEOPLE.values() for name in home]
    askers = [
        threading.Thread(target=ask, args=(name, OF_FIRMS[10 * n : 10 * n + 10])) for n, name in enumerate(everybody)
    ]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert outcomes == {"counted": 20, "full": 20}
    assert len(entries(site)) == 20 and len({entry.who for entry in entries(site)}) > 1
    assert ledger.verify(Folder(site).ledger).problem is None


def test_a_login_and_an_answer_are_known_whichever_worker_takes_the_connection(site, tokens, browser, several):
    """While one worker stands still the other takes every connection, and hands over what is not its own."""
    for name in (PEOPLE[0][0], PEOPLE[1][0]):
        here = browser(several, Connection="close")
        assert here.log_in(tokens[name], "/").status_code == 303
        for still in workers_of(several):
            os.kill(still, signal.SIGSTOP)
            later = threading.Timer(0.5, os.kill, (still, signal.SIGCONT))
            later.start()
            assert name in here.get("/").text and "Log out" in here.get("/").text
            assert here.get("/people/table?rows=sex").status_code == 200
            assert here.get("/people/table.csv?rows=sex").status_code == 200
            later.join()
    assert [entry.who for entry in entries(site)] == [PEOPLE[0][0], PEOPLE[1][0]], (
        "a page and its file are one question"
    )


def test_a_form_that_comes_in_pieces_is_handed_over_whole(site, tokens, browser, several):
    for still in workers_of(several):
        here = browser(several)
        body = f"csrf={here.secret('/login')}&token={tokens['carla']}&next=%2Fcustodian".encode()

        def pieces(whole: bytes = body) -> Iterator[bytes]:
            for at in range(0, len(whole), 20):
                yield whole[at : at + 20]
                time.sleep(0.02)

        headers = {"Content-Type": "application/x-www-form-urlencoded", "Content-Length": str(len(body))}
        headers |= {"Origin": several.url, "Sec-Fetch-Site": "same-origin"}
        os.kill(still, signal.SIGSTOP)
        later = threading.Timer(0.5, os.kill, (still, signal.SIGCONT))
        later.start()
        with httpx.Client(timeout=LONG, cookies=here.client.cookies) as fresh:
            found = fresh.post(several.url + "/login", content=pieces(), headers=headers)
        later.join()
        assert (found.status_code, found.headers["location"]) == (303, "/custodian")


@pytest.mark.parametrize("killed", [0, 1])
def test_kill_9_of_a_worker_in_a_stream_of_questions_loses_no_answer_and_the_site_goes_on(
    site, tokens, killed, several
):
    before, answers, wrong, over = workers_of(several), Counter[str](), [], threading.Event()
    receipts: list[str] = []

    def ask(name: str, questions: list[str]) -> None:
        with httpx.Client(timeout=LONG, headers=bearer(tokens[name])) as client:
            for number in range(10_000):
                if over.is_set():
                    return
                try:
                    found = client.get(several.url + questions[number % len(questions)])
                except httpx.TransportError:
                    continue
                if found.status_code == 200:
                    receipts.append(found.headers["etag"].strip('"'))
                    answers[name] += 1
                elif found.status_code != 403:
                    wrong.append(found.text)

    everybody = [name for home in PEOPLE.values() for name in home]
    askers = [threading.Thread(target=ask, args=(name, QUESTIONS[n::4])) for n, name in enumerate(everybody)]
    for asker in askers:
        asker.start()
    until(lambda: wrong or all(answers[name] > 5 for name in everybody))
    os.kill(before[killed], signal.SIGKILL)
    until(lambda: len(workers_of(several)) == 2 and before[killed] not in workers_of(several))
    reached = Counter(answers)
    until(lambda: wrong or all(answers[name] > reached[name] + 5 for name in everybody))
    over.set()
    for asker in askers:
        asker.join()
    assert not wrong
    assert set(receipts) <= {entry.receipt for entry in entries(site) if entry.outcome == "released"}
    assert ledger.verify(Folder(site).ledger).problem is None
    assert several.stop() == 0


def test_a_site_that_is_told_to_end_ends_with_all_its_workers(site, tokens, several):
    assert LONGEST_END < LONGEST < 10
    several.get(QUESTIONS[0], headers=bearer(tokens["carla"]))
    workers = workers_of(several)
    assert several.stop() == 0
    assert not [pid for pid in workers if Path(f"/proc/{pid}").exists()]
    assert not [file.name for file in site.iterdir() if file.name.startswith("state.") or file.name.endswith(".pid")]
    with confide.open(site) as opened:
        assert opened["people"].table(rows="sex")


def test_workers_end_when_the_process_that_looks_after_them_is_killed(site, serve, tokens, several):
    workers = workers_of(several)
    with pytest.raises(Fault, match="Another Confide process"):
        confide.open(site)
    several.kill()
    until(lambda: not [pid for pid in workers if Path(f"/proc/{pid}").exists()])
    assert serve(site, "--workers", "2").get("/health").status_code == 200


def test_what_all_workers_counted_is_told_together(site, tokens, several):
    for home in PEOPLE.values():
        for name in home:
            several.get("/people/table?rows=sex", headers={**bearer(tokens[name]), "Connection": "close"})

    def told() -> str:
        found: str = several.get("/metrics", headers=bearer(tokens["carla"])).text
        return found

    until(lambda: 'confide_requests_total{kind="page",status="200"} 4\n' in told())
    assert 'confide_questions_total{outcome="answered"} 4\n' in told()


def test_all_workers_take_up_new_data_and_policies_before_the_reload_is_told(site, tokens, run, several):
    policy = site / "policy.toml"
    policy.write_text(policy.read_text().replace("version = 1", "version = 2", 1))
    assert run("reload", site).returncode == 0
    for name in (PEOPLE[0][0], PEOPLE[1][0]):
        several.get("/people/table.json?rows=sex", headers=bearer(tokens[name]))
    told = [entry.policy for entry in entries(site)]
    assert len(told) == 2 and len(set(told)) == 1 and "2" in told[0]


def test_what_stops_the_start_is_told_once_as_by_one_process(site, run):
    (site / "people" / "records.duckdb").unlink(missing_ok=True)
    Folder(site).store("people").unlink(missing_ok=True)
    alone, several = (run("serve", site, "--port", "1", "--workers", many) for many in ("1", "2"))
    assert several.returncode == alone.returncode == 2
    assert alone.stderr == several.stderr and b"not ingested" in several.stderr


def test_an_answer_does_not_wait_for_the_clients_word_on_its_head():
    """Without the option, the body of an answer waits up to 40 ms for the client to confirm the head (Nagle 1984)."""
    with listen("127.0.0.1", 0)[0] as taking, socket.create_connection(taking.getsockname()):
        connection, _ = taking.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
