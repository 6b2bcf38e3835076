"""Private files: what only its owner can read, and short secrets in hexadecimal among them."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from confide.errors import Mistake

__all__ = ["create_private", "only_mine", "read_private"]

_PRIVATE = 0o077


class _Within:
    """How many are within `only_mine`, and what the process allowed before the first."""

    def __init__(self) -> None:
        self.lock, self.number, self.before = Lock(), 0, 0


_within = _Within()


@contextmanager
def only_mine() -> Iterator[None]:
    """Within this, files and folders that are made are their owner's alone, whatever library makes them.

    What a process allows (its umask) is one for all its threads, so the last to leave puts it back.
    """
    with _within.lock:
        if not _within.number:
            _within.before = os.umask(_PRIVATE)
        _within.number += 1
    try:
        yield
    finally:
        with _within.lock:
            _within.number -= 1
            if not _within.number:
                os.umask(_within.before)


def create_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read; never over one that is there (`FileExistsError`)."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(descriptor)
    except OSError:
        path.unlink()
        raise


def read_private(path: Path, *, what: str, least: int) -> list[bytes]:
    """The words of a private file, the first of so many bytes or more; one that others can read is a Mistake.

    A missing file is a `FileNotFoundError`. No message quotes what the file holds.
    """
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="ascii")
    except FileNotFoundError:
        raise
    except (OSError, UnicodeDecodeError):
        raise Mistake(f"The {what} {path} cannot be read. It must be a text file of hexadecimal digits.") from None
    if stat.S_IMODE(mode) & 0o077:
        raise Mistake(f"The {what} {path} can be read by others. Run: chmod 600 {path}")
    try:
        words = [bytes.fromhex(word) for word in text.split()]
    except ValueError:
        raise Mistake(f"The {what} {path} is not hexadecimal. Restore it from backup.") from None
    if not words or len(words[0]) < least:
        raise Mistake(f"The {what} {path} is too short: it needs at least {2 * least} hexadecimal digits.")
    return words
