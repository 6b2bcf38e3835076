"""Peers with real certificates, made by openssl, on the loopback."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from confide.coprivacy import FullText, PeerSettings, QueryCounts, SearchHit, SearchPeer

PEERS = ("ann", "bob", "cat", "eve")
DOCUMENTS = [SearchHit("Flu", "https://example.org/flu", "symptoms of the flu"), SearchHit("Tea", "", "green tea")]


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority `ca.pem`, peers signed by it, and others who say to be ann or bob.

    Mallory is signed by another authority, the forged ones by cat, whose certificate was made without CA:FALSE.
    """
    folder = tmp_path_factory.mktemp("certificates")
    for authority in ("ca", "other"):
        openssl(folder, "req", "-x509", "-subj", f"/CN={authority}", "-out", f"{authority}.pem", *_key(authority))
    for peer in PEERS:
        _sign(folder, peer, peer, "ca")
    _sign(folder, "mallory", "bob", "other")
    for name in ("ann", "bob"):
        _sign(folder, f"forged-{name}", name, "cat")
        with (folder / f"forged-{name}.pem").open("a") as chain:
            chain.write((folder / "cat.pem").read_text())
    return folder


def _sign(folder: Path, file: str, name: str, authority: str) -> None:
    openssl(
        folder, "req", "-x509", "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}", "-out", f"{file}.pem",
        "-CA", f"{authority}.pem", "-CAkey", f"{authority}.key", *_key(file),
    )  # fmt: skip


def _key(name: str) -> list[str]:
    return [
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "3650",
        "-keyout",
        f"{name}.key",
    ]


def openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def settings(certificates: Path, tmp_path: Path) -> Callable[..., PeerSettings]:
    """Settings of a peer who knows others at these ports."""

    def made(name: str, peers: dict[str, int], **told: Any) -> PeerSettings:
        files = {"certificate": f"{name}.pem", "certificate_key": f"{name}.key", "authority": "ca.pem"}
        places = {
            "listen": "127.0.0.1:0",
            "counts": str(tmp_path / f"{name}.db"),
            "backend": {"kind": "searxng", "url": "http://127.0.0.1:1"},
            "peers": {one: f"127.0.0.1:{port}" for one, port in peers.items()},
            "timeout": 20.0,
        }
        return PeerSettings(name=name, **{one: str(certificates / file) for one, file in files.items()} | places | told)

    return made


@pytest.fixture
def peer(settings: Callable[..., PeerSettings]) -> Any:
    """A peer who searches in two documents, and has already submitted these queries."""
    made: list[SearchPeer] = []
    documents = FullText(DOCUMENTS)

    def make(name: str, peers: dict[str, int], *before: str, **told: Any) -> SearchPeer:
        given = settings(name, peers, **told)
        made.append(SearchPeer(settings=given, backend=documents, counts=QueryCounts(Path(given.counts))))
        for query in before:
            made[-1].counts.submit(query)
        return made[-1]

    yield make
    for one in made:
        one.counts.close()
    documents.close()
