"""How Confide draws noise, written once more from its documentation: for an intruder who guesses the secret."""

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from confide.arrays import Floats, Ints

__all__ = ["GuessedSecret", "guesses"]

WORDS = ("", "secret", "confide", "password", "test", "demo", "key", "0", "1", "42", "123456")


def guesses(*names: str) -> list[bytes]:
    """Secrets that somebody might have typed in place of a drawn one: one byte all over, and hashes of words and names."""
    words = [word.encode() for word in (*WORDS, *names)]
    hashed = [hashlib.sha256(word).digest() for word in words]
    return [bytes([byte]) * 32 for byte in range(256)] + hashed + [word.ljust(32, b"\0") for word in words if word]


@dataclass(frozen=True)
class GuessedSecret:
    """The keys of records and the draws of cells as they would be under a secret."""

    value: bytes

    def cells(self, content: Sequence[int], most: int) -> Ints:
        """The keys of the cells of 1, 2, 3 ... records of the same content, where no column names the unit."""
        name = np.array(content, np.int64).tobytes()
        names = [name, *(name + b"\0%d" % turn for turn in range(1, most))]
        drawn = np.array([self._words(self._record, each)[1] for each in names], np.uint64)
        return np.bitwise_xor.accumulate(drawn.astype(np.uint32).view(np.int32)).astype(np.int64)

    def uniforms(self, units: Ints, keys: Ints) -> Floats:
        """The uniform number behind the published count of each cell of so many records, one a unit."""
        data = np.column_stack([units, units, keys]).astype("<i8")
        drawn = np.array([self._words(self._count, row.tobytes())[0] for row in data], np.uint64)
        return np.asarray((drawn >> np.uint64(11)).astype(np.float64) * 2.0**-53)

    @cached_property
    def _record(self) -> Any:
        return self._purpose("record")

    @cached_property
    def _count(self) -> Any:
        return self._purpose("count")

    def _purpose(self, purpose: str) -> Any:
        """A keyed hash for each purpose, whose key is drawn from the secret."""
        key = hmac.digest(self.value, b"many\0" + purpose.encode(), "sha256")
        return hashlib.blake2b(key=key, digest_size=32)

    @staticmethod
    def _words(keyed: Any, message: bytes) -> Ints:
        mac = keyed.copy()
        mac.update(message)
        return np.frombuffer(mac.digest(), "<u8")
