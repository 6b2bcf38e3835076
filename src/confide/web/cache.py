"""What may be made again, kept in bounded memory."""

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock

__all__ = ["Shelf"]


class Shelf:
    """Bytes by key; beyond the bound, those not used for longest go. Safe to share among threads.

    >>> shelf = Shelf(5)
    >>> shelf.put("a", b"123"), shelf.put("b", b"456"), shelf.get("a"), shelf.get("b")
    (None, None, None, b'456')
    """

    def __init__(self, most: int) -> None:
        self._most, self._used = most, 0
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable) -> bytes | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: Hashable, content: bytes) -> None:
        with self._lock:
            self._used += len(content) - len(self._kept.pop(key, b""))
            self._kept[key] = content
            while self._used > self._most:
                _, gone = self._kept.popitem(last=False)
                self._used -= len(gone)

    def __len__(self) -> int:
        """The bytes kept."""
        return self._used
