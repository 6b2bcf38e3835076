"""What the processes of a running site know together, beside its ledger: logins, and the places of questions under way.

On one machine it is a small SQLite database in the folder, made anew at every start; where several machines serve a site it is in
the PostgreSQL that `state` in site.toml names, which holds the chain of the ledger, too. Every statement is written once: with
numbered parameters (?1, ?2) and the part of SQL that both databases have.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

from confide.errors import Mistake
from confide.site.state.file import FileState, shared_file
from confide.site.state.setting import state_database

__all__ = ["FileState", "State", "must_belong", "open_state", "prepared_state", "state_database"]


class State(Protocol):
    """The state of a site as one of its processes sees it: the one numbered `worker` of a machine. Safe to share among threads.

    Promise: what `run` has written, every process sees, also if this one is killed at any moment; each statement is done whole or
    not at all, or is a Fault.
    """

    worker: int
    machine: str

    @property
    def shared(self) -> bool:
        """Whether several processes serve the site, here or elsewhere."""

    @property
    def of_several(self) -> bool:
        """Whether this process is one of several on its machine, which another has started and holds the folder for."""

    def claim(self) -> None:
        """Be known by this number from now on, until the process ends; a Fault if another process is."""

    def table(self, name: str, columns: str, *, lasting: bool = True) -> None:
        """See to it that there is a table; one that need not last may be empty after the server has crashed."""

    def run(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows that a statement gives."""

    def changed(self, statement: str, *values: Any) -> int:
        """How many rows a statement writes, changes or deletes."""

    def at_once(self) -> AbstractContextManager[None]:
        """What this thread writes within this is written in one step at the end: all, or nothing if it ends in an error.

        Where processes share the state, no other does so meanwhile.
        """

    def now(self) -> float:
        """Seconds on a clock that does not go back, the same for all processes."""

    def in_turn(self, what: str) -> AbstractContextManager[None]:
        """Within this no other process does the same."""

    def bury(self) -> None:
        """Take away the places of processes that are no more, where no other process looks after them."""

    def gone(self, machine: str, worker: int) -> bool:
        """Whether a process is no more, and none will be started in its place that looks after what it left."""

    def close(self) -> None:
        """Let go of the database."""


def open_state(folder: Path, *, worker: int = 0, of_several: bool = False) -> State:
    """The state of the site in a folder, for one process or for one of several of this machine."""
    database = state_database(folder)
    if database is None:
        return FileState(_file(folder) if of_several else None, worker=worker)
    from confide.site.state.server import ServerState

    return ServerState(database, folder=folder, worker=worker, of_several=of_several)


@contextmanager
def prepared_state(folder: Path) -> Iterator[None]:
    """Within this there is what the processes of this machine can share."""
    database = state_database(folder)
    if database is None:
        with shared_file(_file(folder)):
            yield
        return
    from confide.site.state.server import forget_counts

    forget_counts(database, folder)
    yield


def must_belong(state: State, secret: str) -> None:
    """A Mistake if a state is of a site with another secret than the one of this public name."""
    state.table("site", "one INTEGER PRIMARY KEY, secret TEXT NOT NULL")
    state.run("INSERT INTO site VALUES (1, ?1) ON CONFLICT (one) DO NOTHING", secret)
    [(found,)] = state.run("SELECT secret FROM site")
    if found != secret:
        raise Mistake(
            f"'state' in site.toml names the database of a site with another secret (its public name is {found}).",
            suggestions=["All machines of a site have the same secret; another site needs a database of its own."],
        )


def _file(folder: Path) -> Path:
    return folder / "state.sqlite"
