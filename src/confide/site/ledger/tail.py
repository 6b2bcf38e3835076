"""The file of a ledger that is written to: held for the time of one write, taken back where half was written, closed with its year."""

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import BinaryIO

from confide.site.ledger.entry import Damage, Entry, Head, decode
from confide.site.ledger.files import Walked, closed_file, closed_files, hold, open_files, sync_folder, write_at
from confide.site.ledger.index import EVERY, LedgerIndex, load_checkpoint, save_checkpoint
from confide.site.ledger.shared import SharedChain

__all__ = ["HalfWritten", "Tail"]


class HalfWritten(Exception):
    """Half an entry stands in the file and cannot be removed."""


class Tail:
    """The newest file of a ledger and the index of all of it. Processes take turns; threads must take turns by themselves."""

    def __init__(self, path: Path, chain: SharedChain | None = None) -> None:
        """With a chain that other machines write too, the files follow it."""
        self._path, self._swapping, self._chain = path, Lock(), chain
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        self._opened = self._known = os.fstat(self._fd)
        """Which file is open, and which one the index ends in; it is told by these, whatever the file has become since."""
        self.index, self._saved = LedgerIndex(), 0
        self.head = Head()
        """Of what was written last; set in one step, for threads that look at it."""

    def load(self, anchored: Head | None) -> int:
        """Check the chain before anything on the disk is changed; only then cut off a torn last line.

        Gives how many entries there were that nothing but an anchor vouches for.
        """
        with self.held_here():
            self._drop_second_name()
            with open_files(self._path) as files:
                index = load_checkpoint(self._path, files) if anchored else LedgerIndex()
                self._saved = index.number
                index.follow(files)
                index.must_fit(anchored, files)
            if anchored is None and index.acts and not self._chain:
                raise Damage("its anchor is missing.")
            self._take(index)
            self._cut_torn()
            there = 0 if self._chain else index.number
            if self._chain:
                # all but what is recorded meanwhile, so that nobody waits for a folder that has much to take in
                with self._chain.reading():
                    self._take_in()
            os.fsync(self._fd)
            sync_folder(self._path.parent)
        return there

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else writes meanwhile, and what others wrote is in the index. `Damage` if it is not the file it was."""
        with self.held_here() as now:
            if now.st_size != self.index.end or not os.path.samestat(self._known, now):
                self._follow(now)
            with self._chain.held() if self._chain else nullcontext():
                self._take_in()
                yield

    def write(self, lines: Sequence[tuple[Entry, bytes]]) -> None:
        """Write lines whole, or leave the ledger as it was; where machines share the chain, there first."""
        if self._chain and lines:
            self._chain.add((entry.number, line[:-1]) for entry, line in lines)
        self._put(lines)

    def _take_in(self) -> None:
        """Write down what other machines recorded, into the files of their years."""
        while self._chain and (lines := self._chain.after(self.head)):
            for line in lines:
                entry = decode(line, self.index.number, self.index.head)
                self.end_year(entry.year)
                self._put([(entry, line + b"\n")])

    def _put(self, lines: Sequence[tuple[Entry, bytes]]) -> None:
        index = self.index
        try:
            write_at(self._fd, b"".join(line for _, line in lines), index.end)
        except BaseException:
            self._take_back()
            raise
        for entry, line in lines:
            index.add(Walked(entry, index.file, index.end, index.end + len(line)))
        self._take(index)

    def end_year(self, year: int) -> None:
        """Begin a new file if the year of the one that is written is over. A clock that was put back ends no year.

        The old file gets its second name, then a new one takes the place of the first: at every moment the newest file
        is there, and it is held. Who finds two names of one file knows that the second step is missing.
        """
        closed = closed_file(self._path, self.index.year)
        if not self.index.end or year <= self.index.year or closed.exists():
            return
        os.fsync(self._fd)
        new = self._path.with_name(self._path.name + ".new")
        new.unlink(missing_ok=True)
        fd = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            os.link(self._path, closed)
            os.replace(new, self._path)
        except BaseException:
            os.close(fd)
            self._drop_second_name()
            raise
        sync_folder(self._path.parent)
        self._swap(fd)
        self.index.enter(self.index.file + 1)
        self._known = self._opened

    def sync(self) -> Head:
        """Make everything durable that is written; gives the head of it. Threads may write meanwhile."""
        reached = self.head
        with self._swapping:
            fd = os.dup(self._fd)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
        return reached

    def close(self) -> None:
        os.close(self._fd)
        if self._chain:
            self._chain.close()

    @contextmanager
    def held_here(self) -> Iterator[os.stat_result]:
        """Other processes of this machine write nothing meanwhile; what they wrote before is not looked at. Gives how the file is.

        It is the newest file that is held: another one than before if another process ended the year. While it is held the
        system is asked as little as may be: at each call another thread may take the interpreter, and all processes wait.
        """
        hold(self._fd)
        try:
            while not os.path.samestat(self._opened, now := os.stat(self._path)):
                fd = os.open(self._path, os.O_RDWR)
                self._swap(fd)
                hold(fd)
            yield now
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def _swap(self, fd: int) -> None:
        """Go on with another file; a thread that is making the old one durable has its own descriptor of it."""
        with self._swapping:
            old, self._fd, self._opened = self._fd, fd, os.fstat(fd)
        fcntl.flock(old, fcntl.LOCK_UN)
        os.close(old)

    def _follow(self, now: os.stat_result) -> None:
        if os.path.samestat(self._known, now):
            if now.st_size < self.index.end:
                raise Damage("it is another file.")
            begin = self.index.end
            new = os.pread(self._fd, now.st_size - begin, begin)
            self.index.take_in(BytesIO(new))
            self._take(self.index)
            self._cut(new[self.index.end - begin :])
        else:
            with open_files(self._path) as files:
                self._follow_in(files)
            self._cut_torn()

    def _follow_in(self, files: Sequence[BinaryIO]) -> None:
        before = os.fstat(files[self.index.file].fileno()) if self.index.file < len(files) else None
        if before is None or not os.path.samestat(self._known, before) or before.st_size < self.index.end:
            raise Damage("it is another file.")
        self.index.follow(files)
        self._take(self.index)

    def _take(self, index: LedgerIndex) -> None:
        self.index, self.head, self._known = index, Head(index.number, index.head), self._opened
        if index.number - self._saved >= EVERY and index.end:
            save_checkpoint(index, self._path)
            self._saved = index.number

    def _cut_torn(self) -> None:
        self._cut(os.pread(self._fd, os.fstat(self._fd).st_size - self.index.end, self.index.end))

    def _cut(self, torn: bytes) -> None:
        if torn:
            _keep(self._path.with_name(self._path.name + ".torn"), torn)
            os.ftruncate(self._fd, self.index.end)

    def _take_back(self) -> None:
        try:
            os.ftruncate(self._fd, self.index.end)
        except OSError as error:
            raise HalfWritten(error.strerror) from error

    def _drop_second_name(self) -> None:
        """Undo the first step of the end of a year, where the second is missing."""
        for file in closed_files(self._path):
            if file.samefile(self._path):
                file.unlink()


def _keep(path: Path, torn: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with open(fd, "ab") as file:
        file.write(torn + b"\n")
        file.flush()
        os.fsync(fd)
