"""The site's secret and everything drawn from it. Nothing else in the site is secret.

All draws are HMAC-SHA256 under the secret, with the purpose inside the message: a key for one purpose says nothing
about another, and the same units give the same draw for ever, with no stored state.
"""

import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

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

    def digests(self, purpose: str, messages: Iterable[bytes]) -> NDArray[np.uint64]:
        """One row of four pseudo-random 64-bit integers for each message, for when there are many.

        Keyed BLAKE2b (RFC 7693) under a key that HMAC gives for the purpose: a MAC too, at a fifth of the time.
        """
        keyed = hashlib.blake2b(key=self.digest("many", purpose.encode()), digest_size=32)
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
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise Mistake(f"There is a secret {path} already. It stays.") from None
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(LEAST_BYTES) + "\n")
            file.flush()
            os.fsync(descriptor)
    except OSError:
        path.unlink()
        raise


def read_secret(path: Path) -> Secret:
    """The secret of a site; a missing, short or readable-by-others one stops the start."""
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        raise Mistake(
            f"The secret {path} is missing. Restore it from backup; with another one every answer changes."
        ) from None
    except (OSError, UnicodeDecodeError):
        raise Mistake(f"The secret {path} cannot be read. It must be a text file of hexadecimal digits.") from None
    if stat.S_IMODE(mode) & 0o077:
        raise Mistake(f"The secret {path} can be read by others. Run: chmod 600 {path}")
    try:
        value = bytes.fromhex(text)
    except ValueError:
        raise Mistake(f"The secret {path} is not hexadecimal. Restore it from backup.") from None
    if len(value) < LEAST_BYTES:
        raise Mistake(f"The secret {path} is too short: it needs at least {2 * LEAST_BYTES} hexadecimal digits.")
    return Secret(value)
