"""The PostgreSQL that `state` in site.toml names: connections to it, and what is told when it fails."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from confide.errors import Fault, Mistake

if TYPE_CHECKING:
    from psycopg import Error

    from confide.sources.database.connecting import Connection

__all__ = [
    "LEDGER_LOCK",
    "PATIENCE",
    "SCHEMA",
    "STATE_LOCK",
    "ServerFacts",
    "connect_state",
    "create_table",
    "has_table",
    "server_facts",
    "server_faults",
]

SCHEMA = "confide_state"

PATIENCE = 10
"""Seconds to wait for another process, or for the server to be reached."""

LEDGER_LOCK, STATE_LOCK, _TABLES_LOCK = 0x4C656467, 0x53746174, 0x5461626C
"""Who writes an entry, who writes several things at once, and who makes a table, holds one of these locks of the database."""

_LASTING = {"connect_timeout": PATIENCE, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}
"""A server whose machine is gone is noticed within half a minute."""

_SESSION = (
    f"SET search_path = {SCHEMA}; SET synchronous_commit = on; SET default_transaction_isolation = 'read committed';"
    f"SET default_transaction_read_only = off; SET lock_timeout = '{PATIENCE}s';"
    "SET idle_in_transaction_session_timeout = '30s';"  # of a process that is held up: others must go on
    "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3"
)


_NEEDED = ("fsync", "full_page_writes")
"""Settings of a server without which a commit may be lost."""


@dataclass(frozen=True)
class ServerFacts:
    """The version of a server, what is off that must not be, and what its clock says."""

    version: str
    careless: str
    now: datetime


def connect_state(database: str) -> "Connection":
    """A connection on which a commit is durable, every statement is its own transaction unless one is begun, and whose end the
    server notices soon.
    """
    try:
        from psycopg import RawCursor

        from confide.sources.database.connecting import connect
    except ImportError:
        raise Mistake("'state' in site.toml needs the extra 'postgres': pip install 'confide[postgres]'.") from None
    connection = connect(database, setting="'state' in site.toml", **_LASTING)
    try:
        connection.execute(_SESSION.encode())
    except BaseException:
        connection.close()
        raise
    connection.cursor_factory = RawCursor
    return connection


def server_facts(database: str) -> ServerFacts:
    """What a server says of itself."""
    with server_faults(), closing(connect_state(database)) as connection:
        [(version,)] = connection.execute(b"SHOW server_version").fetchall()
        settings = {name: connection.execute(f"SHOW {name}".encode()).fetchall()[0][0] for name in _NEEDED}
        [(seconds,)] = connection.execute(b"SELECT extract(epoch FROM clock_timestamp())::double precision").fetchall()
    off = next((name for name in _NEEDED if settings[name] == "off"), "")
    return ServerFacts(str(version).split()[0], off, datetime.fromtimestamp(float(seconds), UTC))


def create_table(connection: "Connection", name: str, columns: str, *, lasting: bool = True) -> None:
    """Make a table if it is not there. Two who make one at once would stumble over each other.

    Nobody waits for the disk because of one that need not last.
    """
    if has_table(connection, name):
        return
    kind = "TABLE" if lasting else "UNLOGGED TABLE"
    with connection.transaction():
        connection.execute(f"SELECT pg_advisory_xact_lock({_TABLES_LOCK})".encode())
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}".encode())
        connection.execute(f"CREATE {kind} IF NOT EXISTS {SCHEMA}.{name} ({columns})".encode())


def has_table(connection: "Connection", name: str) -> bool:
    """Whether there is such a table; who may not make tables may ask that."""
    return connection.execute(f"SELECT to_regclass('{SCHEMA}.{name}')".encode()).fetchall()[0][0] is not None


@contextmanager
def server_faults(but: str = "") -> Iterator[None]:
    """What the server cannot do, as a Fault that says what to mend, and nothing of what was said to it; `but` is what follows."""
    try:
        yield
    except ImportError:
        raise
    except Exception as error:
        from psycopg import Error

        if not isinstance(error, Error):
            raise
        raise _fault(error, but) from None


def _fault(error: "Error", but: str) -> Fault:
    from psycopg import OperationalError, errors

    what, mend = f"failed ({type(error).__name__})", "Look at the log of the server."
    if isinstance(error, errors.InsufficientPrivilege):
        what = "does not let this role read and write what it must"
        mend = f"Grant it CREATE on the database, or all on the schema {SCHEMA} and its tables."
    elif isinstance(error, errors.LockNotAvailable):
        what, mend = "is held by another process", "Look for one that hangs, and stop it."
    elif isinstance(error, OperationalError):
        what = f"cannot be reached ({type(error).__name__})"
        mend = "Check that it runs, and what 'state' in site.toml and libpq's settings say; then ask again."
    return Fault(f"The database that 'state' in site.toml names {what}{but}.", suggestions=[mend])
