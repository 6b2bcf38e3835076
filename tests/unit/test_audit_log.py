"""The audit log: every question is counted once, found again, and read back as it was written."""

from collections import Counter
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from confide.errors import Fault
from confide.site.audit import VISITORS, AuditLog, Filter
from confide.site.ledger import Entry, Ledger, read

questions = st.fixed_dictionaries(
    {
        "who": st.sampled_from(["ana", "ben", "visitor 0a", "visitor 1b", "é\n<b>"]),
        "dataset": st.sampled_from(["people", "firms"]),
        "rules": st.lists(st.sampled_from(["a.b", "c.d"]), max_size=2, unique=True),
    }
)


def write(path: Path, asked: list[dict[str, Any]]) -> AuditLog:
    with Ledger(path) as ledger:
        log = AuditLog(ledger)
        for question in asked:
            outcome = "refused" if question["rules"] else "released"
            ledger.append(request={"n": len(log)}, outcome=outcome, policy="p", data="d", **question)
    return log


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(asked=st.lists(questions, max_size=12))
def test_counts_are_those_of_the_ledger(tmp_path: Path, asked: list[dict[str, Any]]) -> None:
    path = Path(mkdtemp(dir=tmp_path)) / "ledger.jsonl"
    summary = write(path, asked).summary()
    refused = sum(bool(question["rules"]) for question in asked)
    assert (summary.everything.asked, summary.everything.refused) == (len(asked), refused)
    by_name = Counter(VISITORS if q["who"].startswith("visitor ") else q["who"] for q in asked)
    assert {name: counted.asked for name, counted in summary.askers.items()} == by_name
    assert {name: counted.asked for name, counted in summary.datasets.items()} == Counter(q["dataset"] for q in asked)
    assert summary.rules == Counter(rule for q in asked for rule in q["rules"])
    assert sum(counted.asked for counted in summary.days.values()) == len(asked)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(asked=st.lists(questions, min_size=1, max_size=12), more=st.integers(1, 5), data=st.data())
def test_pages_of_a_filter_together_are_the_filtered_ledger(tmp_path: Path, asked: Any, more: int, data: Any) -> None:
    path = Path(mkdtemp(dir=tmp_path)) / "ledger.jsonl"
    log = write(path, asked)
    wanted = Filter(
        who=data.draw(st.sampled_from(["", "ana", VISITORS])),
        outcome=data.draw(st.sampled_from(["", "refused"])),
        rule=data.draw(st.sampled_from(["", "a.b"])),
    )
    seen: list[Entry] = []
    before = None
    for _ in range(30):
        found = log.find(wanted, before=before, most=more)
        seen += found.entries
        if not found.older:
            break
        before = found.older
    assert seen == [entry for entry in reversed(list(read(path))) if wanted.matches(entry)]


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        ({}, [3, 2, 1, 0]),
        ({"who": "ana"}, [3, 0]),
        ({"who": VISITORS}, [2, 1]),
        ({"who": "visitor 0a"}, [1]),
        ({"dataset": "firms"}, [3, 2]),
        ({"outcome": "refused"}, [2, 0]),
        ({"outcome": "released"}, [3, 1]),
        ({"rule": "c.d"}, [0]),
        ({"day": "1999-01-01"}, []),
        ({"who": "ana", "outcome": "released"}, [3]),
    ],
)
def test_a_filter_finds_what_it_names(tmp_path: Path, wanted: dict[str, str], numbers: list[int]) -> None:
    asked = [
        {"who": "ana", "dataset": "people", "rules": ["a.b", "c.d"]},
        {"who": "visitor 0a", "dataset": "people", "rules": []},
        {"who": "visitor 1b", "dataset": "firms", "rules": ["a.b"]},
        {"who": "ana", "dataset": "firms", "rules": []},
    ]
    found = write(tmp_path / "ledger.jsonl", asked).find(Filter(**wanted))
    assert [entry.number for entry in found.entries] == numbers


def test_a_log_made_when_a_site_is_opened_again_is_the_same(tmp_path: Path) -> None:
    asked = [{"who": "ana", "dataset": "people", "rules": ["a.b"] * (n % 2)} for n in range(5)]
    first = write(tmp_path / "ledger.jsonl", asked)
    with Ledger(tmp_path / "ledger.jsonl") as ledger:
        assert AuditLog(ledger).summary() == first.summary() and len(AuditLog(ledger)) == len(first) == 5


def test_an_entry_is_found_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    log = write(path, [{"who": "ana", "dataset": "people", "rules": []} for _ in range(3)])
    assert [log.entry(number).number for number in range(3)] == [0, 1, 2]
    assert log.entry(3) is None and log.entry(-1) is None


def test_a_search_for_what_is_rare_stops_and_says_where_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("confide.site.audit.LOOKED_AT", 4)
    path = tmp_path / "ledger.jsonl"
    log = write(path, [{"who": "ana" if n == 1 else "ben", "dataset": "people", "rules": []} for n in range(9)])
    first = log.find(Filter(who="ana"))
    assert first.entries == () and first.older == 5
    second = log.find(Filter(who="ana"), before=first.older)
    assert [entry.number for entry in second.entries] == [1] and second.older == 1
    assert log.find(Filter(who="ana"), before=second.older).older == 0


def test_an_entry_that_was_changed_is_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    log = write(path, [{"who": "ana", "dataset": "people", "rules": []}])
    path.write_bytes(path.read_bytes().replace(b"ana", b"bea"))
    with pytest.raises(Fault, match="was changed"):
        log.find(Filter())
    with pytest.raises(Fault, match="entry 0 was changed"):
        log.entry(0)


@pytest.mark.parametrize("before", [-5, 0, 10**12])
def test_a_place_outside_the_ledger_is_its_end_or_its_beginning(tmp_path: Path, before: int) -> None:
    path = tmp_path / "ledger.jsonl"
    log = write(path, [{"who": "ana", "dataset": "people", "rules": []}])
    assert len(log.find(Filter(), before=before).entries) == (1 if before > 0 else 0)
