"""The site's secret and everything drawn from it. Nothing else in the site is secret.

All draws are HMAC-SHA256 under the secret, with the purpose inside the message: a key for one purpose says nothing
about another, and the same units give the same draw for ever, with no stored state.
"""

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from confide.data.private import create_private, read_private
from confide.errors import Mistake

__all__ = ["Secret", "create_secret", "read_secret"]

LEAST_BYTES = 32


@dataclass(frozen=True, repr=False)
class Secret:
    """A key whose value is never shown."""

    value: bytes

    def __repr__(self) -> str:
        return "Secret(...)"

    def digest(self, purpose: str, message: bytes) -> bytes:
        """32 pseudo-random bytes for this purpose and message."""
        return hmac.digest(self.value, purpose.encode() + b"\0" + message, "sha256")

    def digests(self, purpose: str, messages: Iterable[bytes] | pa.Array) -> NDArray[np.uint64]:
        """One row of four pseudo-random 64-bit integers for each message, for when there are many; of millions, as an array.

        Keyed BLAKE2b (RFC 7693) under a key that HMAC gives for the purpose: a MAC too, at a fifth of the time.
        """
        key = self.digest("many", purpose.encode())
        if isinstance(messages, pa.Array):
            from confide.site.coding.blake2b import keyed_digests  # numba is slow to import

            return keyed_digests(key, messages)
        keyed = hashlib.blake2b(key=key, digest_size=32)
        digests = []
        for message in messages:
            mac = keyed.copy()
            mac.update(message)
            digests.append(mac.digest())
        return np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, 4)

    @property
    def version(self) -> str:
        """A public name for this key."""
        return self.digest("version", b"").hex()[:12]


def create_secret(path: Path) -> None:
    """Write a new secret that only its owner can read; never overwrites one."""
    try:
        create_private(path, secrets.token_hex(LEAST_BYTES) + "\n")
    except FileExistsError:
        raise Mistake(f"There is a secret {path} already. It stays.") from None


def read_secret(path: Path) -> Secret:
    """The secret of a site; a missing, short or readable-by-others one stops the start."""
    try:
        return Secret(read_private(path, what="secret", least=LEAST_BYTES)[0])
    except FileNotFoundError:
        raise Mistake(
            f"The secret {path} is missing. Restore it from backup; with another one every answer changes."
        ) from None
