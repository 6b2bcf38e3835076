"""A question that is stopped stops its own statement in the engine, and no other; and it is recorded as what it was."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread
from typing import Any

import duckdb
import pytest

import confide
from asking import python_correlation, python_regression, python_table
from confide.answering.service import Service
from confide.cancellation import Cancellation, Stopped, StopReason, current_cancellation
from confide.engines.duckdb.engine import DuckDBEngine
from confide.engines.duckdb.failures import failures
from confide.errors import Fault, Refused
from confide.model.request import Request
from confide.site.folder import Folder
from confide.site.ledger import read
from postgres_server import Server
from spark_cluster import Cluster

LONG = 60
ENDLESS = "SELECT count(*) FROM range(1000000000) a, range(1000000) b WHERE a.range * b.range % 7 = 3"
STREAMED: Request[Any] = python_regression("people", "income ~ age + sex", where={"sex": "f"})
QUESTIONS: dict[str, Request[Any]] = {
    "table": python_table("people", rows="town", where={"sex": "f"}),
    "regression": STREAMED,
    "correlation": python_correlation("people", ["age", "income"]),
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, town: Any) -> Path:
    path = tmp_path_factory.mktemp("stopped") / "site"
    confide.add(town.people, path, name="people", catalog=town.catalog, preset="drop-q")
    return path


@pytest.fixture(scope="module")
def columns_site(tmp_path_factory: pytest.TempPathFactory, town: Any) -> Path:
    path, catalog = tmp_path_factory.mktemp("stopped") / "site", 'engine = "columns"\n' + town.catalog
    confide.add(town.people, path, name="people", catalog=catalog, preset="drop-q")
    return path


@pytest.fixture(scope="module")
def postgres_site(tmp_path_factory: pytest.TempPathFactory, town: Any, postgres: Server) -> Path:
    path = tmp_path_factory.mktemp("stopped") / "site"
    catalog = f'engine = "postgres"\ndatabase = "{postgres.database}"\n' + town.catalog
    confide.add(town.people, path, name="people", catalog=catalog, preset="drop-q")
    return path


@pytest.fixture(scope="module")
def spark_site(tmp_path_factory: pytest.TempPathFactory, town: Any, spark: Cluster) -> Path:
    path = tmp_path_factory.mktemp("stopped") / "site"
    catalog = f'engine = "spark"\ncluster = "{spark.cluster}"\nstorage = "{spark.storage}"\n' + town.catalog
    confide.add(town.people, path, name="people", catalog=catalog, preset="drop-q")
    return path


@pytest.fixture(params=["site", "columns_site", "postgres_site", "spark_site"])
def service(request: pytest.FixtureRequest) -> Iterator[Service]:
    with Service.open(request.getfixturevalue(request.param)) as opened:
        yield opened


@pytest.fixture
def engine(site: Path) -> Iterator[DuckDBEngine]:
    opened = DuckDBEngine(Folder(site).store("people"))
    yield opened
    opened.close()


def test_a_statement_is_interrupted_and_those_of_others_are_not(engine: DuckDBEngine) -> None:
    stopped, going_on, found = Cancellation(), Cancellation(), dict[str, BaseException]()

    def run(name: str, cancellation: Cancellation) -> None:
        try:
            with cancellation.applied():
                engine._run(ENDLESS)
        except BaseException as error:
            found[name] = error

    pairs = {"stopped": stopped, "going on": going_on}
    threads = {name: Thread(target=run, args=(name, each)) for name, each in pairs.items()}
    for thread in threads.values():
        thread.start()
    for name, reason in (("stopped", StopReason.UNWANTED), ("going on", StopReason.TIME)):
        assert name not in found
        while threads[name].is_alive():  # again and again: one that comes before the statement begins is lost
            pairs[name].stop(reason)
            threads[name].join(0.05)
        error = found[name]
        assert isinstance(error, Stopped) and error.reason is reason


class StopsAt(Cancellation):
    """Stops at the n-th moment at which an engine looks: before a statement or between two batches."""

    def __init__(self, number: int, reason: StopReason) -> None:
        super().__init__()
        self._left, self._why = number, reason

    def check(self) -> None:
        self._left -= 1
        if not self._left:
            self.stop(self._why)
        super().check()

    @property
    def came(self) -> bool:
        return self._left <= 0


@pytest.mark.parametrize("kind", QUESTIONS)
def test_wherever_a_question_is_stopped_it_is_recorded_once_and_counts(service: Service, kind: str) -> None:
    today, before, stopped = datetime.now(UTC).date(), len(list(read(service.papers.ledger))), 0
    while True:
        cancellation = StopsAt(stopped + 1, StopReason.UNWANTED)
        try:
            with cancellation.applied():
                service.answer(QUESTIONS[kind], who=f"ana {kind}")
        except Stopped:
            stopped += 1
            continue
        break
    entries = list(read(service.papers.ledger))[before:]
    assert stopped > 1 and not cancellation.came
    assert [entry.outcome for entry in entries] == ["cancelled"] * stopped + ["released"]
    assert service._ledger.asked(f"ana {kind}", "people", today) == stopped + 1
    assert not any(entry.answer or entry.rules for entry in entries[:-1])


@pytest.mark.parametrize(("reason", "rule"), [(StopReason.TIME, "quota.seconds"), (StopReason.MEMORY, "quota.memory")])
def test_what_took_too_much_is_refused_by_its_rule(service: Service, reason: StopReason, rule: str) -> None:
    cancellation = StopsAt(1, reason)
    with cancellation.applied(), pytest.raises(Refused) as caught:
        service.answer(python_table("people", rows="sex", where={"town": "a1"}), who="bob")
    assert [told.rule for told in caught.value.reasons] == [rule] and caught.value.suggestions
    last = list(read(service.papers.ledger))[-1]
    assert (last.who, last.outcome, last.rules) == ("bob", "refused", (rule,))


def test_what_was_stopped_is_no_decision_of_the_policy(service: Service) -> None:
    with StopsAt(1, StopReason.UNWANTED).applied(), pytest.raises(Stopped):
        service.answer(python_table("people", rows="work", where={"sex": "f"}), who="zoe")
    last = list(read(service.papers.ledger))[-1]
    assert last.outcome == "cancelled" and last.number not in {each.number for each in service.replay(service.policy)}
    assert service.audit.summary().everything.cancelled >= 1


def test_too_little_memory_stops_a_question_and_anything_else_is_our_fault() -> None:
    with pytest.raises(Stopped) as caught, failures():
        raise duckdb.OutOfMemoryException("secret-value")
    assert caught.value.reason is StopReason.MEMORY and "secret-value" not in str(caught.value)
    with pytest.raises(Fault) as fault, failures():
        raise duckdb.CatalogException("secret-value")
    assert "secret-value" not in str(fault.value)


def test_nothing_is_interrupted_after_its_end() -> None:
    cancellation, told = Cancellation(), Event()
    with cancellation.interrupting(told.set):
        pass
    cancellation.stop()
    assert not told.is_set()
    with pytest.raises(Stopped), cancellation.interrupting(told.set):
        raise AssertionError("it was begun")
    current_cancellation().check()
