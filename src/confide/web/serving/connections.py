"""Connections that cannot be held for nothing: how long a client may take to speak and to listen, and how many it may have.

Promise: who is silent, slow or deaf takes nothing from others for longer than the limits say.
"""

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from confide.web.authentication import machine_of

__all__ = ["LIMITS", "Connection", "ConnectionLimits", "Connections"]


@dataclass(frozen=True)
class ConnectionLimits:
    """How long a client may take, in seconds, and how many connections there may be."""

    header: float = 10.0
    """Until a request has come as far as its body, from the opening or from the answer before."""
    body: float = 20.0
    """Until the body of a request has come too. The largest is a form of 60,000 bytes."""
    reading: float = 60.0
    """Until a client has read what the system keeps of an answer for it, some 64 kB."""
    each: int = 200
    """Connections of one machine; of a declared web server in front as many as there are."""
    most: int = 600
    """Connections in all. Systems allow a process 1,024 open files as a rule, and those that are closed just now count too."""


LIMITS = ConnectionLimits()


class Connections:
    """The open connections of a server. Where there are too many, the one that was idle for longest makes room.

    `trusted` tells the addresses of web servers in front, which ask for many.
    """

    def __init__(self, limits: ConnectionLimits, *, trusted: Callable[[str], bool] = lambda address: False) -> None:
        self.limits, self._trusted = limits, trusted
        self._open: dict[Connection, str] = {}

    def opened(self, connection: "Connection") -> None:
        """Take up a connection; it, or another, is closed if there are too many."""
        address = connection.client[0] if connection.client else ""
        machine = machine_of({"client": connection.client})
        self._open[connection] = machine
        of_machine = [each for each, owner in self._open.items() if owner == machine]
        if len(of_machine) > self.limits.each and not self._trusted(address):
            _make_room(of_machine)
        elif len(self._open) > self.limits.most:
            _make_room(list(self._open))

    def used(self, connection: "Connection") -> None:
        """Note that a connection was answered: it is the last to make room."""
        if connection in self._open:
            self._open[connection] = self._open.pop(connection)

    def closed(self, connection: "Connection") -> None:
        self._open.pop(connection, None)

    def __len__(self) -> int:
        return len(self._open)


def _make_room(connections: "list[Connection]") -> None:
    """Close the first that is idle; if all are answered just now, the newest, which has asked for nothing yet."""
    next((each for each in connections if each.idle), connections[-1]).drop()


class Connection(H11Protocol):
    """uvicorn's connection, with an end to every wait for the client."""

    def __init__(self, connections: Connections, **settings: Any) -> None:
        super().__init__(**settings)
        self.app_state = {**self.app_state, "connection": self}  # for who hands it over
        self._connections, self._limits = connections, connections.limits
        self._arrived = False
        self._waiting = ""
        self._deadline: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    @property
    def idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def drop(self) -> None:
        """End the connection at once, whether or not the client has read everything."""
        self._connections.closed(self)
        self.transport.abort()

    async def hand_over(self, to: socket.socket) -> bool:
        """Give the connection, with the request that has come, to another process; False if one has just given it to this."""
        if self._arrived:
            return False
        self.flow.pause_reading()
        until = self.loop.time() + self._limits.reading
        while not self.transport.is_closing() and not self._sent(to):
            if self.loop.time() > until:
                self.drop()
            await asyncio.sleep(0.002)
        return True

    def arrive(self, request: bytes) -> None:
        """Go on with a connection that another process has handed over."""
        self._arrived = True
        self.data_received(request)

    def _sent(self, to: socket.socket) -> bool:
        """Whether another process has it; not while the answer before is still leaving, or others fill the way."""
        if self.transport.get_write_buffer_size():
            return False
        begun = self.transport.get_extra_info("socket")
        try:
            socket.send_fds(to, [self._so_far()], [begun.fileno()])
        except BlockingIOError:
            return False
        self.cycle.disconnected = True  # or an answer would be missed here
        self.drop()
        return True

    def _so_far(self) -> bytes:
        """The request as it came, as far as it did, and what followed it."""
        target = self.scope["raw_path"] + (b"?" + self.scope["query_string"] if self.scope["query_string"] else b"")
        line = b"%s %s HTTP/%s" % (self.scope["method"].encode(), target, self.scope["http_version"].encode())
        headers = [name + b": " + value for name, value in self.headers]
        return b"\r\n".join([line, *headers, b"", b""]) + bytes(self.cycle.body) + self.conn.trailing_data[0]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        self._wait()
        self._connections.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.closed(self)
        for timer in (self._deadline, self._unread):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._wait()

    def on_response_complete(self) -> None:
        self._arrived = False
        super().on_response_complete()
        self._connections.used(self)
        self._wait()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(self._limits.reading, self.drop)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        if self._unread is None or self._unread.cancelled():  # a closed connection lives until its answer is read
            self._unread = self.loop.call_later(self._limits.reading, self.drop)

    def shutdown(self) -> None:
        try:
            super().shutdown()
        except h11.LocalProtocolError:  # what came was no HTTP, and the client has not read that
            self.drop()

    def _wait(self) -> None:
        """Set the deadline of what the client has to send next, if that is something else than before."""
        state = self.conn.their_state
        waiting = "body" if state is h11.SEND_BODY else "header" if state is h11.IDLE and self.idle else ""
        if waiting == self._waiting and self._deadline is not None:
            return
        if self._deadline is not None:
            self._deadline.cancel()
        self._waiting = waiting
        seconds = self._limits.body if waiting == "body" else self._limits.header
        self._deadline = self.loop.call_later(seconds, self.drop) if waiting else None
