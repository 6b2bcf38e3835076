"""Which process serves a site, so that it can be told that the folder changed."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ServingProcess", "serving", "serving_process"]

_FILE = "server.pid"


@dataclass(frozen=True)
class ServingProcess:
    """The process that is told when the folder changed, and how many answer for it."""

    pid: int
    workers: int


@contextmanager
def serving(site: Path, *, workers: int = 1) -> Iterator[None]:
    """Within this, others find this process as the one that serves the site, by itself or by so many workers."""
    descriptor = os.open(site / _FILE, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.truncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()} {workers}\n".encode())
        yield
    finally:
        (site / _FILE).unlink(missing_ok=True)
        os.close(descriptor)


def serving_process(site: Path) -> ServingProcess | None:
    """The process that serves a site, if one does: what one that was killed has left is not believed."""
    try:
        with (site / _FILE).open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                pid, workers = map(int, file.read().split())
                return ServingProcess(pid, workers)
    except (OSError, ValueError):
        pass
    return None
