"""The state of a site that several machines serve: in PostgreSQL.

A process holds a lock on the server under its name for as long as its connection lasts: who can take that lock knows that the process
is gone, however it ended, and takes its places away. A process that loses its connection loses them, too, and what it was answering.
"""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any, TypeVar

from confide.cancellation import current_cancellation
from confide.errors import Fault
from confide.site.state.database import PATIENCE, STATE_LOCK, connect_state, create_table, has_table, server_faults

if TYPE_CHECKING:
    from confide.sources.database.connecting import Connection

__all__ = ["ServerState", "forget_counts"]

T = TypeVar("T")

_GONE = "pg_try_advisory_xact_lock(hashtextextended(machine || ' ' || worker, 0))"
_NAME = "hashtextextended(?1, 0)"
"""The lock that a process, or a turn, has on the server; who can take that of a process knows that it has gone."""

_BEGIN = f"BEGIN; SET LOCAL synchronous_commit = off; SELECT pg_advisory_xact_lock({STATE_LOCK})"

_LEFT = {"places": "", "answers": "AND entry = -1"}
"""What a process has of questions under way, by table: its places, and which it alone answers."""


class ServerState:
    """The state of a site on a server, as one process sees it. Safe to share among threads.

    Promise: a connection that is lost is made anew; what was being said then is a Fault, or is said again where that is no harm.
    """

    shared = True

    def __init__(self, database: str, *, folder: Path, worker: int = 0, of_several: bool = False) -> None:
        self.worker, self.of_several, self._database, self._lock = worker, of_several, database, RLock()
        self.machine = _machine(folder)
        self._connection: Connection | None = None
        self._claimed, self._at_once, self._turns = False, False, dict[str, Lock]()
        [(seconds,)] = self.run("SELECT extract(epoch FROM clock_timestamp())::double precision")
        self._ahead = float(seconds) - time.monotonic()
        """Of this machine's clock, when the site was opened: the server's may be set later."""

    def claim(self) -> None:
        with self._lock, server_faults():
            self._claimed = True
            self._drop()
            self._connected()

    def table(self, name: str, columns: str, *, lasting: bool = True) -> None:
        self._twice(lambda connection: create_table(connection, name, columns, lasting=lasting))

    def run(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows that a statement gives. It is said twice if the connection was lost: no statement of ours does harm by that."""

        def said(connection: "Connection") -> list[tuple[Any, ...]]:
            found = connection.execute(_own(statement), values)
            return found.fetchall() if found.description else []

        return self._twice(said)

    def changed(self, statement: str, *values: Any) -> int:
        return self._twice(lambda connection: connection.execute(_own(statement), values).rowcount)

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Nobody waits for the server's disk: what is written is durable as soon as anything is that is written later, such as an
        entry of the ledger. Before that a server that crashes loses it with the connections, and so what it was written for.
        """
        with self._lock:
            self._twice(lambda connection: connection.execute(_BEGIN.encode()))
            self._at_once = True
            try:
                yield
                self._commit()
            finally:
                self._at_once = False
                self._take_back()

    def now(self) -> float:
        return time.monotonic() + self._ahead

    @contextmanager
    def in_turn(self, what: str) -> Iterator[None]:
        """By a lock that goes with the connection: if that is lost, so are the places of all questions under way, and with them what
        the turn was for.
        """
        with self._lock:
            turn = self._turns.setdefault(what, Lock())
        with turn:  # the server knows one process from another, and not its threads
            while not self.run(f"SELECT pg_try_advisory_lock({_NAME})", f"turn {what}")[0][0]:
                current_cancellation().pause()
                time.sleep(0.02)
            try:
                yield
            finally:
                with suppress(Fault):
                    self.run(f"SELECT pg_advisory_unlock({_NAME})", f"turn {what}")

    def bury(self) -> None:
        """A lock that can be taken is of a process that has gone. Its own it could take, too."""
        self.run(f"DELETE FROM places WHERE (machine <> ?1 OR worker <> ?2) AND {_GONE}", self.machine, self.worker)

    def gone(self, machine: str, worker: int) -> bool:
        others = (machine, worker) != (self.machine, self.worker)
        lock = f"SELECT pg_try_advisory_xact_lock({_NAME})"
        return others and bool(self.run(lock, f"{machine} {worker}")[0][0])

    def close(self) -> None:
        with self._lock:
            self._drop()

    def _twice(self, work: "Callable[[Connection], T]") -> T:
        """What is done on the connection, and once more on another if that one was lost."""
        from psycopg import OperationalError

        with self._lock, server_faults():
            if self._at_once and self._connection is not None:
                return work(self._connection)
            with suppress(OperationalError):
                return work(self._connected())
            return work(self._connected())

    def _commit(self) -> None:
        """End what is written at once; a Fault if any of it failed: the server would say nothing, and write nothing."""
        from psycopg.pq import TransactionStatus

        def committed(connection: "Connection") -> bool:
            whole = connection.info.transaction_status == TransactionStatus.INTRANS
            connection.execute(b"COMMIT")
            return whole

        if not self._twice(committed):
            raise Fault("The state of the site could not be written, so nothing of it was.", suggestions=["Ask again."])

    def _take_back(self) -> None:
        """End a transaction that did not end; with its connection, if that is the only way."""
        connection = self._connection
        if connection is not None and connection.info.transaction_status:
            try:
                connection.execute(b"ROLLBACK")
            except Exception:
                self._drop()

    def _connected(self) -> "Connection":
        if self._connection is None or self._connection.closed:
            self._drop()
            connection = connect_state(self._database)
            self._connection = self._named(connection) if self._claimed else connection
        return self._connection

    def _named(self, connection: "Connection") -> "Connection":
        """A connection that holds the lock of this process; one before it may still be on its way out.

        Questions under way lose their places and are free to be answered by others, who may have begun meanwhile.
        """
        until = time.monotonic() + PATIENCE
        try:
            while not connection.execute(
                _own(f"SELECT pg_try_advisory_lock({_NAME})"), (f"{self.machine} {self.worker}",)
            ).fetchall()[0][0]:
                if time.monotonic() > until:
                    what = f"A process of the name {self.machine!r} is known to the state database already."
                    raise Fault(what, suggestions=["Give each machine a host name of its own, or wait a minute."])
                time.sleep(0.05)
            for table, under_way in _LEFT.items():
                if has_table(connection, table):
                    left = f"DELETE FROM {table} WHERE machine = $1 AND worker = $2 {under_way}"
                    connection.execute(left.encode(), (self.machine, self.worker))
        except BaseException:
            connection.close()
            raise
        return connection

    def _drop(self) -> None:
        if self._connection is not None:
            with suppress(OSError):
                self._connection.close()
            self._connection = None


def forget_counts(database: str, folder: Path) -> None:
    """Begin anew to count requests, as a server that is started does."""
    with server_faults(), closing(connect_state(database)) as connection:
        if has_table(connection, "counts"):
            connection.execute(b"DELETE FROM counts WHERE machine = $1", (_machine(folder),))


def _machine(folder: Path) -> str:
    return f"{socket.gethostname()}:{folder.resolve()}"


def _own(statement: str) -> bytes:
    """A statement as PostgreSQL numbers its parameters."""
    return statement.replace("?", "$").encode()
