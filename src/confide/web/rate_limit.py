"""How often a client may knock: a token bucket for each, in bounded memory, or known to all machines of a site together."""

import time
from dataclasses import dataclass
from typing import Protocol

from confide.cache import Cache
from confide.errors import Mistake
from confide.site.state import State

__all__ = ["Pace", "RateLimit", "SharedRateLimit", "rate_limit"]

_MINUTE = 60.0
_ROUNDING = 1e-6
"""Seconds: who waits as long as told is let in, whatever the last bits of a clock say."""


class Pace(Protocol):
    """How often a client is let in."""

    shared: bool
    """Whether others are asked, which takes a while."""

    def now(self) -> float:
        """Seconds on the clock that goes with it."""

    def allow(self, key: str, now: float) -> float:
        """0.0 when the client is let in, otherwise the seconds to wait."""

    def wait(self, key: str, now: float) -> float:
        """The seconds until the client would be let in, without letting it in."""

    def at(self, per_minute: int) -> "Pace":
        """The same at another pace."""


def rate_limit(state: State, what: str, per_minute: int) -> Pace:
    """A limit of what is named, for all machines of the site where there are several."""
    return SharedRateLimit(state, what, per_minute) if state.machine else RateLimit(per_minute)


@dataclass(frozen=True)
class _Bucket:
    """What is known of a client: the seconds its bucket needed to be full, and when that was."""

    missing: float
    then: float

    def still(self, now: float) -> float:
        """The seconds until it is full: a small number, not a moment, so that a big clock costs no digits."""
        return max(0.0, self.missing - (now - self.then))


class RateLimit:
    """At most `per_minute` requests at once, and again as the bucket refills evenly; 0 means no limit.

    Promise: in any stretch of t seconds a client is let in at most per_minute * (1 + t / 60) times, as long as no
    more than `clients` are busy at once; beyond that the one not seen for longest is forgotten (memory is bounded).

    >>> limit = RateLimit(2)
    >>> [limit.allow("10.0.0.1", now=0.0) for _ in range(3)]
    [0.0, 0.0, 30.0]
    """

    shared = False

    def __init__(self, per_minute: int, *, clients: int = 10_000) -> None:
        self._per_minute, self._step = per_minute, _step(per_minute)
        self._seen: Cache[str, _Bucket] = Cache(clients, expired=lambda bucket, now: not bucket.still(now))

    def now(self) -> float:
        return time.monotonic()

    def allow(self, key: str, now: float) -> float:
        """0.0 when the client is let in, otherwise the seconds to wait. `now` is a clock that never goes back."""
        if not self._step:
            return 0.0
        wait = 0.0

        def take(found: _Bucket | None) -> _Bucket:
            nonlocal wait
            missing = found.still(now) if found else 0.0
            wait = _wait(missing, self._step)
            return _Bucket(missing if wait else missing + self._step, now)

        self._seen.change(key, take, now=now)
        return wait

    def at(self, per_minute: int) -> "RateLimit":
        """This limit if it has that pace; otherwise one that has, and has seen nobody yet."""
        return self if per_minute == self._per_minute else RateLimit(per_minute)

    def wait(self, key: str, now: float) -> float:
        """The seconds until the client would be let in, without letting it in."""
        found = self._seen.get(key, now=now)
        return _wait(found.still(now) if found else 0.0, self._step)

    def __len__(self) -> int:
        """How many clients are remembered."""
        return len(self._seen)


_COLUMNS = "what TEXT, client TEXT, missing DOUBLE PRECISION, since DOUBLE PRECISION, PRIMARY KEY (what, client)"
_STILL = "CASE WHEN paces.missing > ?3 - paces.since THEN paces.missing - (?3 - paces.since) ELSE 0 END"
_TAKE = (
    "INSERT INTO paces VALUES (?1, ?2, ?4, ?3) ON CONFLICT (what, client) "
    f"DO UPDATE SET missing = {_STILL} + excluded.missing, since = excluded.since "
    f"WHERE {_STILL} + excluded.missing <= ?5 RETURNING missing"
)


class SharedRateLimit:
    """The same, where several machines let clients in: what one has let in counts for all of them.

    >>> from confide.site.state import FileState
    >>> state = FileState()
    >>> here, there = SharedRateLimit(state, "requests", 2), SharedRateLimit(state, "requests", 2)
    >>> [limit.allow("person ana", now=0.0) for limit in (here, there, here)]
    [0.0, 0.0, 30.0]
    """

    shared = True

    def __init__(self, state: State, what: str, per_minute: int) -> None:
        self._state, self._what = state, what
        self._per_minute, self._step, self._swept = per_minute, _step(per_minute), 0.0
        state.table("paces", _COLUMNS, lasting=False)

    def now(self) -> float:
        return self._state.now()

    def allow(self, key: str, now: float) -> float:
        """0.0 when the client is let in, otherwise the seconds to wait, in a single step for all machines."""
        if not self._step:
            return 0.0
        if now - self._swept > _MINUTE:
            self._swept = now
            self._state.run("DELETE FROM paces WHERE missing <= ?1 - since", now)
        if self._state.run(_TAKE, self._what, key, now, self._step, _MINUTE + _ROUNDING):
            return 0.0
        return self.wait(key, now)

    def wait(self, key: str, now: float) -> float:
        """The seconds until the client would be let in, without letting it in."""
        still = f"SELECT {_STILL} FROM paces WHERE what = ?1 AND client = ?2"
        found = self._state.run(still, self._what, key, now)
        return _wait(float(found[0][0]) if found else 0.0, self._step)

    def at(self, per_minute: int) -> "SharedRateLimit":
        return self if per_minute == self._per_minute else SharedRateLimit(self._state, self._what, per_minute)


def _step(per_minute: int) -> float:
    """The seconds by which a bucket is emptier with each request; none where there is no limit."""
    if per_minute < 0:
        raise Mistake("A rate limit must be 0 (none) or more requests a minute.")
    return _MINUTE / per_minute if per_minute else 0.0


def _wait(missing: float, step: float) -> float:
    wait = missing + step - _MINUTE
    return wait if wait > _ROUNDING else 0.0
