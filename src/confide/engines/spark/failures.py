"""What becomes of a question that Spark could not answer. Nothing it says of the statement or the data is passed on."""

from collections.abc import Iterator
from contextlib import contextmanager

from confide.cancellation import Stopped, StopReason, current_cancellation
from confide.engines.spark.connecting import PySparkException, PythonException
from confide.errors import Fault

__all__ = ["failures", "lost"]


@contextmanager
def failures() -> Iterator[None]:
    """What Spark cannot do: because it was told to stop, because memory is short, or else a fault that says what to mend."""
    try:
        yield
    except (PySparkException, OSError) as error:
        current_cancellation().check()
        raise _failure(error) from None


def lost(error: Exception) -> bool:
    """Whether a session is lost, so that the next question has to begin another: its server is gone, or has forgotten it."""
    if not isinstance(error, PySparkException) or isinstance(error, PythonException):
        return isinstance(error, OSError)
    forgotten = ("INVALID_HANDLE", "NO_ACTIVE_SESSION", "TABLE_OR_VIEW_NOT_FOUND")
    return not error.getCondition() or str(error.getCondition()).startswith(forgotten)


def _failure(error: Exception) -> Fault | Stopped:
    condition = str(error.getCondition()) if isinstance(error, PySparkException) else ""
    if condition.startswith("UNABLE_TO_ACQUIRE_MEMORY") or "OutOfMemory" in str(error):
        return Stopped(StopReason.MEMORY)
    if condition.startswith(("FAILED_READ_FILE", "PATH_NOT_FOUND")):
        return Fault(
            "The executors cannot read the records: they are missing, damaged, or not theirs to read.",
            suggestions=[
                "Check that every executor sees the shared folder and may read it; else ingest the data again."
            ],
        )
    if isinstance(error, PythonException):
        return _python(str(error))
    if not lost(error):
        return Fault(f"The cluster failed ({condition}).")
    return Fault(
        f"The connection to the cluster failed ({type(error).__name__}).",
        suggestions=["Check that it runs, and what 'cluster' in dataset.toml says."],
    )


def _python(text: str) -> Fault:
    if "ModuleNotFoundError" in text or "PYTHON_VERSION_MISMATCH" in text:
        return Fault(
            "The Python of the executors is another one, or lacks Confide.",
            suggestions=["Install the same version of both there, and say where with PYSPARK_PYTHON."],
        )
    return Fault("The executors failed (PythonException).")
