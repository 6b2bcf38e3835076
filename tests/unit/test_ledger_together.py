"""Threads that record and count at once: one turn, one write and one fsync for all, and each is told its own outcome."""

import errno
import fcntl
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from confide.errors import Fault
from confide.site.ledger import Entry, Ledger, read, verify

THREADS = 6


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.jsonl"


def ask(ledger: Ledger, who: str = "ana", before: Callable[[int], None] = lambda number: None) -> Entry:
    fields: dict[str, Any] = {"dataset": "people", "request": {"rows": ["sex"]}, "outcome": "released", "policy": "p"}
    return ledger.append(who=who, **fields, data="d", before=before)


@contextmanager
def held_up(path: Path, ledger: Ledger, pool: ThreadPoolExecutor) -> Iterator[Callable[..., Future[Any]]]:
    """Within this another program holds the file, so that all who are sent have come when it lets go."""
    sent: list[Future[Any]] = []

    def send(work: Callable[..., Any], *given: Any) -> Future[Any]:
        sent.append(pool.submit(work, *given))
        while len(ledger._together._waiting) < len(sent):
            time.sleep(0.001)
        return sent[-1]

    with path.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        yield send


@pytest.fixture
def writes(path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How much was written to the ledger at a time."""
    found: list[int] = []
    write = os.pwrite

    def note(fd: int, data: bytes, place: int) -> int:
        if os.path.samestat(os.fstat(fd), path.stat()):
            found.append(data.count(b"\n"))
        return write(fd, data, place)

    monkeypatch.setattr(os, "pwrite", note)
    return found


def test_all_who_have_come_are_recorded_by_one_write_and_each_has_its_own_entry(path: Path, writes: list[int]) -> None:
    with Ledger(path) as ledger, ThreadPoolExecutor(THREADS) as pool:
        with held_up(path, ledger, pool) as send:
            asked = {name: send(ask, ledger, name) for name in map(str, range(THREADS))}
            assert not writes
        entries = {name: future.result() for name, future in asked.items()}
        assert writes == [THREADS]
        assert {name: entry.who for name, entry in entries.items()} == {name: name for name in asked}
        assert sorted(entries.values(), key=lambda entry: entry.number) == list(read(path))
        assert ask(ledger).number == THREADS
    assert verify(path).entries == THREADS + 1 and verify(path).problem is None


def test_all_who_have_come_share_one_fsync_and_none_returns_before_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    syncs: list[int] = []
    fsync = os.fsync

    def note(fd: int) -> None:
        length = os.fstat(fd).st_size
        fsync(fd)
        syncs.append(length)

    def seen(name: str) -> int:
        ask(ledger, name)
        return max(syncs)

    with Ledger(path) as ledger, ThreadPoolExecutor(THREADS) as pool:
        monkeypatch.setattr(os, "fsync", note)
        with held_up(path, ledger, pool) as send:
            asked = [send(seen, str(name)) for name in range(THREADS)]
        reached = {each.result() for each in asked}
        assert reached == {path.stat().st_size} and len(syncs) == 1


def test_one_whose_place_is_gone_is_not_recorded_and_the_others_are(path: Path) -> None:
    def gone(number: int) -> None:
        raise Fault("The place is gone.")

    with Ledger(path) as ledger, ThreadPoolExecutor(THREADS) as pool:
        with held_up(path, ledger, pool) as send:
            before = send(ask, ledger, "ana")
            failed = send(ask, ledger, "ben", gone)
            after = send(ask, ledger, "eve")
        assert (before.result().number, after.result().number) == (0, 1)
        with pytest.raises(Fault, match="The place is gone"):
            failed.result()
    assert [entry.who for entry in read(path)] == ["ana", "eve"] and verify(path).problem is None


def test_a_write_that_fails_withholds_every_answer_of_it_and_leaves_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also the lines that were whole already; what was counted meanwhile stands."""
    write, room = os.pwrite, [500]

    def full(fd: int, data: bytes, place: int) -> int:
        done = write(fd, data[: room[0]], place) if room[0] else 0
        if not done:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        room[0] -= done
        return done

    with Ledger(path) as ledger, ThreadPoolExecutor(THREADS) as pool:
        first = ask(ledger)
        whole = path.read_bytes()
        with monkeypatch.context() as patch:
            with held_up(path, ledger, pool) as send:
                patch.setattr(os, "pwrite", full)
                counted = send(ledger.counted, lambda index: index.number)
                asked = [send(ask, ledger, str(name)) for name in range(4)]
            assert counted.result() == 1
            for each in asked:
                with pytest.raises(Fault, match="withheld.*Free disk space"):
                    each.result()
        assert room == [0] and path.read_bytes() == whole
        assert ask(ledger).previous == first.hash
    assert verify(path).entries == 2 and verify(path).problem is None


def test_a_question_that_is_being_recorded_counts_once_for_whoever_counts_with_it(path: Path) -> None:
    """It leaves its place before it is in the index: who counted in between would find neither."""
    places = {"ana"}
    with Ledger(path) as ledger, ThreadPoolExecutor(THREADS) as pool:
        with held_up(path, ledger, pool) as send:
            asked = send(ask, ledger, "ana", lambda _: places.remove("ana"))
            counted = send(ledger.counted, lambda index: index.number + len(places))
        assert asked.result().number == 0 and counted.result() == 1
        assert ledger.counted(lambda index: index.number + len(places)) == 1


def test_who_waits_when_the_ledger_is_closed_is_told_so(path: Path) -> None:
    ledger = Ledger(path)
    with ThreadPoolExecutor(THREADS) as pool, ledger._together.alone():
        asked = [pool.submit(ask, ledger, str(name)) for name in range(3)]
        while len(ledger._together._waiting) < 3:
            time.sleep(0.001)
        ledger._broken = "is closed"
    for each in asked:
        with pytest.raises(Fault, match="is closed.*withheld"):
            each.result()
    ledger.close()
    assert list(read(path)) == []


def test_the_line_of_a_question_in_a_project_is_what_the_documentation_says(path: Path) -> None:
    with Ledger(path) as ledger:
        ledger.append(
            who="Žofia", dataset='d"s', request={"hash": "x", "a": [1.5, None]}, outcome="refused", policy="p\\",
            data="d", rules=["tables.sparsity"], project="sales",
        )  # fmt: skip
    line = path.read_bytes()
    body = {key: value for key, value in json.loads(line).items() if key != "hash"}
    digest = hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    spelled = json.dumps({**body, "hash": digest}, sort_keys=True, separators=(",", ":")).encode() + b"\n"
    assert line == spelled and verify(path).problem is None
