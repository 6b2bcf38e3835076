"""A real Spark cluster for the tests: a master and two workers on the loopback, gone afterwards, even if the tests are killed."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import sleep

import pytest

from confide.engines.spark.driver import WATCHED

DEFAULTS = """
spark.executor.memory 512m
spark.driver.memory 512m
spark.driver.host 127.0.0.1
spark.driver.bindAddress 127.0.0.1
spark.executor.extraJavaOptions -XX:+UseSerialGC -XX:TieredStopAtLevel=1
spark.driver.extraJavaOptions -XX:+UseSerialGC -XX:TieredStopAtLevel=1
spark.locality.wait 0
spark.sql.shuffle.partitions 2
"""
"""What a custodian writes into spark-defaults.conf: here, that it is small and starts soon."""


class Cluster:
    """A running cluster; `cluster` and `storage` are what `dataset.toml` says of it."""

    def __init__(self, folder: Path) -> None:
        import pyspark

        self.folder, self.storage = folder, folder / "storage"
        self._class = Path(pyspark.__file__).parent / "bin" / "spark-class"
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.storage.mkdir()
        (folder / "spark-defaults.conf").write_text(DEFAULTS)
        self.settings = {
            "SPARK_CONF_DIR": str(folder),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(folder / "local"),
        }

    def start(self) -> None:
        self._begin("master", "deploy.master.Master")
        [self.cluster] = self._said("master", r"Starting Spark master at (spark://\S+)")
        for name in ("worker-0", "worker-1"):
            self.start_worker(name)

    def start_worker(self, name: str) -> None:
        work = ["--cores", "1", "--memory", "600m", "--work-dir", str(self.folder / name)]
        self._begin(name, "deploy.worker.Worker", *work, self.cluster)
        self._said(name, "Successfully registered (with) master")

    def kill(self, name: str) -> set[int]:
        """SIGKILL, to it and all that it has started: a worker's executors and their Pythons. Which processes those were."""
        process = self._processes.pop(name)
        killed = kill_started(process.pid)
        process.communicate()
        return killed

    def stop(self) -> None:
        for name in [*self._processes]:
            self.kill(name)

    def _begin(self, name: str, which: str, *words: str) -> None:
        small = {"SPARK_DAEMON_MEMORY": "128m", "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"}
        address = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        with (self.folder / f"{name}.log").open("wb") as log:
            self._processes[name] = subprocess.Popen(
                ["sh", "-c", WATCHED, "sh", self._class, f"org.apache.spark.{which}", *address, *words],
                env={**os.environ, **self.settings, **small},
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _said(self, name: str, pattern: str) -> list[str]:
        log, process = self.folder / f"{name}.log", self._processes[name]
        while not (found := re.findall(pattern, log.read_text(errors="replace"))):
            assert process.poll() is None, log.read_text(errors="replace")
            sleep(0.02)
        return found[:1]


def kill_started(pid: int) -> set[int]:
    """SIGKILL to the processes that a process has started, and to theirs."""
    found = below(pid)
    for child in found:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    return found


def below(pid: int) -> set[int]:
    """The processes that a process has started, and theirs."""
    found = set[int]()
    for thread in Path(f"/proc/{pid}/task").glob("*"):
        with suppress(OSError):
            for child in map(int, (thread / "children").read_text().split()):
                found |= {child} | below(child)
    return found


@contextmanager
def running() -> Iterator[Cluster]:
    """A cluster that is gone afterwards; who starts a driver meanwhile finds the settings."""
    if shutil.which("java") is None:
        pytest.fail(
            "The tests need a Java runtime. On Debian, as root: apt-get install default-jre-headless", pytrace=False
        )
    folder = Path(tempfile.mkdtemp(prefix="confide-spark-"))
    cluster = Cluster(folder)
    try:
        cluster.start()
        with pytest.MonkeyPatch.context() as patch:
            for name, value in cluster.settings.items():
                patch.setenv(name, value)
            yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)
