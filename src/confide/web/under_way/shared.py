"""Long work that belongs to nobody in particular, where several machines serve a site: done at one, and known at all of them."""

import pickle
import zlib
from base64 import urlsafe_b64encode
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from secrets import token_hex
from threading import Event
from time import sleep
from typing import Any, TypeVar

from cryptography.fernet import Fernet, InvalidToken

from confide import __version__
from confide.cache import Cache
from confide.errors import Fault
from confide.site.state import State
from confide.web.under_way.job import Progress

__all__ = ["Key", "SharedWork"]

LOOK = 0.5
"""Seconds after which it is told how far the work is, and looked how far that of others is."""

_COLUMNS = (
    "name TEXT PRIMARY KEY, kind TEXT, run TEXT, machine TEXT, worker INTEGER, since DOUBLE PRECISION, "
    "done INTEGER, steps INTEGER, outcome BYTEA"
)
_BEGIN = "INSERT INTO work VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, 0, NULL) ON CONFLICT (name) DO NOTHING"
_LOOK = "SELECT run, machine, worker, done, steps, outcome FROM work WHERE name = ?1"
_MINE = "WHERE name = ?1 AND run = ?2"
_LEFT = "DELETE FROM work WHERE machine = ?1 AND worker = ?2 AND outcome IS NULL"
"""What this process had begun before it was started again."""
_MAKE_ROOM = (
    "DELETE FROM work WHERE outcome IS NOT NULL AND name NOT IN (SELECT name FROM work ORDER BY since DESC LIMIT ?1)"
)

T = TypeVar("T")
Key = tuple[Hashable, ...]
"""What some work is: its kind first, and what it is about."""


@dataclass(frozen=True)
class _Run:
    """Work that a process has begun: how far it is, or what it gave."""

    run: str
    machine: str
    worker: int
    done: int
    steps: int
    outcome: bytes | None


class SharedWork:
    """Long work of all processes of a site, each piece under a key. Safe to share among threads.

    Promise: the same work is done by one process; the others see how far it is, and have what it gave. If that process is no more,
    another does it. What was given lies in the state sealed under the site's secret: who has the database alone can neither read
    it nor put another in its place.
    """

    def __init__(self, state: State, signing_key: Callable[[str], bytes], *, most: int) -> None:
        """At most so many outcomes are kept."""
        self._state, self._signing_key, self._most = state, signing_key, most
        self._had: Cache[str, str] = Cache(most)
        """The run from which this process has an outcome, by name."""
        self._telling, self._closing = ThreadPoolExecutor(thread_name_prefix="telling"), Event()
        state.table("work", _COLUMNS, lasting=False)
        state.run(_LEFT, state.machine, state.worker)

    def once(self, key: Key, work: Callable[[Progress], T], progress: Progress) -> T:
        """What the work gives: worked out here unless another process does, or did."""
        name, run = _name(key), token_hex(8)
        while True:
            mine = (self._state.machine, self._state.worker)
            self._state.run(_BEGIN, name, str(key[0]), run, *mine, self._state.now())
            found = self._find(name)
            if found is None:
                continue  # it was forgotten just now
            self._had.put(name, found.run)
            if found.run == run:
                return self._do(name, run, work, progress)
            if found.outcome is not None:
                with suppress(InvalidToken):
                    return self._unsealed(name, found.outcome)  # type: ignore[no-any-return]  # as the work gives it
            if found.outcome is not None or self._is_lost(found):
                self._state.run(f"DELETE FROM work {_MINE}", name, found.run)
                continue
            progress.done, progress.of = found.done, found.steps
            progress.cancellation.check()
            sleep(LOOK)

    def knows(self, key: Key) -> bool:
        """Whether some process has begun this work."""
        return self._run_of(_name(key)) is not None

    def renewed(self, key: Key) -> bool:
        """Whether another process has begun this work anew since it was done here."""
        name = _name(key)
        return self._run_of(name) not in (None, self._had.get(name))

    def forget(self, kind: str) -> None:
        """Let work of a kind be begun anew; what goes on is stopped, at whatever process."""
        self._state.run("DELETE FROM work WHERE kind = ?1", kind)

    def close(self) -> None:
        """Tell no more, when the work here has ended."""
        self._closing.set()
        self._telling.shutdown()

    def _do(self, name: str, run: str, work: Callable[[Progress], T], progress: Progress) -> T:
        ended, sealed = Event(), list[bytes]()
        self._telling.submit(self._tell, name, run, progress, ended, sealed)
        try:
            gave = work(progress)
            sealed.append(self._sealed(name, gave))
            return gave
        finally:
            ended.set()

    def _tell(self, name: str, run: str, progress: Progress, ended: Event, sealed: list[bytes]) -> None:
        """Say how far the work is, until it is said what it gave or that it gave nothing; also after the state was out of reach."""
        while True:
            over = ended.wait(LOOK)
            with suppress(Fault):
                if not over:
                    told = f"UPDATE work SET done = ?3, steps = ?4 {_MINE}"
                    if not self._state.changed(told, name, run, progress.done, progress.of):
                        progress.cancellation.stop()  # another is to do it anew
                        return
                    continue
                if sealed:
                    self._state.run(f"UPDATE work SET outcome = ?3 {_MINE}", name, run, sealed[0])
                    self._state.run(_MAKE_ROOM, self._most)
                else:
                    self._state.run(f"DELETE FROM work {_MINE}", name, run)
                return
            if self._closing.wait(LOOK):
                return

    def _run_of(self, name: str) -> str | None:
        found = self._state.run("SELECT run FROM work WHERE name = ?1", name)
        return str(found[0][0]) if found else None

    def _find(self, name: str) -> _Run | None:
        found = self._state.run(_LOOK, name)
        return _Run(*found[0]) if found else None

    def _is_lost(self, found: _Run) -> bool:
        """Whether nobody goes on with it. This process does not, or would have found its own job."""
        mine = (found.machine, found.worker) == (self._state.machine, self._state.worker)
        return mine or self._state.gone(found.machine, found.worker)

    def _sealed(self, name: str, gave: Any) -> bytes:
        return self._seal(name).encrypt(zlib.compress(pickle.dumps(gave), 1))

    def _unsealed(self, name: str, sealed: bytes) -> Any:
        return pickle.loads(zlib.decompress(self._seal(name).decrypt(bytes(sealed))))

    def _seal(self, name: str) -> Fernet:
        """One for each piece of work, so that none can be given for another."""
        return Fernet(urlsafe_b64encode(self._signing_key(f"work {name}")))


def _name(key: Key) -> str:
    """The same at every process that runs the same software."""
    return sha256(repr((__version__, key)).encode("utf-8", "surrogatepass")).hexdigest()
