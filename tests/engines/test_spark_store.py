"""What the Spark engine does without a cluster: written whole or not at all, and never answered from when in doubt."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors.exceptions.connect import SparkConnectGrpcException

import confide
from confide.cancellation import Stopped, StopReason
from confide.engines import Coded
from confide.engines.spark import driver, executors, store
from confide.engines.spark.engine import SparkEngine
from confide.engines.spark.failures import failures
from confide.engines.spark.store import read_pointer, remove_spark, write_spark
from confide.errors import Fault, Mistake
from some_people import model, people


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "records.spark"


@pytest.fixture
def storage(tmp_path: Path) -> Path:
    """A shared folder of the test's own."""
    (tmp_path / "storage").mkdir(mode=0o700)
    return tmp_path / "storage"


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


def exchange(meta: Path) -> None:
    meta.write_text(meta.read_text().replace('"mark": "', '"mark": "0'))


CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "another mark": (lambda folder: exchange(folder / "meta.json"), "not those"),
    "a part cut off": (lambda folder: os.truncate(folder / "part-00000.parquet", 100), "not those"),
    "a part gone": (lambda folder: (folder / "part-00000.parquet").unlink(), "cannot be read"),
    "all gone": (shutil.rmtree, "cannot be read.*folder is mounted"),
    "another version": (lambda folder: (folder / "meta.json").write_text('{"format": 99}'), "another version"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_records_that_are_not_those_that_were_ingested_are_noticed(storage: Path, path: Path, change: str) -> None:
    write_spark(people(), path, str(storage))
    pointer = read_pointer(path)
    assert sorted(pointer.described()["parts"]) == ["part-00000.parquet"]
    make, said = CHANGES[change]
    make(Path(pointer.folder))
    with pytest.raises(Fault, match=said):
        pointer.described()


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
