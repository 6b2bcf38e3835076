"""Writing files whole or not at all."""

import fcntl
import glob
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["replacing"]


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give an empty file to write to, which then takes the place of `path`.

    Promise: who is killed on the way, or writes at the same time as another, leaves a whole file in that place. What
    somebody who was killed has left beside it, the next who writes there removes.
    """
    path = Path(path).resolve()
    _remove_left(path)
    partial = path.with_name(f"{path.name}.{secrets.token_hex(4)}.partial")
    try:
        with _held(partial):
            yield partial
            os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def _held(partial: Path) -> Iterator[None]:
    """A new file that is locked until here ends, or the process does, however that comes about."""
    descriptor = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _remove_left(path: Path) -> None:
    """Remove what was being written to a place by those who are no more: nobody holds a lock on it."""
    for left in path.parent.glob(f"{glob.escape(path.name)}.{'[0-9a-f]' * 8}.partial"):
        with suppress(OSError), open(left, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            left.unlink()
