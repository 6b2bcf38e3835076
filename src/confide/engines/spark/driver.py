"""The process that speaks with a cluster on Confide's behalf: Spark's own Connect server, on this machine, for this process alone.

Whoever names a master needs no other server. It is reached on the loopback with a token of its own, its pages are off (they show
statements and how many records meet a condition), what it says goes nowhere, and it ends with this process, however that ends.
"""

import atexit
import os
import secrets
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from threading import Lock
from time import sleep
from urllib.parse import urlsplit

from confide.errors import Fault, Mistake

__all__ = ["driver_address", "reach"]

_PORTS = {"sc": 15002, "spark": 7077}

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"

SETTINGS = ("spark.ui.enabled=false", "spark.eventLog.enabled=false", "spark.connect.grpc.binding.address=127.0.0.1")

WATCHED = 'exec 3<&0; "$@" 3<&- </dev/null & java=$!; { read _ <&3; kill $java; } & wait $java; kill $!'
"""Ends the server when the pipe to it is closed, which a process does by ending, whatever it died of."""


class _Driver:
    """A running server."""

    def __init__(self, master: str) -> None:
        self._token = secrets.token_hex(32)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port: int = free.getsockname()[1]
        home = _home()
        settings = (*SETTINGS, f"spark.connect.grpc.binding.port={self._port}")
        command = [str(home / "bin" / "spark-submit"), "--class", SERVER, "--name", "confide", "--master", master]
        command += [word for setting in settings for word in ("--conf", setting)]
        self._process = subprocess.Popen(
            ["sh", "-c", WATCHED, "sh", *command],
            env=self._environment(home),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def address(self) -> str:
        """As Spark Connect reads it; by this name of the machine it takes a token without a certificate."""
        return f"sc://localhost:{self._port}/;token={self._token}"

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        self._process.communicate()  # closes the pipe, and waits

    def wait(self) -> None:
        """Wait until it answers; a Fault if it ends instead, as it does where the cluster takes no application."""
        while not _listens("127.0.0.1", self._port):
            if not self.running:
                from pyspark import __version__

                hint = f"Check that the cluster runs and is Spark {__version__}, and what spark-defaults.conf says."
                raise Fault("The cluster took no application.", suggestions=[hint])
            sleep(0.05)

    def _environment(self, home: Path) -> dict[str, str]:
        """Executors run this Python, unless PYSPARK_PYTHON says where theirs is."""
        given = {"PYSPARK_PYTHON": sys.executable, **os.environ}
        return {**given, "SPARK_HOME": str(home), "SPARK_CONNECT_AUTHENTICATE_TOKEN": self._token}


class _Drivers:
    """The servers of this process, one for each master. They are kept to its end: starting one takes seconds."""

    def __init__(self) -> None:
        self._lock, self._running = Lock(), dict[str, _Driver]()
        atexit.register(self.close)

    def address(self, master: str) -> str:
        with self._lock:
            driver = self._running.get(master)
            if driver is None or not driver.running:
                reach(master)
                self.close(master)
                driver = self._running[master] = _Driver(master)
                driver.wait()
            return driver.address

    def close(self, *masters: str) -> None:
        """Close the servers of some masters, or all."""
        for master in masters or tuple(self._running):
            if driver := self._running.pop(master, None):
                driver.close()


_DRIVERS = _Drivers()


def driver_address(master: str) -> str:
    """Where Spark Connect is for a master; a server is started if none runs."""
    return _DRIVERS.address(master)


def reach(cluster: str) -> None:
    """Nothing, if somebody listens at a master or a server of Spark Connect; else a Fault, at once and not after minutes."""
    scheme, _, rest = cluster.partition("://")
    hosts = [urlsplit(f"//{host}") for host in rest.split(";")[0].strip("/").split(",") if host]
    if hosts and not any(_listens(host.hostname or "", host.port or _PORTS[scheme]) for host in hosts):
        hint = "Check that it runs, and what 'cluster' in dataset.toml says."
        raise Fault("The cluster cannot be reached.", suggestions=[hint])


def _listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=5).close()
    except OSError:
        return False
    return True


def _home() -> Path:
    """Where Spark is: pyspark brings it along. It needs Java."""
    import pyspark

    java = Path(os.environ["JAVA_HOME"]) / "bin" / "java" if os.environ.get("JAVA_HOME") else Path("java")
    if shutil.which(java) is None:
        hint = "On Debian, as root: apt-get install default-jre-headless"
        raise Mistake("The engine 'spark' needs a Java runtime, version 17 or newer.", suggestions=[hint])
    return Path(pyspark.__file__).parent
