"""The server of a site: uvicorn with bounded connections, a bounded end and a bounded log."""

import asyncio
import logging
import os
import signal
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from threading import Thread, Timer
from types import FrameType
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from confide.answering.service import Service
from confide.cache import Cache
from confide.errors import ConfideError, Fault
from confide.site.serving import serving
from confide.web.authentication import AuthenticatedSite
from confide.web.serving.connections import LIMITS, Connection, ConnectionLimits, Connections

__all__ = ["LONGEST_END", "LogThrottle", "Worker", "configure", "listen", "run_app", "run_server", "serve_app"]

LONGEST_END = 8.0
"""Seconds after which a server that was told to end does so, whatever clients or questions are still under way. What was recorded
is on the disk by then, and what was not was not answered."""

_GRACE = 4
"""Seconds of these in which answers under way may still leave."""

_AT_ONCE = 100
"""Connections that are taken up before those that make room for them are closed, and that wait to be taken up."""

_LARGEST = 1 << 18
"""Bytes of a request, with what followed it, when a connection is handed over."""

_LOG = logging.getLogger("confide.server")

_LOGS = ("confide", "confide.server", "uvicorn.error", "asyncio")


@dataclass(frozen=True)
class Worker:
    """What a process that serves a site does for the others, where there are several."""

    inbox: socket.socket | None = None
    """Where they hand connections to it."""
    started: Callable[[], None] = lambda: None
    every_second: Callable[[], None] = lambda: None


ALONE = Worker()


class LogThrottle(logging.Filter):
    """At most so many log lines of one kind in a minute; the first of the next minute says how many were left out.

    >>> throttle = LogThrottle(most=1, clock=lambda: 0.0)
    >>> line = logging.makeLogRecord({"msg": "Invalid HTTP request received."})
    >>> throttle.filter(line), throttle.filter(line)
    (True, False)
    """

    def __init__(self, *, most: int = 60, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._most, self._clock = most, clock
        self._seen: Cache[str, tuple[float, int]] = Cache(100)

    def filter(self, record: logging.LogRecord) -> bool:
        now, left_out = self._clock(), 0

        def counted(found: tuple[float, int] | None) -> tuple[float, int]:
            nonlocal left_out
            began, lines = found or (now, 0)
            if now - began >= 60:
                left_out, began, lines = max(0, lines - self._most), now, 0
            return began, lines + 1

        _, lines = self._seen.change(f"{record.name} {record.msg}", counted, now=now) or (0.0, 0)
        if left_out:
            record.msg = f"{record.msg} ({left_out} more like this in the minute before)"
        return lines <= self._most


class _Server(uvicorn.Server):
    """uvicorn's server, which ends in bounded time once it is told to, and takes in connections that other processes hand over."""

    def __init__(self, config: uvicorn.Config, worker: Worker) -> None:
        super().__init__(config)
        self._worker = worker

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self._worker.inbox is not None:
            asyncio.get_running_loop().add_reader(self._worker.inbox, self._take_in)
        self._worker.started()

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:  # that is every second
            self._worker.every_second()
        return await super().on_tick(counter)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if not self.should_exit:
            last = Timer(LONGEST_END, os._exit, (0,))
            last.daemon = True
            last.start()
        super().handle_exit(sig, frame)

    def _take_in(self) -> None:
        assert self._worker.inbox is not None
        with suppress(BlockingIOError):
            request, descriptors, _, _ = socket.recv_fds(self._worker.inbox, _LARGEST, 1)
            for descriptor in descriptors:
                task = asyncio.ensure_future(self._go_on(socket.socket(fileno=descriptor), request))
                self.server_state.tasks.add(task)
                task.add_done_callback(self.server_state.tasks.discard)

    async def _go_on(self, handed: socket.socket, request: bytes) -> None:
        """Serve a connection on which this request came before."""
        make: Any = self.config.http_protocol_class
        settings = {"config": self.config, "server_state": self.server_state, "app_state": self.lifespan.state}
        loop = asyncio.get_running_loop()
        with suppress(OSError):  # the client is gone
            _, connection = await loop.connect_accepted_socket(lambda: make(_loop=loop, **settings), handed)
            connection.arrive(request)


def configure(
    app: ASGIApp, service: AuthenticatedSite, *, limits: ConnectionLimits = LIMITS, **settings: Any
) -> uvicorn.Config:
    """How a site is served."""
    connections = Connections(limits, trusted=lambda address: _is_proxy(service, address))
    return uvicorn.Config(
        app,
        http=partial(Connection, connections),  # type: ignore[arg-type]  # called as the class would be
        ws="none",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # access.toml says who is believed
        timeout_graceful_shutdown=_GRACE,
        backlog=_AT_ONCE,
        **{"log_level": "warning", **settings},
    )


def listen(host: str, port: int) -> list[socket.socket]:
    """The sockets on which a site is reached; a Fault if somebody else has the port."""
    with ExitStack() as opened:
        try:
            found = [
                opened.enter_context(socket.create_server(address, family=family, backlog=_AT_ONCE))
                for family, _, _, _, address in dict.fromkeys(
                    socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
                )
            ]
        except OSError:
            raise Fault(
                f"The server could not start on {host}:{port}. Is the port taken? Choose another with --port."
            ) from None
        for one in found:
            # accepted connections have it too; asyncio sets it where a socket was made for TCP by number, which these were not
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        opened.pop_all()
        return found


def serve_app(app: ASGIApp, service: Service, *, host: str, port: int) -> None:
    """Serve a site by this process alone until it is told to end."""
    with serving(service.papers.path):
        run_app(app, service, sockets=listen(host, port))


def run_app(app: ASGIApp, service: Service, *, sockets: list[socket.socket], worker: Worker = ALONE) -> None:
    """Answer who comes to these sockets for a site until the process is told to end."""
    signal.signal(signal.SIGHUP, lambda *_: Thread(target=_reload, args=(service,), name="reload").start())
    run_server(app, service, sockets=sockets, worker=worker)


def run_server(
    app: ASGIApp, service: AuthenticatedSite, *, sockets: list[socket.socket], worker: Worker = ALONE
) -> None:
    """Answer who comes to these sockets until the process is told to end."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that `kill` closes the site as Ctrl+C does
    config, throttle = configure(app, service), LogThrottle()
    for name in _LOGS:
        logging.getLogger(name).addFilter(throttle)
    with suppress(KeyboardInterrupt):
        _Server(config, worker).run(sockets)


def _reload(service: Service) -> None:
    """Load the site anew; what is wrong is logged, and the server goes on as before."""
    try:
        service.reload_and_record()
        _LOG.warning("The site was loaded anew.")
    except ConfideError as error:
        _LOG.error("The site was not loaded anew: %s", error)


def _is_proxy(service: AuthenticatedSite, address: str) -> bool:
    try:
        return service.access.believes(address)
    except Fault:
        return False
