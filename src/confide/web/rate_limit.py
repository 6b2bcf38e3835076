"""How often a client may knock: a token bucket for each, in bounded memory."""

from dataclasses import dataclass

from confide.cache import Cache
from confide.errors import Mistake

__all__ = ["RateLimit"]

_MINUTE = 60.0
_ROUNDING = 1e-6
"""Seconds: who waits as long as told is let in, whatever the last bits of a clock say."""


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

    def __init__(self, per_minute: int, *, clients: int = 10_000) -> None:
        if per_minute < 0:
            raise Mistake("A rate limit must be 0 (none) or more requests a minute.")
        self._per_minute, self._step = per_minute, _MINUTE / per_minute if per_minute else 0.0
        self._seen: Cache[str, _Bucket] = Cache(clients, expired=lambda bucket, now: not bucket.still(now))

    def allow(self, key: str, now: float) -> float:
        """0.0 when the client is let in, otherwise the seconds to wait. `now` is a clock that never goes back."""
        if not self._step:
            return 0.0
        wait = 0.0

        def take(found: _Bucket | None) -> _Bucket:
            nonlocal wait
            missing = found.still(now) if found else 0.0
            wait = self._wait(missing)
            return _Bucket(missing if wait else missing + self._step, now)

        self._seen.change(key, take, now=now)
        return wait

    def at(self, per_minute: int) -> "RateLimit":
        """This limit if it has that pace; otherwise one that has, and has seen nobody yet."""
        return self if per_minute == self._per_minute else RateLimit(per_minute)

    def wait(self, key: str, now: float) -> float:
        """The seconds until the client would be let in, without letting it in."""
        found = self._seen.get(key, now=now)
        return self._wait(found.still(now) if found else 0.0)

    def __len__(self) -> int:
        """How many clients are remembered."""
        return len(self._seen)

    def _wait(self, missing: float) -> float:
        wait = missing + self._step - _MINUTE
        return wait if wait > _ROUNDING else 0.0
