"""A demo site and real servers: `confide serve` in a process of its own, asked over a real socket."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pyarrow as pa
import pytest
import uvicorn

import confide
from confide import demo
from confide.answering.service import Service
from confide.demo.texts import catalog_text, policy_text
from confide.records.ingest import add, protect_again
from confide.site.access import PersonRole, Reach, add_token, declare
from confide.site.describing.saving import DescriptionFile
from confide.site.folder import Folder
from confide.web.api import create_app
from confide.web.describing.app import create_describing_app
from confide.web.describing.context import OpenDescription
from confide.web.serving.server import configure

LONG = 120
"""Seconds after which a test gives up: only a test that fails waits so long, however busy the machine."""

CONFIDE = [sys.executable, "-c", "from confide.cli.main import main; main()"]
Run = Callable[..., subprocess.CompletedProcess[bytes]]


@dataclass
class Server:
    """A running `confide serve`."""

    process: subprocess.Popen[bytes]
    url: str
    log: Path
    client: httpx.Client

    def ask(self, method: str, address: str, **options: Any) -> httpx.Response:
        return self.client.request(method, self.url + address, **options)

    def get(self, address: str, **options: Any) -> httpx.Response:
        """What is answered in the end: on a busy machine a page sends on to one that waits."""
        while "/jobs/" in (found := self.ask("GET", address, **options)).headers.get("location", ""):
            while self.ask("GET", found.headers["location"], **options).status_code == 200:
                time.sleep(0.2)
        return found

    def stop(self) -> int:
        self.client.close()
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(LONG)

    def kill(self) -> None:
        self.client.close()
        self.process.kill()
        self.process.wait(LONG)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start(site: Path, *options: str, limit: Callable[[], None] | None = None) -> Server:
    """Start a server and wait until it answers. Somebody else may take a free port first, so it is tried with some."""
    for _ in range(5):
        port = free_port()
        log = site.parent / f"{site.name}.{port}.log"
        with log.open("wb") as err:
            words = [*CONFIDE, "serve", str(site), "--port", str(port), *options]
            process = subprocess.Popen(words, stderr=err, stdout=err, preexec_fn=limit)
        server = Server(process, f"http://127.0.0.1:{port}", log, httpx.Client(timeout=LONG))
        if _answers(server):
            return server
        server.kill()
        if "Is the port taken?" not in log.read_text():
            break
    raise RuntimeError(log.read_text() or "the server does not answer")


def _answers(server: Server) -> bool:
    """Whether a server that was started answers in the end."""
    for _ in range(10 * LONG):
        if server.process.poll() is not None:
            return False
        try:
            server.get("/openapi.json")
            return server.process.poll() is None  # or somebody else has the port, and answered
        except httpx.TransportError:
            time.sleep(0.1)
    return False


def set_policy(site: Path, **fields: object) -> None:
    """Change fields of a site's policy.toml by name."""
    file = site / "policy.toml"
    text = file.read_text()
    for name, value in fields.items():
        text, changed = re.subn(rf"(?m)^{name} = .*$", f"{name} = {value}", text)
        assert changed == 1, name
    file.write_text(text)


@pytest.fixture
def port() -> int:
    """A port that is free now."""
    return free_port()


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo site, without quotas; never opened, only copied."""
    site = tmp_path_factory.mktemp("made") / "site"
    site.mkdir()
    (site / "secret").touch(0o600)
    (site / "secret").write_text("5eed" * 16 + "\n")
    for name, table in (("people", demo.people(20_000)), ("firms", demo.firms(4_000))):
        add(table, site, name=name, catalog=catalog_text(name), policy=policy_text(name))
    set_policy(site, per_day=0, per_minute=0)
    return site


def set_preset(site: Path, preset: str) -> Path:
    """Put a preset in force for all data sets of a site, still without quotas, and protect the records as it asks for."""
    quota = "[quota]\nper_day = 0\nper_minute = 0\n"
    (site / "policy.toml").write_text(f'preset = "{preset}"\nname = "{preset}"\nversion = 1\n{quota}')
    (site / "firms" / "policy.toml").unlink()
    for name in ("people", "firms"):
        protect_again(site, name=name)
    return site


@pytest.fixture(scope="session")
def under() -> Callable[[Path, str], Path]:
    """Put a preset in force on a copy of the demo site."""
    return set_preset


@pytest.fixture
def site(made: Path, tmp_path: Path) -> Path:
    """A copy of the demo site: same data, same secret, its own ledger."""
    return Path(shutil.copytree(made, tmp_path / "site"))


@pytest.fixture(scope="session")
def server(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server on a copy of the demo site, for tests that only ask."""
    site = Path(shutil.copytree(made, tmp_path_factory.mktemp("served") / "site"))
    running = start(site)
    yield running
    assert running.stop() == 0


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Start servers that end with the test."""
    running: list[Server] = []

    def starting(site: Path, *options: str, **more: Any) -> Server:
        running.append(start(site, *options, **more))
        return running[-1]

    yield starting
    for each in running:
        each.kill()


@pytest.fixture(scope="session")
def run() -> Run:
    """Run the command line in a process of its own."""

    def running(*words: object, **environment: str) -> subprocess.CompletedProcess[bytes]:
        known = {key: value for key, value in os.environ.items() if key != "CONFIDE_TOKEN"}
        return subprocess.run(
            [*CONFIDE, *map(str, words)], capture_output=True, timeout=LONG, env={**known, **environment}, check=False
        )

    return running


@pytest.fixture
def local(site: Path) -> Iterator[confide.Site]:
    """The copy, open in this process."""
    with confide.open(site) as opened:
        yield opened


@pytest.fixture(scope="session")
def policy() -> Callable[..., None]:
    """Change fields of a site's policy."""
    return set_policy


@pytest.fixture(scope="session")
def starting() -> Callable[..., Server]:
    """Start a server; stopping it is the caller's business."""
    return start


@dataclass
class Guarded:
    """A running site that is public and has people with tokens."""

    server: Server
    site: Path
    tokens: dict[str, str]


@pytest.fixture(scope="session")
def guarded(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """One public site with a custodian and an analyst, for tests that change nothing they cannot share."""
    site = Path(shutil.copytree(made, tmp_path_factory.mktemp("guarded") / "site"))
    declare(site / "access.toml", Reach.PUBLIC)
    people = {"carla": PersonRole.CUSTODIAN, "ana": PersonRole.ANALYST}
    tokens = {name: add_token(site / "access.toml", name=name, role=role) for name, role in people.items()}
    running = start(site)
    yield Guarded(running, site, tokens)
    assert running.stop() == 0


@dataclass
class Browser:
    """Somebody with a browser: it keeps cookies, says where its forms come from, and follows no redirect by itself."""

    url: str
    client: httpx.Client

    def get(self, address: str, **options: Any) -> httpx.Response:
        return self.client.get(self.url + address, **options)

    def post(self, address: str, fields: dict[str, str], **headers: str) -> httpx.Response:
        sent = {"Origin": self.url, "Sec-Fetch-Site": "same-origin"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        return self.client.post(self.url + address, data=fields, headers=sent)

    def secret(self, address: str) -> str:
        """What the form of a page holds, and nobody else knows."""
        found = re.search(r'name="csrf" value="([^"]+)"', self.get(address).text)
        assert found, address
        return found[1]

    def send(self, address: str, fields: dict[str, str], *, page: str = "", **headers: str) -> httpx.Response:
        """Send the form of a page as it stands there."""
        return self.post(address, {"csrf": self.secret(page or address), **fields}, **headers)

    def log_in(self, token: str, address: str = "/custodian") -> httpx.Response:
        return self.send("/login", {"token": token, "next": address})


@pytest.fixture
def browser() -> Iterator[Callable[[Server], Browser]]:
    """Open browsers that close with the test."""
    opened: list[httpx.Client] = []

    def opening(server: Server, **headers: str) -> Browser:
        opened.append(
            httpx.Client(timeout=LONG, headers={name.replace("_", "-"): each for name, each in headers.items()})
        )
        return Browser(server.url, opened[-1])

    yield opening
    for client in opened:
        client.close()


class Here:
    """A site served by this process, which starts faster than a process of its own."""

    def __init__(self, site: Path, *, kind: type[Service] = Service, opened: Any = None, **settings: Any) -> None:
        self.service = kind.open(site, **(opened or {}))
        config = configure(create_app(self.service), self.service, port=0, log_level="error", **settings)
        self._server = uvicorn.Server(config)
        self._thread = Thread(target=self._server.run)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        port = self._server.servers[0].sockets[0].getsockname()[1]
        self.url, self.client = f"http://127.0.0.1:{port}", httpx.Client(timeout=LONG)

    @property
    def connections(self) -> set[Any]:
        """Those that are open now."""
        return self._server.server_state.connections

    def get(self, address: str, **options: Any) -> httpx.Response:
        return self.client.get(self.url + address, **options)

    def stop(self) -> None:
        if not self._server.should_exit:
            self._server.should_exit = True
            self._thread.join()
            self.client.close()
            self.service.close()


@pytest.fixture
def serve_here() -> Iterator[Callable[..., Here]]:
    """Serve sites from this process; they end with the test."""
    running: list[Here] = []

    def starting(site: Path, **settings: Any) -> Here:
        running.append(Here(site, **settings))
        return running[-1]

    yield starting
    for each in running:
        each.stop()


@dataclass
class Described:
    """A description that is open to a browser, served by this process."""

    file: DescriptionFile
    url: str
    token: str

    @property
    def address(self) -> str:
        return f"{self.url}/open?token={self.token}"

    @property
    def text(self) -> str:
        return self.file.folder.catalog(self.file.name).read_text(encoding="utf-8")


@pytest.fixture
def describe_here() -> Iterator[Callable[[Path, str], Described]]:
    """Open descriptions as `confide describe` does; they end with the test."""
    running: list[tuple[uvicorn.Server, Thread]] = []

    def starting(site: Path, name: str) -> Described:
        opened = OpenDescription(DescriptionFile(Folder(site), name))
        server = uvicorn.Server(configure(create_describing_app(opened), opened, port=0, log_level="error"))
        running.append((server, Thread(target=server.run)))
        running[-1][1].start()
        while not server.started:
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        return Described(opened.file, f"http://127.0.0.1:{port}", opened.token)

    yield starting
    for server, thread in running:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="session")
def surveyed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site as `confide init` drafts it from a small, untidy file. Copy it to change it."""
    site, rows = tmp_path_factory.mktemp("surveyed") / "site", 60
    table = pa.table(
        {
            "sex": ["f", "m", "F", "m"] * rows,
            "work": ["baker", "clerk", "nurse", "<b>\u202e&\"'"] * rows,
            "age": [place % 90 for place in range(4 * rows)],
        }
    )
    add(table, site, name="people")
    return site


@pytest.fixture
def survey(surveyed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(surveyed, tmp_path / "site"))
