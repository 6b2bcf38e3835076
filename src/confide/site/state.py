"""What the processes of a running site know together, beside its ledger: one small SQLite database.

Nothing in it must outlive the site: it is made anew when a site is started, and everything that counts for longer is in the ledger.
A site of one process keeps it in memory.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any

from confide.data.private import only_mine
from confide.errors import Fault

__all__ = ["State", "shared_state"]

PATIENCE = 10.0
"""Seconds to wait for another process, which writes for some millionths of one."""


class State:
    """The database of one process of a site, numbered `worker`. Safe to share among threads.

    Promise: what `run` has written, every process sees, also if this one is killed at any moment; each statement is done whole or
    not at all. It does not outlive a loss of power, and need not.

    >>> state = State()
    >>> state.run("CREATE TABLE seen (who TEXT)"), state.run("INSERT INTO seen VALUES (?)", "ana")
    ([], [])
    >>> state.run("SELECT who FROM seen")
    [('ana',)]
    """

    def __init__(self, path: Path | None = None, *, worker: int = 0) -> None:
        """Without a path, the database of a site of one process; `shared_state` makes the one of several."""
        self.path, self.worker, self._lock = path, worker, Lock()
        try:
            where = f"{path.resolve().as_uri()}?mode=rw" if path else ":memory:"
            self._database = sqlite3.connect(
                where, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False
            )
            self._database.execute("PRAGMA synchronous = OFF")  # the system keeps what a killed process wrote
        except sqlite3.Error as error:
            raise _lost(error) from None

    @property
    def shared(self) -> bool:
        """Whether several processes serve the site."""
        return self.path is not None

    def run(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows that a statement gives."""
        with self._lock:
            try:
                return self._database.execute(statement, values).fetchall()
            except sqlite3.Error as error:
                raise _lost(error) from None

    def close(self) -> None:
        with self._lock:
            self._database.close()


@contextmanager
def shared_state(path: Path) -> Iterator[None]:
    """Within this there is a database, empty at first, that processes can share and only their owner can read."""
    _remove(path)
    with only_mine(), closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
    try:
        yield
    finally:
        _remove(path)


def _remove(path: Path) -> None:
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        with suppress(OSError):
            path.with_name(name).unlink(missing_ok=True)


def _lost(error: sqlite3.Error) -> Fault:
    what = f"What the processes of the site know together cannot be read or written ({type(error).__name__})."
    return Fault(what, suggestions=["Check the disk, then restart Confide. Only logins are lost."])
