"""The ledger: nothing released is unrecorded, and nothing recorded can be changed unseen."""

import errno
import fcntl
import hashlib
import json
import os
import signal
import stat
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import confide
from confide.errors import Fault, Mistake
from confide.site.ledger import Entry, Ledger, Verification, accept, last, read, verify

SOURCE = str(Path(confide.__file__).parents[1])
REQUEST = {"kind": "table", "rows": ["sex", "age"], "universe": [{"region": ["1", "2"]}]}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.jsonl"


def ask(ledger: Ledger, who: str = "ana", **changes: Any) -> Entry:
    fields: dict[str, Any] = {"dataset": "people", "request": REQUEST, "outcome": "released", "receipt": "r-1"}
    fields |= {"answer": "a" * 64, "policy": "standard 3", "data": "2024-1"}
    return ledger.append(who=who, **(fields | changes))


def filled(path: Path, entries: int = 5) -> list[Entry]:
    with Ledger(path) as ledger:
        return [ask(ledger, f"person {number}") for number in range(entries)]


def sealed(raw: dict[str, Any]) -> bytes:
    """The line of an entry as the documentation describes it, made without the code under test."""
    body = {key: value for key, value in raw.items() if key != "hash"}
    digest = hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    return json.dumps({**body, "hash": digest}, sort_keys=True, separators=(",", ":")).encode() + b"\n"


# ---- what is written


def test_what_was_appended_is_read_back(path: Path) -> None:
    entries = filled(path)
    assert list(read(path)) == entries
    assert [entry.number for entry in entries] == [0, 1, 2, 3, 4]


def test_each_entry_names_the_hash_of_the_one_before_and_the_first_names_zeros(path: Path) -> None:
    entries = filled(path)
    assert [entry.previous for entry in entries] == ["0" * 64, *(entry.hash for entry in entries[:-1])]


def test_a_line_is_what_the_documentation_says(path: Path) -> None:
    filled(path)
    for line in path.read_bytes().splitlines(keepends=True):
        assert line == sealed(json.loads(line))


def test_time_is_utc_in_milliseconds_whatever_the_clock_says(path: Path) -> None:
    east = datetime(2025, 3, 1, 1, 30, 0, 123456, tzinfo=timezone(timedelta(hours=2)))
    with Ledger(path, clock=lambda: east) as ledger:
        assert ask(ledger).time == "2025-02-28T23:30:00.123Z"
        assert ledger.asked("ana", "people", date(2025, 2, 28)) == 1


def test_a_refusal_names_its_rules_and_has_no_answer(path: Path) -> None:
    with Ledger(path) as ledger:
        entry = ask(ledger, outcome="refused", rules=["tables.sparsity", "quota"], answer="")
    assert (entry.rules, entry.answer) == (("tables.sparsity", "quota"), "")
    assert list(read(path)) == [entry]


def test_the_chain_goes_on_after_reopening(path: Path) -> None:
    first = filled(path, 3)
    with Ledger(path) as ledger:
        assert ask(ledger).previous == first[-1].hash
    assert verify(path).entries == 4


def test_a_new_ledger_is_readable_by_its_owner_only(path: Path) -> None:
    Ledger(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert verify(path) == Verification(entries=0, head="0" * 64, problem=None, torn=False, anchored=True)


def test_changing_the_request_afterwards_does_not_change_the_entry(path: Path) -> None:
    request: dict[str, Any] = {"rows": ["sex"]}
    with Ledger(path) as ledger:
        entry = ask(ledger, request=request)
    request["rows"].append("age")
    assert entry.request == {"rows": ["sex"]}


@pytest.mark.parametrize(
    "bad", [{"request": {"x": float("nan")}}, {"request": {"x": {1}}}, {"who": 3}, {"outcome": "so"}]
)
def test_what_could_not_be_read_back_is_never_written(path: Path, bad: dict[str, Any]) -> None:
    with Ledger(path) as ledger:
        with pytest.raises((TypeError, ValueError)):
            ask(ledger, **bad)
        assert path.stat().st_size == 0
        ask(ledger)
    assert verify(path).problem is None


texts = st.text(st.characters(), max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(
    asked=st.lists(
        st.tuples(texts, st.dictionaries(texts, values, max_size=3), st.lists(texts, max_size=2)), max_size=4
    )
)
def test_any_text_and_any_request_survive(path: Path, asked: list[tuple[str, dict[str, Any], list[str]]]) -> None:
    path = Path(mkdtemp(dir=path.parent)) / path.name
    with Ledger(path) as ledger:
        entries = [ask(ledger, who, request=request, rules=rules) for who, request, rules in asked]
    assert list(read(path)) == entries
    assert [(e.who, e.request, list(e.rules)) for e in entries] == asked
    assert len(path.read_bytes().splitlines()) == len(asked)


def test_names_in_any_script_and_line_separators_stay_on_one_line(path: Path) -> None:
    with Ledger(path) as ledger:
        entry = ask(ledger, "Žofia \u2028 李\n😀 \x7f\x00")
    assert [e.who for e in read(path)] == [entry.who] == ["Žofia \u2028 李\n😀 \x7f\x00"]
    assert path.read_bytes().isascii() and path.read_bytes().count(b"\n") == 1


# ---- counting for quotas


def test_questions_are_counted_by_person_data_set_and_day_and_again_after_reopening(path: Path) -> None:
    days = iter([datetime(2025, 1, 31, 23, 59, 59, 999000, tzinfo=UTC), *[datetime(2025, 2, 1, tzinfo=UTC)] * 4])
    with Ledger(path, clock=lambda: next(days)) as ledger:
        ask(ledger)
        ask(ledger)
        ask(ledger, outcome="refused", rules=["quota"], answer="")
        ask(ledger, dataset="firms")
        ask(ledger, "ben")
    with Ledger(path) as again:
        for one in (ledger, again):
            assert one.asked("ana", "people", date(2025, 1, 31)) == 1
            assert one.asked("ana", "people", date(2025, 2, 1)) == 2
            assert one.asked("ana", "firms", date(2025, 2, 1)) == 1
            assert one.asked("ben", "people", date(2025, 2, 1)) == 1
            assert one.asked("eve", "people", date(2025, 2, 1)) == 0


# ---- tampering


def refuses_to_open(path: Path, number: int) -> None:
    before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    with pytest.raises(Fault, match=f"entry {number} .*confide ledger verify.*backup"):
        Ledger(path)
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == before
    with pytest.raises(Fault, match=f"entry {number} "):
        list(read(path))
    with path.open("rb+") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the refused opener left no lock behind


def damage(path: Path, change: Callable[[list[bytes]], list[bytes]], number: int) -> str:
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))
    found = verify(path)
    assert found.problem is not None and f"entry {number} " in found.problem
    assert found.entries == number
    refuses_to_open(path, number)
    return found.problem


CHANGES: dict[str, Any] = {
    "number": 7,
    "time": "2001-01-01T00:00:00.000Z",
    "who": "eve",
    "dataset": "firms",
    "request": {"kind": "table"},
    "outcome": "refused",
    "rules": ["quota"],
    "receipt": "r-2",
    "answer": "0" * 64,
    "policy": "open 1",
    "data": "2023-1",
    "previous": "1" * 64,
    "hash": "2" * 64,
    "project": "sales",
}


def test_every_field_is_tried() -> None:
    assert set(CHANGES) == set(Entry.__dataclass_fields__)


@pytest.mark.parametrize("field", CHANGES)
@pytest.mark.parametrize("number", [0, 2, 4])
def test_a_changed_field_is_found_in_the_entry_where_it_is(path: Path, field: str, number: int) -> None:
    filled(path)

    def change(lines: list[bytes]) -> list[bytes]:
        raw = {**json.loads(lines[number]), field: CHANGES[field]}
        lines[number] = json.dumps(raw, sort_keys=True, separators=(",", ":")).encode() + b"\n"
        return lines

    assert "hash does not match" in damage(path, change, number)


@pytest.mark.parametrize("field", sorted(set(CHANGES) - {"number", "previous", "hash"}))
def test_a_changed_entry_with_a_hash_made_to_fit_is_found_in_the_next(path: Path, field: str) -> None:
    filled(path)

    def change(lines: list[bytes]) -> list[bytes]:
        lines[2] = sealed({**json.loads(lines[2]), field: CHANGES[field]})
        return lines

    assert "does not follow" in damage(path, change, 3)


@pytest.mark.parametrize("number", [0, 1, 3])
def test_a_deleted_entry_is_found(path: Path, number: int) -> None:
    filled(path)
    assert "deleted" in damage(path, lambda lines: lines[:number] + lines[number + 1 :], number)


@pytest.mark.parametrize("number", [0, 2, 3])
def test_two_entries_in_the_wrong_order_are_found(path: Path, number: int) -> None:
    filled(path)

    def swap(lines: list[bytes]) -> list[bytes]:
        return [*lines[:number], lines[number + 1], lines[number], *lines[number + 2 :]]

    assert "moved" in damage(path, swap, number)


def test_an_entry_added_twice_is_found(path: Path) -> None:
    filled(path)
    assert "added" in damage(path, lambda lines: [*lines[:3], lines[2], *lines[3:]], 3)


def test_an_inserted_entry_that_fits_the_one_before_is_found_in_the_next(path: Path) -> None:
    filled(path)

    def insert(lines: list[bytes]) -> list[bytes]:
        before = json.loads(lines[1])
        return [*lines[:2], sealed({**before, "number": 2, "previous": before["hash"]}), *lines[2:]]

    assert "numbered 2" in damage(path, insert, 3)


def test_an_entry_of_another_ledger_is_found(path: Path) -> None:
    filled(path)
    other = path.with_name("other.jsonl")
    filled(other)
    line = other.read_bytes().splitlines(keepends=True)[2]
    other.unlink()
    assert "does not follow" in damage(path, lambda lines: [*lines[:2], line, *lines[3:]], 2)


def spelt_twice(line: bytes) -> bytes:
    return line.replace(b'{"answer"', b'{"who":"eve","answer"')


@pytest.mark.parametrize(
    "spoil",
    [
        lambda line: b"\n",
        lambda line: b"null\n",
        lambda line: b"\x00" * len(line) + b"\n",
        lambda line: b"\xff" + line,
        lambda line: line[:40] + b"\n",
        lambda line: b" " + line,
        lambda line: line.replace(b"\n", b"\r\n"),
        lambda line: b"[" * 100_000 + b"\n",
        lambda line: b"9" * 10_000 + b"\n",
        lambda line: sealed({k: v for k, v in json.loads(line).items() if k != "who"}),
        lambda line: sealed({**json.loads(line), "more": 1}),
        lambda line: sealed({**json.loads(line), "rules": "quota"}),
        lambda line: sealed({**json.loads(line), "rules": [1]}),
        lambda line: sealed({**json.loads(line), "who": None}),
        lambda line: sealed({**json.loads(line), "outcome": "maybe"}),
        spelt_twice,
    ],
)
def test_a_line_that_is_no_entry_is_found(path: Path, spoil: Callable[[bytes], bytes]) -> None:
    filled(path)
    assert "is not a ledger entry" in damage(path, lambda lines: [*lines[:2], spoil(lines[2]), *lines[3:]], 2)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150)
@given(data=st.data())
def test_no_single_byte_can_be_changed_unseen(path: Path, data: st.DataObject) -> None:
    path = Path(mkdtemp(dir=path.parent)) / path.name
    entries = filled(path, 3)
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    found = verify(path)
    assert found.problem is not None or (found.torn and found.entries < len(entries))
    assert found.entries <= bytes(content[:place]).count(b"\n")


@pytest.mark.parametrize("left", [4, 1, 0])
def test_a_chain_cut_at_its_end_is_found(path: Path, left: int) -> None:
    filled(path)
    damage(path, lambda lines: lines[:left], left)
    assert "cut off the end" in str(verify(path).problem)


def test_a_deleted_ledger_is_found_by_its_anchor(path: Path) -> None:
    filled(path)
    path.unlink()
    assert verify(path).problem == "entry 0 is missing: 5 entries were cut off the end, as the anchor shows."
    for look in (lambda: list(read(path)), lambda: last(path, 3), lambda: Ledger(path)):
        with pytest.raises(Fault, match="entry 0 is missing"):
            look()


def test_an_end_that_was_rewritten_with_hashes_that_fit_is_found_by_the_anchor(path: Path) -> None:
    filled(path)

    def rewrite(lines: list[bytes]) -> list[bytes]:
        return [*lines[:-1], sealed({**json.loads(lines[-1]), "who": "eve"})]

    assert "not the one that the anchor knows" in damage(path, rewrite, 4)


def test_an_anchor_that_is_older_than_the_ledger_is_no_damage(path: Path) -> None:
    filled(path, 3)
    anchor = path.with_suffix(".anchor")
    older = anchor.read_bytes()
    filled(path, 2)
    anchor.write_bytes(older)
    assert verify(path).problem is None
    with Ledger(path) as ledger:
        assert ask(ledger).number == 5


def test_an_anchor_of_which_one_half_is_lost_still_counts(path: Path) -> None:
    filled(path)
    anchor = path.with_suffix(".anchor")
    whole = anchor.read_bytes()
    for lost in (slice(0, 512), slice(512, 1024), slice(1024, 1024)):
        raw = bytearray(whole)
        raw[lost] = b"\x00" * len(raw[lost])
        anchor.write_bytes(raw)
        assert verify(path).problem is None
        Ledger(path).close()
    anchor.write_bytes(b"\x00" * 1024)
    assert verify(path).problem == "its anchor cannot be read."
    with pytest.raises(Fault, match="its anchor cannot be read"):
        Ledger(path)


def test_processes_write_heads_one_after_the_other_or_the_later_could_be_written_over(path: Path) -> None:
    ledger, other = Ledger(path), os.open(path.with_name(".ledger.anchor.turn"), os.O_RDWR)
    fcntl.flock(other, fcntl.LOCK_EX)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask, ledger)
        while not path.stat().st_size:
            time.sleep(0.01)
        before = path.with_suffix(".anchor").read_bytes()
        with pytest.raises(TimeoutError):
            asked.result(0.3)
        assert path.with_suffix(".anchor").read_bytes() == before
        os.close(other)
        asked.result(60)
    ledger.close()
    assert verify(path).entries == 1


def test_a_ledger_from_before_there_were_anchors_is_taken_over_once(path: Path) -> None:
    filled(path)
    path.with_suffix(".anchor").unlink()
    assert not verify(path).anchored
    with Ledger(path) as ledger:
        assert ask(ledger).number == 6
    assert [entry.request for entry in read(path) if entry.is_act] == [{"act": "ledger anchored"}]
    path.with_suffix(".anchor").unlink()
    with pytest.raises(Fault, match="its anchor is missing"):
        Ledger(path)


def test_a_custodian_can_go_on_without_what_is_lost_and_that_is_recorded(path: Path) -> None:
    entries = filled(path)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:3]))
    act = accept(path)
    assert act.request == {"act": "ledger accepted", "lost": 2, "head": entries[-1].hash}
    assert list(read(path)) == [*entries[:3], act] and verify(path).problem is None


def test_changed_entries_are_not_accepted(path: Path) -> None:
    filled(path)
    path.write_bytes(path.read_bytes().replace(b"person 2", b"person 9"))
    with pytest.raises(Fault, match="entry 2 was changed"):
        accept(path)
    assert verify(path).anchored


def test_reading_a_ledger_that_is_not_there_is_a_mistake(path: Path) -> None:
    with pytest.raises(Mistake, match="nothing has been asked yet"):
        verify(path)
    with pytest.raises(Mistake, match="nothing has been asked yet"):
        next(read(path))


# ---- a torn last line


@pytest.mark.parametrize("torn", [b"{", b'{"answer":"' + b"a" * 300, b"\x00" * 50, b"\xff"])
def test_a_torn_last_line_is_cut_off_and_kept(path: Path, torn: bytes) -> None:
    entries = filled(path, 3)
    whole = path.read_bytes()
    for _ in range(2):
        path.write_bytes(path.read_bytes() + torn)
        assert verify(path).torn and verify(path).problem is None
        assert list(read(path)) == entries
        Ledger(path).close()
        assert path.read_bytes() == whole and not verify(path).torn
    kept = path.with_name("ledger.jsonl.torn")
    assert kept.read_bytes() == (torn + b"\n") * 2
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_a_torn_first_line_leaves_an_empty_ledger(path: Path) -> None:
    path.write_bytes(b'{"ans')
    with Ledger(path) as ledger:
        assert ask(ledger).number == 0
    assert verify(path).entries == 1


def test_a_damaged_ledger_keeps_its_torn_line(path: Path) -> None:
    filled(path)
    damage(path, lambda lines: [*lines[:2], *lines[3:], b'{"torn'], 2)
    assert verify(path).torn


# ---- one writer


def test_a_second_opener_is_told_who_has_it_and_what_to_do(path: Path) -> None:
    with Ledger(path) as ledger:
        with pytest.raises(Fault, match=f"process {os.getpid()}.*Stop it.*confide table http"):
            Ledger(path)
        ask(ledger)
    Ledger(path).close()


def test_a_second_name_of_the_same_file_does_not_help(path: Path) -> None:
    link = path.with_name("link.jsonl")
    with Ledger(path):
        link.symlink_to(path)
        with pytest.raises(Fault, match=rf"Another Confide process .process {os.getpid()}. is using"):
            Ledger(link)


def child(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def test_two_processes_cannot_both_write_and_a_killed_one_frees_the_ledger(path: Path) -> None:
    holder = child(
        "import sys, confide.site.ledger as l; x = l.Ledger(sys.argv[1]); print('open', flush=True); input()", path
    )
    with holder:
        assert holder.stdout is not None and holder.stdout.readline() == "open\n"
        with pytest.raises(Fault, match=f"process {holder.pid}"):
            Ledger(path)
        holder.kill()
    with Ledger(path) as ledger:
        ask(ledger)
    assert not path.with_name("ledger.jsonl.pid").exists()


def test_a_forked_child_may_not_write(path: Path) -> None:
    code = """
    import os, sys
    from confide.errors import Fault
    from confide.site.ledger import Ledger
    with Ledger(sys.argv[1]) as ledger:
        ask = lambda: ledger.append(who="ana", dataset="d", request={}, outcome="refused", policy="p", data="1")
        if os.fork() == 0:
            try:
                ask()
            except Fault as fault:
                ledger.close()
                os._exit(7 if "forked" in str(fault) else 1)
            os._exit(2)
        assert os.waitstatus_to_exitcode(os.wait()[1]) == 7
        try:
            Ledger(sys.argv[1])
        except Fault:
            ask()  # the child's close did not give up the lock
            print("fine")
    """
    with child(code, path) as process:
        assert process.communicate()[0] == "fine\n"
    assert verify(path).entries == 1


def test_a_ledger_is_of_the_process_that_opened_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger(path) as ledger:
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr(os, "getpid", lambda: -1)
            with pytest.raises(Fault, match="forked"):
                ask(ledger)
        ask(ledger)
    assert verify(path).entries == 1


def test_a_closed_ledger_can_be_opened_again_while_a_forked_child_lives(path: Path) -> None:
    code = """
    import os, sys
    from confide.site.ledger import Ledger
    ledger = Ledger(sys.argv[1])
    end, other = os.pipe()
    if os.fork() == 0:
        os.close(other)
        os.read(end, 1)
        os._exit(0)
    ledger.close()
    Ledger(sys.argv[1]).close()
    print("fine")
    """
    with child(code, path) as process:
        assert process.communicate()[0] == "fine\n"


def test_readers_need_no_lock(path: Path) -> None:
    with Ledger(path) as ledger:
        entry = ask(ledger)
        assert list(read(path)) == [entry] and verify(path).head == entry.hash


def test_a_folder_that_is_not_there_is_a_fault_that_names_the_path(tmp_path: Path) -> None:
    with pytest.raises(Fault, match="nowhere.*cannot be opened: No such file"):
        Ledger(tmp_path / "nowhere" / "ledger.jsonl")


def test_a_closed_ledger_takes_nothing(path: Path) -> None:
    ledger = Ledger(path)
    ledger.close()
    ledger.close()
    with pytest.raises(Fault, match="is closed.*withheld"):
        ask(ledger)


def move(path: Path) -> None:
    path.rename(path.with_name("old.jsonl"))


def swap_for_a_copy(path: Path) -> None:
    content = path.read_bytes()
    move(path)
    path.write_bytes(content)


def lengthen(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"x\n")


@pytest.mark.parametrize("meddle", [move, swap_for_a_copy, lengthen, lambda path: os.truncate(path, 10)])
def test_nothing_is_released_when_another_program_moved_or_changed_the_file(
    path: Path, meddle: Callable[[Path], None]
) -> None:
    with Ledger(path) as ledger:
        ask(ledger)
        meddle(path)
        with pytest.raises(Fault, match="another program.*withheld"):
            ask(ledger)


# ---- on the disk before anyone sees it

APPEND_FOR_EVER = """
import os, sys, threading
from confide.site.ledger import Ledger
ledger = Ledger(sys.argv[1])
def run(name):
    for turn in range(10**9):
        entry = ledger.append(who=f"{name} é", dataset="people", request={"pad": "x" * (turn % 3000)},
                              outcome="released", answer="a" * 64, policy="p", data="1")
        os.write(1, b"%d %s\\n" % (entry.number, entry.hash.encode()))
threads = [threading.Thread(target=run, args=(name,)) for name in range(int(sys.argv[2]))]
[thread.start() for thread in threads]
"""


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("answers", [1, 40, 150])
def test_after_kill_9_every_answer_that_was_seen_is_in_the_ledger(path: Path, threads: int, answers: int) -> None:
    with child(APPEND_FOR_EVER, path, threads) as process:
        assert process.stdout is not None
        seen = [process.stdout.readline() for _ in range(answers)]
        process.kill()
        seen += process.stdout.readlines()
    assert process.returncode == -signal.SIGKILL
    Ledger(path).close()
    assert verify(path).problem is None and not verify(path).torn
    recorded = {f"{entry.number} {entry.hash}\n" for entry in read(path)}
    assert len(seen) >= answers and set(seen) <= recorded


@pytest.fixture
def syncs(path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The length of the ledger at the beginning of each fsync of it that has ended."""
    done: list[int] = []
    fsync = os.fsync

    def record(fd: int) -> None:
        length = os.fstat(fd).st_size
        ours = os.path.samestat(os.fstat(fd), path.stat())
        fsync(fd)
        time.sleep(0.002)
        if ours:
            done.append(length)

    monkeypatch.setattr(os, "fsync", record)
    return done


def test_append_returns_after_an_fsync_that_began_after_its_write(path: Path, syncs: list[int]) -> None:
    with Ledger(path) as ledger:
        for _ in range(5):
            syncs.clear()
            ask(ledger)
            assert syncs == [path.stat().st_size]


def test_eight_threads_share_fsyncs_and_none_returns_before_its_own_is_done(path: Path, syncs: list[int]) -> None:
    covered: list[tuple[int, int]] = []

    def run(name: int) -> list[Entry]:
        entries = []
        for _ in range(25):
            entries.append(ask(ledger, f"person {name}"))
            covered.append((entries[-1].number, max(syncs)))
        return entries

    with Ledger(path) as ledger, ThreadPoolExecutor(8) as pool:
        syncs.clear()
        entries = [entry for each in pool.map(run, range(8)) for entry in each]
    ends = [0]
    for line in path.read_bytes().splitlines(keepends=True):
        ends.append(ends[-1] + len(line))
    assert all(reached >= ends[number + 1] for number, reached in covered)
    assert sorted(entries, key=lambda entry: entry.number) == list(read(path))
    assert Counter(entry.who for entry in read(path)) == {f"person {name}": 25 for name in range(8)}
    assert len(syncs) < 120  # 200 entries; alone each would need its own


def test_closing_while_others_append_loses_no_answer_that_was_seen(path: Path) -> None:
    seen: list[int] = []

    def run() -> None:
        with pytest.raises(Fault, match="is closed"):
            while True:
                seen.append(ask(ledger).number)

    ledger = Ledger(path)
    with ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(run) for _ in range(4)]
        while len(seen) < 20:
            time.sleep(0.001)
        ledger.close()
        for each in runs:
            each.result()
    assert set(seen) <= {entry.number for entry in read(path)}
    Ledger(path).close()


def test_closing_waits_for_the_fsync_under_way(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started, go, fsync = threading.Event(), threading.Event(), os.fsync
    ledger = Ledger(path)

    def slow(fd: int) -> None:
        started.set()
        assert go.wait(10)
        fsync(fd)

    monkeypatch.setattr(os, "fsync", slow)
    with ThreadPoolExecutor(2) as pool:
        asking = pool.submit(ask, ledger)
        assert started.wait(10)
        closing = pool.submit(ledger.close)
        time.sleep(0.05)
        go.set()
        closing.result()
        assert [asking.result()] == list(read(path))


def test_the_folder_is_synced_when_the_ledger_is_made(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.fstat(fd).st_ino))
    Ledger(path).close()
    assert synced == [file.stat().st_ino for file in (path, path.parent, path.with_suffix(".anchor"))]


# ---- when the disk fails


def test_on_a_full_disk_the_answer_is_withheld_and_the_ledger_stays_whole_and_usable(path: Path) -> None:
    code = """
    import os, resource, signal, sys
    from confide.errors import Fault
    from confide.site.ledger import Ledger, verify
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    path = sys.argv[1]
    def ask():
        return ledger.append(who="ana", dataset="d", request={"x": "y" * 200}, outcome="released", policy="p", data="1")
    with Ledger(path) as ledger:
        ask(), ask()
        size = os.path.getsize(path)
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        for room in (0, 1, 100, 300):
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, hard))
            try:
                ask()
            except Fault as fault:
                assert "could not be recorded, so the answer was withheld. Free disk space" in str(fault), fault
            else:
                sys.exit("recorded on a full disk")
            assert os.path.getsize(path) == size
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        assert ask().number == 2
    print(verify(path).entries, verify(path).problem)
    """
    with child(code, path) as process:
        assert process.communicate()[0] == "3 None\n"


def failing(code: int) -> Callable[..., int]:
    def fail(*_: object) -> int:
        raise OSError(code, os.strerror(code))

    return fail


def test_half_an_entry_that_cannot_be_taken_back_stops_the_ledger(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.pwrite

    def half(fd: int, line: bytes, offset: int) -> int:
        write(fd, line[:30], offset)
        raise OSError(errno.EIO, "Input/output error")

    with Ledger(path) as ledger:
        entry = ask(ledger)
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", half)
            patch.setattr(os, "ftruncate", failing(errno.EIO))
            with pytest.raises(Fault, match="withheld"):
                ask(ledger)
        with pytest.raises(Fault, match="half an entry.*withheld"):
            ask(ledger)
        assert ledger.asked("ana", "people", datetime.fromisoformat(entry.time).date()) == 1
    assert verify(path).torn
    with Ledger(path) as ledger:
        assert ask(ledger).previous == entry.hash


def test_an_interrupted_write_is_taken_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.pwrite

    def interrupted(fd: int, line: bytes, offset: int) -> int:
        write(fd, line[:30], offset)
        raise KeyboardInterrupt

    with Ledger(path) as ledger:
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", interrupted)
            with pytest.raises(KeyboardInterrupt):
                ask(ledger)
        assert ask(ledger).number == 0
    assert verify(path).problem is None


def test_a_short_write_is_finished(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, line, offset: write(fd, line[:7], offset))
    assert filled(path, 3) == list(read(path))


def test_a_failed_fsync_withholds_every_waiting_answer_and_stops_the_ledger(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, failures = threading.Event(), iter([errno.EIO])

    def fail_once(fd: int) -> None:
        """As Linux does: the error is told once, and the next call succeeds although the pages are lost."""
        assert go.wait(10)
        for code in failures:
            raise OSError(code, os.strerror(code))

    with Ledger(path) as ledger, ThreadPoolExecutor(4) as pool:
        entry = ask(ledger)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", fail_once)
            waiting = [pool.submit(ask, ledger) for _ in range(4)]
            while path.read_bytes().count(b"\n") < 5:
                time.sleep(0.001)
            go.set()
            for each in waiting:
                with pytest.raises(Fault, match="durable.*withheld"):
                    each.result()
        with pytest.raises(Fault, match="durable.*withheld"):
            ask(ledger)
    with Ledger(path) as ledger:
        assert ask(ledger).number == entry.number + 5
    assert verify(path).problem is None


def test_a_torn_line_is_safe_on_the_disk_before_it_is_cut_off(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(path)
    path.write_bytes(path.read_bytes() + b"torn")
    events: list[tuple[str, int]] = []
    truncate = os.ftruncate

    def record(fd: int, length: int) -> None:
        events.append(("cut", os.fstat(fd).st_ino))
        truncate(fd, length)

    monkeypatch.setattr(os, "ftruncate", record)
    monkeypatch.setattr(os, "fsync", lambda fd: events.append(("sync", os.fstat(fd).st_ino)))
    Ledger(path).close()
    ledger, torn = path.stat().st_ino, path.with_name("ledger.jsonl.torn").stat().st_ino
    assert events[:3] == [("sync", torn), ("cut", ledger), ("sync", ledger)]


def test_a_torn_line_that_cannot_be_kept_is_not_cut_off(path: Path) -> None:
    filled(path)
    path.write_bytes(path.read_bytes() + b"torn")
    path.with_name("ledger.jsonl.torn").mkdir()
    with pytest.raises(Fault, match="cannot be opened"):
        Ledger(path)
    assert path.read_bytes().endswith(b"torn")
    path.with_name("ledger.jsonl.torn").rmdir()
    Ledger(path).close()
