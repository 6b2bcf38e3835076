"""Private files: short secrets in hexadecimal that only their owner can read."""

import os
import stat
from pathlib import Path

from confide.errors import Mistake

__all__ = ["create_private", "read_private"]


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
