"""What becomes of a statement that DuckDB could not carry out."""

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
import pyarrow as pa

from confide.cancellation import Stopped, StopReason, current_cancellation
from confide.errors import Fault

__all__ = ["failures"]


@contextmanager
def failures() -> Iterator[None]:
    """What DuckDB cannot do: because it was interrupted, because memory is short, or else our fault."""
    try:
        yield
    except duckdb.OutOfMemoryException:
        raise Stopped(StopReason.MEMORY) from None
    except (duckdb.Error, pa.ArrowException, OSError) as error:  # a stream that fails raises an OSError
        current_cancellation().check()
        raise Fault(f"The engine failed ({type(error).__name__}).") from None
