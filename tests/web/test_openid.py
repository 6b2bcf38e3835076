"""Logging in at a real OpenID provider, started here, and what a provider that lies or is away does to the site."""

import json
import re
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey

from confide.errors import Mistake
from confide.site import ledger
from confide.site.access import (
    Admission,
    PersonRole,
    Project,
    Provider,
    Reach,
    TokenTerms,
    add_project,
    declare,
    load_access,
)
from confide.site.access import declare_login as declared
from confide.site.backup import back_up
from confide.site.folder import Folder

TABLE = "/people/table.json?rows=sex"
RESEARCH = Admission(claim="groups", value="research")
OFFICE = Admission(PersonRole.CUSTODIAN, claim="groups", value="office")


class Known:
    """A provider that runs: where it is, and how to stop it."""

    def __init__(self, folder: Path, redirect: str) -> None:
        script = Path(__file__).with_name("openid_provider.py")
        words = [sys.executable, str(script), str(folder), redirect]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert self.process.stdout
        self.issuer = f"http://127.0.0.1:{int(self.process.stdout.readline())}/o"

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


REDIRECT = "http://127.0.0.1/login/openid/return"
"""On loopback a provider lets the port be any (RFC 8252)."""


@pytest.fixture(scope="module")
def provider(tmp_path_factory):
    """A provider that knows the site."""
    known = Known(tmp_path_factory.mktemp("provider"), REDIRECT)
    yield known
    known.stop()


def believing(site, known):
    """Let a site believe a provider."""
    folder = Folder(site)
    declare(folder.access, Reach.TOKENS)
    folder.login_secret_file.touch(0o600)
    folder.login_secret_file.write_text("between us\n")
    declared(folder.access, Provider(known.issuer, "confide", label="The Office", admits=(OFFICE, RESEARCH)))
    return site


@pytest.fixture
def server(site, provider, serve):
    return serve(believing(site, provider))


@pytest.fixture
def browsers():
    """New browsers, with cookies of their own."""
    with ExitStack() as opened:
        yield lambda: opened.enter_context(httpx.Client(follow_redirects=False, timeout=120))


@pytest.fixture
def enter(browsers):
    return partial(entered, browsers)


def entered(browsers, server, name, *, wanted="/people"):
    """A browser that went to the login page, to the provider and back, and what it saw in the end."""
    browser = browsers()
    away = browser.get(f"{server.url}/login/openid", params={"next": wanted})
    assert away.status_code == 303, away.text
    form = browser.get(away.headers["location"], follow_redirects=True)
    secret = re.search(r'csrfmiddlewaretoken" value="([^"]+)"', form.text)
    sent = {"username": name, "password": "open sesame", "csrfmiddlewaretoken": secret[1]}
    sent["next"] = parse_qs(urlsplit(str(form.url)).query)["next"][0]
    allowed = browser.post(str(form.url), data=sent)
    back = browser.get(str(form.url.join(allowed.headers["location"])))
    return browser, browser.get(back.headers["location"])


def test_who_logs_in_at_the_provider_asks_as_the_admission_says_under_the_name_it_gives(site, server, enter):
    assert "Log in at The Office" in server.get("/login").text and "/login/openid" in server.get("/login").text
    browser, seen = enter(server, "ana")
    assert seen.status_code == 200 and 'url=/people"' in seen.text
    cookies = seen.headers.get_list("set-cookie")
    assert any("session=" in c and "SameSite=strict" in c and "HttpOnly" in c for c in cookies)
    assert browser.get(server.url + TABLE).status_code == 200
    assert browser.get(server.url + "/custodian").status_code == 403
    assert [entry.who for entry in ledger.read(Folder(site).ledger)][-1:] == ["ana@example.org"]
    office, _ = enter(server, "carl")
    overview = office.get(server.url + "/custodian")
    assert overview.status_code == 200, overview.text


@pytest.mark.parametrize("name", ["eve", "olaf"])
def test_who_has_no_verified_name_or_fits_no_admission_stays_outside(name, server, enter):
    browser, seen = enter(server, name)
    assert seen.status_code == 403 and "does not admit you" in seen.text
    assert browser.get(server.url + TABLE).status_code == 401


def test_a_session_is_over_as_soon_as_the_admission_or_the_login_is_taken_back(site, server, enter):
    file = Folder(site).access
    browser, _ = enter(server, "ana")
    login = load_access(file).login
    declared(file, replace(login, admits=(OFFICE,)))
    assert browser.get(server.url + TABLE).status_code == 401
    declared(file, login)
    assert browser.get(server.url + TABLE).status_code == 200
    declared(file, None)
    assert browser.get(server.url + TABLE).status_code == 401
    assert browser.get(server.url + "/login/openid").status_code == 404


def test_an_admission_to_a_project_is_for_its_people_only(site, server, enter):
    file = Folder(site).access
    add_project(file, Project("health", purpose="Survival", people=("ana@example.org",), datasets=("people",)))
    rule = Admission(terms=TokenTerms(project="health"))
    declared(file, replace(load_access(file).login, admits=(rule,)))
    ana, _ = enter(server, "ana")
    assert ana.get(server.url + TABLE).status_code == 200
    assert ana.get(server.url + "/firms/table.json?rows=industry").status_code in (404, 422)
    _, seen = enter(server, "carl")
    assert seen.status_code == 403


def test_a_login_that_was_not_begun_in_this_browser_or_comes_twice_is_none(server, enter, browsers):
    browser, _ = enter(server, "ana")
    stranger = browsers()
    away = stranger.get(f"{server.url}/login/openid").headers["location"]
    state = parse_qs(urlsplit(away).query)["state"][0]
    for client in (browsers(), browser):
        seen = client.get(f"{server.url}/login/openid/return", params={"state": state, "code": "stolen"})
        assert seen.status_code == 401 and "not begun in this browser" in seen.text
    forged = stranger.get(f"{server.url}/login/openid/return", params={"state": state, "code": "guessed"})
    assert forged.status_code == 401 and "over, or was used already" in forged.text
    away = stranger.get(f"{server.url}/login/openid").headers["location"]
    state = parse_qs(urlsplit(away).query)["state"][0]
    declined = stranger.get(f"{server.url}/login/openid/return", params={"state": state, "error": "access_denied"})
    assert declined.status_code == 401 and "The Office did not log you in" in declined.text


def test_where_a_login_leads_is_an_address_of_this_site(server, enter):
    _, seen = enter(server, "ana", wanted="//evil.example/")
    assert seen.status_code == 200 and "evil" not in seen.text


def test_a_wrong_secret_or_a_provider_that_is_away_is_said_and_tokens_still_work(site, serve, tmp_path, enter):
    provider = Known(tmp_path, REDIRECT)
    server, file = serve(believing(site, provider)), Folder(site).login_secret_file
    file.write_text("of another\n")
    _, seen = enter(server, "ana")
    assert seen.status_code == 502 and "does not know this site" in seen.text, seen.text
    assert "does not know this site" in server.log.read_text()
    file.write_text("between us\n")
    browser, _ = enter(server, "ana")
    provider.stop()
    assert browser.get(server.url + TABLE).status_code == 200  # who is inside stays inside
    state = parse_qs(urlsplit(browser.get(f"{server.url}/login/openid").headers["location"]).query)["state"][0]
    back = browser.get(f"{server.url}/login/openid/return", params={"state": state, "code": "any"})
    assert back.status_code == 502 and "cannot be reached" in back.text and "Traceback" not in server.log.read_text()
    assert server.get("/login").status_code == 200


@pytest.fixture(scope="module")
def key():
    return RSAKey.generate_key(2048, {"kid": "one", "use": "sig"})


class Liar(ThreadingHTTPServer):
    """A provider that says what a test wants it to say."""

    def __init__(self, key):
        super().__init__(("127.0.0.1", 0), Answering)
        self.issuer = f"http://127.0.0.1:{self.server_port}"
        self.keys = {"keys": [key.as_dict(private=False)]}
        self.token, self.names = "", {}

    def answer(self, path):
        here = self.issuer
        return {
            "/.well-known/openid-configuration": {
                "issuer": here, "authorization_endpoint": f"{here}/a", "token_endpoint": f"{here}/t", "jwks_uri": f"{here}/k",
            } | self.names,
            "/t": {"id_token": self.token, "access_token": "x"},
            "/k": self.keys,
        }[path]  # fmt: skip


class Answering(BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps(self.server.answer(self.path)).encode()
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *words):
        pass


@pytest.fixture
def liar(site, key):
    lying = Liar(key)
    Thread(target=lying.serve_forever, daemon=True).start()
    declare(Folder(site).access, Reach.TOKENS)
    declared(Folder(site).access, Provider(lying.issuer, "confide", admits=(Admission(),)))
    yield lying
    lying.shutdown()
    lying.server_close()


OTHER = RSAKey.generate_key(2048, {"kid": "one"})
NOT_BELIEVED = [
    {"iss": "http://127.0.0.1:1"},
    {"aud": "another"},
    {"aud": ["confide", "another"]},
    {"aud": None},
    {"azp": "another"},
    {"exp": 1},
    {"exp": None},
    {"nonce": "of another login"},
    {"nonce": None},
    {"sub": None},
    {"signed_by": OTHER},
]


@pytest.mark.parametrize("half", [slice(6), slice(6, None)])  # a machine may fail ten times a minute
def test_what_a_provider_did_not_sign_for_this_site_this_login_and_now_is_not_believed(
    half, site, liar, key, serve, browsers
):
    server, now = serve(site), int(time.time())

    def said(signed_by=key, **changed):
        client = browsers()
        asked = parse_qs(urlsplit(client.get(f"{server.url}/login/openid").headers["location"]).query)
        claims = {"iss": liar.issuer, "aud": "confide", "sub": "1", "exp": now + 600, "nonce": asked["nonce"][0]}
        claims |= {"email": "ana@example.org", "email_verified": True} | changed
        claims = {name: value for name, value in claims.items() if value is not None}
        liar.token = jwt.encode({"alg": "RS256", "kid": "one"}, claims, signed_by)
        back = client.get(f"{server.url}/login/openid/return", params={"state": asked["state"][0], "code": "c"})
        return back.status_code, client.get(server.url + TABLE).status_code

    assert said() == (200, 200)
    for changed in NOT_BELIEVED[half]:
        assert said(**changed) == (401, 401), changed


def test_a_token_without_a_signature_or_with_a_shared_secret_is_none(site, liar, key, serve, browsers):
    server = serve(site)
    for token in ("", "nothing", "eyJhbGciOiJub25lIn0.e30.", "eyJhbGciOiJIUzI1NiJ9.e30.c2ln"):
        client = browsers()
        asked = parse_qs(urlsplit(client.get(f"{server.url}/login/openid").headers["location"]).query)
        liar.token = token
        back = client.get(f"{server.url}/login/openid/return", params={"state": asked["state"][0], "code": "c"})
        assert back.status_code == 401 and client.get(server.url + TABLE).status_code == 401


@pytest.mark.parametrize(
    "names", [{"issuer": "http://127.0.0.1:9"}, {"token_endpoint": None}, {"jwks_uri": "file:///etc/passwd"}]
)
def test_a_provider_that_is_not_what_was_declared_gets_nobody(names, site, liar, serve):
    liar.names = names
    server = serve(site)
    assert server.get("/login/openid").status_code == 502


def test_a_login_is_declared_shown_and_taken_back_on_the_command_line(site, provider, run):
    folder = Folder(believing(site, provider))
    secret = site.parent / "s.txt"
    secret.write_text("between us\n")
    assert run("login", "remove", site).returncode == 0 and not folder.login_secret_file.exists()
    done = run("login", "set", site, provider.issuer, "--client", "confide", "--secret", secret, "--label", "Büro")
    assert done.returncode == 0 and b"nobody yet" in done.stdout and b"between us" not in done.stdout
    assert folder.login_secret_file.stat().st_mode & 0o077 == 0
    assert run("login", "admit", site, "--claim", "groups", "--value", "research", "--quota", 5).returncode == 0
    shown = run("login", "show", site).stdout.decode()
    assert "1. whoever has 'research' among 'groups', as analyst, 5 questions a day" in shown and "answers" in shown
    assert load_access(folder.access).login.label == "Büro" and b"between us" not in folder.access.read_bytes()
    assert b"logins by" in run("access", site).stdout
    assert run("login", "remove", site, "--admission", 2).returncode == 2
    assert run("login", "remove", site, "--admission", 1).returncode == 0
    acts = [entry.request["act"] for entry in ledger.read(folder.ledger) if entry.is_act]
    assert acts[-4:] == ["login removed", "login declared", "login admitted", "admission removed"]
    back_up(site, site.parent / "copy")
    assert not (site.parent / "copy" / "login.secret").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("http://id.example.org", "--client", "confide"),
        ("ftp://127.0.0.1", "--client", "confide"),
        ("https://id.example.org?x=1", "--client", "confide"),
        ("https://id.example.org", "--client", ""),
        ("https://id.example.org", "--client", "confide", "--secret", "/nowhere"),
        ("https://id.example.org", "--client", "confide", "--label", "x" * 61),
    ],
)
def test_a_login_that_cannot_be_is_a_mistake_and_changes_nothing(words, site, run):
    before = Folder(site).access.read_bytes()
    done = run("login", "set", site, *words)
    assert done.returncode == 2 and b"Traceback" not in done.stderr
    assert Folder(site).access.read_bytes() == before


def test_not_everybody_is_a_custodian_and_admissions_are_strict():
    for wrong in (
        {"role": PersonRole.CUSTODIAN},
        {"claim": "groups"},
        {"value": "x"},
        {"terms": TokenTerms(label="laptop")},
        {"role": PersonRole.CUSTODIAN, "claim": "a", "value": "b", "terms": TokenTerms(quota=5)},
    ):
        with pytest.raises(Mistake):
            Admission(**wrong)
