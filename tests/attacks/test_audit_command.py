"""`confide audit`, and the same in Python: words, exit status, and ledgers at the edge."""

import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from dataclasses import replace
from io import StringIO
from itertools import cycle
from pathlib import Path

import psycopg
import pytest

import confide
from asking import python_table
from confide.answering.service import TOGETHER, Service, audit
from confide.cli.main import main
from confide.errors import Mistake, Refused
from confide.model.policy import AuditRules, write_policy
from confide.site.folder import Folder
from confide.site.ledger import read_questions
from confide.site.state.file import FileState, shared_file
from postgres_server import Server

Run = Callable[..., tuple[int, str, str]]
AGES = 3
"""So many groups of ages are left out, one after the other, from the oldest."""


@pytest.fixture
def site(demo_site: Callable[[int, str], Path], tmp_path: Path) -> Path:
    """Five thousand people under a secret that is always the same."""
    return Path(shutil.copytree(demo_site(5_000, "people"), tmp_path / "site"))


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    def words(*given: object) -> tuple[int, str, str]:
        out, err = StringIO(), StringIO()
        monkeypatch.setattr("sys.argv", ["confide", *map(str, given)])
        with redirect_stdout(out), redirect_stderr(err):
            try:
                main()
                status = 0
            except SystemExit as leave:
                status = int(leave.code or 0)
        return status, out.getvalue(), err.getvalue()

    return words


def attack(site: Path, who: str) -> None:
    """Tables of everyone, and of everyone but one group of ages."""
    with Service.open(site) as service:
        attack_through([service], who)


def attack_through(services: Sequence[Service], who: str) -> None:
    """The attack, each question through the next of some services of one site."""
    turns = cycle(services)
    codes = [code.code for code in services[0].dataset("people").variables["age_group"].codes or ()]
    next(turns).answer(python_table("people", rows=["county", "marital"]), who=who)
    for out in range(AGES):
        rest = [code for at, code in enumerate(codes) if at != len(codes) - 1 - out]
        request = python_table("people", rows=["county", "marital"], where={"age_group": rest})
        next(turns).answer(request, who=who)


def limit(site: Path, most: float) -> None:
    """The site's policy with a limit of the audit."""
    policy = replace(Folder(site).policy(), audit=AuditRules(limit=most))
    (site / "policy.toml").write_text(write_policy(policy, preset="standard"), encoding="utf-8")


def test_a_ledger_without_questions_has_nothing_to_find(site: Path, run: Run) -> None:
    assert run("audit", site, "people", "--limit", 0) == (0, "0 questions recorded.\n", "")
    assert audit(site).asked == 0


def test_one_question_isolates_nothing(site: Path, run: Run) -> None:
    with confide.open(site) as opened:
        opened["people"].table(rows=["county", "marital"])
    status, said, _ = run("audit", site, "people", "--limit", 0)
    assert status == 0 and said.startswith("1 question recorded.") and "local, people: 0.0 small sets" in said


def test_an_attack_is_told_with_its_evidence_and_ends_with_status_4(site: Path, run: Run) -> None:
    attack(site, "zoë ☂")
    status, said, _ = run("audit", site, "--limit", 5)
    assert status == 4 and "zoë ☂, people: " in said and "above the limit" in said and "pairs" in said
    assert run("audit", site)[0] == 0, "no limit is set"
    assert run("audit", site, "--limit", 1e6)[0] == 0
    told = json.loads(run("audit", site, "--json")[1])
    [pair] = [finding for finding in told["findings"] if finding["kind"] == "pairs"]
    assert pair["entries"] == list(range(AGES + 1)) and pair["who"] == "zoë ☂" and pair["score"] > 5


def test_the_limit_of_the_policy_is_the_default(site: Path, run: Run) -> None:
    attack(site, "ana")
    limit(site, 5)
    assert run("audit", site, "people")[0] == 4


def test_what_is_not_there_is_a_mistake_that_says_so(site: Path, run: Run) -> None:
    attack(site, "ana")
    for words in (("poeple",), ("--who", "anna"), ("--since", "yesterday"), ("--since", "2026-13-01")):
        status, _, said = run("audit", site, *words)
        assert status == 2 and said.startswith("Mistake: "), words
    with pytest.raises(Mistake, match="Nobody called"):
        audit(site, who="anna")


def test_one_asker_and_a_time_are_looked_at_alone(site: Path) -> None:
    attack(site, "ana")
    attack(site, "bob")
    found = audit(site, "people")
    assert set(found.scores) == {("ana", "people"), ("bob", "people"), (TOGETHER, "people")}
    assert set(audit(site, "people", who="bob").scores) == {("bob", "people")}
    assert audit(site, "people", since="2999-01-01").asked == 0


def test_a_torn_last_line_is_left_alone(site: Path) -> None:
    attack(site, "ana")
    whole = audit(site)
    ledger = Folder(site).ledger
    with ledger.open("ab") as file:
        file.write(b'{"torn')
    assert audit(site) == whole and ledger.read_bytes().endswith(b'{"torn')


def test_an_open_site_says_the_same(site: Path) -> None:
    attack(site, "ana")
    with Service.open(site) as service:
        assert service.audit_questions("people") == audit(site, "people")


def test_a_refusal_by_the_limit_is_recorded_and_says_what_to_do(site: Path) -> None:
    limit(site, 5)
    with pytest.raises(Refused, match="single out") as refused:
        attack(site, "ana")
    assert [reason.rule for reason in refused.value.reasons] == ["audit.limit"] and refused.value.suggestions
    with Service.open(site) as service:
        assert service.audit.summary().rules == {"audit.limit": 1}
        service.answer(python_table("people", rows=["county", "marital"]), who="ana")
        service.answer(python_table("people", rows=["sex", "region"]), who="ana")
    with pytest.raises(Refused):
        attack(site, "bob")  # the history belongs to the data set, and is read again when a site is opened


def test_the_limit_counts_what_other_processes_answered(site: Path) -> None:
    """Two processes that answer in turn refuse the same question as one that answers all."""
    limit(site, 5)
    state, told = site / "state.sqlite", list[int]()
    for at_once in (1, 2):
        with shared_file(state), ExitStack() as opened:
            services = [
                opened.enter_context(Service.open(site, state=FileState(state, worker=n))) for n in range(at_once)
            ]
            for service in services:  # each has looked at the ledger before
                service.answer(python_table("people", rows=["sex", "region"]), who="ben")
            with pytest.raises(Refused, match="single out"):
                attack_through(services, "ana")
            outcomes = [entry.outcome for entry in read_questions(Folder(site).ledger) if entry.who == "ana"]
        told.append(outcomes.index("refused"))
        Folder(site).ledger.unlink()
        Folder(site).ledger.with_suffix(".anchor").unlink()
    assert told[0] == told[1] < AGES + 1


def test_the_limit_counts_what_other_machines_answered(site: Path, tmp_path: Path, postgres: Server) -> None:
    """Two machines that answer in turn refuse the same question as one that answers all."""
    limit(site, 5)
    folders = [Path(shutil.copytree(site, tmp_path / name)) for name in ("alone", "one", "other")]
    told = list[int]()
    for database, machines in (("audit_alone", folders[:1]), ("audit_both", folders[1:])):
        with psycopg.connect(postgres.database, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {database}".encode())
        state = postgres.database.replace("dbname=postgres", f"dbname={database}")
        for folder in machines:
            (folder / "site.toml").write_text(f'state = "{state}"\n')
        with ExitStack() as opened:
            services = [opened.enter_context(Service.open(folder)) for folder in machines]
            for service in services:  # each has looked at the ledger before
                service.answer(python_table("people", rows=["sex", "region"]), who="ben")
            with pytest.raises(Refused, match="single out"):
                attack_through(services, "ana")
            outcomes = [entry.outcome for entry in read_questions(machines[0] / "ledger.jsonl") if entry.who == "ana"]
        told.append(outcomes.index("refused"))
    assert told[0] == told[1] < AGES + 1
