"""Many at once: a quota is met exactly, a ledger stays one chain, a token taken away opens nothing."""

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import chain, pairwise
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

import confide
from asking import python_table
from confide.answering.recording.once import AnsweredOnce
from confide.answering.recording.quotas import DayPlaces, DayQuota, Place
from confide.answering.service import Service
from confide.errors import Refused
from confide.site.access import AccessFile, PersonRole, Reach, add_token, declare, load_access, remove_token
from confide.site.ledger import Ledger, read, verify
from confide.site.state.file import FileState, shared_file

THREADS, QUOTA = 8, 20
ENTRY: dict[str, Any] = {"dataset": "people", "request": {}, "outcome": "released", "policy": "p", "data": "d"}


@pytest.fixture
def service(tmp_path: Path, town: Any) -> Iterator[Service]:
    """A site that answers so many questions a day."""
    confide.add(town.people, tmp_path, name="people", catalog=town.catalog)
    policy = (tmp_path / "policy.toml").read_text().replace("per_day = 1000", f"per_day = {QUOTA}")
    (tmp_path / "policy.toml").write_text(policy)
    with Service.open(tmp_path) as opened:
        yield opened


def test_exactly_the_quota_is_answered_however_many_ask_at_once(service: Service) -> None:
    """Two people, eight threads and twice the quota each; refusals by the quota are not questions."""
    together = Barrier(THREADS)

    def ask(thread: int) -> Counter[str]:
        together.wait()
        found: Counter[str] = Counter()
        for turn in range(QUOTA // 2):
            who = ("ana", "ben")[(thread + turn) % 2]
            try:
                service.answer(python_table("people", rows=("sex", "town")[turn % 2]), who=who)
                found[who] += 1
            except Refused as refused:
                assert [reason.rule for reason in refused.reasons] == ["quota.per_day"]
        return found

    with ThreadPoolExecutor(THREADS) as pool:
        answered = sum(pool.map(ask, range(THREADS)), Counter[str]())
    assert answered == {"ana": QUOTA, "ben": QUOTA}
    assert Counter(entry.who for entry in read(service.papers.ledger)) == answered


@pytest.fixture
def several(tmp_path: Path, town: Any) -> Iterator[list[Service]]:
    """The same site, opened as each of two processes opens it."""
    confide.add(town.people, tmp_path, name="people", catalog=town.catalog)
    policy = (tmp_path / "policy.toml").read_text().replace("per_day = 1000", f"per_day = {QUOTA}")
    (tmp_path / "policy.toml").write_text(policy)
    state = tmp_path / "state.sqlite"
    with shared_file(state), ExitStack() as opened:
        yield [opened.enter_context(Service.open(tmp_path, state=FileState(state, worker=n))) for n in range(2)]


def test_exactly_the_quota_is_answered_by_two_processes_together(several: list[Service]) -> None:
    together = Barrier(THREADS)

    def ask(thread: int) -> int:
        together.wait()
        answered = 0
        for turn in range(QUOTA // 2):
            try:
                several[thread % 2].answer(python_table("people", rows=("sex", "town")[turn % 2]), who="ana")
                answered += 1
            except Refused as refused:
                assert [reason.rule for reason in refused.reasons] == ["quota.per_day"]
        return answered

    with ThreadPoolExecutor(THREADS) as pool:
        assert sum(pool.map(ask, range(THREADS))) == QUOTA
    assert len(list(read(several[0].papers.ledger))) == QUOTA
    assert verify(several[0].papers.ledger).problem is None


def test_the_same_question_of_two_processes_at_once_is_recorded_and_counted_once(several: list[Service]) -> None:
    together = Barrier(THREADS)
    question = python_table("people", rows="sex")

    def ask(thread: int) -> set[str]:
        together.wait()
        return {several[(thread + turn) % 2].answer(question, who="ana", kept=600.0).digest for turn in range(QUOTA)}

    with ThreadPoolExecutor(THREADS) as pool:
        assert len(set(chain.from_iterable(pool.map(ask, range(THREADS))))) == 1
    assert [entry.outcome for entry in read(several[0].papers.ledger)] == ["released"]


def test_what_a_killed_worker_was_answering_is_answered_by_the_next_and_what_it_recorded_is_not(
    tmp_path: Path,
) -> None:
    state = tmp_path / "state.sqlite"
    with shared_file(state), Ledger(tmp_path / "ledger") as ledger:
        killed, other = (AnsweredOnce(ledger, FileState(state, worker=worker)) for worker in range(2))
        with killed.answering("ana", "recorded", kept=60.0) as claim:
            entry = ledger.append(who="ana", **ENTRY, receipt="r", before=lambda n: claim.settle(n, "r"))
        killed.answering("ana", "open", kept=60.0).__enter__()
        again = AnsweredOnce(ledger, FileState(state, worker=0))
        for each in (again, other):
            with each.answering("ana", "recorded", kept=60.0) as claim:
                assert claim.earlier == entry
        with other.answering("ana", "open", kept=60.0) as claim:
            assert claim.earlier is None


def test_places_that_a_killed_process_had_are_free_when_it_is_started_again(tmp_path: Path) -> None:
    state, quota = tmp_path / "state.sqlite", DayQuota("ana", "people", 1)
    with shared_file(state), Ledger(tmp_path / "ledger") as ledger:
        one, killed = (DayPlaces(ledger, FileState(state, worker=worker)) for worker in range(2))
        killed.take([quota], dataset="people", policy="p")
        with pytest.raises(Refused):
            one.take([quota], dataset="people", policy="p")
        DayPlaces(ledger, FileState(state, worker=1))
        place = one.take([quota], dataset="people", policy="p")
        ledger.append(who="ana", **ENTRY, before=lambda n: one.use(place, n))
        with pytest.raises(Refused):
            one.take([quota], dataset="people", policy="p")


def test_a_place_is_sure_where_there_is_room_also_for_all_that_others_recorded_since(tmp_path: Path) -> None:
    quota, path = DayQuota("ana", "people", 4), tmp_path / "ledger"
    with shared_file(tmp_path / "state"), Ledger(path) as ledger, Ledger(path, alone=False) as others:
        state = FileState(tmp_path / "state")
        here, there = DayPlaces(ledger, state), DayPlaces(others, FileState(tmp_path / "state", worker=1))

        def sure() -> Place | None:
            with state.at_once():
                return here.take_if_sure([quota], dataset="people")

        def recorded_there(who: str) -> None:
            place = there.take([DayQuota(who, "people", 9)], dataset="people", policy="p")
            others.append(who=who, **ENTRY, before=lambda n: there.use(place, n))

        assert sure() is None  # nobody has said yet how much is recorded
        recorded_there("ana")
        places = [sure() for _ in range(4)]
        assert [place is not None for place in places] == [True, True, True, False]
        assert len(ledger) == 0  # nobody was kept from recording
        for place in filter(None, places):
            here.give_back(place)
        for _ in range(3):
            recorded_there("ben")
        assert sure() is None  # all of these may be of this quota
        here.give_back(here.take([quota], dataset="people", policy="p"))
        assert sure() is not None  # now it is known whose they are


def test_a_refused_question_takes_its_place_in_the_quota_while_it_is_considered(service: Service) -> None:
    """Questions that the policy refuses count too, also those under way."""
    small = python_table("people", rows=["sex", "trade"], where={"town": "a1", "age": "20-39", "ill": "yes"})

    def ask(_: int) -> str:
        try:
            service.answer(small, who="ana")
        except Refused as refused:
            return refused.reasons[0].rule
        return "released"

    with ThreadPoolExecutor(THREADS) as pool:
        found = Counter(pool.map(ask, range(2 * QUOTA)))
    assert found["quota.per_day"] == QUOTA and found["released"] == 0


def test_entries_of_many_threads_are_one_chain(tmp_path: Path) -> None:
    """The clock gives way to other threads while an entry is made, so that two made at once would show."""

    def slow() -> datetime:
        time.sleep(0.0005)
        return datetime.now(UTC)

    with Ledger(tmp_path / "ledger", clock=slow) as ledger:

        def append(thread: int) -> list[int]:
            return [ledger.append(who=f"{thread} {turn}", **ENTRY).number for turn in range(15)]

        with ThreadPoolExecutor(THREADS) as pool:
            numbers = list(pool.map(append, range(THREADS)))
    assert sorted(chain.from_iterable(numbers)) == list(range(15 * THREADS))
    assert all(first < second for own in numbers for first, second in pairwise(own))
    found = verify(tmp_path / "ledger")
    assert (found.entries, found.problem, found.torn) == (15 * THREADS, None, False)
    assert len({entry.who for entry in read(tmp_path / "ledger")}) == 15 * THREADS


WRITER = """
import sys
from confide.errors import Fault
from confide.site.ledger import Ledger
left = 15
while left:
    try:
        with Ledger(sys.argv[1]) as ledger:
            ledger.append(who=f"{sys.argv[2]} {left}", dataset="people", request={}, outcome="released", policy="p", data="d")
    except Fault as fault:
        assert "Another Confide process" in str(fault), fault
    else:
        left -= 1
"""


def test_processes_that_open_the_ledger_again_and_again_leave_one_chain(tmp_path: Path) -> None:
    """A second opener is refused while the first writes, then goes on where it ended; nothing is lost."""
    path = tmp_path / "ledger"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in ("ana", "ben")]
    assert [writer.wait() for writer in writers] == [0, 0]
    found = verify(path)
    assert (found.entries, found.problem, found.torn) == (30, None, False)
    assert len({entry.who for entry in read(path)}) == 30


def test_a_token_opens_from_its_adding_to_its_removal_whoever_looks_meanwhile(tmp_path: Path) -> None:
    """Four threads look all the time; whoever rotates tokens sees each change in the next look."""
    path, ended = tmp_path / "access.toml", []
    declare(path, Reach.TOKENS)
    add_token(path, name="custodian", role=PersonRole.CUSTODIAN)
    people = AccessFile(path)

    def look(_: int) -> set[str]:
        seen: set[str] = set()
        while not ended:
            seen |= {token.name for token in people.now().tokens}
        return seen

    with ThreadPoolExecutor(4) as pool:
        looking = pool.map(look, range(4))
        try:
            for turn in range(40):
                token = add_token(path, name=f"ana {turn}", role=PersonRole.ANALYST)
                assert people.now().person(token).name == f"ana {turn}"
                remove_token(path, name=f"ana {turn}")
                assert people.now().token(token) is None
        finally:
            ended.append(True)
        assert all("custodian" in seen for seen in looking)


def test_a_token_replaced_by_another_of_the_same_length_opens_nothing(tmp_path: Path) -> None:
    """The size of the file does not change, nor need its time."""
    path = tmp_path / "access.toml"
    declare(path, Reach.TOKENS)
    add_token(path, name="custodian", role=PersonRole.CUSTODIAN)
    old = add_token(path, name="ana", role=PersonRole.ANALYST)
    people, size = AccessFile(path), path.stat().st_size
    assert people.now().token(old)
    remove_token(path, name="ana")
    new = add_token(path, name="ana", role=PersonRole.ANALYST)
    assert path.stat().st_size == size
    assert people.now().token(old) is None and people.now().token(new)
    assert people.now() == load_access(path)
