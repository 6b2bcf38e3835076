"""The files of a ledger: one for each year that is over, and the one that is written. One chain runs through all.

ledger.jsonl is written to; ledger-2025.jsonl is of a year that is over. Files are counted from the oldest, so that a file keeps its
place when its year ends and it is given its name.
"""

import fcntl
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from confide.errors import Fault
from confide.site.ledger.entry import FIRST, Damage, Entry, decode

__all__ = [
    "Walked",
    "closed_file",
    "closed_files",
    "damaged",
    "hold",
    "open_files",
    "sync_folder",
    "walk",
    "walk_lines",
    "whole_lines",
    "write_at",
]

PATIENCE = 10.0
"""Seconds to wait for another process, which holds a file while it writes."""

_CHUNK = 1 << 16


@dataclass(frozen=True)
class Walked:
    """An entry with the file and the bytes where its line begins and ends."""

    entry: Entry
    file: int
    begin: int
    end: int


def closed_file(path: Path, year: int) -> Path:
    """What the file of a year is called when the year is over."""
    return path.with_name(f"{path.stem}-{year:04d}{path.suffix}")


def closed_files(path: Path) -> list[Path]:
    """The files of the years that are over, the oldest first."""
    name = re.compile(re.escape(path.stem) + r"-[0-9]{4}" + re.escape(path.suffix))
    return sorted(file for file in path.parent.iterdir() if name.fullmatch(file.name))


@contextmanager
def open_files(path: Path) -> Iterator[list[BinaryIO]]:
    """Every file of a ledger, the oldest first, also while a year ends.

    The file that is written is opened before the others are listed: if its year ends in between, it is among them
    too, and is left out there.
    """
    path = path.resolve()
    with ExitStack() as opened:
        newest = [opened.enter_context(path.open("rb"))] if path.exists() else []
        closed = [opened.enter_context(file.open("rb")) for file in closed_files(path)]
        known = {os.fstat(file.fileno()).st_ino for file in newest}
        yield [*(file for file in closed if os.fstat(file.fileno()).st_ino not in known), *newest]


def walk(
    files: Sequence[BinaryIO], *, number: int = 0, head: str = FIRST, file: int = 0, end: int = 0
) -> Iterator[Walked]:
    """Every entry from this place on, each checked as the next link of the chain.

    A last line without its newline is left out of the newest file, where its writing was cut off; elsewhere it is damage.
    """
    for place in range(file, len(files)):
        files[place].seek(end)
        newest = place == len(files) - 1
        for walked in walk_lines(files[place], number=number, head=head, file=place, end=end, newest=newest):
            yield walked
            number, head = number + 1, walked.entry.hash
        end = 0


def walk_lines(
    lines: Iterable[bytes], *, number: int, head: str, file: int, end: int, newest: bool = True
) -> Iterator[Walked]:
    """The entries of the lines of a file from its byte `end` on, each checked as the next link of the chain."""
    for line in lines:
        if not line.endswith(b"\n"):
            if newest:
                return
            raise Damage(f"entry {number} is not a ledger entry.")
        entry = decode(line[:-1], number, head)
        yield Walked(entry, file, end, end + len(line))
        number, head, end = number + 1, entry.hash, end + len(line)


def whole_lines(path: Path) -> Iterator[bytes]:
    """The whole ledger as it is, in chunks of whole lines."""
    with open_files(path) as files:
        for file in files:
            while lines := file.readlines(_CHUNK):
                yield b"".join(line for line in lines if line.endswith(b"\n"))


def write_at(fd: int, data: bytes, place: int) -> None:
    """Write all of it; the system may take a part at a time."""
    done = 0
    while done < len(data):
        done += os.pwrite(fd, data[done:], place + done)


def hold(fd: int, *, patience: float = PATIENCE) -> None:
    """Hold a file against other processes; `BlockingIOError` if one does not let it go within so many seconds."""
    until, pause = time.monotonic() + patience, 0.0001
    while True:
        try:
            return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise
        time.sleep(pause)
        pause = min(2 * pause, 0.0005)


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def damaged(path: Path, damage: Damage) -> Fault:
    """What is said of a ledger that is not as it was written."""
    what = f"The ledger {str(path)!r} is damaged: {damage} Nothing was changed."
    return Fault(what, suggestions=["Run 'confide ledger verify', then restore the ledger from a backup."])
