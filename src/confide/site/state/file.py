"""The state of a site on one machine: a small SQLite database that its processes share, or the memory of the only one.

Nothing in it must outlive the site: it is made anew when a site is started, and everything that counts for longer is in the ledger.
"""

import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from pathlib import Path
from threading import RLock
from typing import Any

from confide.data.private import only_mine
from confide.errors import Fault

__all__ = ["FileState", "shared_file"]

PATIENCE = 10.0
"""Seconds to wait for another process, which writes for some millionths of one."""


class FileState:
    """The database of one process of a site, numbered `worker`. Safe to share among threads.

    Promise: what `run` has written, every process sees, also if this one is killed at any moment. It does not outlive a loss of
    power, and need not.

    >>> state = FileState()
    >>> state.table("seen", "who TEXT"), state.run("INSERT INTO seen VALUES (?1)", "ana")
    (None, [])
    >>> state.run("SELECT who FROM seen")
    [('ana',)]
    """

    machine = ""

    def __init__(self, path: Path | None = None, *, worker: int = 0) -> None:
        """Without a path, the database of a site of one process; `shared_file` makes the one of several."""
        self.path, self.worker, self._lock = path, worker, RLock()
        try:
            where = f"{path.resolve().as_uri()}?mode=rw" if path else ":memory:"
            self._database = sqlite3.connect(
                where, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False
            )
            self._database.execute("PRAGMA synchronous = OFF")  # the system keeps what a killed process wrote
            self._writing = None if path is None else _Turn(_turn_of(path, "writing"))
            self._at_once = False
        except sqlite3.Error as error:
            raise _lost(error) from None

    @property
    def shared(self) -> bool:
        return self.path is not None

    @property
    def of_several(self) -> bool:
        return self.path is not None

    def claim(self) -> None:
        """Nothing to do: who started this process gave it its number, and to nobody else."""

    def table(self, name: str, columns: str, *, lasting: bool = True) -> None:
        self.run(f"CREATE TABLE IF NOT EXISTS {name} ({columns})")

    def run(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows that a statement gives."""
        with self._lock, nullcontext() if statement.startswith("SELECT") else self._turn():
            return self._said(statement, *values)[1]

    def changed(self, statement: str, *values: Any) -> int:
        """Without asking the database for rows, at which another thread may take over."""
        with self._lock, self._turn():
            return self._said(statement, *values)[0]

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Meanwhile other threads and processes wait, or write nothing."""
        if self.path is None:
            yield
            return
        with self._lock, self._turn():
            self._at_once = True
            try:
                self._said("BEGIN")
                yield
                self._said("COMMIT")
            finally:
                self._at_once = False
                if self._database.in_transaction:
                    self._said("ROLLBACK")

    def _turn(self) -> AbstractContextManager[None]:
        """Within this no other process writes."""
        return nullcontext() if self._writing is None or self._at_once else self._writing

    def _said(self, statement: str, *values: Any) -> tuple[int, list[tuple[Any, ...]]]:
        """How many rows a statement changed, and those that it gives."""
        try:
            done = self._database.execute(statement, values)
            return done.rowcount, done.fetchall() if done.description else []
        except sqlite3.Error as error:
            raise _lost(error) from None

    def now(self) -> float:
        """Since the machine was started."""
        return time.monotonic()

    @contextmanager
    def in_turn(self, what: str) -> Iterator[None]:
        """The lock goes with the process, however it ends."""
        if self.path is None:
            yield
            return
        turn = _Turn(_turn_of(self.path, what))
        try:
            with turn:
                yield
        finally:
            turn.close()

    def bury(self) -> None:
        """Nothing to do: a worker that is started again takes its own away."""

    def gone(self, machine: str, worker: int) -> bool:
        return False

    def close(self) -> None:
        with self._lock:
            self._database.close()
            if self._writing is not None:
                self._writing.close()


class _Turn:
    """One process at a time, woken when the other is done: SQLite itself would look again after milliseconds."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)

    def __enter__(self) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def __exit__(self, *error: object) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._descriptor)


def _turn_of(path: Path, what: str) -> Path:
    return path.with_name(f"{path.name}.{what}.turn")


@contextmanager
def shared_file(path: Path) -> Iterator[None]:
    """Within this there is a database, empty at first, that processes can share and only their owner can read."""
    _remove(path)
    with only_mine(), closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
    try:
        yield
    finally:
        _remove(path)


def _remove(path: Path) -> None:
    for file in (path, *path.parent.glob(f"{path.name}-*"), *path.parent.glob(f"{path.name}.*.turn")):
        with suppress(OSError):
            file.unlink(missing_ok=True)


def _lost(error: sqlite3.Error) -> Fault:
    what = f"What the processes of the site know together cannot be read or written ({type(error).__name__})."
    return Fault(what, suggestions=["Check the disk, then restart Confide. Only logins are lost."])
