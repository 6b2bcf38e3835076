"""One at a time: what two custodians must not do at once."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confide.errors import Mistake

__all__ = ["alone", "in_turn"]


@contextmanager
def alone(folder: Path, *, doing: str) -> Iterator[None]:
    """Within this, nobody else who asks for the same folder gets in, in whatever process: they have a Mistake."""
    descriptor = os.open(folder, os.O_RDONLY)  # the lock goes with the process, however it ends
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Mistake(
                f"Somebody else is {doing} now.", suggestions=["Look at what they did, then try again."]
            ) from None
        yield
    finally:
        os.close(descriptor)


@contextmanager
def in_turn(folder: Path) -> Iterator[None]:
    """Within this one writer works on a folder, in this process and others; who comes later waits. At the end it is on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
