"""Two `confide serve` on two folders of one site: asked over HTTP, killed, and without their database for a while."""

import os
import re
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import permutations
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx
import pytest
from tests.web.pages.test_custodian import fields_of, text_of

from confide.answering.service import Service
from confide.attacks.history import keep_report
from confide.attacks.report import AttackReport, Conditions
from confide.attacks.result import Result
from confide.cancellation import current_cancellation
from confide.site import ledger
from confide.site.access import PersonRole, Reach, add_token, declare, remove_token
from confide.site.folder import Folder
from confide.web.pages.login import ATTEMPTS
from confide.web.questions import Questions
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
    assert len([*ledger.read_questions(Folder(sites[0]).ledger)]) == 2  # the last is one question
    assert ledger.verify(Folder(sites[1]).ledger).head == ledger.verify(Folder(sites[0]).ledger).head


def test_a_pace_and_logins_that_fail_are_counted_over_both_machines(
    sites: list[Path],
    token: dict[str, str],
    serve: Callable[..., Any],
    policy: Callable[..., None],
    browser: Callable[..., Any],
) -> None:
    for site in sites:
        policy(site, per_minute=60)
    servers = [serve(site) for site in sites]
    found = [servers[turn % 2].get("/about", headers=token) for turn in range(80)]
    assert 0 < [each.status_code for each in found].count(429) <= 20
    assert int(found[-1].headers["Retry-After"]) <= 1
    strangers = [browser(server) for server in servers]
    failed = [strangers[turn % 2].log_in("confide_wrong").status_code for turn in range(ATTEMPTS + 2)]
    assert failed == [422] * ATTEMPTS + [429] * 2


def test_a_token_that_is_removed_on_one_machine_closes_the_other_until_it_knows(
    sites: list[Path], token: dict[str, str], serve: Callable[..., Any]
) -> None:
    one, other = (serve(site) for site in sites)
    assert [server.get(QUESTIONS[0], headers=token).status_code for server in (one, other)] == [200, 200]
    remove_token(Folder(sites[0]).access, name="ana")
    assert one.get(QUESTIONS[0], headers=token).status_code == 401
    until = time.monotonic() + LONG
    while one.get("/ready").status_code != 200 or other.get("/ready").status_code != 503:
        assert time.monotonic() < until
        time.sleep(0.1)
    closed = other.get(QUESTIONS[0], headers=token)
    assert closed.status_code == 503 and "access.toml" not in closed.text and other.get("/health").status_code == 200
    shutil.copy(Folder(sites[0]).access, Folder(sites[1]).access)
    while other.get("/ready").status_code != 200:
        assert time.monotonic() < until
        time.sleep(0.1)
    assert other.get(QUESTIONS[0], headers=token).status_code == 401


def test_a_second_server_on_one_folder_is_told_who_has_it(
    sites: list[Path], serve: Callable[..., Any], run: Any
) -> None:
    server = serve(sites[0])
    done = run("serve", sites[0], "--port", "1")
    assert done.returncode == 1 and f"process {server.process.pid}" in done.stderr.decode()


class Held(Service):
    """A machine whose answers take long: it goes on when it is let go."""

    def __init__(self, *site: Any, **options: Any) -> None:
        super().__init__(*site, **options)
        self.go, answer = Event(), self._answers._new

        def held(*asked: Any) -> Any:
            assert self.go.wait(LONG)
            return answer(*asked)

        self._answers._new = held  # type: ignore[method-assign]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every answer that is not kept becomes a job."""
    monkeypatch.setattr("confide.web.api.Questions", partial(Questions, patience=0.5))


def test_the_page_of_a_job_is_there_at_the_other_machine_and_goes_to_the_one_answer(
    sites: list[Path], token: dict[str, str], serve_here: Callable[..., Any], impatient: None
) -> None:
    one, other = serve_here(sites[0], kind=Held), serve_here(sites[1])
    page = "/people/table?rows=sex"
    job = one.get(page, headers=token).headers["location"]
    assert job.startswith("/jobs/")
    shown = other.get(job, headers=token)
    assert shown.status_code == 200 and "Being worked on" in shown.text and int(shown.headers["refresh"]) >= 2
    assert other.get(job).status_code == 401
    waits = other.get(page, headers=token).headers["location"]  # a job that waits for the one at the first machine
    assert waits.startswith("/jobs/") and one.get(waits, headers=token).status_code == 200
    one.service.go.set()
    answers = [server.get(f"{page[:13]}.json?rows=sex", headers=token) for server in (other, one)]
    assert [each.status_code for each in answers] == [200, 200] and answers[0].json() == answers[1].json()
    for server in (one, other):
        for number in (job, waits):
            assert server.get(number, headers=token).headers["location"] == page
    assert [entry.outcome for entry in ledger.read_questions(Folder(sites[0]).ledger)] == ["released"]


@pytest.mark.parametrize(("after", "outcome"), [(0.0, "released"), (3.0, "cancelled")], ids=["looked at", "left"])
def test_a_job_is_nobody_elses_at_any_machine_and_goes_on_while_its_page_is_looked_at(
    sites: list[Path], serve_here: Callable[..., Any], impatient: None, monkeypatch: pytest.MonkeyPatch, after: float,
    outcome: str,
) -> None:  # fmt: skip
    monkeypatch.setattr("confide.web.questions.ABANDONED", 1.5)
    shown = [add_token(Folder(sites[0]).access, name=name, role=PersonRole.ANALYST) for name in ("ana", "ben")]
    shutil.copy(Folder(sites[0]).access, Folder(sites[1]).access)
    ana, ben = ({"Authorization": f"Bearer {each}"} for each in shown)
    one, other = serve_here(sites[0], kind=Held), serve_here(sites[1])
    job = one.get("/people/table?rows=sex", headers=ana).headers["location"]
    assert other.get(job, headers=ben).status_code == 404
    for _ in range(8):
        assert other.get(job, headers=ana).status_code == 200
        time.sleep(0.5)
    time.sleep(after)
    one.service.go.set()
    while other.get(job, headers=ana).status_code != 303:
        time.sleep(0.05)
    assert [entry.outcome for entry in ledger.read_questions(Folder(sites[0]).ledger)] == [outcome]


def test_a_job_of_a_machine_that_is_killed_goes_to_the_question_which_the_other_answers(
    sites: list[Path], token: dict[str, str], serve: Callable[..., Any], serve_here: Callable[..., Any]
) -> None:
    """Wherever in the question the machine was."""
    one, other = serve(sites[0]), serve_here(sites[1])
    page = "/people/regression?formula=income~age*hours&diagnostics=true"
    with httpx.Client(timeout=LONG, headers=token) as client, suppress(httpx.TransportError):
        asking = Thread(target=lambda: _ignored(client, one.url + page))
        asking.start()
        time.sleep(0.05)
        one.process.kill()
        asking.join()
    found = other.get(page, headers=token, follow_redirects=True)
    while "refresh" in found.headers:
        time.sleep(0.2)
        found = other.get(str(found.url)[len(other.url) :], headers=token, follow_redirects=True)
    assert found.status_code == 200
    assert [entry.outcome for entry in ledger.read_questions(Folder(sites[1]).ledger)] == ["released"]


# ---- the custodian's pages, sent to one machine or the other


class Tried(Service):
    """A machine that counts how often the recorded questions are replayed and audited, and goes on when it is let go."""

    def __init__(self, *site: Any, **options: Any) -> None:
        super().__init__(*site, **options)
        self.go, self.replays, self.audits = Event(), 0, 0

    def replay(self, *policy: Any, **dataset: Any) -> Iterator[Any]:
        self.replays += 1
        for number, each in enumerate(super().replay(*policy, **dataset)):
            while number == 1 and not self.go.wait(0.02):
                current_cancellation().check()
            yield each

    def audit_questions(self, *dataset: Any, **since: Any) -> Any:
        self.audits += 1
        assert self.go.wait(LONG)
        return super().audit_questions(*dataset, **since)


@pytest.fixture
def both(
    sites: list[Path], token: dict[str, str], serve_here: Callable[..., Any], browser: Callable[..., Any]
) -> list[Any]:
    """One browser that is sent to either machine, with the one session of a custodian, and the machines behind it."""
    shown = add_token(Folder(sites[0]).access, name="carla", role=PersonRole.CUSTODIAN)
    shutil.copy(Folder(sites[0]).access, Folder(sites[1]).access)
    servers = [serve_here(site, kind=Tried) for site in sites]
    here = browser(servers[0])
    assert here.log_in(shown).status_code == 303
    places = [here, replace(here, url=servers[1].url)]
    for place, server in zip(places, servers, strict=True):
        place.server = server
    return places


def draft_at(place: Any, gamma: int, *, dataset: str = "") -> None:
    """Write a draft in the form of a page, and save it."""
    form = fields_of(place.get(f"/custodian/draft/form?dataset={dataset}"))
    assert place.post("/custodian/draft/form", {**form, "universe.gamma": str(gamma)}).status_code == 303


def gammas(places: list[Any], *, dataset: str = "") -> list[str]:
    """What the draft says at each machine: nothing where there is none."""
    said = [text_of(place.get(f"/custodian/draft?dataset={dataset}")) for place in places]
    found = [re.search(r"universe\.gamma \d+ (\d+)", each) for each in said]
    return [each[1] if each else "" for each in found]


def test_a_draft_saved_at_one_machine_is_there_at_the_other_and_gone_when_it_is_discarded_at_either(
    both: list[Any], sites: list[Path]
) -> None:
    here, there = both
    draft_at(here, 40)
    draft_at(there, 55, dataset="firms")
    assert gammas(both) == ["40", "40"] and gammas(both, dataset="firms") == ["55", "55"]
    old = fields_of(here.get("/custodian/draft/form"))
    draft_at(there, 41)
    late = here.post("/custodian/draft/form", {**old, "universe.gamma": "42"})
    assert late.status_code == 422 and "Somebody changed the draft" in late.text and gammas(both) == ["41", "41"]
    assert [Folder(site).draft("firms").exists() for site in sites] == [False, True]  # a copy for who wrote it
    assert here.send("/custodian/draft/discard?dataset=firms", {"dataset": "firms"}).status_code == 303
    assert gammas(both, dataset="firms") == ["", ""] and gammas(both) == ["41", "41"]
    draft_at(there, 56, dataset="firms")
    assert gammas(both, dataset="firms") == ["56", "56"]


def seen(place: Any, address: str, words: str) -> str:
    """What a page says, looked at again and again until it says these words."""
    until = time.monotonic() + LONG
    while words not in (said := text_of(place.get(address))):
        assert time.monotonic() < until, said
        time.sleep(0.05)
    return said


def test_a_replay_begun_at_one_machine_is_followed_at_the_other_and_worked_on_once(
    both: list[Any], token: dict[str, str]
) -> None:
    here, there = both
    for question in QUESTIONS[:3]:
        assert here.server.get(question, headers=token).status_code == 200
    draft_at(here, 50_000)
    page = "/custodian/replay"
    assert "Replay 3 questions" in text_of(there.get(page))
    assert here.send(page, {}).status_code == 303
    for place in both:
        seen(place, page, "1 of 3 questions")
        assert int(place.get(page).headers["refresh"]) == 2
    here.server.service.go.set()
    found = [seen(place, page, "3 of 3 outcomes would change") for place in (there, here)]
    assert found[0] == found[1] and "released universe.gamma 3" in found[0]
    assert [place.server.service.replays for place in both] == [1, 0]
    assert there.send(page, {}).status_code == 303  # again: what the first had is not shown any more
    seen(here, page, "1 of 3 questions")
    again = here.send(page, {}, page="/custodian/draft/form")  # and again, which stops the second
    assert again.status_code == 303
    for place in both:
        seen(place, page, "3 of 3 outcomes would change")
    assert [place.server.service.replays for place in both] == [2, 1]


def test_an_audit_is_looked_at_everywhere_and_made_once(both: list[Any], token: dict[str, str]) -> None:
    assert both[0].server.get(QUESTIONS[0], headers=token).status_code == 200
    page = "/custodian/audit"
    for place in both:
        working = place.get(page)
        assert working.status_code == 202 and "Auditing the questions" in working.text
    both[0].server.service.go.set()
    said = [text_of(_done(place, page)) for place in both]
    assert said[0] == said[1] and [place.server.service.audits for place in both] == [1, 0]


def test_what_the_red_team_got_at_one_machine_is_on_the_pages_of_both_and_in_every_backup(
    both: list[Any], sites: list[Path], run: Any, tmp_path: Path
) -> None:
    about = {"dataset": "people", "policy": "standard, version 7", "mark": "fedcba987654"}
    result = Result(attack="boxes", code="R10", words="boxes", targets=50, claimed=50, right=40, success=0.8, guess=0.2)
    conditions = Conditions(**about, targets=50, questions=2000, seed=1)
    keep_report(Folder(sites[0]), AttackReport(conditions, "2026-01-02T00:00:00Z", (result,)))
    for address in ("/custodian/red-team", "/custodian"):
        said = [text_of(place.get(address)) for place in both]
        assert said[0] == said[1] and "standard, version 7" in said[0], address
    keep_report(Folder(sites[1]), AttackReport(conditions, "2026-01-03T00:00:00Z", (result,)))
    assert run("backup", sites[0], tmp_path / "copy").returncode == 0
    assert len([*(tmp_path / "copy" / "red-team").glob("*.json")]) == 2


@pytest.mark.parametrize(
    "address", ["check", "ledger/verify", "why?number=0", "frontier?dataset=people&sensitive=income&variables=age"]
)
def test_what_a_custodian_had_worked_out_at_one_machine_the_other_shows_alike(
    both: list[Any], token: dict[str, str], monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    here, there = both
    assert here.server.get(QUESTIONS[0], headers=token).status_code == 200
    found = [_done(here, f"/custodian/{address}")]
    for name in ("check", "explain", "frontier"):
        monkeypatch.setattr(there.server.service, name, _twice)
    monkeypatch.setattr("confide.site.ledger.verify", _twice)
    found.append(_done(there, f"/custodian/{address}"))
    assert found[0].status_code == found[1].status_code == 200 and text_of(found[0]) == text_of(found[1])


def _twice(*asked: Any) -> None:
    raise AssertionError("worked out a second time")


def _done(place: Any, address: str) -> Any:
    """The page when its work is done."""
    while (page := place.get(address)).status_code == 202:
        time.sleep(0.1)
    return page


def _ignored(client: httpx.Client, address: str) -> None:
    with suppress(httpx.TransportError):
        client.get(address)
