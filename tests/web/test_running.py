"""What the how-to page says about systemd and containers: its files are read, and their commands run here."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
import urllib.error
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path

import httpx
import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from confide.site.access import Reach, declare

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "run-as-a-service.md"
LONG = 120
INSTRUCTIONS = {"FROM", "RUN", "COPY", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT"}


def written(title: str) -> str:
    """A file as the how-to page has it."""
    found = re.search(rf'```\w+ title="{re.escape(title)}"\n(.*?)```', PAGE.read_text(), re.DOTALL)
    assert found, title
    return found[1]


def unit() -> ConfigParser:
    parser = ConfigParser(strict=True, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(written("confide.service"))
    return parser


def instructions() -> Iterator[tuple[str, str]]:
    """The instructions of the container file, with their words."""
    for line in written("Containerfile").splitlines():
        name, _, rest = line.partition(" ")
        assert name in INSTRUCTIONS and rest, line
        yield name, rest


@pytest.fixture
def confide_in(tmp_path: Path) -> Path:
    """The command `confide`, as an installation has it."""
    command = tmp_path / "confide"
    command.write_text(f"#!/bin/sh\nexec {sys.executable} -c 'from confide.cli.main import main; main()' \"$@\"\n")
    command.chmod(0o755)
    return command


def _serving(words: list[str], port: int) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(10 * LONG):
        assert process.poll() is None
        try:
            assert httpx.get(f"http://127.0.0.1:{port}/health").json() == {"status": "alive"}
            return process
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError("the server does not answer")


def test_the_command_of_the_unit_serves_a_site_and_ends_when_it_is_told_to(site, confide_in, port):
    command = unit()["Service"]["ExecStart"]
    assert command.startswith("/opt/confide/bin/confide serve /srv/confide/site")
    real = command.replace("/opt/confide/bin/confide", str(confide_in)).replace("/srv/confide/site", str(site))
    process = _serving(shlex.split(real.replace("8000", str(port))), port)
    process.terminate()
    assert process.wait(LONG) == 0


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed here")
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path, confide_in):
    file = tmp_path / "confide.service"
    text = written("confide.service").replace("/opt/confide/bin/confide", str(confide_in))
    file.write_text(text.replace("User=confide", "User=daemon"))
    done = subprocess.run(["systemd-analyze", "verify", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "confide.service" not in done.stderr, done.stderr
    file.write_text(text.replace("ProtectSystem=strict", "ProtectSystem=nonsense"))
    wrong = subprocess.run(["systemd-analyze", "verify", file], capture_output=True, text=True, check=False)
    assert "nonsense" in wrong.stderr, "systemd-analyze would not have told"


def test_the_unit_gives_the_server_the_time_it_needs_to_end():
    from confide.web.serving.server import LONGEST_END

    assert int(unit()["Service"]["TimeoutStopSec"]) > LONGEST_END


def test_the_container_runs_as_nobody_special_and_keeps_no_site():
    found = list(instructions())
    names = [name for name, _ in found]
    assert names[0] == "FROM" and names.index("USER") < names.index("ENTRYPOINT") and dict(found)["USER"] == "confide"
    assert dict(found)["VOLUME"] == "/site" and "secret" not in written("Containerfile")


def run_by(command: str) -> list[str]:
    """The words of the RUN instruction that begins with a command."""
    return next(shlex.split(rest) for name, rest in instructions() if name == "RUN" and rest.startswith(command))


def test_the_container_installs_extras_that_the_project_has_on_a_python_that_it_runs_on():
    found = dict(instructions())
    project = tomllib.loads((PAGE.parents[2] / "pyproject.toml").read_text())["project"]
    python = found["FROM"].removeprefix("python:").removesuffix("-slim")
    assert python in SpecifierSet(project["requires-python"]) and "confide" in project["scripts"]
    installed = run_by("pip install")[-1]
    assert found["COPY"] == ". /src" and installed.startswith("/src[")
    extras = Requirement(installed.replace("/src", "confide")).extras
    assert "web" in extras and extras <= set(project["optional-dependencies"])


@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("useradd"), reason="only root makes users, and not everywhere so"
)
def test_the_user_that_the_container_makes_is_the_one_it_runs_as_and_the_page_names(tmp_path):
    made = run_by("useradd")
    (tmp_path / "etc").mkdir()
    for name in ("passwd", "group", "shadow", "gshadow"):
        (tmp_path / "etc" / name).touch()
    subprocess.run([made[0], "--prefix", tmp_path, *made[1:]], check=True, capture_output=True)
    name, _, number, *_ = (tmp_path / "etc" / "passwd").read_text().split(":")
    assert name == dict(instructions())["USER"] and f"belongs to user {number}," in PAGE.read_text()


def test_the_commands_of_the_container_serve_a_site_and_see_whether_it_is_ready(site, confide_in, port):
    declare(site / "access.toml", Reach.TOKENS, names=["stats.example.org"], proxies=["172.18.0.0/24"])
    found = dict(instructions())
    words = [word.replace("8000", str(port)) for word in json.loads(found["ENTRYPOINT"])]
    assert words[:3] == ["confide", "serve", "/site"] and found["EXPOSE"] == "8000"
    process = _serving([str(confide_in), "serve", str(site), *words[3:]], port)
    check = json.loads(found["HEALTHCHECK"].removeprefix("CMD "))
    asked = [sys.executable, *(word.replace("8000", str(port)) for word in check[1:])]
    assert check[0] == "python" and subprocess.run(asked, check=False, capture_output=True).returncode == 0
    (site / "access.toml").unlink()
    closed = subprocess.run(asked, check=False, capture_output=True)
    assert closed.returncode != 0 and urllib.error.HTTPError.__name__ in closed.stderr.decode()
    process.terminate()
    process.wait(LONG)
