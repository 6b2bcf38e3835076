"""A real PostgreSQL for the tests: Debian's, in a temporary folder, reached by a socket in it."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

SETTINGS = "-c listen_addresses='' -c shared_buffers=32MB -c max_connections=40 -c timezone=UTC"


class Server:
    """A running server; `database` is what `dataset.toml` says of it."""

    def __init__(self, folder: Path, *, durable: bool = False) -> None:
        self.folder, self._settings = folder, f"{SETTINGS} -c fsync={'on' if durable else 'off'} -k {folder}"
        self.database = f"host={folder} user=postgres dbname=postgres"

    def as_role(self, role: str) -> str:
        return f"host={self.folder} user={role} dbname=postgres"

    def start(self) -> None:
        log = self.folder / "log"
        self._run("pg_ctl", "start", "-w", "-D", "data", "-l", str(log), "-o", self._settings)

    def stop(self) -> None:
        self._run("pg_ctl", "stop", "-w", "-m", "immediate", "-D", "data")

    def _run(self, name: str, *arguments: str) -> None:
        """As somebody else than root, whom PostgreSQL refuses."""
        command = [str(binaries() / name), *arguments]
        command = ["runuser", "-u", "postgres", "--", *command] if os.geteuid() == 0 else command
        done = subprocess.run(command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 0, done.stderr


def binaries() -> Path:
    """Where PostgreSQL's programs are."""
    found = [Path(path).parent for path in [shutil.which("initdb")] if path]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    if not found:
        pytest.fail("The tests need PostgreSQL. On Debian, as root: apt-get install postgresql", pytrace=False)
    return found[-1]


@contextmanager
def running(*, durable: bool = False) -> Iterator[Server]:
    """A server that is gone afterwards; what it commits outlives a loss of power if it is to be durable."""
    folder = Path(tempfile.mkdtemp(prefix="confide-pg-"))
    if os.geteuid() == 0:
        owner = pwd.getpwnam("postgres")
        os.chown(folder, owner.pw_uid, owner.pw_gid)
    server = Server(folder, durable=durable)
    try:
        server._run("initdb", "-D", "data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
