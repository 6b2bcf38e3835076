"""Questions to a cluster: in one session, shared by all engines of this process, each question stopped by itself."""

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Lock

import numpy as np
import pyarrow as pa

from confide.arrays import Ints
from confide.cancellation import current_cancellation
from confide.engines.spark.connecting import SparkSession, address_of, check, connect
from confide.engines.spark.failures import failures, lost
from confide.engines.spark.store import ParquetPointer

__all__ = ["Question", "SparkRecords"]

Work = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

ANY_SIZE = str(1 << 40)

SETTINGS = {
    # A part is read by one task, from its beginning: its sums are made in one order.
    "spark.sql.files.maxPartitionBytes": ANY_SIZE,
    "spark.sql.files.openCostInBytes": ANY_SIZE,
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(1 << 16),
    "spark.sql.ansi.enabled": "true",  # a sum that leaves 64 bits is an error
}

READING = {"ignoreCorruptFiles": "false", "ignoreMissingFiles": "false", "parquet.page.verify-checksum.enabled": "true"}
"""Whatever the cluster is set to, no record is left out in silence."""


class _Sessions:
    """One session a cluster, since executors start other Pythons for each, which load the kernels anew: seconds."""

    def __init__(self) -> None:
        self._lock, self._open = Lock(), dict[str, tuple[str, SparkSession]]()

    def of(self, cluster: str) -> SparkSession:
        """The session with a cluster; another one where the former is lost or its server is no more."""
        with self._lock:
            address, (known, session) = address_of(cluster), self._open.get(cluster, ("", None))
            if session is None or known != address:
                _close(session)
                session = connect(address, SETTINGS)
                self._open[cluster] = address, session
            return session

    def forget(self, cluster: str, session: SparkSession) -> None:
        with self._lock:
            if self._open.get(cluster, ("", None))[1] is session:
                del self._open[cluster]
        _close(session)


_SESSIONS = _Sessions()


class SparkRecords:
    """The records that a pointer names, as a cluster reads them. Safe to share among threads."""

    def __init__(self, cluster: str, pointer: ParquetPointer) -> None:
        check(cluster)
        self._cluster, self._pointer = cluster, pointer
        # Not the folder's name alone: another engine may read the same records, and close first.
        self._view = f"{Path(pointer.folder).name}_{secrets.token_hex(4)}"
        self._lock, self._seen = Lock(), list[SparkSession]()

    @contextmanager
    def question(self) -> Iterator["Question"]:
        """The records that were ingested; a Fault if they are others now."""
        cancellation = current_cancellation()
        with failures():
            cancellation.check()
            session, tag = self._session(sorted(self._pointer.described()["parts"])), f"confide-{secrets.token_hex(8)}"
            session.addTag(tag)
            try:
                with cancellation.interrupting(partial(_interrupt, session, tag)):
                    yield Question(session, self._view)
                cancellation.check()
            except Exception as error:
                if lost(error):
                    _SESSIONS.forget(self._cluster, session)
                raise
            finally:
                session.removeTag(tag)

    def close(self) -> None:
        with self._lock, suppress(Exception):
            while self._seen:
                self._seen.pop().catalog.dropTempView(self._view)

    def _session(self, parts: list[str]) -> SparkSession:
        """The session of the cluster, which has seen these records."""
        session = _SESSIONS.of(self._cluster)
        with self._lock:
            if session not in self._seen:
                files = [f"file://{self._pointer.folder}/{name}" for name in parts]
                session.read.options(**READING).parquet(*files).createOrReplaceTempView(self._view)
                self._seen[:] = [session]
        return session


class Question:
    """What is asked at once: a statement about `records`, or their columns."""

    def __init__(self, session: SparkSession, view: str) -> None:
        self._session, self._view = session, view

    def ask(self, sql: str, counted: int | None = None) -> Ints:
        """The rows of an answer; those whose column `counted` is 0 are left out, and have no other numbers either."""
        found = self._session.sql(f"WITH records AS (SELECT * FROM {self._view}) {sql}").toArrow()
        rows = np.column_stack([column.fill_null(0).to_numpy().astype(np.int64) for column in found.columns])
        return rows if counted is None else rows[rows[:, counted] > 0]

    def mapped(self, columns: Sequence[str], condition: str, work: Work, schema: str) -> pa.Table:
        """What executors make of the columns of the records that meet a condition, part by part."""
        records = self._session.table(self._view).where(condition).select(*columns)
        return records.mapInArrow(work, schema).toArrow()


def _interrupt(session: SparkSession, tag: str) -> None:
    with suppress(Exception):
        session.interruptTag(tag)


def _close(session: SparkSession | None) -> None:
    """Close the way to a server, so that nothing is sent there when the process ends."""
    if session is not None:
        with suppress(Exception):
            session.client.close()
