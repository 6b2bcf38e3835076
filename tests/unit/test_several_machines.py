"""A site that two machines serve: one chain, one quota, one login, in a real PostgreSQL; and what happens when it is lost.

Two folders with the same data and secret stand for the machines.
"""

import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from hmac import digest
from itertools import count
from pathlib import Path
from threading import Barrier, Event, Timer
from time import monotonic, sleep
from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner

import confide
from asking import python_table
from confide.answering.recording.answers import Answers
from confide.answering.recording.quotas import DayPlaces, DayQuota
from confide.answering.service import Service, audit
from confide.cancellation import Cancellation, Stopped, StopReason
from confide.cli.main import app
from confide.errors import Fault, Mistake, Refused, Waiting
from confide.model.policy import PRESETS
from confide.site import ledger
from confide.site.access import Person, PersonRole
from confide.site.backup import back_up, restore
from confide.site.doctor import examine
from confide.site.documents import FolderDocuments, SharedDocuments, documents_of
from confide.site.folder import Folder, Papers
from confide.site.ledger import Ledger
from confide.site.ledger.shared import chain_of
from confide.site.policy_drafts import Drafts, PolicyDraft, open_drafts
from confide.site.reviews import ReviewState
from confide.site.secret import create_secret
from confide.site.state import State, open_state
from confide.site.state.papers import LOOK, SharedPapers
from confide.web.rate_limit import rate_limit
from confide.web.sessions import Sessions
from confide.web.under_way.job import Progress
from confide.web.under_way.shared import SharedWork
from postgres_server import Server, running

QUOTA = 12
THREADS = 4
PATIENCE = 60
ENTRY: dict[str, Any] = {"dataset": "people", "request": {}, "outcome": "released", "policy": "p", "data": "d"}
_NAMES = count()


def database_on(server: Server) -> str:
    """A database of its own."""
    name = f"state{next(_NAMES)}"
    with psycopg.connect(server.database, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return server.database.replace("dbname=postgres", f"dbname={name}")


def say(folder: Path, database: str) -> None:
    (folder / "site.toml").write_text(f'state = "{database}"\n')


@pytest.fixture
def database(postgres: Server) -> str:
    return database_on(postgres)


@pytest.fixture
def folders(tmp_path: Path, database: str) -> list[Path]:
    """Two folders without data, for what needs the ledger and the state alone."""
    found = [tmp_path / name for name in ("one", "other")]
    for folder in found:
        folder.mkdir()
        say(folder, database)
    return found


@pytest.fixture
def sites(tmp_path: Path, town: Any, database: str) -> list[Path]:
    """A site that answers so many questions a day, and its copy."""
    one, other = tmp_path / "one", tmp_path / "other"
    confide.add(town.people, one, name="people", catalog=town.catalog)
    policy = (one / "policy.toml").read_text().replace("per_day = 1000", f"per_day = {QUOTA}")
    (one / "policy.toml").write_text(policy)
    say(one, database)
    shutil.copytree(one, other)
    return [one, other]


@pytest.fixture
def machines(sites: list[Path]) -> Iterator[list[Service]]:
    with ExitStack() as opened:
        yield [opened.enter_context(Service.open(site)) for site in sites]


def heads(folders: list[Path]) -> set[tuple[int, str]]:
    """Where the ledgers of folders end, each sound."""
    found = [ledger.verify(folder / "ledger.jsonl") for folder in folders]
    assert not [each for each in found if each.problem]
    return {(each.entries, each.head) for each in found}


def one_head(folder: Path) -> str:
    return ledger.last(folder / "ledger.jsonl", 1)[0].hash


def sql(database: str, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(database, autocommit=True) as connection:
        found = connection.execute(statement.encode())
        return found.fetchall() if found.description else []


# ---- one chain


def test_what_either_machine_records_is_one_chain_in_both_folders(folders: list[Path]) -> None:
    with ExitStack() as opened:
        one, other = (opened.enter_context(Ledger(folder / "ledger.jsonl")) for folder in folders)
        numbers = [each.append(who=who, **ENTRY).number for who in ("ana", "ben") for each in (one, other, other)]
        assert numbers == [0, 1, 2, 3, 4, 5]
        assert one.asked("ana", "people", _today(other)) == other.asked("ana", "people", _today(other)) == 3
    assert len(heads(folders)) == 1
    first, second = ([*ledger.read(folder / "ledger.jsonl")] for folder in folders)
    assert first == second and [entry.who for entry in first] == ["ana"] * 3 + ["ben"] * 3


def _today(opened: Ledger) -> Any:
    from datetime import date

    return date.fromisoformat(opened.entries(0, 1)[0].time[:10])


def test_a_folder_that_has_nothing_yet_takes_in_the_whole_ledger_with_its_years(folders: list[Path]) -> None:
    from datetime import UTC, datetime

    years = iter([2024, 2024, 2025, 2026])
    with Ledger(folders[0] / "ledger.jsonl", clock=lambda: datetime(next(years), 6, 1, tzinfo=UTC)) as one:
        for _ in range(4):
            one.append(who="ana", **ENTRY)
    assert ledger.last(folders[1] / "ledger.jsonl", 9) == ledger.last(folders[0] / "ledger.jsonl", 9)
    files = [{file.name: file.read_bytes() for file in folder.glob("ledger*.jsonl")} for folder in folders]
    assert files[0] == files[1] and len(files[0]) == 3


WRITER = """
import sys
from confide.site.ledger import Ledger
from confide.site.ledger.shared import chain_of
with Ledger(sys.argv[1]) as ledger:
    for left in range(30):
        ledger.append(who=f"{sys.argv[2]} {left}", dataset="people", request={}, outcome="released", policy="p", data="d")
"""


def test_two_processes_that_write_at_once_leave_one_chain(folders: list[Path]) -> None:
    command = [sys.executable, "-c", WRITER]
    writers = [subprocess.Popen([*command, str(folder / "ledger.jsonl"), folder.name]) for folder in folders]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert {entries for entries, _ in heads(folders)} == {60} and len(heads(folders)) == 1
    who = [entry.who for entry in ledger.read(folders[0] / "ledger.jsonl")]
    assert sorted(who) == sorted(f"{folder.name} {left}" for folder in folders for left in range(30))


KILLED = """
import os, signal, sys
from pathlib import Path
from confide.site.ledger import Ledger, ledger, shared, tail, anchor

def dying(old, before):
    def new(*a, **k):
        if before: os.kill(os.getpid(), signal.SIGKILL)
        found = old(*a, **k)
        os.kill(os.getpid(), signal.SIGKILL)
        return found
    return new

opened = Ledger(sys.argv[1])
opened.append(who="whole", dataset="people", request={}, outcome="released", policy="p", data="d")
kind, name = sys.argv[2].split(".")
where = {"SharedChain": shared.SharedChain, "Tail": tail.Tail, "Anchor": anchor.Anchor}[kind]
setattr(where, name, dying(getattr(where, name), sys.argv[3] == "before"))
before = (lambda _: os.kill(os.getpid(), signal.SIGKILL)) if sys.argv[3] == "during" else (lambda _: None)
opened.append(who="killed", dataset="people", request={}, outcome="released", policy="p", data="d", before=before)
print("answered", flush=True)
"""
STEPS = [
    ("SharedChain.after", "before", 1),
    ("SharedChain.after", "after", 1),
    ("SharedChain.add", "during", 1),
    ("SharedChain.add", "before", 1),
    ("SharedChain.add", "after", 2),
    ("Tail._put", "before", 2),
    ("Tail._put", "after", 2),
    ("Tail.sync", "before", 2),
    ("Tail.sync", "after", 2),
    ("Anchor.write", "before", 2),
    ("Anchor.write", "after", 2),
]


@pytest.mark.parametrize(("step", "when", "recorded"), STEPS, ids=[f"{when} {step}" for step, when, _ in STEPS])
def test_kill_9_between_any_two_steps_leaves_one_chain_that_goes_on(
    folders: list[Path], step: str, when: str, recorded: int
) -> None:
    """Nothing was answered; what is in the database stays, and what is not was never there."""
    command = [sys.executable, "-c", KILLED, str(folders[0] / "ledger.jsonl"), step, when]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (-9, ""), done.stderr
    with Ledger(folders[1] / "ledger.jsonl") as other:
        assert other.append(who="later", **ENTRY).number == recorded
    with Ledger(folders[0] / "ledger.jsonl") as again:
        assert again.append(who="later", **ENTRY).number == recorded + 1
    assert len(heads(folders)) == 1
    whose = [entry.who for entry in ledger.read(folders[0] / "ledger.jsonl")]
    assert whose == ["whole", *(["killed"] if recorded == 2 else []), "later", "later"]


def test_who_holds_the_chain_and_hangs_is_waited_for_and_then_named(folders: list[Path], database: str) -> None:
    from confide.site.ledger.shared import LEDGER_LOCK

    with Ledger(folders[0] / "ledger.jsonl") as one, psycopg.connect(database) as hanging:
        hanging.execute(f"SELECT pg_advisory_xact_lock({LEDGER_LOCK})".encode())
        with pytest.raises(Fault, match="is held by another process: the question could not be recorded"):
            one.append(who="ana", **ENTRY)
        hanging.rollback()
        assert one.append(who="ana", **ENTRY).number == 0


def test_nobody_waits_for_who_reads_the_whole_chain_or_takes_it_in(folders: list[Path], database: str) -> None:
    """Somebody has the turn to write all the time: a check goes through, and a new folder has everything but its own turn."""
    from confide.site.ledger.shared import LEDGER_LOCK

    with Ledger(folders[0] / "ledger.jsonl") as one:
        for _ in range(5):
            one.append(who="ana", **ENTRY)
        one.record("carla", "site reloaded")
    chain = chain_of(folders[0] / "ledger.jsonl")
    assert chain is not None
    with psycopg.connect(database) as writing, closing(chain):
        writing.execute(f"SELECT pg_advisory_xact_lock({LEDGER_LOCK})".encode())
        with chain.reading():
            chain.must_agree()
        with pytest.raises(Fault, match="is held by another process"):
            Ledger(folders[1] / "ledger.jsonl")
        assert (folders[1] / "ledger.jsonl").read_bytes() == (folders[0] / "ledger.jsonl").read_bytes()
    assert not ledger.anchored(folders[1] / "ledger.jsonl")  # it was not opened, and next time it can be
    assert heads(folders) == {(6, one_head(folders[0]))}


# ---- what does not go together


def test_a_database_without_what_the_folder_has_is_filled_by_command_alone(
    folders: list[Path], database: str, postgres: Server
) -> None:
    with Ledger(folders[0] / "ledger.jsonl") as one:
        for _ in range(3):
            one.append(who="ana", **ENTRY)
    ledger.take_in(folders[1] / "ledger.jsonl")
    sql(database, "DELETE FROM confide_state.ledger WHERE number > 0")
    for folder in folders:
        with pytest.raises(Fault, match="the database lacks entries that the folder has"):
            Ledger(folder / "ledger.jsonl")
    assert ledger.share(folders[0] / "ledger.jsonl").request == {"act": "ledger shared", "entries": 2}
    assert len(heads(folders)) == 1 and {entries for entries, _ in heads(folders)} == {4}
    assert ledger.share(folders[1] / "ledger.jsonl").request["entries"] == 0


def test_a_ledger_of_one_machine_becomes_that_of_several(tmp_path: Path, database: str) -> None:
    with Ledger(tmp_path / "ledger.jsonl") as alone:
        alone.append(who="ana", **ENTRY)
    with pytest.raises(Mistake, match="shares its ledger with no other machine"):
        ledger.share(tmp_path / "ledger.jsonl")
    say(tmp_path, database)
    with pytest.raises(Fault, match="confide ledger share"):
        Ledger(tmp_path / "ledger.jsonl")
    assert ledger.share(tmp_path / "ledger.jsonl").number == 1
    assert sql(database, "SELECT count(*) FROM confide_state.ledger") == [(2,)]


@pytest.mark.parametrize("number", [0, 2], ids=["the first entry", "the last entry"])
def test_a_changed_line_in_the_database_is_found_by_every_folder(
    folders: list[Path], database: str, number: int
) -> None:
    with Ledger(folders[0] / "ledger.jsonl") as one:
        for _ in range(3):
            one.append(who="ana", **ENTRY)
    sql(database, f"UPDATE confide_state.ledger SET line = replace(line, 'ana', 'ben') WHERE number = {number}")
    with pytest.raises(Fault, match=f"entry {number} is another in the database"):
        ledger.verify(folders[0] / "ledger.jsonl")
    with pytest.raises(Fault, match=f"entry {number} was changed"):
        ledger.last(folders[1] / "ledger.jsonl", 1)


def test_a_database_of_a_site_with_another_secret_is_not_used(sites: list[Path]) -> None:
    Service.open(sites[0]).close()
    (sites[1] / "secret").unlink()
    create_secret(sites[1] / "secret")
    with pytest.raises(Mistake, match="secret"):
        Service.open(sites[1])


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ('"host=/nowhere password=hidden"', "holds a password"),
        ('"postgresql://[nowhere"', "cannot be read"),
        ("3", "must name a database"),
        ('""', "must name a database"),
        ('"host=/nowhere/at/all dbname=x"', "cannot be reached"),
    ],
)
def test_a_setting_that_cannot_be_used_stops_the_start_and_says_no_password(
    sites: list[Path], said: str, words: str
) -> None:
    (sites[0] / "site.toml").write_text(f"state = {said}\n")
    with pytest.raises((Fault, Mistake), match=words) as found:
        Service.open(sites[0])
    assert "hidden" not in str(found.value) and "state" in str(found.value)


# ---- one quota


def ask(service: Service, turn: int, who: str = "ana") -> str:
    rows = ("sex", "town", "age", "trade")[turn % 4]
    columns = ("sex", "town", "age", "trade")[turn // 4 % 4]
    try:
        service.answer(python_table("people", rows=rows, **({"columns": columns} if columns != rows else {})), who=who)
    except Refused as refused:
        return refused.reasons[0].rule
    return "released"


def test_exactly_the_quota_is_answered_by_two_machines_together(machines: list[Service]) -> None:
    together = Barrier(THREADS)

    def work(thread: int) -> Counter[str]:
        together.wait()
        return Counter(ask(machines[thread % 2], turn) for turn in range(QUOTA))

    with ThreadPoolExecutor(THREADS) as pool:
        found = sum(pool.map(work, range(THREADS)), Counter[str]())
    asked = sum(many for rule, many in found.items() if rule != "quota.per_day")
    assert asked == QUOTA and found["quota.per_day"] == QUOTA * THREADS - QUOTA
    entries = [*ledger.read_questions(machines[0].papers.ledger)]
    assert len(entries) == QUOTA and len(heads([each.papers.path for each in machines])) == 1


HAMMER = """
import sys
from confide.answering.recording.quotas import DayPlaces, DayQuota
from confide.errors import Refused
from confide.site.ledger import Ledger
from confide.site.ledger.shared import chain_of
from confide.site.state import open_state
from confide.site.state.papers import LOOK, SharedPapers
from pathlib import Path
folder, answered = Path(sys.argv[1]), 0
with Ledger(folder / "ledger.jsonl") as ledger:
    places = DayPlaces(ledger, open_state(folder))
    for _ in range(40):
        try:
            place = places.take([DayQuota("ana", "people", 25)], dataset="people", policy="p")
        except Refused:
            continue
        ledger.append(who="ana", dataset="people", request={}, outcome="released", policy="p", data="d",
                      before=lambda n: places.use(place, n))
        answered += 1
print(answered)
"""


def test_two_processes_hammering_one_quota_meet_it_exactly(folders: list[Path]) -> None:
    command = [sys.executable, "-c", HAMMER]
    running = [subprocess.Popen([*command, str(each)], stdout=subprocess.PIPE, text=True) for each in folders]
    assert sum(int(each.communicate()[0]) for each in running) == 25
    assert {entries for entries, _ in heads(folders)} == {25}


def test_what_is_written_at_once_is_written_whole_or_not_at_all(folders: list[Path], database: str) -> None:
    def write(*numbers: int) -> None:
        for number in numbers:
            state.run("INSERT INTO seen VALUES (?1)", number)

    with closing(open_state(folders[0])) as state:
        state.claim()
        state.table("seen", "number INTEGER PRIMARY KEY")
        with state.at_once():
            write(1, 2)
        with pytest.raises(ValueError, match="went wrong"), state.at_once():
            write(3)
            raise ValueError("went wrong")
        with pytest.raises(Fault), state.at_once():
            write(3)
            with suppress(Fault):
                write(1)
        with pytest.raises(Fault), state.at_once():
            write(3)
            here = f"datname = '{database.partition('dbname=')[2].split()[0]}' AND pid <> pg_backend_pid()"
            sql(database, f"SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE {here}")
            write(4)
        write(5)
        assert state.run("SELECT number FROM seen ORDER BY number") == [(1,), (2,), (5,)]


def test_machines_write_several_things_one_after_the_other(folders: list[Path]) -> None:
    """Otherwise two that look whether there is a place would both take the last."""

    def take(folder: Path) -> None:
        with closing(open_state(folder)) as state:
            for _ in range(20):
                with state.at_once():
                    [(many,)] = state.run("SELECT count(*) FROM seen")
                    state.run("INSERT INTO seen VALUES (?1)", many)

    with closing(open_state(folders[0])) as state, ThreadPoolExecutor(2) as pool:
        state.table("seen", "number INTEGER")
        list(pool.map(take, folders))
        assert state.run("SELECT count(*), count(DISTINCT number) FROM seen") == [(40, 40)]


def until_gone(database: str, folder: str) -> None:
    """Wait until the server has noticed that nobody holds the lock of a machine: only a test that fails waits long."""
    [(name,)] = sql(
        database, f"SELECT DISTINCT machine || ' ' || worker FROM confide_state.places WHERE machine LIKE '%{folder}'"
    )
    for _ in range(2400):
        if sql(database, f"SELECT pg_try_advisory_xact_lock(hashtextextended('{name}', 0))") == [(True,)]:
            return
        sleep(0.05)
    raise AssertionError("it is never noticed")


def test_the_place_of_a_machine_that_is_gone_is_free_and_that_of_one_that_lives_is_not(
    folders: list[Path], database: str
) -> None:
    quota = [DayQuota("ana", "people", 1)]
    with ExitStack() as opened:
        one, other = (opened.enter_context(Ledger(folder / "ledger.jsonl")) for folder in folders)
        mine, theirs = (opened.enter_context(closing(open_state(folder))) for folder in folders)
        DayPlaces(other, theirs).take(quota, dataset="people", policy="p")
        places = DayPlaces(one, mine)
        with pytest.raises(Refused):
            places.take(quota, dataset="people", policy="p")
        theirs.close()  # as the system does for a process that is killed; the server notices a moment later
        until_gone(database, "other")
        number = places.take(quota, dataset="people", policy="p")
        one.append(who="ana", **ENTRY, before=lambda n: places.use(number, n))
        with pytest.raises(Refused):
            places.take(quota, dataset="people", policy="p")


def test_a_question_whose_place_another_machine_took_is_not_recorded(folders: list[Path], database: str) -> None:
    """Its connection was lost meanwhile, so it counted as gone."""
    quota = [DayQuota("ana", "people", 1)]
    with ExitStack() as opened:
        one, other = (opened.enter_context(Ledger(folder / "ledger.jsonl")) for folder in folders)
        states = [opened.enter_context(closing(open_state(folder))) for folder in folders]
        held_up, quick = DayPlaces(one, states[0]), DayPlaces(other, states[1])
        first = held_up.take(quota, dataset="people", policy="p")
        here = "pid <> pg_backend_pid() AND datname = current_database()"
        sql(database, f"SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE {here}")
        second = quick.take(quota, dataset="people", policy="p")
        other.append(who="ana", **ENTRY, before=lambda n: quick.use(second, n))
        with pytest.raises(Fault, match="lost its place"):
            one.append(who="ana", **ENTRY, before=lambda n: held_up.use(first, n))
    assert {entries for entries, _ in heads(folders)} == {1}


# ---- one answer


QUESTION = python_table("people", rows="sex")
REFUSED = python_table("people", rows=["sex", "trade"], where={"town": "a1", "age": "20-39", "ill": "yes"})
KEPT = 600.0


def rows_of(folder: Path) -> list[tuple[str, str]]:
    return [(entry.who, entry.outcome) for entry in ledger.read_questions(folder / "ledger.jsonl")]


@pytest.mark.parametrize("quota", [1, QUOTA])
def test_the_same_question_of_two_machines_at_once_is_recorded_and_counted_once(sites: list[Path], quota: int) -> None:
    for site in sites:
        policy = (site / "policy.toml").read_text()
        (site / "policy.toml").write_text(policy.replace(f"per_day = {QUOTA}", f"per_day = {quota}"))
    with ExitStack() as opened:
        machines = [opened.enter_context(Service.open(site)) for site in sites]
        together = Barrier(THREADS)

        def work(thread: int) -> list[str]:
            together.wait()
            return [machines[(thread + turn) % 2].answer(QUESTION, who="ana", kept=KEPT).digest for turn in range(3)]

        with ThreadPoolExecutor(THREADS) as pool:
            found = {digest for digests in pool.map(work, range(THREADS)) for digest in digests}
        assert len(found) == 1 and rows_of(sites[0]) == [("ana", "released")]
        with suppress(Refused):
            machines[1].answer(QUESTION, who="ben", kept=KEPT)
            machines[1].answer(QUESTION, who="ben")
        assert rows_of(sites[0])[1:] == [("ben", "released")] * min(2, quota)


def test_a_refusal_is_the_same_at_both_machines_and_recorded_once(machines: list[Service]) -> None:
    told = []
    for machine in (*machines, *machines):
        with pytest.raises(Refused) as refused:
            machine.answer(REFUSED, who="ana", kept=KEPT)
        told.append((refused.value.reasons, refused.value.suggestions))
    assert told[0][0] and told.count(told[0]) == 4
    assert rows_of(machines[0].papers.path) == [("ana", "refused")]


def test_an_answer_is_kept_for_so_long_and_then_asked_anew(machines: list[Service]) -> None:
    for machine in (*machines, *machines):
        machine.answer(QUESTION, who="ana", kept=0.05)
        sleep(0.1)
    assert rows_of(machines[0].papers.path) == [("ana", "released")] * 4


def test_what_a_quota_refuses_is_asked_again(machines: list[Service], database: str) -> None:
    for turn in range(QUOTA):
        ask(machines[0], turn)
    for machine in machines:
        with pytest.raises(Refused, match="the most allowed"):
            machine.answer(REFUSED, who="ana", kept=KEPT)
    assert sql(database, "SELECT * FROM confide_state.answers") == []


def test_who_asks_while_another_machine_answers_waits_for_it_and_makes_the_same(
    machines: list[Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go, record = Event(), Event(), Answers._record
    receipt = machines[0].receipt(machines[0].admit(QUESTION))

    def held(self: Answers, *asked: Any, **more: Any) -> None:
        begun.set()
        assert go.wait(60)
        record(self, *asked, **more)

    monkeypatch.setattr(Answers, "_record", held)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(machines[0].answer, QUESTION, who="ana", kept=KEPT)
        assert begun.wait(60)
        assert not machines[0].is_awaited(receipt, False, who="ana")
        second = pool.submit(machines[1].answer, QUESTION, who="ana", kept=KEPT)
        while not machines[0].is_awaited(receipt, False, who="ana"):
            sleep(0.01)
        assert not second.done()
        stopping = Cancellation()
        stopping.stop()
        with stopping.applied(), pytest.raises(Stopped):
            machines[1].answer(QUESTION, who="ana", kept=KEPT)
        go.set()
        assert first.result() == second.result()
    assert rows_of(machines[0].papers.path) == [("ana", "released")]


def test_a_question_that_fails_at_one_machine_is_answered_by_the_other(
    machines: list[Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise Fault("no")

    with monkeypatch.context() as patched, pytest.raises(Fault, match="no"):
        patched.setattr(machines[0]._answers, "_record", broken)
        machines[0].answer(QUESTION, who="ana", kept=KEPT)
    assert machines[1].answer(QUESTION, who="ana", kept=KEPT)
    assert rows_of(machines[0].papers.path) == [("ana", "released")]


def test_a_machine_that_would_answer_otherwise_than_is_recorded_says_nothing(
    machines: list[Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    machines[0].answer(QUESTION, who="ana", kept=KEPT)
    monkeypatch.setattr("confide.model.release.Release.digest", "another")
    with pytest.raises(Fault, match="was answered otherwise a moment ago"):
        machines[1].answer(QUESTION, who="ana", kept=KEPT)


KILLED_ANSWER = """
import os, signal, sys
from asking import python_table
from confide.answering import road
from confide.answering.recording import once, quotas
from confide.answering.service import Service
from confide.site.ledger import anchor, shared, tail

def dying(old, before):
    def new(*a, **k):
        if before: os.kill(os.getpid(), signal.SIGKILL)
        found = old(*a, **k)
        os.kill(os.getpid(), signal.SIGKILL)
        return found
    return new

with Service.open(sys.argv[1]) as service:
    question = python_table("people", rows="sex")
    service.answer(question, who="whole", kept=600.0)
    kind, name = sys.argv[2].split(".")
    where = {"Once": once.AnsweredOnce, "Places": quotas.DayPlaces, "Road": road.Road, "SharedChain": shared.SharedChain,
             "Tail": tail.Tail, "Anchor": anchor.Anchor}[kind]
    setattr(where, name, dying(getattr(where, name), sys.argv[3] == "before"))
    service.answer(question, who="killed", kept=600.0)
print("answered", flush=True)
"""
ANSWER_STEPS = [
    ("Once._take", False), ("Places.take_if_sure", False), ("Road.consider", False), ("Road.release", False),
    ("Places.use", False), ("Once.settle", False), ("SharedChain.add", True), ("Tail._put", True), ("Tail.sync", True),
    ("Anchor.write", True),
]  # fmt: skip
"""Each with whether the question is recorded after it."""


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("step", "recorded"), ANSWER_STEPS, ids=[step for step, _ in ANSWER_STEPS])
def test_a_question_whose_machine_is_killed_between_any_two_steps_is_recorded_once_by_the_other(
    sites: list[Path], step: str, recorded: bool, when: str
) -> None:
    command, path = [sys.executable, "-c", KILLED_ANSWER, str(sites[0]), step, when], Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": f"{path}:{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stdout) == (-9, ""), done.stderr
    there = [("whole", "released")]
    with Service.open(sites[1]) as other:
        killed = [("killed", "released")] if recorded and (when, step) != ("before", "SharedChain.add") else []
        assert rows_of(sites[1]) == there + killed
        asking = ("between", "killed", "whole", "killed")  # the first takes the number of an entry that was not written
        answers = {other.answer(QUESTION, who=who, kept=KEPT).digest for who in asking}
        assert len(answers) == 1
        assert rows_of(sites[1]) == list(
            dict.fromkeys([*there, *killed, ("between", "released"), ("killed", "released")])
        )


# ---- one set of papers


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Papers are looked at for every question, and not once a second."""
    monkeypatch.setattr("confide.site.state.papers.LOOK", 0.0)


def change(folder: Path, name: str, words: str = "# another") -> None:
    with (folder / name).open("a") as file:
        file.write(f"{words}\n")


def refuses(service: Service, what: str) -> bool:
    """Whether nothing is answered and nobody let in, because of this paper."""
    for do in (lambda: ask(service, 1), lambda: service.access, service.must_be_ready):
        with pytest.raises(Fault, match=f"Nothing is answered here: {what} of this machine") as found:
            do()
        assert found.value.http_status == 503 and "confide reload" in found.value.suggestions[0]
    return True


def test_whoever_has_another_access_toml_answers_nothing_until_it_is_the_same(
    machines: list[Service], at_once: None
) -> None:
    one, other = machines
    assert ask(one, 1) == ask(other, 2) == "released"
    change(one.papers.path, "access.toml")
    assert ask(one, 3) == "released" and refuses(other, "access.toml") and ask(one, 4) == "released"
    shutil.copy(one.papers.access, other.papers.access)
    assert ask(other, 5) == ask(one, 6) == "released"
    change(other.papers.path, "access.toml")  # which has had the site's, so its change counts
    assert ask(other, 7) == "released" and refuses(one, "access.toml")
    assert len(rows_of(one.papers.path)) == 7


def test_policies_and_data_count_as_they_are_loaded_and_who_changed_them_last_has_the_sites(
    machines: list[Service], at_once: None
) -> None:
    one, other = machines
    for folder in (one.papers.path, other.papers.path):
        change(folder, "policy.toml", f"# of {folder.name}")
    assert ask(one, 1) == ask(other, 2) == "released"  # by the policies that are loaded
    one.reload()
    assert ask(one, 3) == "released" and refuses(other, "policies")
    other.reload()
    assert refuses(other, "policies") and ask(one, 4) == "released"  # it has not had the site's, and does not make them
    shutil.copy(one.papers.path / "policy.toml", other.papers.path / "policy.toml")
    assert refuses(other, "policies")
    other.reload()
    assert ask(other, 5) == "released"
    change(other.papers.path, "people/dataset.toml")
    other.reload()
    assert ask(other, 6) == "released" and refuses(one, "data")


def test_a_machine_that_was_stopped_goes_by_what_it_had_before(sites: list[Path], at_once: None) -> None:
    with Service.open(sites[0]) as one, Service.open(sites[1]):
        assert ask(one, 1) == "released"
    change(sites[1], "policy.toml")
    with Service.open(sites[1]) as other:
        assert ask(other, 2) == "released"
    change(sites[0], "policy.toml", "# and another")
    with Service.open(sites[0]) as one:
        assert refuses(one, "policies")
        shutil.copy(sites[1] / "policy.toml", sites[0] / "policy.toml")
        one.reload()
        assert ask(one, 3) == "released"


def test_workers_of_one_machine_have_one_access_toml_and_load_the_rest_one_after_the_other(
    folders: list[Path], at_once: None
) -> None:
    with ExitStack() as opened:

        def papers(folder: Path, worker: int) -> SharedPapers:
            state = open_state(folder, worker=worker, of_several=True)
            return SharedPapers(opened.enter_context(closing(state)), folder)

        first, second, elsewhere = papers(folders[0], 0), papers(folders[0], 1), papers(folders[1], 0)
        for each in (first, second, elsewhere):
            each.must_be_the_sites()
        for who in (second, first, first, second):
            change(folders[0], "access.toml")
            who.must_be_the_sites()
        change(folders[0], "policy.toml")
        second.take_up()
        with pytest.raises(Fault, match="policies of this machine"):
            first.must_be_the_sites()
        change(folders[0], "access.toml")
        with pytest.raises(Fault, match="access.toml and policies of this machine"):
            first.must_be_the_sites()
        second.must_be_the_sites()
        first.take_up()
        first.must_be_the_sites()
        with pytest.raises(Fault, match="access.toml and policies of this machine"):
            elsewhere.must_be_the_sites()


def test_a_change_of_what_another_machine_changed_is_the_sites_too(folders: list[Path], at_once: None) -> None:
    """Also where nobody asked anything between the two."""
    with ExitStack() as opened:
        states = [opened.enter_context(closing(open_state(folder))) for folder in folders]
        one, other = (SharedPapers(state, folder) for state, folder in zip(states, folders, strict=True))
        one.take_up()
        other.take_up()
        change(folders[0], "access.toml")
        one.must_be_the_sites()
        shutil.copy(folders[0] / "access.toml", folders[1] / "access.toml")
        change(folders[1], "policy.toml")
        other.take_up()
        other.must_be_the_sites()
        with pytest.raises(Fault, match="policies of this machine"):
            one.must_be_the_sites()


def test_a_folder_is_made_the_sites_by_command(sites: list[Path], at_once: None, database: str) -> None:
    with Service.open(sites[0]) as one:
        change(sites[0], "access.toml")
        assert ask(one, 1) == "released"
        with Service.open(sites[1]) as other:
            assert refuses(other, "access.toml")
        told = CliRunner().invoke(app, ["ledger", "share", str(sites[1])])
        assert told.exit_code == 0 and "took over 0 entries" in told.stdout
        with Service.open(sites[1]) as other:
            assert ask(other, 2) == "released" and refuses(one, "access.toml")


def test_what_a_machine_has_is_looked_at_once_a_second(machines: list[Service]) -> None:
    one, other = machines
    change(one.papers.path, "access.toml")
    begun = monotonic()
    while monotonic() < begun + 30:
        one.must_be_ready()
        try:
            other.must_be_ready()
        except Fault:
            break
    assert monotonic() - begun < 4 * LOOK + 5


# ---- one set of reviews and of what people keep


ANA, CARLA = Person("ana", PersonRole.ANALYST), Person("carla", PersonRole.CUSTODIAN)


@pytest.fixture
def reviewed(sites: list[Path]) -> Iterator[list[Service]]:
    """Two machines whose custodian sees every table first."""
    for site in sites:
        policy = (site / "policy.toml").read_text()
        (site / "policy.toml").write_text(re.sub(r"(?m)^tables = false", "tables = true", policy))
    with ExitStack() as opened:
        yield [opened.enter_context(Service.open(site)) for site in sites]


def waits(service: Service) -> bool:
    with pytest.raises(Waiting):
        service.answer(QUESTION, who=ANA.asking, kept=KEPT)
    return True


def test_a_result_waits_at_both_machines_and_is_decided_once_at_either(reviewed: list[Service], database: str) -> None:
    one, other = reviewed
    assert waits(one) and waits(other)
    (review,) = other.reviews_of(ANA)
    assert one.reviews_of(CARLA) == [review] and other.review(review.id)[0] == review
    with ThreadPoolExecutor(2) as pool:

        def decide(service: Service) -> str:
            try:
                return service.decide(review.id, ReviewState.YES, custodian=CARLA, reason="Large groups").state
            except Mistake as mistake:
                return mistake.message

        assert sorted(pool.map(decide, reviewed)) == ["'carla' has said yes already: Large groups", "yes"]
    answers = {service.answer(QUESTION, who=ANA.asking, kept=KEPT).digest for service in (other, one)}
    assert len(answers) == 1
    kept = [(e.outcome, e.rules or e.request.get("act")) for e in ledger.last(one.papers.ledger, 20)]
    assert kept == [("refused", ("review.waiting",)), ("done", "review yes"), ("released", None)]


def test_reviews_are_decided_listed_copied_and_brought_back_by_commands(
    reviewed: list[Service], tmp_path: Path, database: str
) -> None:
    one, other = reviewed
    assert waits(one)
    (review,) = other.reviews_of(ANA)

    def said(*words: str) -> str:
        done = CliRunner().invoke(app, [*words])
        assert done.exit_code == 0, done.output
        return done.stdout

    assert review.id in said("review", "list", str(other.papers.path))
    assert "ana is told no" in said("review", "no", str(other.papers.path), review.id, "--reason", "Ask for towns")
    with pytest.raises(Refused, match="Ask for towns"):
        one.answer(QUESTION, who=ANA.asking, kept=KEPT)
    one.workspaces.keep_question(ANA, "mine", QUESTION)
    assert other.workspaces.question(ANA, "mine") == one.workspaces.question(ANA, "mine")
    back_up(other.papers.path, tmp_path / "copy")
    assert (tmp_path / "copy" / "reviews" / f"{review.id}.json").exists()
    assert len([*(tmp_path / "copy" / "workspaces").glob("*.json")]) == 1
    for service in reviewed:
        service.close()
    sql(database, "DROP SCHEMA confide_state CASCADE")
    said("ledger", "share", str(other.papers.path))
    with Service.open(one.papers.path) as again:
        assert [each.state for each in again.reviews_of(ANA)] == [ReviewState.NO]
        assert again.workspaces.question(ANA, "mine")


def test_of_two_who_change_the_same_document_one_is_told(folders: list[Path]) -> None:
    with ExitStack() as opened:
        states = [opened.enter_context(closing(open_state(folder))) for folder in folders]
        one, other = (
            SharedDocuments(state, "reviews", FolderDocuments(each / "reviews"))
            for state, each in zip(states, folders, strict=True)
        )
        one.write("a", b"1", old=None)
        other.write("a", b"2", old=b"1")
        for old in (None, b"1"):
            with pytest.raises(Fault, match="Somebody else has changed this meanwhile"):
                one.write("a", b"3", old=old)
        assert one.read("a") == b"2" and one.read("b") is None and one.names() == ["a"]
        assert [(each / "reviews" / "a.json").read_bytes() for each in folders] == [b"1", b"2"]
        one.take_in()
        assert (folders[0] / "reviews" / "a.json").read_bytes() == b"2"
        one.write("a", b"", old=b"2")
        assert one.read("a") is other.read("a") is None and one.names() == other.names() == []
        other.fill()  # which still has its copy
        assert other.read("a") is None and (folders[1] / "reviews" / "a.json").exists()
        other.take_in()
        assert not (folders[1] / "reviews" / "a.json").exists()
        other.write("a", b"4", old=None)
        assert one.read("a") == b"4"


def test_turns_are_taken_by_threads_and_machines_alike(folders: list[Path]) -> None:
    """Who is inside counts itself in and out; two at once would show."""
    inside, most = list[int](), list[int]()
    with ExitStack() as opened:
        states = [opened.enter_context(closing(open_state(folder))) for folder in folders]

        def work(thread: int) -> None:
            for _ in range(5):
                with states[thread % 2].in_turn("people"):
                    inside.append(thread)
                    most.append(len(inside))
                    sleep(0.002)
                    inside.remove(thread)

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(work, range(THREADS)))
        with states[0].in_turn("people"), states[1].in_turn("firms"):
            pass
    assert most == [1] * 5 * THREADS


def test_a_pace_is_one_for_all_machines_however_many_knock_at_once(folders: list[Path]) -> None:
    states = [open_state(folder) for folder in folders]
    assert states[0].machine != states[1].machine
    limits = [rate_limit(state, "requests", 30) for state in states]
    now = states[0].now()
    with ThreadPoolExecutor(8) as pool:
        waits = [*pool.map(lambda turn: limits[turn % 2].allow("person ana", now), range(80))]
    assert waits.count(0.0) == 30 and {round(wait, 3) for wait in waits} == {0.0, 2.0}
    other = [rate_limit(state, "failed logins", 1) for state in states]
    assert [limit.allow("person ana", now) for limit in other] == [0.0, 60.0] == [other[0].wait("bob", now), 60.0]
    for state in states:
        state.close()


def test_a_login_at_one_machine_holds_at_the_other_until_it_ends_at_either(folders: list[Path]) -> None:
    with closing(open_state(folders[0])) as mine, closing(open_state(folders[1])) as theirs:
        one, other = Sessions(mine, most=3), Sessions(theirs, most=3)
        assert abs(mine.now() - theirs.now()) < 60
        cookie = one.begin("digest", now=mine.now())
        assert other.find(cookie, now=theirs.now()).shown == "digest"
        later = [other.begin(f"{n}", now=theirs.now()) for n in range(3)]
        assert one.find(cookie, now=mine.now()) is None and len(one) == 3
        other.end(later[0])
        assert one.find(later[0], now=mine.now()) is None


# ---- the server lost, and back again


@pytest.fixture
def server() -> Iterator[Server]:
    """One that a test may stop."""
    with running() as found:
        yield found


# ---- drafts of policies, and the custodians' long work


def version(number: int, gamma: int) -> PolicyDraft:
    standard = PRESETS["standard"]
    return PolicyDraft(replace(standard, version=number, universe=replace(standard.universe, gamma=gamma)), "standard")


def test_a_draft_is_tried_copied_and_enforced_by_commands_at_any_machine_and_brought_back_from_a_folder(
    sites: list[Path], tmp_path: Path, database: str
) -> None:
    """Also where an old copy lies that another machine has changed or thrown away since."""

    def said(*words: object) -> str:
        done = CliRunner().invoke(app, [*map(str, words)])
        assert done.exit_code == 0, done.output
        return done.stdout

    with ExitStack() as opened:
        one, other = (opened.enter_context(open_drafts(Papers(site))) for site in sites)
        one.save(version(2, 40))
        other.save(version(2, 10**9))
        one.save(version(2, 40), name="people")
        other.discard(name="people")
        assert one.read() == other.read() == version(2, 10**9) and not one.has(name="people")
        with Service.open(sites[0]) as service:
            assert ask(service, 1) == "released"
        assert [(site / "people" / "draft.toml").exists() for site in sites] == [True, False]
        assert "1 of 1 outcomes" in said("ledger", "replay", sites[0], "--policy", sites[0] / "draft.toml")
        assert not (sites[0] / "people" / "draft.toml").exists()
        other.save(version(2, 41))
        back_up(sites[0], tmp_path / "copy")
        assert "gamma = 41" in (tmp_path / "copy" / "draft.toml").read_text()
        one.save(version(2, 42))
        assert "standard, version 2" in said("enforce", sites[1])
        assert "gamma = 42" in (sites[1] / "policy.toml").read_text()
        assert one.read() is None and other.read() is None
        for drafts in (one, other):
            with pytest.raises(Mistake, match="There is no draft"):
                drafts.enforce()
        one.save(version(3, 43))
        sql(database, "DROP SCHEMA confide_state CASCADE")
        said("ledger", "share", sites[0])
        assert other.read() == version(3, 43)


def test_of_two_machines_that_enforce_a_draft_at_once_one_does(sites: list[Path]) -> None:
    with ExitStack() as opened:
        drafts = [opened.enter_context(open_drafts(Papers(site))) for site in sites]
        drafts[0].save(version(2, 40))
        together = Barrier(2)

        def enforce(mine: Drafts) -> str:
            together.wait()
            try:
                return mine.enforce().title
            except Mistake as mistake:
                return mistake.message[:17]

        with ThreadPoolExecutor(2) as pool:
            assert {*pool.map(enforce, drafts)} == {"standard, version 2", "There is no draft"}


def test_no_name_in_the_database_leads_to_another_file_of_the_folder(folders: list[Path], database: str) -> None:
    """A policy, or what lies elsewhere: who writes into the database does not write them."""
    with closing(open_state(folders[0])) as state:
        drafts, reviews = (documents_of(folders[0], kind, state) for kind in ("drafts", "reviews"))
        rows = [
            (kind, name) for kind in ("drafts", "reviews") for name in ("policy", "../draft", "a/../../draft", "x/y")
        ]
        for kind, name in [*rows, ("drafts", "draft"), ("reviews", "0a")]:
            sql(database, f"INSERT INTO confide_state.documents VALUES ('{kind}', '{name}', 'new')")
        drafts.take_in()
        reviews.take_in()
    written = {str(file.relative_to(folders[0].parent)) for file in folders[0].parent.rglob("*") if file.is_file()}
    before = {f"{folder.name}/site.toml" for folder in folders}
    assert written - before == {"one/draft.toml", "one/reviews/0a.json", "one/reviews/policy.json"}


KEY = ("sum", 2)


class Working:
    """Work that is held until it is let go, and counts how often it was begun."""

    def __init__(self, *, held: bool = False) -> None:
        self.go, self.begun = Event(), 0
        if not held:
            self.go.set()

    def __call__(self, progress: Progress) -> int:
        self.begun, progress.of = self.begun + 1, 5
        progress.step()
        while not self.go.wait(0.01):
            progress.cancellation.check()
        return 17


@pytest.fixture
def working(folders: list[Path]) -> Iterator[list[SharedWork]]:
    with ExitStack() as opened:
        states = [opened.enter_context(closing(open_state(folder))) for folder in folders]
        for state in states:
            state.claim()
        yield [opened.enter_context(closing(shared_work(state))) for state in states]


def shared_work(state: State, *, secret: bytes = b"secret") -> SharedWork:
    return SharedWork(state, lambda purpose: digest(secret, purpose.encode(), "sha256"), most=2)


def once(shared: SharedWork, work: Any, *, number: int = 2, progress: Progress | None = None) -> Any:
    """What the work gives; in vain nobody waits for ever."""
    progress = progress or Progress()
    patience = Timer(PATIENCE, progress.cancellation.stop, (StopReason.TIME,))
    patience.start()
    try:
        return shared.once(("sum", number), work, progress)
    finally:
        patience.cancel()


def until_told(database: str, outcomes: int) -> None:
    """Wait until the outcomes of so many pieces of work, and of no other, are in the database."""
    until = monotonic() + PATIENCE
    while sql(database, "SELECT count(*), count(outcome) FROM confide_state.work") != [(outcomes, outcomes)]:
        assert monotonic() < until
        sleep(0.02)


def test_long_work_is_done_by_one_process_and_what_it_gave_is_had_by_all(working: list[SharedWork]) -> None:
    (one, other), work, idle = working, Working(held=True), Working()
    first, second = Progress(), Progress()
    assert not one.knows(KEY)
    with ThreadPoolExecutor(2) as pool:
        had = pool.submit(once, one, work, progress=first)
        while not work.begun:
            sleep(0.01)
        assert other.knows(KEY)
        follows = pool.submit(once, other, idle, progress=second)
        while (second.done, second.of) != (1, 5):
            sleep(0.01)
        work.go.set()
        assert (had.result(), follows.result()) == (17, 17)
    assert once(other, idle) == 17 and (work.begun, idle.begun) == (1, 0)
    assert not one.renewed(KEY) and not other.renewed(KEY)
    other.forget("sum")
    assert once(other, idle) == 17 and idle.begun == 1
    assert one.renewed(KEY) and not other.renewed(KEY)


def test_long_work_that_is_wanted_anew_is_stopped_wherever_it_goes_on(working: list[SharedWork]) -> None:
    (one, other), work = working, Working(held=True)
    with ThreadPoolExecutor(1) as pool:
        had = pool.submit(once, one, work)
        while not work.begun:
            sleep(0.01)
        other.forget("sum")
        with pytest.raises(Stopped, match="unwanted"):
            had.result()
    assert once(other, Working()) == 17


def test_long_work_that_fails_or_whose_process_is_gone_is_done_by_another(
    working: list[SharedWork], database: str
) -> None:
    one, other = working

    def fails(progress: Progress) -> None:
        raise Mistake("Not so.")

    with pytest.raises(Mistake, match="Not so"):
        once(one, fails)
    assert once(other, Working()) == 17
    until_told(database, 1)
    sql(database, "UPDATE confide_state.work SET outcome = NULL, machine = 'gone:/site'")
    assert once(one, again := Working()) == 17 and again.begun == 1
    until_told(database, 1)
    sql(database, "UPDATE confide_state.work SET outcome = NULL")
    with closing(shared_work(one._state)):  # the process is started again, and nobody looks at its pages
        assert once(other, again) == 17 and again.begun == 2


def test_what_long_work_gave_is_sealed_for_itself_and_for_who_has_the_secret(
    working: list[SharedWork], folders: list[Path], database: str
) -> None:
    one, other = working
    assert once(one, Working()) == 17
    once(one, lambda progress: "another", number=3)
    until_told(database, 2)
    words = "UPDATE confide_state.work SET outcome = (SELECT outcome FROM confide_state.work LIMIT 1)"
    [(sealed,)] = sql(database, "SELECT outcome FROM confide_state.work LIMIT 1")
    assert pickle.dumps(17) not in sealed and zlib.compress(pickle.dumps(17), 1) not in sealed
    sql(database, words)
    found = [once(other, lambda progress: "anew", number=number) for number in (2, 3)]
    assert found in ([17, "anew"], ["anew", "another"])  # each has its own, or is worked out again
    until_told(database, 2)
    sql(database, f"UPDATE confide_state.work SET outcome = '\\x{pickle.dumps(18).hex()}'")
    assert once(one, again := Working()) == 17 and again.begun == 1
    with closing(open_state(folders[1])) as state, closing(shared_work(state, secret=b"stolen")) as stranger:
        assert once(stranger, again) == 17 and again.begun == 2


def test_as_many_outcomes_of_long_work_are_kept_as_there_is_room_for(working: list[SharedWork], database: str) -> None:
    for number in range(5):
        once(working[number % 2], Working(), number=number)
    until_told(database, 2)
    assert working[0].knows(("sum", 4)) and not working[0].knows(("sum", 0))


def test_long_work_goes_on_while_the_database_is_away_and_nobody_waits_in_vain_when_it_is_back(
    server: Server, tmp_path: Path
) -> None:
    folders = [tmp_path / name for name in ("one", "other")]
    with ExitStack() as opened:
        both = []
        database = database_on(server)
        for folder in folders:
            folder.mkdir()
            say(folder, database)
            state = opened.enter_context(closing(open_state(folder)))
            state.claim()
            both.append(opened.enter_context(closing(shared_work(state))))
        work, idle = Working(held=True), Working()
        with ThreadPoolExecutor(1) as pool:
            had = pool.submit(once, both[0], work)
            while not work.begun:
                sleep(0.01)
            server.stop()
            try:
                work.go.set()
                assert had.result() == 17
                with pytest.raises(Fault, match="cannot be reached"):
                    once(both[1], idle)
            finally:
                server.start()
        assert once(both[1], idle) == once(both[0], idle) == 17 and idle.begun < 2


# ---- what is told of a database that is away


def test_nothing_is_answered_while_the_database_is_away_and_all_goes_on_when_it_is_back(
    server: Server, tmp_path: Path, town: Any
) -> None:
    confide.add(town.people, tmp_path / "one", name="people", catalog=town.catalog)
    say(tmp_path / "one", database_on(server))
    with Service.open(tmp_path / "one") as service:
        assert ask(service, 1) == "released"
        server.stop()
        try:
            with pytest.raises(Fault, match="cannot be reached"):
                ask(service, 2)
            with pytest.raises(Fault, match="cannot be reached"):
                service.must_be_ready()
        finally:
            server.start()
        service.must_be_ready()
        assert ask(service, 3) == "released"
        assert [entry.number for entry in ledger.read_questions(service.papers.ledger)] == [0, 1]
    assert not ledger.verify(tmp_path / "one" / "ledger.jsonl").problem


def test_a_server_lost_before_the_commit_withholds_the_answer(server: Server, tmp_path: Path) -> None:
    say(tmp_path, database_on(server))
    with Ledger(tmp_path / "ledger.jsonl") as one:
        one.append(who="ana", **ENTRY)
        with pytest.raises(Fault, match="so the answer was withheld"):
            one.append(who="ben", **ENTRY, before=lambda _: server.stop())
        server.start()
        assert one.append(who="carl", **ENTRY).number == 1
    assert [entry.who for entry in ledger.read(tmp_path / "ledger.jsonl")] == ["ana", "carl"]


# ---- commands of the custodian


def test_audit_doctor_backup_and_restore_work_on_either_machine(machines: list[Service], tmp_path: Path) -> None:
    for turn in range(4):
        ask(machines[turn % 2], turn, who=("ana", "ben")[turn % 2])
    one, other = (service.papers.path for service in machines)
    assert audit(one) == audit(other)
    said = {each.what: each for each in examine(Folder(other))}
    assert said["ledger"].found.startswith("4 entries") and not said["ledger"].mend
    assert "PostgreSQL" in said["state"].found
    copied = back_up(other, tmp_path / "copy")
    assert copied.entries == 4
    assert ledger.verify(tmp_path / "copy" / "ledger.jsonl").entries == 4  # a backup stays what it was
    restore(tmp_path / "copy", tmp_path / "third", secret=one / "secret")
    assert len(heads([one, other, tmp_path / "third"])) == 1


def test_doctor_says_which_machine_has_other_papers_while_it_serves(
    machines: list[Service], at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = (service.papers.path for service in machines)
    monkeypatch.setattr("confide.site.state.database._NEEDED", ())  # the tests' server is not a durable one

    def said() -> tuple[str, bool]:
        [state] = [each for each in examine(Folder(one)) if each.what == "state"]
        return state.found, bool(state.mend)

    assert said()[0].endswith("all with the same papers") and not said()[1]
    with (other / "access.toml").open("a") as file:
        file.write("# another\n")
    theirs = machines[1].state.machine
    machines[1].must_be_ready()
    unlike = f"nothing is answered here: access.toml of this machine is not the site's, which was changed on {theirs}"
    assert said() == (f"{said()[0].split(';')[0]}; other than here: access.toml of {theirs}; {unlike}", True)
    policy = (other / "policy.toml").read_text()
    (other / "policy.toml").write_text(policy.replace(f"per_day = {QUOTA}", "per_day = 3"))
    machines[1].reload()
    assert "access.toml and policies of" in said()[0]
    machines[1].close()
    for _ in range(2400):
        if "other than here" not in said()[0]:  # it serves no more, as soon as the server has noticed
            assert "nothing is answered here: access.toml and policies of this machine" in said()[0] and said()[1]
            return
        sleep(0.05)
    raise AssertionError("it is never noticed")


def test_doctor_tells_of_a_database_that_is_away_or_not_durable(sites: list[Path]) -> None:
    said = {each.what: each for each in examine(Folder(sites[0]))}
    assert "fsync is off" in said["state"].found and said["state"].mend  # as the tests' server has it
    (sites[0] / "site.toml").write_text('state = "host=/nowhere/at/all dbname=x"\n')
    said = {each.what: each for each in examine(Folder(sites[0]))}
    assert "cannot be reached" in said["state"].found and said["state"].mend and said["ledger"].mend


def test_roles_that_may_not_write_are_told_what_to_grant(folders: list[Path], postgres: Server, database: str) -> None:
    Ledger(folders[0] / "ledger.jsonl").close()
    sql(database, "CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA confide_state TO reader")
    say(folders[1], database.replace("user=postgres", "user=reader"))
    with pytest.raises(Fault, match="does not let this role"):
        Ledger(folders[1] / "ledger.jsonl")


def test_lines_in_the_database_are_the_lines_of_the_file(folders: list[Path], database: str) -> None:
    with Ledger(folders[0] / "ledger.jsonl") as one:
        one.append(who="Zoë \N{SNOWMAN}", **ENTRY)
    [(line,)] = sql(database, "SELECT line FROM confide_state.ledger")
    assert f"{line}\n".encode() == (folders[0] / "ledger.jsonl").read_bytes()
    assert json.loads(line)["who"] == "Zoë \N{SNOWMAN}"
