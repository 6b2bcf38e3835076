"""Clients that are silent, slow or deaf, too many of them, or none that speaks HTTP: nobody else notices.

No test measures time: what would never end without a limit is waited for until it ends.
"""

import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from confide.site.access import Reach, declare
from confide.web.serving.connections import ConnectionLimits

LONG = 120
TABLE = "/people/table.json?rows=sex"


@pytest.fixture
def connect() -> Iterator[Callable[..., socket.socket]]:
    """Open connections to a server that end with the test."""
    with ExitStack() as opened:

        def connecting(server: Any, said: bytes = b"", *, source: str = "127.0.0.1") -> socket.socket:
            where = ("127.0.0.1", urlsplit(server.url).port)
            wire = opened.enter_context(socket.create_connection(where, LONG, (source, 0)))
            wire.sendall(said)
            return wire

        yield connecting


def host(server: Any) -> bytes:
    return b"Host: " + urlsplit(server.url).netloc.encode() + b"\r\n"


def everything(wire: socket.socket) -> bytes:
    """All that a server says until it ends the connection."""
    said = b""
    try:
        while part := wire.recv(65536):
            said += part
    except ConnectionError:
        pass
    return said


# ---- what is no request to this server


@pytest.mark.parametrize(
    "said",
    [
        b"OPTIONS * HTTP/1.1\r\n{host}\r\n",
        b"CONNECT evil.example:443 HTTP/1.1\r\n{host}\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x12\x04\x00\x00\x00\x00\x00",
        b"GET people HTTP/1.1\r\n{host}\r\n",
        b"GET ?rows=sex HTTP/1.1\r\n{host}\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    ],
    ids=["options", "connect", "http2", "no-slash", "no-path", "tls"],
)
def test_what_is_no_request_gets_400_once_and_is_no_fault(server, connect, said):
    answer = everything(connect(server, said.replace(b"{host}", host(server))))
    assert answer.startswith(b"HTTP/1.1 400 ") and answer.count(b"HTTP/1.1 ") == 1
    assert "fault" not in server.log.read_text()


# ---- silent, slow and deaf


@pytest.mark.parametrize(
    "said",
    [b"", b"G", b"GET / HTTP/1.1\r\nX: ", b"POST /login HTTP/1.1\r\n{host}{form}Content-Length: 100\r\n\r\ntoken"],
    ids=["silent", "target", "header", "body"],
)
def test_who_does_not_finish_a_request_is_not_waited_for(site, serve_here, connect, said):
    server = serve_here(site, limits=ConnectionLimits(header=0.2, body=0.2))
    form = b"Content-Type: application/x-www-form-urlencoded\r\n"
    said = said.replace(b"{host}", host(server)).replace(b"{form}", form)
    assert everything(connect(server, said)) == b""
    assert server.get("/api/datasets").status_code == 200


def test_who_sends_a_header_byte_by_byte_is_not_waited_for(site, serve_here, connect):
    server = serve_here(site, limits=ConnectionLimits(header=0.5))
    wire = connect(server, b"GET / HTTP/1.1\r\n")
    with pytest.raises(OSError):  # the limit is on the whole, not on a pause
        while True:
            wire.sendall(b"X: y\r\n")
            time.sleep(0.02)


def test_who_answers_were_given_to_may_ask_again_but_not_wait_for_ever(site, serve_here, connect):
    server = serve_here(site, limits=ConnectionLimits(header=0.5))
    wire = connect(server, b"GET /api/datasets HTTP/1.1\r\n" + host(server) + b"\r\nGET /api/datasets HT")
    assert everything(wire).count(b"HTTP/1.1 200") == 1


def test_who_does_not_read_is_not_waited_for(site, serve_here, connect):
    server = serve_here(site, limits=ConnectionLimits(header=LONG, reading=0.2))
    connect(server, (b"GET /api HTTP/1.1\r\n" + host(server) + b"\r\n") * 400)
    while server.connections:  # never empty, if somebody who reads nothing is waited for
        time.sleep(0.05)
    assert server.get("/api/datasets").status_code == 200


def test_a_request_in_pieces_is_answered(server, connect):
    wire = connect(server, b"GET /api/datasets HT")
    time.sleep(0.2)
    wire.sendall(b"TP/1.1\r\n" + host(server))
    time.sleep(0.2)
    wire.sendall(b"\r\n")
    assert wire.recv(15) == b"HTTP/1.1 200 OK"


# ---- too many


def test_the_connection_of_a_machine_that_was_idle_for_longest_makes_room(site, serve_here, connect):
    server = serve_here(site, limits=ConnectionLimits(each=3, header=LONG))
    first, *others = [connect(server) for _ in range(3)]
    fourth = connect(server, b"GET /api/datasets HTTP/1.1\r\n" + host(server) + b"\r\n")
    assert fourth.recv(15) == b"HTTP/1.1 200 OK" and everything(first) == b""
    for other in others:
        other.sendall(b"GET /api/datasets HTTP/1.1\r\n" + host(server) + b"\r\n")
        assert other.recv(15) == b"HTTP/1.1 200 OK"


def test_machines_do_not_take_each_others_connections_until_there_are_too_many_in_all(site, serve_here, connect):
    server = serve_here(site, limits=ConnectionLimits(each=2, most=4, header=LONG))
    wires = [connect(server, source=f"127.0.0.{machine}") for machine in (2, 2, 3, 3)]
    for wire in wires:
        wire.sendall(b"GET /api/datasets HTTP/1.1\r\n" + host(server))
    last = connect(server, b"GET /api/datasets HTTP/1.1\r\n" + host(server) + b"\r\n", source="127.0.0.4")
    assert last.recv(15) == b"HTTP/1.1 200 OK" and everything(wires[0]) == b""
    for wire in wires[1:]:
        wire.sendall(b"\r\n")
        assert wire.recv(15) == b"HTTP/1.1 200 OK"


def test_a_declared_web_server_in_front_has_as_many_as_there_are(site, serve_here, connect):
    declare(site / "access.toml", Reach.PUBLIC, names=["stats.example.org"], proxies=["127.0.0.1"])
    server = serve_here(site, limits=ConnectionLimits(each=1, header=LONG))
    wires = [connect(server) for _ in range(5)]
    for wire in wires:
        wire.sendall(b"GET /api/datasets HTTP/1.1\r\n" + host(server) + b"\r\n")
        assert wire.recv(15) == b"HTTP/1.1 200 OK"


def test_eleven_hundred_silent_connections_stop_nobody(site, serve, connect):
    few, many = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, many), many))
    try:
        server = serve(site, limit=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024)))
        silent = [connect(server) for _ in range(1100)]
        for source in ("127.0.0.2", "127.0.0.1"):
            with httpx.Client(timeout=LONG, transport=httpx.HTTPTransport(local_address=source)) as other:
                assert other.get(server.url + TABLE).status_code == 200
        assert everything(silent[0]) == b""
        assert "Too many open files" not in server.log.read_text()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (few, many))


# ---- the end


def test_a_server_ends_when_it_is_told_to_whatever_clients_do(site, serve, connect):
    server = serve(site)
    connect(server)
    connect(server, b"GET / HT")
    connect(server, b"POST /login HTTP/1.1\r\n" + host(server) + b"Content-Length: 1000\r\n\r\nx")
    connect(server, (b"GET /api HTTP/1.1\r\n" + host(server) + b"\r\n") * 400)
    connect(server, b"\x00\xff\r\n\r\n")
    assert server.get(TABLE).status_code == 200
    assert server.stop() == 0


ENDLESS = """
import sys, tempfile, time
from pathlib import Path
from types import SimpleNamespace
from confide.site.access import Access
from confide.web.serving import server

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        print("up", flush=True)
        await receive()
        time.sleep(10_000)

server.LONGEST_END = 0.5
with tempfile.TemporaryDirectory() as folder:
    service = SimpleNamespace(access=Access(), papers=SimpleNamespace(path=Path(folder)))
    server.serve_app(app, service, host="127.0.0.1", port=0)
"""


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_a_server_whose_questions_do_not_end_ends_all_the_same(told):
    words = [sys.executable, "-c", ENDLESS]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout and process.stdout.readline() == b"up\n"
        time.sleep(0.5)  # until it listens; told before that, it ends too
        process.send_signal(told)
        try:
            assert process.wait(LONG) == 0
        finally:
            process.kill()


# ---- the log


def test_a_storm_of_bad_requests_leaves_few_lines_in_the_log(site: Path, serve, connect):
    server = serve(site)
    for _ in range(200):
        everything(connect(server, b"\x00\r\n\r\n"))
    lines = server.log.read_text().splitlines()
    assert 1 <= sum("Invalid HTTP" in line for line in lines) <= 60
