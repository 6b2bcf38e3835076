"""What is kept for a while: the one store of the site, for tables, pictures, sessions, clients' pace and outcomes of long work."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

__all__ = ["Cache"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Cache(Generic[K, V]):
    """Values by key, in bounded memory. Safe to share among threads.

    Promise: what is kept weighs at most `most` together (`weigh` tells what one weighs; without it, each is one), and beyond that
    the values not used for longest go; a value that is `expired` is never given; between what `change` is told and what it
    gives, nobody else changes the value. Time is whatever clock the callers of one cache agree on that never goes back.

    >>> cache = Cache[str, bytes](5, weigh=len)
    >>> cache.put("a", b"123"), cache.put("b", b"456"), cache.get("a"), cache.get("b")
    (None, None, None, b'456')
    """

    def __init__(
        self,
        most: float,
        *,
        weigh: Callable[[V], float] = lambda value: 1,
        expired: Callable[[V, float], bool] = lambda value, now: False,
    ) -> None:
        self._most, self._weigh, self._expired = most, weigh, expired
        self._kept: OrderedDict[K, tuple[V, float]] = OrderedDict()
        """Each value with what it weighed when it was put; the last used last."""
        self._weight, self._lock = 0.0, Lock()

    def get(self, key: K, *, now: float = 0.0) -> V | None:
        """The value, used just now; None if there is none or it is expired."""
        with self._lock:
            found = self._take(key, now)
            if found is not None:
                self._add(key, found)
            return found[0] if found else None

    def put(self, key: K, value: V, *, now: float = 0.0) -> None:
        """Keep a value, in the place of one with the same key."""
        self.change(key, lambda found: value, now=now)

    def change(self, key: K, change: Callable[[V | None], V | None], *, now: float = 0.0) -> V | None:
        """Keep what `change` makes of the value; nothing if it gives None. It must be quick, since all others wait."""
        with self._lock:
            found = self._take(key, now)
            value = change(found[0] if found else None)
            if value is not None:
                self._add(key, (value, self._weigh(value)))
            self._make_space(now)
            return value

    def pop(self, key: K) -> V | None:
        """The value, which is kept no longer."""
        with self._lock:
            found = self._drop(key)
            return found[0] if found else None

    def items(self, *, now: float = 0.0) -> list[tuple[K, V]]:
        """Everything kept that is not expired, as it is at this moment. Looking at all is not using any."""
        with self._lock:
            return [(key, value) for key, (value, _) in self._kept.items() if not self._expired(value, now)]

    @property
    def weight(self) -> float:
        """What everything kept weighs."""
        return self._weight

    def __len__(self) -> int:
        """How many values are kept."""
        return len(self._kept)

    def _take(self, key: K, now: float) -> tuple[V, float] | None:
        found = self._drop(key)
        return None if found is None or self._expired(found[0], now) else found

    def _drop(self, key: K) -> tuple[V, float] | None:
        found = self._kept.pop(key, None)
        self._weight -= found[1] if found else 0
        return found

    def _add(self, key: K, found: tuple[V, float]) -> None:
        self._kept[key] = found
        self._weight += found[1]

    def _make_space(self, now: float) -> None:
        """Those not used for longest stand first. One that expired behind a fresher one goes when it is asked for or comes first."""
        while self._kept:
            key, (value, _) = next(iter(self._kept.items()))
            if self._weight <= self._most and not self._expired(value, now):
                return
            self._drop(key)
