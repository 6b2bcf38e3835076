"""What becomes of a statement that PostgreSQL could not carry out. Nothing it says of the statement or the data is passed on."""

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from psycopg import Error, OperationalError, errors

from confide.cancellation import Stopped, StopReason, current_cancellation
from confide.errors import Fault

__all__ = ["failures", "writing_failures"]

INGEST_AGAIN = "Ingest the data again."


@contextmanager
def failures() -> Iterator[None]:
    """What PostgreSQL cannot do: because it was told to stop, because memory is short, or else a fault that says what to mend."""
    try:
        yield
    except errors.OutOfMemory:
        raise Stopped(StopReason.MEMORY) from None
    except Error as error:
        current_cancellation().check()
        raise _fault(error) from None


def _fault(error: Error) -> Fault:
    match error:
        case errors.InsufficientPrivilege():
            return Fault(
                "The database does not let this role read the records.",
                suggestions=["Grant it USAGE on the schema and SELECT on its tables."],
            )
        case errors.UndefinedTable() | errors.UndefinedColumn() | errors.InvalidSchemaName():
            return Fault("The records are not in the database.", suggestions=[INGEST_AGAIN])
        case errors.QueryCanceled():
            return Fault("The database ended a statement that took longer than it allows.")
        case OperationalError():
            return Fault(
                f"The connection to the database failed ({type(error).__name__}).",
                suggestions=["Check that it runs, and what 'database' in dataset.toml and libpq's settings say."],
            )
    return Fault(f"The database failed ({type(error).__name__}).")


@contextmanager
def writing_failures() -> Iterator[None]:
    """The same while records are written."""
    try:
        yield
    except (Error, OSError, KeyError, pa.ArrowException) as error:
        mend = "Check that the database runs and has room, then ingest again."
        if isinstance(error, errors.InsufficientPrivilege):
            mend = "Grant the role that ingests CREATE on the database, then ingest again."
        raise Fault(
            f"The records could not be written to the database ({type(error).__name__}); the former ones are untouched.",
            suggestions=[mend],
        ) from None
