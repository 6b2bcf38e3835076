"""One at a time: what two custodians must not do at once."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confide.errors import Mistake

__all__ = ["alone"]


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
