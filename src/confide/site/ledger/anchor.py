"""How far a ledger was written, kept outside of it: what shows that its end was cut off.

Promise: the anchor never knows of an entry that is not on the disk, since it is written after the ledger was made durable; so it never
raises a false alarm. A process killed at any moment leaves it whole: two places are written in turn, each with a check sum,
and the later one that is whole counts. It has an fsync of its own only when the ledger is closed, since a second one for
each entry would double its time: after a loss of power it may be some seconds behind, never ahead.

Not promised: who may write the folder can rewrite ledger and anchor alike. Keep the head elsewhere, too.
"""

import fcntl
import hashlib
import os
from contextlib import suppress
from pathlib import Path

from confide.site.ledger.entry import Damage, Head
from confide.site.ledger.files import hold, write_at

__all__ = ["Anchor", "anchor_file", "must_agree", "must_reach", "read_anchor", "write_anchor"]

PATIENCE = 2.0
"""Seconds to wait for a process that holds the site: one that was just killed lets go when the system has cleared it away."""

_SLOT = 512
"""Bytes of each place: a sector, which a disk writes whole."""


class Anchor:
    """The anchor of a ledger, open for writing. Who opens it `alone` holds the site: no other process can."""

    def __init__(self, ledger: Path, *, alone: bool) -> None:
        """`BlockingIOError` if another process holds the site."""
        self.path = anchor_file(ledger)
        self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if alone:
                hold(self._fd, patience=PATIENCE)
            self._opened = os.fstat(self._fd)
            self._turn = os.open(self.path.with_name(f".{self.path.name}.turn"), os.O_RDWR | os.O_CREAT, 0o600)
            """Held while a head is written: by a file of its own, so that nobody waits who records meanwhile."""
        except BaseException:
            os.close(self._fd)
            raise

    def read(self) -> Head | None:
        """The latest head; None if there was never one. `Damage` if it cannot be read."""
        return _latest(os.pread(self._fd, 2 * _SLOT, 0))

    def known(self) -> Head:
        """The latest head, or that of an empty ledger where there is none that can be read."""
        with suppress(Damage):
            return self.read() or Head()
        return Head()

    def write(self, head: Head) -> None:
        """Take note of a head that is on the disk; a later one stays. Of several processes one at a time does, by one thread each;
        `BlockingIOError` if one does not end.
        """
        hold(self._turn)
        try:
            self._write(head)
        finally:
            fcntl.flock(self._turn, fcntl.LOCK_UN)

    def _write(self, head: Head) -> None:
        raw = os.pread(self._fd, 2 * _SLOT, 0)
        if not raw:  # both at once, so that no room on the disk is wanted later
            write_at(self._fd, 2 * _spelt(head), 0)
            return
        known = [found.entries if found else -1 for found in (_head(raw[:_SLOT]), _head(raw[_SLOT:]))]
        if head.entries > max(known):
            write_at(self._fd, _spelt(head), _SLOT * known.index(min(known)))

    def is_in_place(self) -> bool:
        """Whether the file has not been moved or deleted."""
        with suppress(OSError):
            return os.path.samestat(self._opened, os.stat(self.path))
        return False

    def sync(self) -> None:
        os.fsync(self._fd)

    def fileno(self) -> int:
        return self._fd

    def close(self) -> None:
        """Let another process hold the site. Unlocked by name: a forked child may still have the descriptor."""
        fcntl.flock(self._fd, fcntl.LOCK_UN)
        os.close(self._turn)
        os.close(self._fd)


def anchor_file(ledger: Path) -> Path:
    """Where the anchor of a ledger is kept."""
    return ledger.resolve().with_suffix(".anchor")


def read_anchor(ledger: Path) -> Head | None:
    """The head that the anchor of a ledger knows; None if there is none. `Damage` if it cannot be read."""
    try:
        return _latest(anchor_file(ledger).read_bytes())
    except FileNotFoundError:
        return None


def write_anchor(ledger: Path, head: Head) -> None:
    """Make an anchor that knows this head and no other."""
    path = anchor_file(ledger)
    new = path.with_suffix(".anchor.new")
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(fd, "wb") as file:
        file.write(2 * _spelt(head))
        file.flush()
        os.fsync(fd)
    os.replace(new, path)


def must_agree(found: Head, anchored: Head | None) -> None:
    """`Damage` if the entry that the anchor knows is another."""
    if anchored and found.entries == anchored.entries and found.hash != anchored.hash:
        raise Damage(f"entry {found.entries - 1} is not the one that the anchor knows: the end was rewritten.")


def must_reach(found: Head, anchored: Head | None) -> None:
    """`Damage` if there are fewer entries than the anchor knows."""
    if anchored and found.entries < anchored.entries:
        lost = anchored.entries - found.entries
        what = "1 entry was" if lost == 1 else f"{lost} entries were"
        raise Damage(f"entry {found.entries} is missing: {what} cut off the end, as the anchor shows.")


def _latest(raw: bytes) -> Head | None:
    heads = [head for head in (_head(raw[:_SLOT]), _head(raw[_SLOT:])) if head]
    if heads or not raw:
        return max(heads, default=None)
    raise Damage("its anchor cannot be read.")


def _spelt(head: Head) -> bytes:
    text = f"{head.entries} {head.hash}"
    return f"{text} {_sum(text)}".ljust(_SLOT - 1).encode() + b"\n"


def _head(slot: bytes) -> Head | None:
    text, _, check = slot.decode("ascii", "replace").strip().rpartition(" ")
    entries, _, digest = text.partition(" ")
    return Head(int(entries), digest) if check and check == _sum(text) else None


def _sum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
