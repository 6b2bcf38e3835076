"""Reading a ledger beside a running site: all of it, its last entries, or whether it is what was written."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from confide.errors import Mistake
from confide.site.ledger.anchor import must_agree, must_reach, read_anchor, write_anchor
from confide.site.ledger.entry import Damage, Entry, Head
from confide.site.ledger.files import damaged, open_files, walk
from confide.site.ledger.index import load_checkpoint
from confide.site.ledger.ledger import Ledger
from confide.site.ledger.shared import chain_of

__all__ = ["Verification", "anchored", "copy", "last", "read", "read_questions", "take_in", "verify"]

_CHUNK = 1 << 20


@dataclass(frozen=True)
class Verification:
    """What a check of the whole chain found: good entries, the hash of the last of them, and the first problem.

    `torn`: behind them stands half a line, whose writing was cut off before anybody saw an answer. `anchored`: there is
    an anchor, so that a missing end would be a problem.
    """

    entries: int
    head: str
    problem: str | None
    torn: bool
    anchored: bool


def take_in(path: str | Path) -> None:
    """Write down what other machines have recorded, if the site has several."""
    if chain_of(Path(path)) is not None:
        Ledger(path, alone=False).close()


def read(path: str | Path) -> Iterator[Entry]:
    """Every entry, oldest first, checked on the way; ignores a torn last line."""
    take_in(path)
    with _told(Path(path)), _reading(Path(path)) as (files, known):
        head = Head()
        for walked in walk(files):
            head = Head(walked.entry.number + 1, walked.entry.hash)
            must_agree(head, known)
            yield walked.entry
        must_reach(head, known)


def read_questions(path: str | Path) -> Iterator[Entry]:
    """Every question, oldest first, without what custodians did; none if there is no ledger yet."""
    take_in(path)
    if Path(path).exists() or anchored(path):
        yield from (entry for entry in read(path) if not entry.is_act)


def last(path: str | Path, most: int) -> list[Entry]:
    """The last entries, oldest first; only what was written since the last checkpoint is checked as a chain."""
    path = Path(path)
    take_in(path)
    with _told(path), _reading(path) as (files, known):
        index = load_checkpoint(path, files)
        index.follow(files)
        index.must_fit(known, files)
        return list(index.entries(files, max(0, index.number - most), index.number))


def anchored(path: str | Path) -> bool:
    """Whether a ledger has an anchor, so that a missing end shows."""
    with _told(Path(path)):
        return read_anchor(Path(path)) is not None


def copy(path: str | Path, target: Path) -> Head:
    """Copy a ledger, as far as it is written, to where there is none; gives the head of the copy, which is sound and has an anchor."""
    with _told(Path(path)):
        known = read_anchor(Path(path))
        with open_files(Path(path)) as files:
            for file in files:
                _copy_lines(file, target.with_name(Path(file.name).name))
        head = Head()
        with open_files(target) as copies:
            for walked in walk(copies):
                head = Head(walked.entry.number + 1, walked.entry.hash)
                must_agree(head, known)
        must_reach(head, known)
    write_anchor(target, head)
    return head


def verify(path: str | Path) -> Verification:
    """Whether the ledger is what was written; changes nothing, but takes in what other machines recorded.

    Where several machines write it, every line of the database must be the same as in the files, too: else it is a Fault.
    """
    found, chain = _verify_files(path), chain_of(Path(path))
    if chain is None or found.problem:
        return found
    take_in(path)
    with closing(chain), chain.reading():
        chain.must_agree()
    return _verify_files(path)


def _verify_files(path: str | Path) -> Verification:
    head, problem, known = Head(), None, None
    try:
        with _reading(Path(path)) as (files, known):
            for walked in walk(files):
                found = Head(walked.entry.number + 1, walked.entry.hash)
                must_agree(found, known)
                head = found
            must_reach(head, known)
    except Damage as damage:
        problem = str(damage)
    return Verification(head.entries, head.hash, problem, _is_torn(Path(path)), known is not None)


@contextmanager
def _reading(path: Path) -> Iterator[tuple[list[BinaryIO], Head | None]]:
    """The files, and what the anchor knew before they were opened: they hold at least that."""
    known = read_anchor(path)
    try:
        with open_files(path) as files:
            if not files and not (known and known.entries):
                raise Mistake(f"There is no ledger at {str(path)!r}: nothing has been asked yet.")
            yield files, known
    except OSError as error:
        raise Mistake(f"The ledger {str(path)!r} cannot be read: {error.strerror}.") from None


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except Damage as damage:
        raise damaged(path, damage) from None


def _copy_lines(source: BinaryIO, target: Path) -> None:
    """The whole lines of a file."""
    fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(fd, "wb") as file:
        while lines := source.readlines(_CHUNK):
            file.writelines(line for line in lines if line.endswith(b"\n"))
        file.flush()
        os.fsync(fd)


def _is_torn(path: Path) -> bool:
    with open_files(path) as files:
        newest = files[-1] if files else None
        return (
            newest is not None
            and newest.seek(0, os.SEEK_END) > 0
            and newest.seek(-1, os.SEEK_END) >= 0
            and newest.read() != b"\n"
        )
