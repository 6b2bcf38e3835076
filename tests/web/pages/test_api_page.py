"""The page for programs: it leaves nothing out, and its examples run."""

import re
import shutil
import subprocess
from html import unescape

import pytest

from confide.site.access import PersonRole, Reach, add_token, declare
from confide.web.problems import ProblemDocument


def samples(html):
    """The examples of the page by language."""
    found = re.findall(r"<summary>([^<]+)</summary>\s*<pre[^>]*><code>(.*?)</code></pre>", html, re.DOTALL)
    return [(language, unescape(text)) for language, text in found]


def test_every_address_and_parameter_is_on_the_page(server, look):
    page = look("/api")
    document = server.get("/openapi.json").json()
    assert page.status == 200 and len(document["paths"]) >= 6
    for path, methods in document["paths"].items():
        assert f"GET {path}" in page.text
        for parameter in methods["get"].get("parameters", ()):
            assert parameter["name"] in page.text and parameter["description"] in page.text
    for name in ProblemDocument.model_fields:
        assert f">{name}</th>" in page.html
    assert "https://" not in page.html.replace("https://confide", ""), "nothing comes from elsewhere"


def test_every_link_within_the_page_arrives(look):
    page = look("/api")
    inner = [address[1:] for address in page.links.values() if address.startswith("#")]
    assert len(inner) > 6 and set(inner) <= page.ids


def test_the_examples_run(server, tmp_path, monkeypatch):
    found = [(language, text) for language, text in samples(server.get("/api").text) if "CONFIDE_TOKEN" not in text]
    assert len(found) >= 10 and {language for language, _ in found} == {"curl", "Python"}
    for language, text in found:
        run(language, text, tmp_path, monkeypatch)
    assert (tmp_path / "people.csv").read_text()


def test_the_examples_of_a_site_with_tokens_run_with_one(site, serve, tmp_path, monkeypatch):
    people = {"carla": PersonRole.CUSTODIAN, "ana": PersonRole.ANALYST}
    declare(site / "access.toml", Reach.TOKENS)
    tokens = {name: add_token(site / "access.toml", name=name, role=role) for name, role in people.items()}
    page = serve(site).get("/api", headers={"Authorization": f"Bearer {tokens['ana']}"})
    found = samples(page.text)
    assert len(found) >= 10 and all("CONFIDE_TOKEN" in text for _, text in found)
    for language, text in found:
        monkeypatch.setenv("CONFIDE_TOKEN", tokens["carla" if "/api/ledger" in text else "ana"])
        run(language, text, tmp_path, monkeypatch)


def run(language, text, folder, monkeypatch):
    """Run an example where it may leave files."""
    monkeypatch.chdir(folder)
    if language == "Python":
        exec(text, {})
    else:
        assert shutil.which("curl"), "these tests need curl"
        done = subprocess.run(["sh", "-c", text], capture_output=True, timeout=120, check=False)
        assert done.returncode == 0, (text, done.stderr)


@pytest.mark.parametrize("host", ["evil.example/<script>", "a b", "x" * 400, "localhost';rm -rf /;'"])
def test_a_host_that_is_none_is_not_repeated(server, host):
    answer = server.get("/api", headers={"Host": host})
    assert answer.status_code == 400 and host not in unescape(answer.text)


def test_strangers_see_the_page_but_no_data_set(site, serve):
    declare(site / "access.toml", Reach.TOKENS)
    add_token(site / "access.toml", name="ana", role=PersonRole.ANALYST)
    html = serve(site).get("/api").text
    assert "This site answers who shows a token" in html and "firms" not in html
