"""Which process serves a site, so that it can be told that the folder changed."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["serving", "serving_process"]

_FILE = "server.pid"


@contextmanager
def serving(site: Path) -> Iterator[None]:
    """Within this, others find this process as the one that serves the site."""
    descriptor = os.open(site / _FILE, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.truncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        yield
    finally:
        (site / _FILE).unlink(missing_ok=True)
        os.close(descriptor)


def serving_process(site: Path) -> int | None:
    """The number of the process that serves a site, if one does: a number left by one that was killed is not believed."""
    try:
        with (site / _FILE).open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return int(file.read())
    except (OSError, ValueError):
        pass
    return None
