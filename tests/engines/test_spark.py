"""The Spark engine, on a real cluster: written whole, stopped there, the same after a loss, and never answered from when in doubt."""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, fields
from pathlib import Path
from threading import Thread
from time import sleep

import numpy as np
import pytest
from pyspark.errors.exceptions.connect import SparkConnectGrpcException

import confide
from confide.attacks.truth.copies import CopiedUnits, copied
from confide.attacks.truth.truth import truth_of_site
from confide.cancellation import Cancellation, Stopped, StopReason
from confide.engines import Coded
from confide.engines.spark import connecting, driver, executors, store
from confide.engines.spark.engine import SparkEngine
from confide.engines.spark.store import read_pointer, write_spark
from confide.errors import Fault
from confide.model.evidence import Cells, Tally
from confide.site.doctor import Examined, examine
from confide.site.folder import Folder
from some_people import model, people
from spark_cluster import Cluster, kill_started

Opened = Callable[[Coded], SparkEngine]

ENDLESS = "SELECT count(*) FROM range(1000000000) a, range(1000000) b WHERE a.id % 5 * b.id % 7 = 3"


def content(cells: Cells) -> list[object]:
    values = [getattr(cells, field.name) for field in fields(cells)]
    return [value.tolist() if isinstance(value, np.ndarray) else value for value in values]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "records.spark"


@pytest.fixture
def storage(tmp_path: Path) -> Path:
    """A shared folder of the test's own: writing needs no cluster."""
    (tmp_path / "storage").mkdir(mode=0o700)
    return tmp_path / "storage"


@pytest.fixture
def opened(spark: Cluster, path: Path, storage: Path) -> Iterator[Opened]:
    found: list[SparkEngine] = []

    def make(coded: Coded) -> SparkEngine:
        write_spark(coded, path, str(storage))
        found.append(SparkEngine(path, spark.cluster))
        return found[-1]

    yield make
    for each in found:
        each.close()


def damage(file: Path) -> None:
    """Turn one bit of a value: a page of a column is the greater part of the file."""
    data = bytearray(file.read_bytes())
    data[len(data) // 3] ^= 1
    file.write_bytes(data)


def test_records_that_were_damaged_are_not_answered_from(opened: Opened, path: Path) -> None:
    engine = opened(people())
    assert engine.tally(Tally(())).records.tolist() == [500]
    damage(Path(read_pointer(path).folder) / "part-00000.parquet")
    with pytest.raises(Fault, match="missing, damaged"):
        engine.tally(Tally(("class",), of="value"))


def bits(found: object) -> list[bytes]:
    return [np.asarray(value).tobytes() for value in astuple(found)]  # type: ignore[call-overload]


def test_a_worker_lost_in_the_middle_of_a_question_changes_no_bit_of_the_answer(
    opened: Opened, spark: Cluster, storage: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "PART", 250)
    engine, here, plain = opened(people()), str(storage), executors.moments

    def waiting(task: executors.Task, batches: Iterable[executors.Batch]) -> Iterator[executors.Arrays]:
        """Says that it has begun, and goes on when it is told to."""
        Path(here, f"begun-{os.getpid()}").touch()
        while not Path(here, "go").exists():
            sleep(0.01)
        yield from plain(task, batches)

    expected, found = engine.moments(model()), list[object]()
    monkeypatch.setattr(executors, "moments", waiting)
    asking = Thread(target=lambda: found.append(engine.moments(model())))
    asking.start()
    while len(begun := [int(file.name.split("-")[1]) for file in storage.glob("begun-*")]) < 2:
        assert asking.is_alive()
        sleep(0.01)
    try:
        assert spark.kill("worker-1") & set(begun), "it was at work"
        (storage / "go").touch()
        asking.join()
    finally:
        spark.start_worker("worker-1")
    assert bits(found[0]) == bits(expected)


def test_a_question_is_stopped_on_the_cluster_and_those_of_others_are_not(opened: Opened) -> None:
    engine, found = opened(people()), dict[str, BaseException]()

    def run(name: str, cancellation: Cancellation) -> None:
        try:
            with cancellation.applied(), engine._records.question() as question:
                question.ask(ENDLESS)
        except BaseException as error:
            found[name] = error

    pairs = {"stopped": Cancellation(), "going on": Cancellation()}
    threads = {name: Thread(target=run, args=(name, each)) for name, each in pairs.items()}
    for thread in threads.values():
        thread.start()
    for name, reason in (("stopped", StopReason.UNWANTED), ("going on", StopReason.TIME)):
        assert name not in found
        while threads[name].is_alive():  # again and again: one that comes before the question begins is lost
            pairs[name].stop(reason)
            threads[name].join(0.2)
        error = found[name]
        assert isinstance(error, Stopped) and error.reason is reason
    assert engine.tally(Tally(())).records.tolist() == [500], "the executors are free again"


def test_a_driver_lost_between_questions_is_started_again(opened: Opened, spark: Cluster) -> None:
    engine = opened(people())
    process = driver._DRIVERS._running[spark.cluster]._process
    kill_started(process.pid)
    process.wait()
    assert engine.tally(Tally(())).records.tolist() == [500]


def test_after_a_lost_connection_another_session_is_begun_and_after_a_stop_none(opened: Opened) -> None:
    engine, cancellation, sessions = opened(people()), Cancellation(), list[object]()
    with pytest.raises(Stopped), cancellation.applied(), engine._records.question() as question:
        sessions.append(question._session)
        cancellation.stop()
    with pytest.raises(Fault, match="connection to the cluster failed"), engine._records.question() as question:
        sessions.append(question._session)
        raise SparkConnectGrpcException("lost")
    with engine._records.question() as question:
        sessions.append(question._session)
    assert sessions[0] is sessions[1] is not sessions[2]
    assert engine.tally(Tally(())).records.tolist() == [500]


def test_a_server_of_spark_connect_answers_like_a_master(
    opened: Opened, spark: Cluster, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = opened(people()).tally(Tally(("class",)))
    address, token = driver.driver_address(spark.cluster).split("/;token=")
    monkeypatch.setenv("SPARK_CONNECT_AUTHENTICATE_TOKEN", token)
    engine = SparkEngine(path, address)
    assert content(engine.tally(Tally(("class",)))) == content(expected)
    monkeypatch.setattr(connecting, "OLDEST", 99)
    with pytest.raises(Fault, match=r"The cluster is Spark \d+.*Confide needs Spark 99 or newer"):
        connecting.connect(address, {})


@pytest.fixture
def site(tmp_path: Path, spark: Cluster, storage: Path, town) -> Path:
    catalog = f'engine = "spark"\ncluster = "{spark.cluster}"\nstorage = "{storage}"\n' + town.catalog
    confide.add(town.people, tmp_path / "site", name="people", catalog=catalog, preset="drop-q")
    return tmp_path / "site"


def test_a_site_answers_from_spark_what_it_answers_from_duckdb(site: Path) -> None:
    catalog = site / "people" / "dataset.toml"
    asked = {"rows": ["town", "sex"], "where": [{"sex": ["f"]}, {"sex": ["m"], "work": ["yes"]}]}
    measures = {"measure": ["count", "weighted_count", "total"], "of": "income"}
    model = {"formula": "income ~ age + sex + town", "where": {"work": "yes"}}
    found = []
    for _ in range(2):
        with confide.open(site) as opened:
            people = opened["people"]
            answers = [people.table(**asked), people.table(**asked, **measures), people.regression(**model)]
            found.append([str(answer) for answer in answers])
        catalog.write_text(catalog.read_text().replace('engine = "spark"', 'engine = "duckdb"'))
    assert found[0] == found[1]


def test_a_site_is_ingested_attacked_and_examined_like_any_other(site: Path, storage: Path, town) -> None:
    [first] = storage.iterdir()
    truth, policy = truth_of_site(site, "people"), Folder(site).policy("people")
    with copied(site, "people", policy, truth=truth, units=CopiedUnits(np.unique(truth.units)[:3])) as copy:
        assert copy["people"].table(rows="sex") and list(storage.iterdir()) == [first]
    confide.ingest(town.people, site, name="people")
    assert len(list(storage.iterdir())) == 2, "a running server goes on with the former"
    confide.ingest(town.people, site, name="people")
    assert len(list(storage.iterdir())) == 2 and not first.exists()

    def data() -> Examined:
        [found] = [each for each in examine(Folder(site)) if each.what == "data sets"]
        return found

    assert not data().mend
    for folder in storage.iterdir():
        shutil.rmtree(folder)
    assert "cannot be read from the shared folder" in data().found and "ingest" in data().mend
