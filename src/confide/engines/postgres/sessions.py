"""Read-only sessions with the database: one for each question that is being answered, kept for the next."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from math import isfinite

from psycopg import Error, OperationalError

from confide.cancellation import current_cancellation
from confide.engines.postgres.failures import INGEST_AGAIN, failures
from confide.engines.postgres.store import SchemaPointer
from confide.errors import Fault
from confide.sources.database.connecting import Connection, connect

__all__ = ["DatabaseSessions"]

GRACE = 2.0
"""Seconds after which the server ends by itself what it should have been told to stop: nobody may be left to tell it."""


class DatabaseSessions:
    """Safe to share among threads. Every question sees one state of the database, and cannot change it."""

    def __init__(self, database: str, pointer: SchemaPointer) -> None:
        self._database, self._pointer = database, pointer
        self._idle: deque[Connection] = deque()
        self._closed = False

    @contextmanager
    def question(self) -> Iterator[Connection]:
        """A read-only transaction on the records that were ingested; a Fault if they are others now."""
        cancellation = current_cancellation()
        with failures():
            connection = self._begun()
            try:
                with cancellation.interrupting(partial(_cancel, connection)):
                    yield connection
                # The server may come to a cancellation later than to the end of its statement. It must not meet another's, so
                # that a session which was cancelled is never kept.
                cancellation.check()
                connection.execute("COMMIT")
            except BaseException:
                connection.close()
                raise
        self._idle.append(connection)
        if self._closed:
            self.close()

    def close(self) -> None:
        """Close what nobody uses now, and the others when their questions end."""
        self._closed = True
        with suppress(IndexError):
            while True:
                self._idle.pop().close()

    def _begun(self) -> Connection:
        """A connection with a transaction; one that was lost while nobody used it is replaced."""
        while self._idle:
            with suppress(IndexError):  # another thread took the last one
                connection = self._idle.pop()
                with suppress(OperationalError):
                    return self._begin(connection)
        return self._begin(connect(self._database))

    def _begin(self, connection: Connection) -> Connection:
        try:
            found = connection.execute(self._beginning().encode())
            while found.nextset():
                pass
            row = found.fetchone()
            if row is None or row[0] != self._pointer.mark:
                raise Fault("The records in the database are not those that were ingested.", suggestions=[INGEST_AGAIN])
        except BaseException:
            connection.close()
            raise
        return connection

    def _beginning(self) -> str:
        seconds = current_cancellation().seconds
        limit = f"SET LOCAL statement_timeout = {int(1000 * (seconds + GRACE))};" if isfinite(seconds) else ""
        return (
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;"
            f"SET LOCAL search_path = {self._pointer.schema}; {limit} SELECT mark FROM {self._pointer.schema}.meta"
        )


def _cancel(connection: Connection) -> None:
    with suppress(Error):
        connection.cancel_safe(timeout=GRACE)
