"""The chain of a ledger that several machines write: in the database that `state` in site.toml names.

Each machine has the files of the whole ledger, too. They follow the database: a folder takes in what others recorded before it writes,
and an entry is in the database before it is in a file. So an entry has one number and one predecessor, wherever it was made; whoever
changes the database is found out by every folder, and a database that is lost can be filled again from the folder that knows most.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from confide.errors import Fault
from confide.site.ledger.entry import Damage, Head, intact
from confide.site.ledger.files import whole_lines
from confide.site.state.database import LEDGER_LOCK, connect_state, create_table, server_faults
from confide.site.state.setting import state_database

if TYPE_CHECKING:
    from confide.sources.database.connecting import Connection

__all__ = ["SharedChain", "chain_of"]

AT_ONCE = 1_000
"""So many lines are fetched at a time."""

_WITHHELD = ": the question could not be recorded, so the answer was withheld"


_CHANGED = "Find out which of the two was changed: compare the heads of the ledgers of all machines and of backups."


class SharedChain:
    """The chain in the database. One thread at a time.

    Promise: within `held` nobody else, on whatever machine, writes; what `add` returned from is durable on the server. If its
    connection is lost meanwhile, nothing was written, or `after` gives it the next time.
    """

    def __init__(self, database: str, ledger: Path) -> None:
        self._database, self._ledger = database, ledger
        self._connection: Connection | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        with self._transaction(f"BEGIN; SELECT pg_advisory_xact_lock({LEDGER_LOCK})"):
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Within this the chain is what it was at the beginning; others may write."""
        with self._transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"):
            yield

    @contextmanager
    def _transaction(self, beginning: str) -> Iterator[None]:
        with server_faults(_WITHHELD):
            connection = self._begun(beginning)
        try:
            yield
        finally:
            with suppress(Exception):  # what went wrong on the way is told already
                if connection.info.transaction_status:  # not idle, as after a commit
                    connection.execute(b"ROLLBACK")
            if connection.closed:
                self.close()

    def after(self, known: Head) -> list[bytes]:
        """Some lines that follow those that a folder has; none if there are no more. A Fault if the two do not go together."""
        overlap = min(1, known.entries)
        with server_faults(_WITHHELD):
            rows = self._held().execute(
                b"SELECT line FROM ledger WHERE number >= $1 ORDER BY number LIMIT $2",
                (known.entries - overlap, AT_ONCE),
            )
            lines = [line.encode() for (line,) in rows.fetchall()]
        if overlap and not lines:
            what, mend = "the database lacks entries that the folder has", "Let it have them: confide ledger share SITE"
            raise self._apart(what, mend)
        if overlap and _hash(lines[0], known.entries - 1) != known.hash:
            raise self._apart(f"entry {known.entries - 1} is another in the database", _CHANGED)
        return lines[overlap:]

    def fill(self) -> int:
        """Write what the files of the folder have and the database lacks, all or nothing, within `held`; gives how much that was."""
        self.must_agree()
        with server_faults():
            [(held,)] = self._held().execute(b"SELECT count(*) FROM ledger").fetchall()
        return self.add(islice(enumerate(_lines(self._ledger)), held, None))

    def must_agree(self) -> None:
        """A Fault if a line of the database is another than in the files, as far as both go; within `held` or `reading`."""
        with server_faults(), self._held().cursor("lines") as cursor:
            found = cursor.execute(b"SELECT number, line FROM ledger ORDER BY number")
            for place, ((number, line), mine) in enumerate(zip(found, _lines(self._ledger), strict=False)):
                if number != place or line.encode() != mine:
                    raise self._apart(f"entry {place} is another in the database", _CHANGED)

    def add(self, lines: Iterable[tuple[int, bytes]]) -> int:
        """Write the next lines by their numbers, all or none, durably; whoever waits may write after them. Gives how many."""
        with server_faults(_WITHHELD), self._held().cursor() as cursor:
            values = ((number, line.decode("ascii")) for number, line in lines)
            cursor.executemany(b"INSERT INTO ledger VALUES ($1, $2)", values)
            added = cursor.rowcount
            cursor.execute(b"COMMIT")
        return added

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _held(self) -> "Connection":
        if self._connection is None:
            raise Damage("it is not held.")
        return self._connection

    def _begun(self, beginning: str) -> "Connection":
        """A transaction, begun once more if the connection was lost while nobody used it."""
        from psycopg import OperationalError, errors

        if self._connection is not None:
            try:
                return self._begin(self._connection, beginning)
            except errors.LockNotAvailable:
                raise
            except OperationalError:
                pass
        self._connection = connect_state(self._database)
        create_table(self._connection, "ledger", "number BIGINT PRIMARY KEY, line TEXT NOT NULL")
        return self._begin(self._connection, beginning)

    def _begin(self, connection: "Connection", beginning: str) -> "Connection":
        try:
            connection.execute(beginning.encode())
        except BaseException:
            self.close()
            raise
        return connection

    def _apart(self, why: str, mend: str) -> Fault:
        what = f"The ledger {str(self._ledger)!r} and the database that 'state' in site.toml names do not go together: {why}."
        return Fault(f"{what} Nothing was changed, and nothing is answered.", suggestions=[mend])


def chain_of(ledger: Path) -> SharedChain | None:
    """The chain that a ledger shares with other machines; None if it is its folder's alone."""
    database = state_database(ledger.parent)
    return SharedChain(database, ledger) if database is not None else None


def _lines(ledger: Path) -> Iterator[bytes]:
    for chunk in whole_lines(ledger):
        yield from chunk.splitlines()


def _hash(line: bytes, number: int) -> str:
    with suppress(Damage):
        return intact(line, number).hash
    return ""
