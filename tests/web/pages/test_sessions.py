"""Logging in: what a browser must show, what it is given, when it is over, and what other sites cannot do with it."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import Request, Response

from confide.answering.service import Service
from confide.site.access import PersonRole, Reach, add_token, declare, remove_token
from confide.site.state.file import FileState
from confide.web.authentication import Authentication, machine_of, private
from confide.web.forms import LARGEST_FORM
from confide.web.pages.login import ATTEMPTS, local_address
from confide.web.sessions import LONGEST, LONGEST_IDLE, Sessions

COOKIE = "confide-session"


def cookies(response: Any) -> dict[str, str]:
    """The cookies that a response sets, each with everything that it says of it."""
    return {line.partition("=")[0]: line for line in response.headers.get_list("set-cookie")}


# ---- logging in and out


def test_a_custodian_logs_in_looks_and_logs_out(guarded, browser):
    here = browser(guarded.server)
    assert here.get("/custodian").status_code == 401
    inside = here.log_in(guarded.tokens["carla"])
    assert (inside.status_code, inside.headers["location"]) == (303, "/custodian")
    assert here.get("/custodian").status_code == 200
    assert "Log out" in here.get("/").text and "carla" in here.get("/").text
    outside = here.send("/logout", {})
    assert (outside.status_code, outside.headers["location"]) == (303, "/")
    assert here.get("/custodian").status_code == 401


def test_the_cookie_is_out_of_reach_of_scripts_and_of_other_sites(guarded, browser):
    here = browser(guarded.server)
    said = cookies(here.log_in(guarded.tokens["carla"]))[COOKIE].lower()
    assert "httponly" in said and "samesite=strict" in said and "path=/" in said and "domain" not in said
    assert "secure" not in said  # over plain HTTP, on the machine itself; a browser would not send it back
    assert guarded.tokens["carla"].lower() not in said


def test_behind_a_declared_proxy_with_tls_the_cookie_is_bound_to_tls_and_to_the_host(site, serve, browser):
    token = add_token(site / "access.toml", name="carla", role=PersonRole.CUSTODIAN)
    declare(site / "access.toml", Reach.TOKENS, names=["statistics.example"], proxies=["127.0.0.1"])
    server = serve(site)
    here = browser(server, X_Forwarded_Proto="https", Host="statistics.example")
    page = here.get("/login")
    nonce = cookies(page)["__Host-confide-login"].partition("=")[2].partition(";")[0]
    secret = re.search(r'name="csrf" value="([^"]+)"', page.text)[1]
    sent = {"Cookie": f"__Host-confide-login={nonce}", "Origin": "https://statistics.example"}
    inside = here.post("/login", {"csrf": secret, "token": token}, **sent)
    assert inside.status_code == 303
    assert "; secure" in cookies(inside)["__Host-confide-session"].lower()


def test_without_a_declared_proxy_nobody_is_believed_about_encryption(guarded, browser):
    here = browser(guarded.server, X_Forwarded_Proto="https")
    assert list(cookies(here.get("/login"))) == ["confide-login"]


def test_a_token_is_not_asked_for_over_an_open_line(site, serve_here, browser):
    add_token(site / "access.toml", name="carla", role=PersonRole.CUSTODIAN)
    declare(site / "access.toml", Reach.PUBLIC, names=["statistics.example:8000"])
    page = browser(serve_here(site), Host="statistics.example:8000").get("/login")
    assert "not encrypted" in page.text and 'name="token"' not in page.text
    assert private({"scheme": "https", "headers": [], "client": ("10.0.0.7", 1)})
    for host, client in (("localhost", "10.0.0.7"), ("statistics.example", "127.0.0.1"), ("", "127.0.0.1")):
        headers = [(b"host", host.encode())]
        assert not private({"scheme": "http", "headers": headers, "client": (client, 1)})
    for host in ("localhost:8000", "127.0.0.1:8000", "[::1]:8000", "[::1]"):
        assert private({"scheme": "http", "headers": [(b"host", host.encode())], "client": ("::1", 1)})


def test_logging_in_gives_a_new_session_whatever_cookie_was_shown(guarded, browser):
    here = browser(guarded.server)
    here.client.cookies.set(COOKIE, "chosen-by-somebody-else", domain="127.0.0.1")
    given = cookies(here.log_in(guarded.tokens["carla"]))[COOKIE].partition(";")[0].partition("=")[2]
    assert given and given != "chosen-by-somebody-else"
    stranger = browser(guarded.server)
    stranger.client.cookies.set(COOKIE, "chosen-by-somebody-else", domain="127.0.0.1")
    assert stranger.get("/custodian").status_code == 401


def test_logging_in_again_ends_the_session_before(guarded, browser):
    here, copy = browser(guarded.server), browser(guarded.server)
    here.log_in(guarded.tokens["carla"])
    copy.client.cookies.set(COOKIE, here.client.cookies[COOKIE], domain="127.0.0.1")
    assert copy.get("/custodian").status_code == 200
    here.log_in(guarded.tokens["carla"])
    assert copy.get("/custodian").status_code == 401 and here.get("/custodian").status_code == 200


def test_a_token_in_a_header_wins_over_the_cookie(guarded, browser):
    here = browser(guarded.server)
    here.log_in(guarded.tokens["carla"])
    for token, status in ((guarded.tokens["ana"], 403), ("confide_wrong", 401)):
        assert here.get("/custodian", headers={"Authorization": f"Bearer {token}"}).status_code == status


def test_a_cookie_is_no_token_and_a_token_no_cookie(guarded, browser):
    here, stranger = browser(guarded.server), browser(guarded.server)
    here.log_in(guarded.tokens["carla"])
    bearer = {"Authorization": f"Bearer {here.client.cookies[COOKIE]}"}
    assert stranger.get("/custodian", headers=bearer).status_code == 401
    stranger.client.cookies.set(COOKIE, guarded.tokens["carla"], domain="127.0.0.1")
    assert stranger.get("/custodian").status_code == 401


def test_a_wrong_token_is_told_the_same_whoever_it_might_be(guarded, browser):
    here = browser(guarded.server)
    wrong = ("confide_" + "a" * 43, "carla", guarded.tokens["carla"][:-1], " ", "é\x00\u202e" * 50)
    pages = [here.log_in(token) for token in wrong]
    assert {page.status_code for page in pages} == {422} and all(COOKIE not in cookies(page) for page in pages)
    assert len({re.sub(r'value="[^"]*"', "", page.text) for page in pages}) == 1
    assert not any(token in page.text for token, page in zip(wrong[:3], pages, strict=False))


@pytest.mark.parametrize(
    "wanted",
    [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "/\t/evil.example",
        "javascript:1",
        "///evil.example",
        "evil.example",
        "",
        "/login?next=//x",
        "/a\r\nSet-Cookie: x=1",
        "/ü",
    ],
)
def test_after_a_login_nobody_is_sent_to_another_site(guarded, browser, wanted):
    assert local_address(wanted) == "/"
    page = browser(guarded.server).get("/login", params={"next": wanted})
    assert 'name="next" value="/"' in page.text


def test_an_address_of_this_site_is_kept_over_the_login(guarded, browser):
    address = "/people/table?rows=sex&where=age_group%3D20-29"
    assert browser(guarded.server).log_in(guarded.tokens["ana"], address).headers["location"] == address


def test_logins_that_fail_are_limited_by_machine(site, serve_here, browser):
    token = add_token(site / "access.toml", name="carla", role=PersonRole.CUSTODIAN)
    server = serve_here(site)
    assert browser(server).log_in(token).status_code == 303
    tried = [browser(server).log_in(f"confide_{number}").status_code for number in range(ATTEMPTS + 3)]
    assert tried == [422] * ATTEMPTS + [429] * 3
    refused = browser(server).log_in(token)
    assert refused.status_code == 429 and COOKIE not in cookies(refused)


# ---- forms


def logged_in(guarded, browser, name: str = "carla") -> Any:
    here = browser(guarded.server)
    assert here.log_in(guarded.tokens[name]).status_code == 303
    return here


NEW = {"name": "nobody", "role": "analyst"}


@pytest.mark.parametrize("secret", [None, "", "wrong", "é"])
def test_a_form_without_its_secret_changes_nothing(guarded, browser, secret):
    here = logged_in(guarded, browser)
    answer = here.post("/custodian/tokens", NEW if secret is None else {**NEW, "csrf": secret})
    assert answer.status_code == 403 and "nobody" not in (guarded.site / "access.toml").read_text()


def test_the_secret_of_one_session_is_worth_nothing_in_another(guarded, browser):
    one, other = logged_in(guarded, browser), logged_in(guarded, browser)
    secret = one.secret("/custodian/tokens")
    assert other.post("/custodian/tokens", {**NEW, "csrf": secret}).status_code == 403
    stranger = browser(guarded.server)
    assert stranger.post("/custodian/tokens", {**NEW, "csrf": secret}).status_code == 401
    one.send("/logout", {})
    again = logged_in(guarded, browser)
    assert again.post("/custodian/tokens", {**NEW, "csrf": secret}).status_code == 403


def test_the_form_of_a_login_is_bound_to_its_browser(guarded, browser):
    one, other = browser(guarded.server), browser(guarded.server)
    secret = one.secret("/login")
    other.get("/login")
    for here in (other, browser(guarded.server)):
        answer = here.post("/login", {"csrf": secret, "token": guarded.tokens["carla"]})
        assert answer.status_code == 403 and COOKIE not in cookies(answer)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": "none"},
    ],
)
def test_a_form_sent_from_another_site_changes_nothing(guarded, browser, headers):
    here = logged_in(guarded, browser)
    answer = here.send("/custodian/tokens", NEW, **headers)
    assert answer.status_code == 403 and "nobody" not in (guarded.site / "access.toml").read_text()
    assert here.send("/logout", {}, **headers).status_code == 403
    assert here.get("/custodian").status_code == 200


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data", "application/json", ""])
def test_only_the_forms_of_pages_are_read(guarded, browser, kind):
    here = logged_in(guarded, browser)
    body = f"csrf={here.secret('/custodian/tokens')}&name=nobody&role=analyst"
    answer = here.client.post(here.url + "/custodian/tokens", content=body, headers={"Content-Type": kind})
    assert answer.status_code == 422 and "nobody" not in (guarded.site / "access.toml").read_text()


def test_every_form_has_a_size(guarded, browser):
    here = logged_in(guarded, browser)
    for address, largest in LARGEST_FORM.items():
        body = b"x=" + b"a" * largest
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        assert here.client.post(here.url + address, content=body, headers=headers).status_code == 413, address
    answer = here.client.post(here.url + "/custodian/tokens", content=iter([b"x"]), headers=headers)
    assert answer.status_code == 413


@pytest.mark.parametrize("body", [b"%ff=%fe", b"\xff", b"a&" * 900, b"=", b"&" * 500])
def test_a_form_that_makes_no_sense_harms_nothing(guarded, browser, body):
    here = logged_in(guarded, browser)
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    assert here.client.post(here.url + "/custodian/tokens", content=body, headers=headers).status_code in (403, 422)


def test_everything_else_still_answers_get_and_head_only(guarded, browser):
    here = logged_in(guarded, browser)
    for address in ("/", "/custodian", "/custodian/policy", "/people/table?rows=sex"):
        answer = here.post(address, {})
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD"), address


# ---- how long a session lasts


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def held(site: Path) -> Iterator[tuple[Service, str]]:
    declare(site / "access.toml", Reach.TOKENS)
    token = add_token(site / "access.toml", name="carla", role=PersonRole.CUSTODIAN)
    add_token(site / "access.toml", name="ana", role=PersonRole.ANALYST)
    with Service.open(site) as service:
        yield service, token


def scope_of(cookie: str = "", **more: Any) -> dict[str, Any]:
    headers = [(b"cookie", f"{COOKIE}={cookie}".encode())] if cookie else []
    return {"type": "http", "scheme": "http", "headers": headers, "client": ("127.0.0.1", 1), **more}


def begin(authentication: Authentication, token: str) -> str:
    response = Response()
    assert authentication.log_in(Request(scope_of()), response, token)
    [cookie] = [line for line in response.headers.getlist("set-cookie") if line.startswith(COOKIE)]
    return cookie.partition("=")[2].partition(";")[0]


def test_a_session_ends_when_nobody_uses_it(held: tuple[Service, str]) -> None:
    service, token = held
    clock = Clock()
    authentication = Authentication(service, clock=clock)
    cookie = begin(authentication, token)
    for _ in range(3):
        clock.now += LONGEST_IDLE - 1
        assert authentication.recognise(scope_of(cookie)).session is not None
    clock.now += LONGEST_IDLE + 1
    assert authentication.recognise(scope_of(cookie)).session is None


def test_a_session_ends_however_busy_it_is(held: tuple[Service, str]) -> None:
    service, token = held
    clock = Clock()
    authentication = Authentication(service, clock=clock)
    cookie = begin(authentication, token)
    end = clock.now + LONGEST
    while clock.now + 600 <= end:
        clock.now += 600
        assert authentication.recognise(scope_of(cookie)).session is not None
    clock.now = end + 1
    assert authentication.recognise(scope_of(cookie)).session is None


def test_a_session_ends_when_its_token_is_removed_and_does_not_come_back_with_the_name(held) -> None:
    service, token = held
    authentication = Authentication(service)
    cookie = begin(authentication, token)
    assert authentication.recognise(scope_of(cookie)).person.role is PersonRole.CUSTODIAN
    remove_token(service.papers.access, name="carla")
    assert authentication.recognise(scope_of(cookie)).session is None
    add_token(service.papers.access, name="carla", role=PersonRole.CUSTODIAN)
    assert authentication.recognise(scope_of(cookie)).session is None


def test_sessions_are_bounded_and_the_one_not_used_for_longest_goes() -> None:
    sessions = Sessions(FileState(), most=3)
    first, *others = [sessions.begin("digest", now=float(number)) for number in range(3)]
    assert sessions.find(first, now=5.0)
    sessions.begin("digest", now=6.0)
    assert len(sessions) == 3
    assert sessions.find(first, now=7.0) and not sessions.find(others[0], now=7.0) and sessions.find(others[1], now=7.0)


def test_a_session_shows_nothing_of_itself(held: tuple[Service, str]) -> None:
    service, token = held
    authentication = Authentication(service)
    session = authentication.recognise(scope_of(begin(authentication, token))).session
    assert session is not None and session.csrf not in repr(session) and str(session.shown) not in repr(session)


# ---- the public


def test_the_public_asks_beside_people_with_tokens_and_is_told_apart_by_machine(guarded, browser):
    here = browser(guarded.server)
    assert here.get("/people/table.json?rows=sex").status_code == 200
    bearer = {"Authorization": f"Bearer {guarded.tokens['carla']}"}
    who = here.get("/api/ledger?last=1", headers=bearer).json()["entries"][0]["who"]
    assert re.fullmatch(r"visitor [0-9a-f]{10}", who) and "127.0.0.1" not in who
    wrong = here.get("/people/table.json?rows=sex", headers={"Authorization": "Bearer confide_wrong"})
    assert wrong.status_code == 401


def test_machines_have_names_of_their_own_for_the_day(held: tuple[Service, str]) -> None:
    service, _ = held
    declare(service.papers.access, Reach.PUBLIC)
    authentication = Authentication(service)
    names = [
        authentication.recognise(scope_of(client=(client, 1))).person.name
        for client in ("10.0.0.1", "10.0.0.2", "10.0.0.1")
    ]
    assert names[0] == names[2] != names[1]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("::ffff:10.0.0.1", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.2", False),
    ],
)
def test_a_machine_is_its_address_or_its_network(one: str, other: str, same: bool) -> None:
    assert (machine_of({"client": (one, 1)}) == machine_of({"client": (other, 2)})) is same


def test_a_machine_without_an_address_is_one_too() -> None:
    assert machine_of({"client": None}) == machine_of({}) == "" and machine_of({"client": ("unix", 0)}) == "unix"


def test_the_quota_of_the_public_goes_by_machine(site, serve, policy) -> None:
    policy(site, per_day=2)
    declare(site / "access.toml", Reach.PUBLIC, names=["statistics.example"], proxies=["127.0.0.1"])
    server, host = serve(site), {"Host": "statistics.example"}
    asked = [
        server.get(
            f"/people/table.json?rows={rows}", headers={**host, "X-Forwarded-For": f"10.0.0.{machine}"}
        ).status_code
        for machine, rows in ((1, "sex"), (1, "region"), (1, "marital"), (2, "marital"))
    ]
    assert asked == [200, 200, 403, 200]


def test_an_undeclared_proxy_makes_no_new_machines(site, serve, policy) -> None:
    policy(site, per_minute=6)
    declare(site / "access.toml", Reach.PUBLIC)
    server = serve(site)
    asked = [
        server.get("/api/datasets", headers={"X-Forwarded-For": f"10.0.0.{number}"}).status_code for number in range(10)
    ]
    assert asked.count(429) >= 4


def test_a_token_added_or_removed_counts_at_once(site, serve_here, browser) -> None:
    file = site / "access.toml"
    server = serve_here(site)
    assert server.get("/api/datasets").status_code == 200
    token = add_token(file, name="carla", role=PersonRole.CUSTODIAN)
    assert server.get("/api/datasets").status_code == 200
    declare(file, Reach.TOKENS)
    assert server.get("/api/datasets").status_code == 401
    here = browser(server)
    here.log_in(token)
    assert here.get("/custodian").status_code == 200
    add_token(file, name="dora", role=PersonRole.CUSTODIAN)
    remove_token(file, name="carla")
    assert here.get("/custodian").status_code == 401
    assert server.get("/api/datasets", headers={"Authorization": f"Bearer {token}"}).status_code == 401


@pytest.mark.parametrize(
    "spoil", [Path.unlink, lambda path: path.write_text("[[token"), lambda path: path.write_text("")]
)
def test_a_file_of_people_that_is_lost_or_spoilt_lets_nobody_in(
    site, serve_here, spoil: Callable[[Path], object]
) -> None:
    token = add_token(site / "access.toml", name="carla", role=PersonRole.CUSTODIAN)
    bearer = {"Authorization": f"Bearer {token}"}
    server = serve_here(site)
    assert server.get("/api/datasets", headers=bearer).status_code == 200
    kept = (site / "access.toml").read_text()
    spoil(site / "access.toml")
    for headers in ({}, bearer):
        closed = server.get("/api/datasets", headers=headers)
        assert closed.status_code == 503 and "lets nobody in" in closed.json()["detail"]
    (site / "access.toml").write_text(kept)
    assert server.get("/api/datasets", headers=bearer).status_code == 200
