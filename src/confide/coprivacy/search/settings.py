"""The file that a peer is started with: who it is, whom it asks, where it searches."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from confide.coprivacy.search.backends import FullText, OpenSearch, SearchBackend, SearXNG
from confide.coprivacy.search.counts import normalised
from confide.errors import Mistake, nearest
from confide.model.parameter import Parameters, parameter

__all__ = ["Address", "PeerSettings"]

BACKENDS = {"fts5": ("documents",), "opensearch": ("url", "index"), "searxng": ("url",)}
"""What searches, and what the file says of it."""

FILES = ("certificate", "certificate_key", "authority", "counts", "deny")

Address = tuple[str, int]
"""A host and a port."""


@dataclass(frozen=True, kw_only=True)
class PeerSettings(Parameters):
    """What a peer is told. Paths are from the folder of the file."""

    name: str = parameter(help="What this peer is called: the name in its certificate.")
    listen: str = parameter(help="Where other peers reach it: HOST:PORT.")
    certificate: str = parameter("peer.pem", "Its certificate, with the name as a subjectAltName.")
    certificate_key: str = parameter("peer.key", "The certificate's private key.")
    authority: str = parameter("ca.pem", "Who signs the certificates of all peers. Others are not listened to.")
    counts: str = parameter("counts.db", "Where it is counted what was submitted and forwarded; made if there is none.")
    deny: str | None = parameter(
        None, "A file of words or phrases, one a line; it submits no other's query that has one."
    )
    attempts: int = parameter(5, "How many peers are asked for help at most.", low=1)
    per_minute: int = parameter(30, "How many queries a minute it considers from one peer.", low=1)
    timeout: float = parameter(5.0, "Seconds that it waits for a peer or a search engine.", above=0)
    most: int = parameter(10, "How many documents an answer has at most.", low=1, high=50)
    backend: Mapping[str, str] = parameter({}, "What it searches in: a table with kind and what that needs.")
    peers: Mapping[str, str] = parameter({}, "The other peers: a table of names and HOST:PORT.")

    @classmethod
    def read(cls, path: Path) -> "PeerSettings":
        """From a TOML file; paths in it become whole."""
        try:
            told: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise Mistake(f"{path} cannot be read as the settings of a peer ({type(error).__name__}).") from None
        known = cls.__dataclass_fields__
        if unknown := [name for name in told if name not in known]:
            raise Mistake(f"{path.name}: there is no setting {unknown[0]!r}.", suggestions=nearest(unknown[0], known))
        if missing := [name for name in ("name", "listen", "backend") if name not in told]:
            raise Mistake(f"{path.name}: {missing[0]!r} is missing.")
        return cls(**told).beside(path.parent)

    def beside(self, folder: Path) -> "PeerSettings":
        """The same, with paths from this folder."""
        files: dict[str, Any] = {
            name: str(folder / getattr(self, name)) for name in FILES if getattr(self, name) is not None
        }
        backend = {name: str(folder / told) if name == "documents" else told for name, told in self.backend.items()}
        return replace(self, **files, backend=backend)

    def _check(self) -> None:
        for place in (self.listen, *self.peers.values()):
            address_of(place)
        if self.name in self.peers:
            raise Mistake(f"The peers of {self.name!r} are others: take it out of its own list.")
        kind = self.backend.get("kind", "")
        if kind not in BACKENDS:
            raise Mistake(
                f"There is no backend {kind!r}.",
                suggestions=nearest(kind, BACKENDS) or [f"There are {', '.join(BACKENDS)}."],
            )
        if set(self.backend) != {"kind", *BACKENDS[kind]}:
            raise Mistake(f"The backend {kind} needs {' and '.join(BACKENDS[kind])}, and nothing else.")

    def searched(self) -> SearchBackend:
        """What it searches in."""
        told = self.backend
        if told["kind"] == "fts5":
            return FullText.read(told["documents"])
        if told["kind"] == "opensearch":
            return OpenSearch(url=told["url"], index=told["index"], timeout=self.timeout)
        return SearXNG(url=told["url"], timeout=self.timeout)

    def denied(self) -> tuple[str, ...]:
        """Phrases that it submits for nobody, in one form."""
        if self.deny is None:
            return ()
        try:
            lines = Path(self.deny).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            raise Mistake(f"The deny list {self.deny} cannot be read.") from None
        return tuple(found for line in lines if (found := normalised(line)))


def address_of(place: str) -> Address:
    """A host and a port from HOST:PORT.

    >>> address_of("[::1]:9401")
    ('::1', 9401)
    """
    host, _, port = place.rpartition(":")
    if not host or not port.isdecimal() or not 0 <= int(port) < 65536:
        raise Mistake(f"{place!r} is not an address.", suggestions=["Write HOST:PORT, as in 127.0.0.1:9401."])
    return host.strip("[]"), int(port)
