"""How often a client may knock: a token bucket for each, in bounded memory."""

from collections import OrderedDict
from threading import Lock

from confide.errors import Mistake

__all__ = ["RateLimit"]

_MINUTE = 60.0
_ROUNDING = 1e-6
"""Seconds: who waits as long as told is let in, whatever the last bits of a clock say."""


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
        self._step = _MINUTE / per_minute if per_minute else 0.0
        self._clients = clients
        self._seen: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """For each client: the seconds its bucket needed to be full, and when that was; the last seen last."""
        self._lock = Lock()

    def allow(self, key: str, now: float) -> float:
        """0.0 when the client is let in, otherwise the seconds to wait. `now` is a clock that never goes back."""
        if not self._step:
            return 0.0
        with self._lock:
            missing = self._missing(key, now)
            wait = missing + self._step - _MINUTE
            refused = wait > _ROUNDING
            self._seen[key] = (missing if refused else missing + self._step, now)
            self._seen.move_to_end(key)
            self._forget(now)
        return wait if refused else 0.0

    def wait(self, key: str, now: float) -> float:
        """The seconds until the client would be let in, without letting it in."""
        with self._lock:
            wait = self._missing(key, now) + self._step - _MINUTE if self._step else 0.0
        return wait if wait > _ROUNDING else 0.0

    def __len__(self) -> int:
        """How many clients are remembered."""
        return len(self._seen)

    def _missing(self, key: str, now: float) -> float:
        """The seconds until the bucket is full: a small number, not a moment, so that a big clock costs no digits."""
        missing, then = self._seen.get(key, (0.0, now))
        return max(0.0, missing - (now - then))

    def _forget(self, now: float) -> None:
        """Drop the clients not seen for longest: those whose buckets are full again, and any above the bound."""
        while len(self._seen) > self._clients or not self._missing(next(iter(self._seen)), now):
            self._seen.popitem(last=False)
