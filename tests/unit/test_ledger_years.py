"""A ledger over years: one chain through a file a year, checkpoints, and other processes that record what custodians did."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

import confide
from confide.errors import Fault
from confide.site.audit import AuditLog, Filter
from confide.site.ledger import Entry, Ledger, index, last, read, verify, whole_lines

SOURCE = str(Path(confide.__file__).parents[1])
NEW_YEAR = datetime(2025, 12, 31, 23, 59, tzinfo=UTC)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.jsonl"


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> int:
    """A checkpoint every so many entries."""
    monkeypatch.setattr("confide.site.ledger.index.EVERY", 10)
    monkeypatch.setattr("confide.site.ledger.tail.EVERY", 10)
    return 10


def ask(ledger: Ledger, who: str = "ana") -> Entry:
    return ledger.append(
        who=who, dataset="people", request={"rows": ["sex"]}, outcome="released", policy="p 1", data="1"
    )


def stepping(start: datetime, step: timedelta) -> Callable[[], datetime]:
    times = (start + number * step for number in range(10**6))
    return lambda: next(times)


def filled(path: Path, entries: int, start: datetime = NEW_YEAR, days: int = 73) -> list[Entry]:
    with Ledger(path, clock=stepping(start, timedelta(days=days))) as ledger:
        return [ask(ledger) for _ in range(entries)]


def files(path: Path) -> list[str]:
    return sorted(file.name for file in path.parent.iterdir() if file.suffix == ".jsonl")


# ---- a file a year


def test_every_year_has_a_file_and_one_chain_runs_through_all(path: Path) -> None:
    entries = filled(path, 12)
    assert files(path) == ["ledger-2025.jsonl", "ledger-2026.jsonl", "ledger-2027.jsonl", "ledger.jsonl"]
    assert list(read(path)) == entries and [entry.number for entry in entries] == list(range(12))
    assert [entry.previous for entry in entries[1:]] == [entry.hash for entry in entries[:-1]]
    found = verify(path)
    assert (found.entries, found.head, found.problem) == (12, entries[-1].hash, None)
    assert last(path, 9) == entries[-9:] and last(path, 99) == entries
    with Ledger(path) as ledger:
        assert ledger.entries(0, 99) == entries and ledger.entries(2, 8) == entries[2:8]
        assert AuditLog(ledger).find(Filter(day="2026")).entries == tuple(
            reversed([entry for entry in entries if entry.year == 2026])
        )
    written = [(path.parent / name).read_bytes() for name in files(path)]
    assert b"".join(whole_lines(path)) == b"".join(written)


def test_a_file_holds_its_year_and_an_old_ledger_of_many_years_is_read_on(path: Path) -> None:
    entries = filled(path, 4, start=datetime(2022, 1, 1, tzinfo=UTC), days=1)
    with Ledger(path, clock=lambda: datetime(2026, 5, 1, tzinfo=UTC)) as ledger:
        newest = ask(ledger)
    assert files(path) == ["ledger-2022.jsonl", "ledger.jsonl"]
    assert newest.previous == entries[-1].hash and list(read(path)) == [*entries, newest]


def test_a_clock_that_goes_back_over_new_year_ends_no_year(path: Path) -> None:
    days = iter([NEW_YEAR, NEW_YEAR + timedelta(days=1), NEW_YEAR, NEW_YEAR + timedelta(days=1)])
    with Ledger(path, clock=lambda: next(days)) as ledger:
        entries = [ask(ledger) for _ in range(4)]
    assert files(path) == ["ledger-2025.jsonl", "ledger.jsonl"]
    assert list(read(path)) == entries and verify(path).problem is None


def test_a_clock_put_back_right_after_a_year_ended_does_not_stop_the_ledger(path: Path) -> None:
    entries = filled(path, 1)
    path.rename(path.with_name("ledger-2025.jsonl"))
    path.touch()
    for year in (2025, 2026, 2026, 2027):
        with Ledger(path, clock=lambda year=year: datetime(year, 6, 1, tzinfo=UTC)) as ledger:  # type: ignore[misc]
            entries.append(ask(ledger))
    assert files(path) == ["ledger-2025.jsonl", "ledger-2026.jsonl", "ledger.jsonl"]
    assert list(read(path)) == entries


@pytest.mark.parametrize("change", ["shorten", "delete", "edit", "newline"])
def test_a_change_in_a_year_that_is_over_is_found(path: Path, change: str) -> None:
    filled(path, 12)
    old = path.with_name("ledger-2026.jsonl")
    content = old.read_bytes()
    changed = {
        "shorten": b"".join(content.splitlines(keepends=True)[:-1]),
        "edit": content.replace(b"ana", b"eve", 1),
        "newline": content[:-1],
    }
    old.unlink() if change == "delete" else old.write_bytes(changed[change])
    assert verify(path).problem
    with pytest.raises(Fault, match="is damaged: entry"):
        Ledger(path)


def test_when_a_year_cannot_be_ended_the_answer_is_withheld(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with Ledger(path, clock=stepping(NEW_YEAR, timedelta(days=1))) as ledger:
        ask(ledger)
        for step in ("link", "replace"):
            with monkeypatch.context() as patch:
                patch.setattr(os, step, full)
                with pytest.raises(Fault, match="No space left.*withheld"):
                    ask(ledger)
            assert files(path) == ["ledger.jsonl"]
        assert ask(ledger).number == 1
    assert files(path) == ["ledger-2025.jsonl", "ledger.jsonl"]


# ---- checkpoints


def test_opening_reads_only_what_was_written_since_the_last_checkpoint(path: Path, few: int) -> None:
    entries = filled(path, 3 * few + 4, days=1)
    assert path.with_suffix(".checkpoint").stat().st_mode & 0o777 == 0o600
    first = path.with_name("ledger-2025.jsonl")
    first.write_bytes(first.read_bytes().replace(b"ana", b"eve"))
    with Ledger(path, clock=lambda: NEW_YEAR) as ledger:
        assert ask(ledger).previous == entries[-1].hash
    assert last(path, 3)[:2] == entries[-2:]
    assert verify(path).problem == "entry 0 was changed: its hash does not match its content."


def test_counts_and_places_after_a_checkpoint_are_those_of_the_whole_ledger(path: Path, few: int) -> None:
    entries = filled(path, 7 * few + 3, days=30)
    with Ledger(path) as ledger:
        counted, places = AuditLog(ledger).summary(), ledger.look(lambda found: list(found.places))
        assert ledger.entries(15, 42) == entries[15:42]
        today = date.fromisoformat(entries[-1].time[:10])
        assert ledger.asked("ana", "people", today) == 1
    path.with_suffix(".checkpoint").unlink()
    with Ledger(path) as ledger:
        assert AuditLog(ledger).summary() == counted and ledger.look(lambda found: list(found.places)) == places
    assert counted.everything.asked == len(entries)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda raw: b"",
        lambda raw: raw[:-30],
        lambda raw: raw.replace(b'"number":30', b'"number":29'),
        lambda raw: b"\xff" + raw,
    ],
)
def test_a_checkpoint_that_cannot_be_trusted_is_left_aside(
    path: Path, few: int, spoil: Callable[[bytes], bytes]
) -> None:
    entries = filled(path, 34, days=1)
    checkpoint = path.with_suffix(".checkpoint")
    checkpoint.write_bytes(spoil(checkpoint.read_bytes()))
    with Ledger(path) as ledger:
        assert AuditLog(ledger).summary().everything.asked == 34
    assert last(path, 40) == entries


def test_a_checkpoint_ahead_of_a_shortened_ledger_does_not_hide_the_loss(path: Path, few: int) -> None:
    filled(path, 35, start=datetime(2025, 1, 1, tzinfo=UTC), days=1)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:12]))
    with pytest.raises(Fault, match="entry 12 is missing: 23 entries were cut off"):
        Ledger(path)


def test_only_the_last_days_are_kept_for_quotas(path: Path, few: int) -> None:
    filled(path, 40, days=1)
    with Ledger(path) as ledger:
        assert ledger.look(lambda found: len(found.asked)) <= index.DAYS + few


# ---- other processes


def child(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


RECORD = """
import sys
from confide.site.ledger import Ledger
for turn in range(int(sys.argv[2])):
    with Ledger(sys.argv[1], alone=False) as ledger:
        print(ledger.record("command line", "token made", name=f"{turn}").number)
"""


def test_others_record_acts_while_a_site_is_open_and_all_is_one_chain(path: Path) -> None:
    with Ledger(path) as ledger:
        ask(ledger)
        with child(RECORD, path, 5) as process:
            mine = [ask(ledger).number for _ in range(60)]
            assert process.stdout is not None
            theirs = [int(line) for line in process.stdout]
        assert AuditLog(ledger).summary().everything.asked == 61
        assert len(AuditLog(ledger)) == 66
        assert AuditLog(ledger).find(Filter(outcome="done")).entries[0].request == {"act": "token made", "name": "4"}
        assert ask(ledger).number == 66
    assert sorted([*mine, *theirs]) == list(range(1, 66))
    assert verify(path).problem is None and verify(path).entries == 67


def test_a_year_that_another_process_ended_is_followed(path: Path) -> None:
    with Ledger(path, clock=lambda: NEW_YEAR) as ledger:
        first = ask(ledger)
        with Ledger(path, alone=False, clock=lambda: NEW_YEAR + timedelta(days=1)) as other:
            act = other.record("command line", "token made")
        second = ask(ledger)
        assert ledger.entries(0, 3) == [first, act, second]
    assert files(path) == ["ledger-2025.jsonl", "ledger.jsonl"]
    assert list(read(path)) == [first, act, second]


def test_half_a_line_of_a_process_that_died_is_set_aside_by_the_one_that_lives(path: Path) -> None:
    with Ledger(path) as ledger:
        ask(ledger)
        with path.open("ab") as file:
            file.write(b'{"answer":"')
        assert ask(ledger).number == 1
    assert verify(path).problem is None and not verify(path).torn
    assert path.with_name("ledger.jsonl.torn").read_bytes() == b'{"answer":"\n'


def test_a_deleted_anchor_withholds_answers(path: Path) -> None:
    with Ledger(path) as ledger:
        ask(ledger)
        path.with_suffix(".anchor").unlink()
        with pytest.raises(Fault, match="another program.*withheld"):
            ask(ledger)


# ---- kill -9 between any two steps

STEPS = """
import os, signal, sys
from datetime import UTC, datetime, timedelta
import confide.site.ledger.index as index, confide.site.ledger.tail as tail
from confide.site.ledger import Ledger
index.EVERY = tail.EVERY = 3
path, kill = sys.argv[1], int(sys.argv[2])
left = [kill]

def dying(step):
    def run(*arguments, **more):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return step(*arguments, **more)
    return run

def half(fd, data, place, write=os.pwrite):
    write(fd, data[: len(data) // 2], place)
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return len(data) // 2 + write(fd, data[len(data) // 2 :], place + len(data) // 2)

os.pwrite = dying(half)
for name in ("fsync", "link", "replace", "ftruncate", "open", "unlink"):
    setattr(os, name, dying(getattr(os, name)))
times = (datetime(2025, 12, 30, tzinfo=UTC) + timedelta(days=day) for day in range(100))
with Ledger(path, clock=lambda: next(times)) as ledger:
    for turn in range(4):
        entry = ledger.append(who="ana", dataset="d", request={}, outcome="released", policy="p", data="1")
        os.write(1, b"%d %s\\n" % (entry.number, entry.hash.encode()))
os.write(1, b"done\\n")
"""


def deaths(tmp_path: Path) -> Iterator[tuple[Path, list[str]]]:
    """A ledger and the answers that were seen, for every step at which its process can be killed."""
    for kill in range(1, 200):
        path = tmp_path / str(kill) / "ledger.jsonl"
        path.parent.mkdir()
        with child(STEPS, path, kill) as process:
            seen = process.communicate()[0].splitlines()
        yield path, seen
        if seen and seen[-1] == "done":
            return


def test_kill_9_at_any_step_loses_nothing_and_raises_no_false_alarm(tmp_path: Path) -> None:
    killed = 0
    for path, seen in deaths(tmp_path):
        before = verify(path) if path.exists() else None
        assert before is None or before.problem is None, path
        with Ledger(path, clock=lambda: datetime(2026, 2, 1, tzinfo=UTC)) as ledger:
            ask(ledger)
        recorded = [f"{entry.number} {entry.hash}" for entry in read(path)]
        assert [line for line in seen if line != "done" and line not in recorded] == [], path
        assert len(recorded) <= len(seen) + 2
        assert b'"time":"2025' not in path.read_bytes(), path
        assert verify(path).problem is None and not verify(path).torn
        killed += "done" not in seen
    assert killed > 20  # the steps of four entries and a new year
