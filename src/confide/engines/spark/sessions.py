"""Sessions with a cluster: one for each engine, shared by its questions, each of which can be stopped by itself."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from threading import Lock

from confide.cancellation import current_cancellation
from confide.engines.spark.connecting import SparkSession, connect
from confide.engines.spark.failures import failures
from confide.engines.spark.store import Pointer

__all__ = ["Sessions"]

ANY_SIZE = str(1 << 40)

SETTINGS = {
    # A part is read by one task, from its beginning: its sums are made in one order.
    "spark.sql.files.maxPartitionBytes": ANY_SIZE,
    "spark.sql.files.openCostInBytes": ANY_SIZE,
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(1 << 16),
    "spark.sql.ansi.enabled": "true",  # a sum that leaves 64 bits is an error
    "spark.sql.session.timeZone": "UTC",
}

READING = {"ignoreCorruptFiles": "false", "ignoreMissingFiles": "false", "parquet.page.verify-checksum.enabled": "true"}
"""Whatever the cluster is set to, no record is left out in silence."""


class Sessions:
    """Safe to share among threads."""

    def __init__(self, cluster: str, pointer: Pointer) -> None:
        self._cluster, self._pointer = cluster, pointer
        self._lock, self._open = Lock(), list[SparkSession]()

    @contextmanager
    def question(self) -> Iterator[SparkSession]:
        """A session in which `records` are those that were ingested; a Fault if they are others now."""
        cancellation = current_cancellation()
        with failures():
            cancellation.check()
            session = self._session(sorted(self._pointer.described()["parts"]))
            tag = f"confide-{secrets.token_hex(8)}"
            session.addTag(tag)
            try:
                with cancellation.interrupting(partial(_interrupt, session, tag)):
                    yield session
                cancellation.check()
            except Exception:
                self._forget(session)  # it may be lost; the next question makes another
                raise
            finally:
                session.removeTag(tag)

    def close(self) -> None:
        with self._lock:
            while self._open:
                _end(self._open.pop())

    def _session(self, parts: list[str]) -> SparkSession:
        with self._lock:
            if not self._open:
                self._open.append(self._begun(parts))
            return self._open[0]

    def _begun(self, parts: list[str]) -> SparkSession:
        session = connect(self._cluster, {**SETTINGS, "spark.sql.shuffle.partitions": str(len(parts))})
        files = [f"file://{self._pointer.folder}/{name}" for name in parts]
        session.read.options(**READING).parquet(*files).createOrReplaceTempView("records")
        return session

    def _forget(self, session: SparkSession) -> None:
        with self._lock:
            if session in self._open:
                self._open.remove(session)


def _interrupt(session: SparkSession, tag: str) -> None:
    with suppress(Exception):
        session.interruptTag(tag)


def _end(session: SparkSession) -> None:
    with suppress(Exception):
        session.stop()
