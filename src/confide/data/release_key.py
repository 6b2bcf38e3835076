"""The key of a release: everything that is drawn for a published file or table is drawn from it.

It is a random number of 128 bits, made on first use and kept in a private file. What is drawn for one purpose (a method, a
stratum, a column, a table) is a stream of its own, by keyed BLAKE2b (RFC 7693): one says nothing about another.
"""

import secrets
from dataclasses import dataclass
from hashlib import blake2b, file_digest
from pathlib import Path

import numpy as np

from confide.data.private import create_private, read_private
from confide.errors import Mistake

__all__ = ["ReleaseKey", "chosen_key"]

BYTES = 16
"""128 bits: nobody tries them all."""


@dataclass(frozen=True, repr=False)
class ReleaseKey:
    """The secret that a release is drawn from: the same key repeats it, and without it nobody does.

    Its value is never shown and stands in no file, plan, report or manifest. `teaching` marks a key made from a plain
    number: whoever tries numbers finds it, so what is drawn from it is not for release.

    >>> key = ReleaseKey.taught(7)
    >>> key.generator("noise").random() == key.generator("noise").random(), key
    (True, ReleaseKey(taught))
    """

    value: bytes
    teaching: bool = False

    @classmethod
    def kept(cls, path: str | Path, *data: str | Path) -> "ReleaseKey":
        """The key in a private file, made if there is none. With files of `data` it is the key of these data alone.

        One key for two files would draw the same noise for both, and what they have in common could be taken away: a key
        that was made for other data is a Mistake.
        """
        path, of = Path(path), [_digest(Path(file)) for file in data]
        try:
            words = read_private(path, what="key", least=BYTES)
        except FileNotFoundError:
            return cls._made(path, of)
        key = cls(words[0])
        if of and len(words) > 1 and words[1] != key._mark(of):
            raise Mistake(
                f"The key {path} belongs to another release: it was made for other data.",
                suggestions=[
                    "Name a file that is not there, as in key=ReleaseKey.kept('another.key'), and a key is made for these data."
                ],
            )
        return key

    @classmethod
    def _made(cls, path: Path, of: list[bytes]) -> "ReleaseKey":
        key = cls(secrets.token_bytes(BYTES))
        try:
            create_private(path, " ".join([key.value.hex(), *([key._mark(of).hex()] if of else [])]) + "\n")
        except OSError as error:
            raise Mistake(
                f"The key {path} cannot be written ({error.strerror}).",
                suggestions=["Name another place, as in key=ReleaseKey.kept('survey.key')."],
            ) from None
        return key

    @classmethod
    def taught(cls, seed: int) -> "ReleaseKey":
        """A key for tests and teaching, from a whole number. What is drawn from it is not for release."""
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise Mistake(f"The teaching seed must be a whole number from 0, not {seed!r}.")
        return cls(b"teaching seed %d" % seed, teaching=True)

    def __repr__(self) -> str:
        return "ReleaseKey(taught)" if self.teaching else "ReleaseKey(...)"

    @property
    def name(self) -> str:
        """A public name, by which a manifest says whether two releases have the same key."""
        return self.under("name").value.hex()[:12]

    def under(self, *words: object) -> "ReleaseKey":
        """A key of its own for each purpose, which tells nothing of this one."""
        # The key may be longer than BLAKE2 takes (a teaching seed of many digits), so it is made short first.
        short = blake2b(self.value, digest_size=32).digest()
        return ReleaseKey(blake2b(repr(words).encode(), key=short, digest_size=BYTES).digest(), self.teaching)

    def number(self, *words: object) -> int:
        """A number of 128 bits for this purpose."""
        return int.from_bytes(self.under(*words).value)

    def generator(self, *words: object) -> np.random.Generator:
        """A stream of random numbers for this purpose (Philox, whose key has 128 bits too)."""
        return np.random.Generator(np.random.Philox(key=self.number(*words)))

    def _mark(self, of: list[bytes]) -> bytes:
        return self.under("data", of).value


def chosen_key(what: str, key: ReleaseKey | None, teaching_seed: int | None) -> ReleaseKey:
    """The key that was given, or that of a teaching seed; a Mistake if there is neither or both."""
    if key is not None and teaching_seed is not None:
        raise Mistake("Give a key or a teaching seed, not both.")
    if key is not None:
        if not isinstance(key, ReleaseKey):
            raise Mistake(f"The key must be a ReleaseKey, not {type(key).__name__}.", suggestions=[KEPT])
        return key
    if teaching_seed is not None:
        return ReleaseKey.taught(teaching_seed)
    raise Mistake(f"{what} draws at random, from a secret key.", suggestions=[KEPT, TAUGHT])


KEPT = 'Give one, as in key=ReleaseKey.kept("survey.key").'
TAUGHT = "For tests and teaching there is teaching_seed."


def _digest(data: Path) -> bytes:
    try:
        with data.open("rb") as file:
            return file_digest(file, "sha256").digest()
    except OSError:
        raise Mistake(f"There is no file {str(data)!r}.") from None
