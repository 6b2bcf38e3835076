"""What the processes of a site know together: seen by all, private, gone with the site."""

import subprocess
import sys
from pathlib import Path

import pytest

from confide.errors import Fault
from confide.site.access import Identity
from confide.site.state.file import FileState, shared_file
from confide.web.metrics import Metrics
from confide.web.sessions import Sessions

WRITER = """
import os, signal, sys
from pathlib import Path
from confide.site.state.file import FileState
FileState(Path(sys.argv[1]), worker=1).run("INSERT INTO seen VALUES (1)")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_wrote_is_there(tmp_path: Path) -> None:
    file = tmp_path / "state.sqlite"
    with shared_file(file):
        state = FileState(file)
        state.run("CREATE TABLE seen (number INTEGER)")
        done = subprocess.run([sys.executable, "-c", WRITER, str(file)], check=False)
        assert done.returncode == -9 and state.run("SELECT number FROM seen") == [(1,)]


def test_only_its_owner_can_read_it_and_it_goes_with_the_site(tmp_path: Path) -> None:
    file = tmp_path / "state.sqlite"
    file.write_text("left by one that was killed")
    with shared_file(file):
        FileState(file).run("CREATE TABLE seen (number INTEGER)")
        assert {each.stat().st_mode & 0o777 for each in tmp_path.iterdir()} == {0o600}
    assert not list(tmp_path.iterdir())


def test_a_state_that_is_lost_or_damaged_is_a_fault(tmp_path: Path) -> None:
    file = tmp_path / "state.sqlite"
    with pytest.raises(Fault, match="Only logins are lost"):
        FileState(file)
    file.write_bytes(b"no database" * 1000)
    with pytest.raises(Fault, match="restart Confide"):
        FileState(file).run("SELECT 1 FROM sessions")


def test_a_login_at_one_process_holds_at_the_other_until_it_ends_at_either(tmp_path: Path) -> None:
    ana = Identity("https://id.example.org", "ana", frozenset({("groups", "research"), ("groups", "office")}))
    with shared_file(tmp_path / "state.sqlite"):
        one, other = (Sessions(FileState(tmp_path / "state.sqlite", worker=worker)) for worker in range(2))
        cookies = [one.begin(shown, now=0.0) for shown in ("digest", ana)]
        found = [other.find(cookie, now=1.0) for cookie in cookies]
        assert [session and session.shown for session in found] == ["digest", ana]
        assert one.find(cookies[0], now=2.0).csrf == found[0].csrf
        other.end(cookies[0])
        assert one.find(cookies[0], now=3.0) is None and other.find("", now=3.0) is None


def test_counts_of_all_processes_are_added_and_outlive_the_one_that_counted(tmp_path: Path) -> None:
    with shared_file(tmp_path / "state.sqlite"):
        one, other = (Metrics(FileState(tmp_path / "state.sqlite", worker=worker)) for worker in range(2))
        for each in (one, other):
            each.sum("confide_questions_waiting", "Questions that wait for their turn.", lambda: 2)
            each.count("page", 200)
        other.publish()
        assert 'kind="page",status="200"} 2\n' in one.text() and "confide_questions_waiting 4\n" in one.text()
        again = Metrics(FileState(tmp_path / "state.sqlite", worker=1))
        again.count("page", 200)
        again.publish()
        assert 'kind="page",status="200"} 3\n' in one.text()
