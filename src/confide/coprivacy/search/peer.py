"""A peer of anonymous keyword search: asks for itself or through others, and submits for others what hides itself."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random, SystemRandom
from time import monotonic
from typing import Any

from confide.coprivacy.search.backends import SearchBackend, SearchHit, Unanswered
from confide.coprivacy.search.counts import QueryCounts, normalised
from confide.coprivacy.search.messages import (
    LONGEST_LINE,
    LONGEST_QUERY,
    Garbage,
    answer_line,
    is_query,
    query_line,
    read_answer,
    read_query,
    refusal_line,
)
from confide.coprivacy.search.settings import PeerSettings, address_of
from confide.errors import Fault, Mistake, Reason, Refused

__all__ = ["PeerAnswer", "SearchPeer"]

MINUTE = 60.0


@dataclass(frozen=True)
class PeerAnswer:
    """What was found, who submitted the query, and how many peers got to see it."""

    hits: list[SearchHit]
    by: str
    asked: int


@dataclass(kw_only=True)
class SearchPeer:
    """One peer: `search` asks, `serving` answers others. Queries go one hop: what others ask is submitted here or not at all.

    Promise: the database sees a query from oneself if that does not lower H(Y), or from a peer whose H(Y) it raises; at
    last, if nobody helps, from oneself, unless told `never_direct`. A peer who is asked knows who asks: certificates say so.
    """

    settings: PeerSettings
    backend: SearchBackend
    counts: QueryCounts
    random: Random = field(default_factory=SystemRandom)
    clock: Callable[[], float] = monotonic
    _heard: dict[str, list[float]] = field(default_factory=dict, init=False)
    _denied: tuple[str, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        self._denied = self.settings.denied()

    @classmethod
    def of(cls, settings: PeerSettings) -> "SearchPeer":
        """A peer as its file says."""
        return cls(settings=settings, backend=settings.searched(), counts=QueryCounts(Path(settings.counts)))

    async def search(self, query: str, *, never_direct: bool = False) -> PeerAnswer:
        """Submit a query by whoever is best for privacy, and give what was found."""
        if not is_query(query):
            raise Mistake(f"A query is one line of 1 to {LONGEST_QUERY:,} letters.")
        if not never_direct and self.counts.submit_own(query):
            return PeerAnswer(await self._submitted(query), self.settings.name, 0)
        asked = 0
        for peer in self.counts.least_asked(query, self.settings.peers, self.random)[: self.settings.attempts]:
            hits, saw = await self._ask(peer, query)
            asked += saw
            if hits is not None:
                return PeerAnswer(hits, peer, asked)
        if never_direct:
            raise Refused(
                [Reason("coprivacy.never_direct", "No peer submits this query, and you said never to do it yourself.")],
                policy="yours",
                suggestions=["Ask again later, with more peers, or without --never-direct."],
            )
        self.counts.submit(query)
        return PeerAnswer(await self._submitted(query), self.settings.name, asked)

    async def answer(self, peer: str, query: str) -> list[SearchHit] | None:
        """What a peer is answered: hits if it is best for this one to submit the query, otherwise None."""
        if not self._within_rate(peer) or self._denies(query) or not self.counts.submit_for_other(query):
            return None
        with suppress(Unanswered):
            return await self.backend.find(query, self.settings.most)
        return None

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[asyncio.Server]:
        """Answer other peers for as long as this is open."""
        host, port = address_of(self.settings.listen)
        tls = _tls(self.settings, ssl.PROTOCOL_TLS_SERVER)
        try:
            server = await asyncio.start_server(
                self._connected, host, port, ssl=tls, limit=LONGEST_LINE,
                ssl_handshake_timeout=self.settings.timeout, ssl_shutdown_timeout=self.settings.timeout,
            )  # fmt: skip
        except OSError as error:
            raise Fault(f"The peer could not listen on {self.settings.listen} ({error.strerror}).") from None
        async with server:
            yield server

    async def _submitted(self, query: str) -> list[SearchHit]:
        try:
            return await self.backend.find(query, self.settings.most)
        except Unanswered:
            raise Mistake(
                "The search engine did not answer.", suggestions=["Look at backend in the settings, and ask again."]
            ) from None

    async def _ask(self, peer: str, query: str) -> tuple[list[SearchHit] | None, bool]:
        """What a peer answers, None if it does not help, and whether it saw the query."""
        saw = False
        with suppress(OSError, TimeoutError, Garbage):
            async with asyncio.timeout(self.settings.timeout), _connection(self.settings, peer) as (reader, writer):
                self.counts.forward(query, peer)  # before it leaves: after a crash it is counted
                saw = True
                writer.write(query_line(query))
                await writer.drain()
                return await read_answer(reader, self.settings.most), saw
        return None, saw

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, TimeoutError, Garbage):
            try:
                async with asyncio.timeout(2 * self.settings.timeout):
                    peer = self._known(writer)
                    query = await read_query(reader)
                    hits = await self.answer(peer, query)
                    writer.write(refusal_line() if hits is None else answer_line(hits))
                    await writer.drain()
            finally:
                writer.close()
                await writer.wait_closed()

    def _known(self, writer: asyncio.StreamWriter) -> str:
        """The peer whose certificate this is, or `Garbage`: who is signed by the authority may still be nobody here."""
        names = _certificate(writer).get("subjectAltName", ())
        found = [name for kind, name in names if kind == "DNS" and name in self.settings.peers]
        if not found:
            raise Garbage
        return str(found[0])

    def _within_rate(self, peer: str) -> bool:
        now = self.clock()
        heard = [at for at in self._heard.get(peer, ()) if now - at < MINUTE]
        within = len(heard) < self.settings.per_minute
        self._heard[peer] = [*heard, now] if within else heard
        return within

    def _denies(self, query: str) -> bool:
        return any(f" {phrase} " in f" {normalised(query)} " for phrase in self._denied)


@asynccontextmanager
async def _connection(
    settings: PeerSettings, peer: str
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    host, port = address_of(settings.peers[peer])
    tls = _tls(settings, ssl.PROTOCOL_TLS_CLIENT)
    reader, writer = await asyncio.open_connection(host, port, ssl=tls, server_hostname=peer, limit=LONGEST_LINE)
    try:
        _certificate(writer)
        yield reader, writer
    finally:
        writer.transport.abort()  # the answer is read or worthless: a farewell would only let the other keep us waiting
        with suppress(OSError):
            await writer.wait_closed()


def _certificate(writer: asyncio.StreamWriter) -> dict[str, Any]:
    """What the other side showed, or `Garbage` unless the authority itself signed it.

    A peer whose certificate was made without CA:FALSE could sign others in any name, and TLS would believe them.
    """
    shown: dict[str, Any] = writer.get_extra_info("peercert") or {}
    authorities = writer.get_extra_info("sslcontext").get_ca_certs()
    if shown.get("issuer") not in [one["subject"] for one in authorities]:
        raise Garbage
    return shown


def _tls(settings: PeerSettings, side: "ssl._SSLMethod") -> ssl.SSLContext:
    """Both sides show a certificate of the same authority; a server's has the name that it is asked by."""
    context = ssl.SSLContext(side)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_REQUIRED
    try:
        context.load_cert_chain(settings.certificate, settings.certificate_key)
        context.load_verify_locations(settings.authority)
    except OSError as error:
        raise Mistake(
            f"The certificates of {settings.name!r} cannot be read ({type(error).__name__}).",
            suggestions=["Look at certificate, certificate_key and authority in the settings."],
        ) from None
    return context
