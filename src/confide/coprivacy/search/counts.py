"""What a peer has submitted and forwarded, in a file that survives a crash and holds no query."""

import os
import secrets
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from random import Random

from confide.coprivacy.search.rule import CLOSE, entropy_gain, spread
from confide.data.private import create_private, read_private
from confide.errors import Mistake

__all__ = ["QueryCounts", "normalised"]

KEY_BYTES = 32
WAIT = 10.0
"""Seconds that one process waits while another writes. A write takes a few milliseconds."""


def normalised(query: str) -> str:
    """A query in one form, so that the same question counts as the same.

    >>> normalised("  Flu  SYMPTOMS ")
    'flu symptoms'
    """
    return " ".join(query.casefold().split())


class QueryCounts:
    """How often each query was submitted to the database, and forwarded to each peer.

    Queries and peers are kept as keyed hashes (BLAKE2b); the key is in a private file beside, with the ending `.key`.
    Who reads both can test a guess, so both are for their owner alone. Every count is committed before what it counts
    happens: after `kill -9` no query that left is uncounted.
    """

    def __init__(self, path: Path) -> None:
        self._key = _key(path.with_name(f"{path.name}.key"))
        try:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            self._base = sqlite3.connect(path, timeout=WAIT, isolation_level=None)
            self._base.execute("PRAGMA synchronous = FULL")
            for table in ("submitted (query BLOB PRIMARY KEY", "forwarded (query BLOB, peer BLOB"):
                ending = ", times INTEGER)" if "PRIMARY" in table else ", times INTEGER, PRIMARY KEY (query, peer))"
                self._base.execute(f"CREATE TABLE IF NOT EXISTS {table}{ending}")
        except (OSError, sqlite3.Error) as error:
            raise Mistake(f"The counts {path} cannot be opened ({type(error).__name__}).") from None

    def close(self) -> None:
        """Let go of the file."""
        self._base.close()

    def submit(self, query: str) -> None:
        """Count one that goes to the database whatever it does to the entropy."""
        with self._writing():
            self._add(self._hashed(query))

    def submit_own(self, query: str) -> bool:
        """Count one's own query and say yes if submitting it does not lower H(Y); otherwise no."""
        return self._submit_if(query, -CLOSE)

    def submit_for_other(self, query: str) -> bool:
        """Count another's query and say yes if submitting it raises H(Y); otherwise no."""
        return self._submit_if(query, CLOSE)

    def forward(self, query: str, peer: str) -> None:
        """Count that a peer gets to see the query, whether they help or not."""
        with self._writing():
            self._base.execute(
                "INSERT INTO forwarded VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET times = times + 1",
                (self._hashed(query), self._hashed(peer)),
            )

    def least_asked(self, query: str, peers: Iterable[str], random: Random) -> list[str]:
        """Peers in the order of expression (2): where forwarding is most even, so to whom it went least; ties at random."""
        rows = self._base.execute("SELECT peer, times FROM forwarded WHERE query = ?", (self._hashed(query),))
        times: dict[bytes, int] = dict(rows)
        return sorted(peers, key=lambda peer: (times.get(self._hashed(peer), 0), random.random()))

    def submitted(self) -> list[int]:
        """How often each different query was submitted, without saying which."""
        return [times for (times,) in self._base.execute("SELECT times FROM submitted ORDER BY times DESC")]

    def forwarded(self, query: str, peer: str) -> int:
        """How often a query went to a peer."""
        found = self._base.execute(
            "SELECT times FROM forwarded WHERE query = ? AND peer = ?", (self._hashed(query), self._hashed(peer))
        ).fetchone()
        return int(found[0]) if found else 0

    def _submit_if(self, query: str, least: float) -> bool:
        hashed = self._hashed(query)
        with self._writing():  # between deciding and counting nobody else counts
            found = self._base.execute("SELECT times FROM submitted WHERE query = ?", (hashed,)).fetchone()
            groups = self._base.execute("SELECT times, count(*) FROM submitted GROUP BY times").fetchall()
            total = sum(times * many for times, many in groups)
            gain = entropy_gain(found[0] if found else 0, total, sum(spread(times) * many for times, many in groups))
            wanted = gain > least
            if wanted:
                self._add(hashed)
        return wanted

    def _add(self, hashed: bytes) -> None:
        self._base.execute("INSERT INTO submitted VALUES (?, 1) ON CONFLICT DO UPDATE SET times = times + 1", (hashed,))

    def _hashed(self, text: str) -> bytes:
        return blake2b(normalised(text).encode(), key=self._key, digest_size=16).digest()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self._base.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._base.execute("ROLLBACK")
            raise
        self._base.execute("COMMIT")


def _key(path: Path) -> bytes:
    try:
        create_private(path, secrets.token_hex(KEY_BYTES) + "\n")
    except FileExistsError:
        pass
    except OSError as error:
        raise Mistake(f"The key {path} cannot be written ({error.strerror}).") from None
    return read_private(path, what="key", least=KEY_BYTES)[0][:KEY_BYTES]
