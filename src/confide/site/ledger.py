"""The append-only, hash-chained record of questions and outcomes: one JSON object a line.

Promise: what `append` returned is on the disk, and any later change, deletion, insertion or reordering of entries is
found and named. Not promised: a chain cut off after a whole entry, or rewritten from some entry to its end, is itself a
good chain. Keep the head that `verify` gives somewhere else (paper, another machine) and compare.

The hash of an entry is the SHA-256 of its other fields as canonical JSON: keys sorted, no spaces, all but ASCII
escaped. A line is the canonical JSON of all fields, so that any language can check the chain.
"""

import fcntl
import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from threading import Condition, Lock
from types import TracebackType
from typing import Any, BinaryIO, Literal, Self

from confide.errors import Fault, Mistake

__all__ = ["Entry", "Ledger", "Outcome", "Verification", "read", "read_between", "verify"]

Outcome = Literal["released", "refused"]

_FIRST = "0" * 64
_TEXTS = ("time", "who", "dataset", "outcome", "receipt", "answer", "policy", "data", "previous", "hash")
_TYPES: dict[str, type] = {"number": int, "request": dict, "rules": list, **dict.fromkeys(_TEXTS, str)}
_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One question and its outcome. `answer` is the digest of what was released, never the numbers themselves."""

    number: int
    time: str
    who: str
    dataset: str
    request: dict[str, Any]
    outcome: Outcome
    rules: tuple[str, ...]
    receipt: str
    answer: str
    policy: str
    data: str
    previous: str
    hash: str


@dataclass(frozen=True)
class Verification:
    """What a check of the whole chain found: good entries, the hash of the last of them, and the first problem."""

    entries: int
    head: str
    problem: str | None
    torn: bool


class _Damage(Exception):
    """The first entry that is not what was written."""


def read(path: str | Path) -> Iterator[Entry]:
    """Every entry, oldest first, checked on the way; works beside a running site and ignores a torn last line."""
    with _reading(Path(path)) as file:
        try:
            for entry, _ in _walk(file):
                yield entry
        except _Damage as damage:
            raise _damaged(Path(path), damage) from None


def read_between(path: str | Path, begin: int, end: int) -> list[Entry]:
    """The entries whose lines begin and end at these bytes: each checked by itself, not as a link of the chain."""
    with _reading(Path(path)) as file:
        file.seek(begin)
        lines = file.read(end - begin).splitlines()
    found = [_parse(line) for line in lines]
    if any(raw is None or raw["hash"] != _digest_of(raw) for raw in found):
        raise _damaged(Path(path), _Damage("an entry was changed since it was written."))
    return [Entry(**{**raw, "rules": tuple(raw["rules"])}) for raw in found if raw is not None]


def verify(path: str | Path) -> Verification:
    """Whether the ledger is what was written; changes nothing and works beside a running site."""
    entries, head, problem = 0, _FIRST, None
    with _reading(Path(path)) as file:
        try:
            for entry, _ in _walk(file):
                entries, head = entries + 1, entry.hash
        except _Damage as damage:
            problem = str(damage)
        torn = file.seek(0, os.SEEK_END) > 0 and file.seek(-1, os.SEEK_END) >= 0 and file.read() != b"\n"
    return Verification(entries, head, problem, torn)


class Ledger:
    """The ledger of a site, open for writing by one process; its threads may share it.

    Promise: an entry is on the disk before `append` returns, so that no answer is seen which is not recorded.
    Threads that append at once share one fsync.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as site, Ledger(f"{site}/ledger.jsonl") as ledger:
    ...     entry = ledger.append(who="ana", dataset="people", request={"rows": ["sex"]}, outcome="refused",
    ...                           rules=["tables.sparsity"], policy="standard 1", data="2024")
    ...     verify(f"{site}/ledger.jsonl").head == entry.hash
    True
    """

    def __init__(
        self,
        path: str | Path,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        watch: Callable[[Entry, int], None] = lambda entry, end: None,
    ) -> None:
        """`watch` sees every entry in order, old ones too, with the byte after its line."""
        self._path = Path(path)
        self._clock, self._watch = clock, watch
        self._owner = os.getpid()
        self._writing, self._turn, self._syncing = Lock(), Condition(), False
        self._asked: Counter[tuple[str, str, str]] = Counter()
        self._number, self._head, self._end, self._synced = 0, _FIRST, 0, 0
        self._broken = ""
        with _faults(self._path):
            self._fd = _open_locked(self._path)
            try:
                self._load()
            except BaseException:
                self._unlock()
                raise

    def append(
        self,
        *,
        who: str,
        dataset: str,
        request: Mapping[str, Any],
        outcome: Outcome,
        policy: str,
        data: str,
        rules: Sequence[str] = (),
        receipt: str = "",
        answer: str = "",
    ) -> Entry:
        """Record a question and its outcome; on return it is on the disk. A Fault means: withhold the answer."""
        fields = {"who": who, "dataset": dataset, "request": dict(request), "outcome": outcome, "rules": list(rules)}
        fields |= {"receipt": receipt, "answer": answer, "policy": policy, "data": data}
        with self._writing:
            self._check_usable()
            entry, line = self._seal(fields)
            self._write(line)
            self._advance(entry, self._end + len(line))
            end = self._end
        self._sync(end)
        return entry

    def asked(self, who: str, dataset: str, day: date) -> int:
        """How many questions a person asked of a data set on a UTC date, refused ones included."""
        return self._asked[who, dataset, day.isoformat()]

    def close(self) -> None:
        """Let another process use the ledger; who is still appending gets a Fault instead of an answer."""
        with self._writing, self._turn:
            self._turn.wait_for(lambda: not self._syncing)
            if self._fd >= 0 and os.getpid() == self._owner:
                self._broken = self._broken or "is closed"
                self._unlock()
                self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _load(self) -> None:
        """Check the whole chain before anything on the disk is changed; only then cut off a torn last line."""
        with open(self._fd, "rb", closefd=False) as file:
            try:
                for entry, end in _walk(file):
                    self._advance(entry, end)
            except _Damage as damage:
                raise _damaged(self._path, damage) from None
            file.seek(self._end)
            torn = file.read()
        if torn:
            _keep(self._path.with_name(self._path.name + ".torn"), torn)
            os.ftruncate(self._fd, self._end)
        os.fsync(self._fd)
        _sync_folder(self._path.parent)
        self._synced = self._end

    def _seal(self, fields: dict[str, Any]) -> tuple[Entry, bytes]:
        """The next entry and its line; the entry is read back from the line, so nothing unreadable is ever written."""
        now = self._clock().astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        body = {**fields, "number": self._number, "time": now, "previous": self._head}
        line = _canonical({**body, "hash": _digest(body)}).encode()
        try:
            return _decode(line, self._number, self._head), line + b"\n"
        except _Damage:
            raise TypeError("a field of a ledger entry has the wrong type") from None

    def _advance(self, entry: Entry, end: int) -> None:
        self._number, self._head, self._end = entry.number + 1, entry.hash, end
        self._asked[entry.who, entry.dataset, entry.time[:10]] += 1
        self._watch(entry, end)

    def _check_usable(self) -> None:
        if self._broken or os.getpid() != self._owner:
            why = self._broken or "was opened before this process was forked"
            raise _withheld(self._path, why, "Restart Confide, which checks the ledger.")
        here = os.fstat(self._fd)
        with suppress(OSError):
            if os.path.samestat(here, os.stat(self._path)) and here.st_size == self._end:
                return
        raise _withheld(self._path, "was moved or changed by another program", "Put it back and restart Confide.")

    def _write(self, line: bytes) -> None:
        """Write the line whole, or leave the file as it was."""
        try:
            done = 0
            while done < len(line):
                done += os.pwrite(self._fd, line[done:], self._end + done)
        except BaseException as error:
            self._take_back()
            if isinstance(error, OSError):
                why = f"could not be written ({error.strerror})"
                raise _withheld(self._path, why, "Free disk space where it is kept, then ask again.") from error
            raise

    def _take_back(self) -> None:
        try:
            os.ftruncate(self._fd, self._end)
        except OSError as error:
            self._broken = f"holds half an entry that could not be removed ({error.strerror})"

    def _sync(self, end: int) -> None:
        """Make the file durable at least up to `end`; one fsync serves all who wrote before it began.

        Nobody holds a lock during the fsync: who was served by it leaves at once, whoever has begun the next.
        """
        with self._turn:
            self._turn.wait_for(lambda: self._synced >= end or not self._syncing)
            if self._synced >= end:
                return
            if self._broken:
                raise _withheld(self._path, self._broken, "Check the disk, then restart Confide.")
            self._syncing = True
        try:
            self._flush()
        finally:
            with self._turn:
                self._syncing = False
                self._turn.notify_all()

    def _flush(self) -> None:
        reached = self._end
        try:
            os.fsync(self._fd)
        except OSError as error:
            # After a failed fsync the kernel may drop the pages and report success next time: never try again.
            self._broken = f"could not be made durable ({error.strerror})"
            raise _withheld(self._path, self._broken, "Check the disk, then restart Confide.") from error
        self._synced = reached

    def _unlock(self) -> None:
        # Unlocking by name, not only by closing: a forked child may still hold the descriptor.
        with suppress(OSError):
            _pid_file(self._path).unlink(missing_ok=True)
        fcntl.flock(self._fd, fcntl.LOCK_UN)
        os.close(self._fd)


def _digest(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(_canonical(body).encode()).hexdigest()


def _digest_of(raw: Mapping[str, Any]) -> str:
    return _digest({key: value for key, value in raw.items() if key != "hash"})


def _walk(file: BinaryIO) -> Iterator[tuple[Entry, int]]:
    """Every entry with the offset of its end; a last line without its newline is left out."""
    number, previous, end = 0, _FIRST, 0
    for line in file:
        if not line.endswith(b"\n"):
            return
        entry = _decode(line[:-1], number, previous)
        number, previous, end = number + 1, entry.hash, end + len(line)
        yield entry, end


def _decode(line: bytes, number: int, previous: str) -> Entry:
    raw = _parse(line)
    if raw is None:
        raise _Damage(f"entry {number} is not a ledger entry.")
    if raw["hash"] != _digest_of(raw):
        raise _Damage(f"entry {number} was changed: its hash does not match its content.")
    if raw["number"] != number:
        raise _Damage(f"entry {number} is numbered {raw['number']}: entries were deleted, added or moved.")
    if raw["previous"] != previous:
        raise _Damage(f"entry {number} does not follow the entry before it: one of them was replaced.")
    return Entry(**{**raw, "rules": tuple(raw["rules"])})


def _parse(line: bytes) -> dict[str, Any] | None:
    """The fields of a line, if it is the one canonical spelling: a key given twice would read differently elsewhere."""
    try:
        raw = json.loads(line.decode("ascii"))
        whole = isinstance(raw, dict) and raw.keys() == _TYPES.keys() and _canonical(raw).encode() == line
    except (ValueError, RecursionError):
        return None
    if not whole or not all(isinstance(raw[key], kind) for key, kind in _TYPES.items()):
        return None
    known = raw["outcome"] in ("released", "refused") and all(isinstance(rule, str) for rule in raw["rules"])
    return raw if known else None


def _open_locked(path: Path) -> int:
    """The ledger's descriptor, locked. The lock is on the ledger itself: there is no lock file to delete by mistake."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        raise _in_use(path) from None
    except BaseException:
        os.close(fd)
        raise
    with suppress(OSError):  # only told to people: a full disk must not stop the site from starting
        _pid_file(path).unlink(missing_ok=True)
        _pid_file(path).write_text(f"{os.getpid()}\n", encoding="ascii")
    return fd


def _pid_file(path: Path) -> Path:
    return path.with_name(path.name + ".pid")


def _keep(path: Path, torn: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with open(fd, "ab") as file:
        file.write(torn + b"\n")
        file.flush()
        os.fsync(fd)


def _sync_folder(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextmanager
def _reading(path: Path) -> Iterator[BinaryIO]:
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise Mistake(f"There is no ledger at {str(path)!r}: nothing has been asked yet.") from None
    except OSError as error:
        raise Mistake(f"The ledger {str(path)!r} cannot be read: {error.strerror}.") from None
    with file:
        yield file


@contextmanager
def _faults(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        what = f"The ledger {str(path)!r} cannot be opened: {error.strerror}."
        raise Fault(what, suggestions=["Check the folder, its permissions and its disk."]) from error


def _in_use(path: Path) -> Fault:
    try:
        pid = f" (process {int(_pid_file(path).read_text(encoding='ascii'))})"
    except (OSError, ValueError):
        pid = ""
    what = f"Another Confide process{pid} is using this site's ledger, {str(path)!r}."
    return Fault(what, suggestions=["Stop it, or ask it over HTTP: confide table http://127.0.0.1:8000 ..."])


def _damaged(path: Path, damage: _Damage) -> Fault:
    what = f"The ledger {str(path)!r} is damaged: {damage} Nothing was changed."
    return Fault(what, suggestions=["Run 'confide ledger verify', then restore the ledger from a backup."])


def _withheld(path: Path, why: str, cure: str) -> Fault:
    what = f"The ledger {str(path)!r} {why}: the question could not be recorded, so the answer was withheld."
    return Fault(what, suggestions=[cure])
