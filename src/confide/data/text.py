"""Text as τ-ARGUS and its neighbours write it."""

import gzip
from pathlib import Path

from confide.data.replacing import replacing
from confide.errors import Mistake

__all__ = ["read_text", "write_text"]


def read_text(path: str | Path) -> str:
    """The text of a file, gzipped or not: UTF-8, UTF-16 that says so, or what Windows programs write."""
    path = Path(path)
    try:
        content = path.read_bytes()
        content = gzip.decompress(content) if path.suffix.lower() == ".gz" else content
    except (OSError, EOFError) as error:
        raise Mistake(f"There is no file {str(path)!r} that can be read.") from error
    try:
        return content.decode("utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError:
        # Every sequence of bytes is text in Windows-1252 but for five bytes that nobody writes.
        return content.decode("cp1252", errors="replace")


def write_text(path: str | Path, text: str) -> None:
    """Write a text as UTF-8."""
    try:
        with replacing(path) as file:
            file.write_bytes(text.encode())
    except OSError as error:
        raise Mistake(f"{str(path)!r} cannot be written ({error.strerror}).") from None
