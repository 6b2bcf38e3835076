"""The server of a site: uvicorn with bounded connections, a bounded end and a bounded log."""

import logging
import os
import signal
import time
from collections.abc import Callable
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
from confide.web.connections import LIMITS, Connection, ConnectionLimits, Connections

__all__ = ["LONGEST_END", "LogThrottle", "configure", "serve_app"]

LONGEST_END = 8.0
"""Seconds after which a server that was told to end does so, whatever clients or questions are still under way. What was recorded
is on the disk by then, and what was not was not answered."""

_GRACE = 4
"""Seconds of these in which answers under way may still leave."""

_AT_ONCE = 100
"""Connections that are taken up before those that make room for them are closed, and that wait to be taken up."""

_LOG = logging.getLogger("confide.server")

_LOGS = ("confide", "confide.server", "uvicorn.error", "asyncio")


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
    """uvicorn's server, which ends in bounded time once it is told to."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if not self.should_exit:
            last = Timer(LONGEST_END, os._exit, (0,))
            last.daemon = True
            last.start()
        super().handle_exit(sig, frame)


def configure(app: ASGIApp, service: Service, *, limits: ConnectionLimits = LIMITS, **settings: Any) -> uvicorn.Config:
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


def serve_app(app: ASGIApp, service: Service, *, host: str, port: int) -> None:
    """Serve a site until the process is told to end."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that `kill` closes the site as Ctrl+C does
    config, throttle = configure(app, service, host=host, port=port), LogThrottle()
    for name in _LOGS:
        logging.getLogger(name).addFilter(throttle)
    signal.signal(signal.SIGHUP, lambda *_: Thread(target=_reload, args=(service,), name="reload").start())
    try:
        with serving(service.papers.path):
            _Server(config).run()
    except KeyboardInterrupt:
        pass
    except SystemExit:
        raise Fault(
            f"The server could not start on {host}:{port}. Is the port taken? Choose another with --port."
        ) from None


def _reload(service: Service) -> None:
    """Load the site anew; what is wrong is logged, and the server goes on as before."""
    try:
        service.reload_and_record()
        _LOG.warning("The site was loaded anew.")
    except ConfideError as error:
        _LOG.error("The site was not loaded anew: %s", error)


def _is_proxy(service: Service, address: str) -> bool:
    try:
        return service.access.believes(address)
    except Fault:
        return False
