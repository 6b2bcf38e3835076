"""Faults that a site outlives, seen over HTTP: its engine killed in the middle of a question, its state lost, its clock set.

Full disks, damaged stores and ledgers are in test_crash.py; half-written data in tests/records/test_killed.py.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from threading import Thread
from time import sleep
from typing import Any

import httpx
import psycopg
import pytest

import confide
from confide.engines.postgres.store import read_pointer
from confide.engines.spark import executors, store
from confide.errors import Denied, Fault, Refused
from confide.site import ledger
from confide.site.access import PersonRole, Reach, TokenTerms, add_token, declare, load_access
from confide.site.doctor import examine
from confide.site.folder import Folder
from confide.site.state.file import FileState
from postgres_server import Server
from spark_cluster import Cluster

LONG = 120
TABLE = "/people/table.json?rows=sex&columns=town"


def questions(site: Path) -> list[ledger.Entry]:
    return list(ledger.read_questions(Folder(site).ledger))


# ---- the engine, killed in the middle of a question


def test_a_backend_of_postgresql_that_ends_in_a_question_is_a_fault_and_the_next_question_is_answered(
    tmp_path: Path, postgres: Server, town: Any, serve_here: Callable[..., Any]
) -> None:
    site = tmp_path / "site"
    catalog = f'engine = "postgres"\ndatabase = "{postgres.database}"\n' + town.catalog
    confide.add(town.people, site, name="people", catalog=catalog, preset="drop-q")
    server, found = serve_here(site), list[httpx.Response]()
    schema = read_pointer(Folder(site).store("people").with_suffix(".postgres")).schema
    waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'confide'"
    with psycopg.connect(postgres.database) as holding, psycopg.connect(postgres.database, autocommit=True) as admin:
        holding.execute(f"LOCK TABLE {schema}.records IN ACCESS EXCLUSIVE MODE".encode())
        asking = Thread(target=lambda: found.append(httpx.get(server.url + TABLE, timeout=LONG)))
        asking.start()
        while not (pids := admin.execute(waiting.encode()).fetchall()):
            assert asking.is_alive()
            sleep(0.01)
        for (pid,) in pids:
            admin.execute("SELECT pg_terminate_backend(%s, 60000)", [pid])
        asking.join()
    assert found[0].status_code == 500 and "noted under" in found[0].json()["detail"]
    assert schema not in found[0].text and not questions(site)
    assert server.get(TABLE).status_code == 200
    assert [entry.outcome for entry in questions(site)] == ["released"]


def test_a_worker_of_spark_lost_in_a_question_over_http_changes_nothing_of_the_answer(
    tmp_path: Path, spark: Cluster, town: Any, serve_here: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    site, here, plain = tmp_path / "site", str(spark.storage), executors.moments
    monkeypatch.setattr(store, "PART", 250)
    catalog = f'engine = "spark"\ncluster = "{spark.cluster}"\nstorage = "{spark.storage}"\n' + town.catalog
    confide.add(town.people, site, name="people", catalog=catalog, preset="drop-q")

    def waiting(task: executors.Task, batches: Iterable[executors.Batch]) -> Iterator[executors.Arrays]:
        """Says that it has begun, and goes on when it is told to."""
        Path(here, f"http-begun-{os.getpid()}").touch()
        while not Path(here, "http-go").exists():
            sleep(0.01)
        yield from plain(task, batches)

    server, found = serve_here(site), list[Any]()
    monkeypatch.setattr(executors, "moments", waiting)

    def ask() -> None:
        with confide.open(server.url) as remote:
            found.append(remote["people"].regression("income ~ age + sex"))

    asking = Thread(target=ask)
    asking.start()
    while len(begun := [int(file.name.split("-")[-1]) for file in spark.storage.glob("http-begun-*")]) < 2:
        assert asking.is_alive()
        sleep(0.01)
    try:
        assert spark.kill("worker-1") & set(begun), "it was at work"
        Path(here, "http-go").touch()
        asking.join()
    finally:
        spark.start_worker("worker-1")
    monkeypatch.undo()
    text = Folder(site).catalog("people").read_text()
    server.stop()
    Folder(site).catalog("people").write_text(text.replace('engine = "spark"', 'engine = "duckdb"'))
    with confide.open(site) as opened:
        assert str(found[0]) == str(opened["people"].regression("income ~ age + sex"))
    assert [entry.outcome for entry in questions(site)] == ["released", "released"]


# ---- the state of several workers, lost or damaged


@pytest.mark.parametrize("how", ["deleted", "emptied", "overwritten"])
def test_a_state_that_is_lost_withholds_answers_or_does_no_harm_and_a_restart_mends_it(
    site: Path, serve: Callable[..., Any], policy: Callable[..., None], how: str
) -> None:
    """Whatever is answered meanwhile is recorded, and the quota holds; only logins are lost."""
    policy(site, per_day=6)
    declare(Folder(site).access, Reach.TOKENS)
    shown = {"Authorization": f"Bearer {add_token(Folder(site).access, name='ana', role=PersonRole.ANALYST)}"}
    names = ("region", "education", "marital", "age_group", "employment", "sex")
    server, file = serve(site, "--workers", "2"), site / "state.sqlite"
    asked = [server.get(f"/people/table.json?rows={name}", headers=shown) for name in names[:2]]
    if how == "deleted":
        file.unlink()
    else:
        file.write_bytes(b"" if how == "emptied" else b"no database" * 4000)
    asked += [server.get(f"/people/table.json?rows={name}", headers=shown) for name in names[2:4]]
    assert [each.status_code for each in asked[:2]] == [200, 200]
    assert {each.status_code for each in asked[2:]} <= {200, 500}
    server.stop()
    answered = [each.headers["etag"].strip('"') for each in asked if each.status_code == 200]
    assert set(answered) <= {entry.receipt for entry in questions(site) if entry.outcome == "released"}
    again, left = serve(site, "--workers", "2"), 6 - len(questions(site))
    later = [again.get(f"/people/table.json?rows=sex&columns={name}", headers=shown) for name in names[:5]]
    assert [each.status_code for each in later] == [200] * left + [403] * (5 - left)
    assert ledger.verify(Folder(site).ledger).problem is None


# ---- the clock, set forwards and backwards


class SetClock(datetime):
    """The clock of a machine that somebody sets; midday lasts, so that no day ends by itself."""

    by, midday = timedelta(), datetime.now(UTC).replace(hour=12)

    @classmethod
    def now(cls, tz: Any = None) -> datetime:
        return cls.midday + cls.by


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> type[SetClock]:
    """Wherever a site looks at the time of the day."""
    places = (
        "answering.recording.quotas",
        "answering.service",
        "site.ledger.ledger",
        "site.access.declared",
        "site.doctor",
    )
    for place in places:
        monkeypatch.setattr(f"confide.{place}.datetime", SetClock)
    monkeypatch.setattr(SetClock, "by", timedelta())
    return SetClock


def full(opened: confide.Site, rows: str) -> bool:
    """Whether the quota of the day is used up."""
    try:
        opened["people"].table(rows=rows)
    except Refused as refused:
        return any(reason.rule == "quota.per_day" for reason in refused.reasons)
    return False


def test_a_clock_that_is_set_gives_each_day_its_quota_once(
    site: Path, policy: Callable[..., None], clock: type[SetClock]
) -> None:
    policy(site, per_day=1)
    with confide.open(site) as opened:
        assert not full(opened, "sex") and full(opened, "region")
        for days, used in ((1, False), (-1, False), (0, True), (1, True), (-1, True)):
            clock.by = timedelta(days=days)
            assert full(opened, "region") is used
    with confide.open(site) as opened:
        for days in (0, 1, -1):
            clock.by = timedelta(days=days)
            assert full(opened, "marital")
    assert len(questions(site)) == 3 and ledger.verify(Folder(site).ledger).problem is None


def test_a_clock_set_ahead_by_a_year_and_back_leaves_one_chain_and_the_doctor_says_so(
    site: Path, clock: type[SetClock]
) -> None:
    with confide.open(site) as opened:
        for years, rows in ((0, "sex"), (1, "region"), (0, "marital"), (-1, "education")):
            clock.by = timedelta(days=365 * years)
            opened["people"].table(rows=rows)
    clock.by = timedelta()
    found = ledger.verify(Folder(site).ledger)
    assert (found.entries, found.problem) == (4, None) and len(questions(site)) == 4
    said = {each.what: each for each in examine(Folder(site))}
    assert not said["ledger"].mend and not said["clock"].mend  # the last entry is of the past
    clock.by = timedelta(days=-400)
    assert {each.what: each for each in examine(Folder(site))}["clock"].mend == "Set the clock."


def test_a_token_is_over_while_the_clock_is_ahead_and_opens_again_when_it_is_right(
    site: Path, clock: type[SetClock]
) -> None:
    declare(Folder(site).access, Reach.TOKENS)
    today = clock.midday.date()
    terms = TokenTerms("a week", expires=date.fromordinal(today.toordinal() + 7))
    token = add_token(Folder(site).access, name="ana", role=PersonRole.ANALYST, terms=terms)
    access = load_access(Folder(site).access)
    for days, opens in ((0, True), (8, False), (-8, True), (0, True)):
        clock.by = timedelta(days=days)
        if opens:
            assert access.person(token).name == "ana"
        else:
            with pytest.raises(Denied):
                access.person(token)


def test_logins_do_not_look_at_the_clock_of_the_day(clock: type[SetClock], monkeypatch: pytest.MonkeyPatch) -> None:
    state = FileState()
    before = state.now()
    clock.by = timedelta(days=-400)
    monkeypatch.setattr("time.time", lambda: 0.0)
    assert 0 <= state.now() - before < LONG
    state.close()
    with pytest.raises(Fault):
        state.run("SELECT 1")
