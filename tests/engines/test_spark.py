"""The Spark engine, on a real cluster: written whole, stopped there, the same after a loss, and never answered from when in doubt."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, fields, replace
from itertools import pairwise
from pathlib import Path
from threading import Thread
from time import sleep

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors.exceptions.connect import SparkConnectGrpcException

import confide
from confide.attacks.truth.copies import copied
from confide.attacks.truth.truth import truth_of_site
from confide.cancellation import Cancellation, Stopped, StopReason
from confide.engines import Coded, StoreFacts
from confide.engines.spark import connecting, driver, executors, store
from confide.engines.spark.engine import SparkEngine
from confide.engines.spark.failures import failures
from confide.engines.spark.store import read_pointer, remove_spark, write_spark
from confide.engines.squares import square_shifts
from confide.errors import Fault, Mistake
from confide.model.design import Block, Design, Number
from confide.model.evidence import Cells, Step, Tally
from confide.model.request import Family
from confide.site.doctor import Examined, examine
from confide.site.folder import Folder
from spark_cluster import Cluster, kill_started

Opened = Callable[[Coded], SparkEngine]

ENDLESS = "SELECT count(*) FROM range(1000000000) a, range(1000000) b WHERE a.id % 5 * b.id % 7 = 3"


def people(n: int = 500, *, several: bool = False) -> Coded:
    draw = np.random.default_rng(3)
    unit = draw.integers(-(2**63), 2**63 - 1, n)
    unit = unit[draw.integers(0, max(n // 3, 1), n)] if several else unit
    columns = {
        "unit": pa.array(unit),
        "key": pa.array(draw.integers(-(2**31), 2**31 - 1, n).astype(np.int32)),
        "c0": pa.array(draw.integers(0, 30, n).astype(np.uint8)),
        "n1": pa.array(draw.integers(-(2**40), 2**40, n), mask=draw.random(n) < 0.1),
    }
    records = pa.table(columns)
    facts = StoreFacts("d", "", "mark", "", several, False, 0, {"class": "c0"}, {"value": "n1"})
    facts = replace(facts, values={"value": "n1"}, value_decimals={"value": 2})
    return Coded(replace(facts, shifts=square_shifts(records, facts.numbers)), records)


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


def test_what_cannot_be_written_leaves_nothing(storage: Path, path: Path) -> None:
    coded = people()
    broken = Coded(coded.facts, coded.records.drop_columns(["c0"]))
    with pytest.raises(Fault, match="untouched"):
        write_spark(broken, path, str(storage))
    assert not list(storage.iterdir()) and not path.exists()


@pytest.mark.parametrize(
    ("mode", "folder", "file"), [(0o700, 0o700, 0o600), (0o750, 0o750, 0o640), (0o777, 0o750, 0o640)]
)
def test_the_group_may_read_what_it_may_read_of_the_storage_and_others_never(
    storage: Path, path: Path, mode: int, folder: int, file: int
) -> None:
    storage.chmod(mode)
    write_spark(people(), path, str(storage))
    written = Path(read_pointer(path).folder)
    assert {each.stat().st_mode & 0o777 for each in written.iterdir()} == {file}
    assert (written.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == (folder, 0o600)


def test_records_can_be_taken_away_also_those_that_a_killed_ingest_left_half_written(storage: Path, path: Path) -> None:
    for left in (".partial", ""):
        write_spark(people(), path, str(storage))
        written = Path(read_pointer(path).folder)
        written.rename(f"{written}{left}")
        remove_spark(path)
        assert not list(storage.iterdir()) and not path.exists()


def test_a_storage_that_is_not_mounted_loses_no_name_of_records(storage: Path, path: Path) -> None:
    write_spark(people(), path, str(storage))
    storage.rename(storage.with_name("elsewhere"))
    with pytest.raises(Fault, match="not there"):
        remove_spark(path)
    assert path.exists()


@pytest.mark.parametrize("several", [False, True])
def test_parts_hold_whole_units_in_their_order(
    storage: Path, path: Path, several: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "PART", 7)
    coded = people(several=several)
    write_spark(coded, path, str(storage))
    parts = [pq.read_table(file) for file in sorted(Path(read_pointer(path).folder).glob("*.parquet"))]
    units = [part["unit"].to_numpy() for part in parts]
    assert len(parts) > 20 and all((np.diff(unit.astype(object)) >= 0).all() for unit in units)
    assert all(one[-1] < other[0] for one, other in pairwise(units))
    assert sum(len(unit) for unit in units) == 500


@pytest.mark.parametrize(
    ("given", "said"), [("", "absolute path"), ("here", "absolute path"), ("/nowhere", "no folder")]
)
def test_a_storage_that_is_no_folder_is_a_mistake(given: str, said: str, path: Path) -> None:
    with pytest.raises(Mistake, match=said):
        write_spark(people(), path, given)
    assert not path.exists()


@pytest.mark.parametrize("text", ["", "secret-value", "[]", '{"format": 1}', '{"format": 99}'])
def test_a_file_that_names_nothing_is_a_fault(text: str, path: Path) -> None:
    path.write_text(text)
    with pytest.raises(Fault, match="Ingest the data again") as fault:
        SparkEngine(path, "local[1]")
    assert "secret-value" not in str(fault.value)


@pytest.mark.parametrize("cluster", ["", "secret-value", "yarn", "http://host"])
def test_a_cluster_that_cannot_be_read_is_a_mistake(cluster: str, storage: Path, path: Path) -> None:
    write_spark(people(), path, str(storage))
    with pytest.raises(Mistake, match=r"cannot be read.*spark://host:7077") as mistake:
        SparkEngine(path, cluster)
    assert "secret-value" not in str(mistake.value)


def test_a_token_has_no_place_in_a_catalog(storage: Path, path: Path) -> None:
    write_spark(people(), path, str(storage))
    with pytest.raises(Mistake, match=r"holds a token.*SPARK_CONNECT_AUTHENTICATE_TOKEN") as mistake:
        SparkEngine(path, "sc://host/;token=secret-value")
    assert "secret-value" not in str(mistake.value)


@pytest.mark.parametrize("cluster", ["spark://127.0.0.1:1", "spark://127.0.0.1:1,127.0.0.1:2", "sc://127.0.0.1:1/;x=y"])
def test_a_cluster_that_cannot_be_reached_is_a_fault(cluster: str, storage: Path, path: Path) -> None:
    write_spark(people(), path, str(storage))
    with pytest.raises(Fault, match="cannot be reached"):
        SparkEngine(path, cluster)


def test_without_its_library_or_java_the_engine_says_what_to_install(
    tmp_path: Path, storage: Path, town, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = f'engine = "spark"\ncluster = "local[1]"\nstorage = "{storage}"\n' + town.catalog
    confide.add(town.people, tmp_path / "site", name="people", catalog=catalog, preset="drop-q")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(Mistake, match=r"Java runtime.*default-jre-headless"):
        confide.open(tmp_path / "site")
    monkeypatch.setitem(sys.modules, "confide.engines.spark.connecting", None)
    with pytest.raises(Mistake, match=r"pip install 'confide\[spark\]'"):
        confide.open(tmp_path / "site")


def damage(file: Path) -> None:
    """Turn one bit of a value: a page of a column is the greater part of the file."""
    data = bytearray(file.read_bytes())
    data[len(data) // 3] ^= 1
    file.write_bytes(data)


def exchange(meta: Path) -> None:
    meta.write_text(meta.read_text().replace('"mark": "', '"mark": "0'))


CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "another mark": (lambda folder: exchange(folder / "meta.json"), "not those"),
    "a part cut off": (lambda folder: os.truncate(folder / "part-00000.parquet", 100), "not those"),
    "a part gone": (lambda folder: (folder / "part-00000.parquet").unlink(), "cannot be read"),
    "all gone": (shutil.rmtree, "cannot be read.*folder is mounted"),
    "another version": (lambda folder: (folder / "meta.json").write_text('{"format": 99}'), "another version"),
    "damaged": (lambda folder: damage(folder / "part-00000.parquet"), "missing, damaged"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_records_that_are_not_those_that_were_ingested_are_noticed_with_the_next_question(
    opened: Opened, path: Path, change: str
) -> None:
    engine = opened(people())
    assert engine.tally(Tally(())).records.tolist() == [500]
    make, said = CHANGES[change]
    make(Path(read_pointer(path).folder))
    with pytest.raises(Fault, match=said):
        engine.tally(Tally(("class",), of="value"))


def model() -> Step:
    design = Design(Number("value"), (), ("class",), (Block((), (), 0, 1), Block((), ((0, (-1, *range(29))),), 1, 29)))
    return Step(design, Family.GAUSSIAN, beta=(0.1,) * 30)


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


def test_a_server_ends_with_the_process_that_started_it() -> None:
    command = ["sh", "-c", driver.WATCHED, "sh", "sleep", "100000"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        assert process.stdin and process.poll() is None
        process.stdin.close()
        assert process.wait() != 0


def part(unit: list[int], key: list[int]) -> pa.RecordBatch:
    columns = {"unit": pa.array(unit), "key": pa.array(key, pa.int32()), "c0": pa.array([0] * len(unit), pa.int16())}
    return pa.RecordBatch.from_pydict({**columns, "n1": pa.array([5] * len(unit))})


def summed(parts: list[pa.RecordBatch], **task: str) -> list[executors.Arrays]:
    work = executors.Task(model(), people(several=True).facts, np.eye(30), **task)  # type: ignore[arg-type]
    return executors.ordered(pa.Table.from_batches(executors.summed(work, executors.moments, parts)))


def test_executors_refuse_records_in_another_order_and_another_version() -> None:
    [found] = summed([part([1, 2], [5, 4]), part([2, 3], [4, 1])])
    assert found["one.counts"][:2].tolist() == [4, 3]
    for parts in ([part([2, 1], [5, 4])], [part([1, 2], [5, 4]), part([2], [3])], [part([2], [0]), part([1], [0])]):
        with pytest.raises(Fault, match="another order"):
            summed(parts)
    with pytest.raises(Fault, match="install the same version"):
        summed([part([1], [1])], version="0")


def test_nothing_the_cluster_says_is_passed_on() -> None:
    for error in (SparkConnectGrpcException("secret-value"), OSError("secret-value")):
        with pytest.raises(Fault) as fault, failures():
            raise error
        assert "secret-value" not in str(fault.value)
    with pytest.raises(Stopped) as stopped, failures():
        raise SparkConnectGrpcException("java.lang.OutOfMemoryError")
    assert stopped.value.reason is StopReason.MEMORY


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
    with copied(site, "people", policy, truth=truth, without=np.unique(truth.units)[:3]) as copy:
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
