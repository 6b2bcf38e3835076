"""The code that a page shows does what it says: run as it stands, it gives the numbers of the page."""

import html
import re
import shlex
import shutil
import subprocess

import pytest

from confide.site.access import PersonRole, Reach, add_token, declare
from confide.site.folder import Folder

TABLE = "/people/table?rows=education&columns=sex&where=age_group=30-39,40-49;region=N&where=county=S1&measure=count,mean&of=income"


def samples(text):
    found = re.findall(r"<summary>([^<]+)</summary>\s*<pre[^>]*><code>(.*?)</code>", text, re.DOTALL)
    return {language: html.unescape(code) for language, code in found}


@pytest.fixture(scope="module")
def shown(server):
    return samples(server.get(TABLE).text)


@pytest.fixture(scope="module")
def csv(server):
    return server.get(TABLE.replace("table?", "table.csv?")).text


def test_python_runs(shown, csv):
    names = {}
    exec(shown["Python"], names)
    assert names["answer"].to_csv() == csv


def test_the_command_line_runs(shown, csv, run):
    command, *words = shlex.split(shown["Command line"])
    done = run(*words, "--format", "csv")
    assert command == "confide" and done.returncode == 0 and done.stdout.decode() == csv


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl_runs(shown, csv, tmp_path):
    subprocess.run(["sh", "-c", shown["curl"]], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "people.csv").read_bytes().decode() == csv


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_where_a_token_is_wanted_the_code_shows_one(site, serve, tmp_path, monkeypatch):
    declare(Folder(site).access, Reach.TOKENS)
    token = add_token(Folder(site).access, name="ana", role=PersonRole.ANALYST)
    server = serve(site)
    page = server.get("/people/table?rows=sex", headers={"Authorization": f"Bearer {token}"}).text
    assert token not in page
    texts = samples(page)
    monkeypatch.setenv("CONFIDE_TOKEN", token)
    names = {}
    exec(texts["Python"], names)
    subprocess.run(["sh", "-c", texts["curl"]], cwd=tmp_path, check=True, capture_output=True)
    assert names["answer"].to_csv() == (tmp_path / "people.csv").read_bytes().decode()
    assert 'req_auth_bearer_token(Sys.getenv("CONFIDE_TOKEN"))' in texts["R"]
