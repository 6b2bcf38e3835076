"""Who gets through to a site at all: forged names, pages of other sites, and web servers that nobody declared.

Each attack is sent as an intruder would send it, over a real socket.
"""

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from confide.site.access import PersonRole, Reach, add_token, declare

TABLE = "/people/table.json?rows=sex"
NAME = "stats.example.org"
PAGE_OF_ANOTHER_SITE = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}


def say(server: Any, *lines: str | bytes) -> bytes:
    """What the server answers to these lines, sent as they are."""
    where = urlsplit(server.url)
    with socket.create_connection((where.hostname, where.port), timeout=120) as wire:
        sent = b"\r\n".join(line if isinstance(line, bytes) else line.encode() for line in lines)
        wire.sendall(sent + b"\r\n\r\n")
        wire.shutdown(socket.SHUT_WR)
        answer = b""
        while part := wire.recv(65536):
            answer += part
        return answer


def status(answer: bytes) -> int:
    return int(answer.split()[1])


@pytest.fixture
def named(site: Path, serve_here: Callable[[Path], Any]) -> Any:
    """A public site with a name, behind a web server on the same machine."""
    declare(site / "access.toml", Reach.PUBLIC, names=[NAME], proxies=["127.0.0.1"])
    return serve_here(site)


# ---- DNS rebinding: a page of evil.example lets its name point here, and asks as if it were at home


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "0.0.0.0", "2130706433"]
)
@pytest.mark.parametrize("address", [TABLE, "/", "/api", "/static/x", "/login", "/openapi.json", "/nothing"])
def test_a_local_site_answers_to_no_name_but_its_machines(server, host, address):
    at_home = {"Host": host, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}
    for headers in ({"Host": host}, at_home):
        answer = server.get(address, headers=headers)
        assert answer.status_code == 421 and "evil" not in answer.text and "people" not in answer.text
        assert answer.headers["content-type"] == "application/problem+json" and "set-cookie" not in answer.headers


def test_a_site_with_a_name_answers_to_that_name_only(named):
    for host, expected in (
        (NAME, 200),
        (NAME.upper(), 200),
        (f"{NAME}:443", 200),
        (f"{NAME}:8443", 421),
        ("x.org", 421),
    ):
        headers = {"Host": host, "X-Forwarded-For": "10.0.0.9", "X-Forwarded-Proto": "https"}
        assert named.get(TABLE, headers=headers).status_code == expected, host


def test_names_of_the_machine_itself_are_nothing_to_who_comes_through_the_web_server(named):
    through = {"X-Forwarded-For": "10.0.0.9", "X-Forwarded-Proto": "https"}
    assert named.get(TABLE, headers={"Host": "localhost", **through}).status_code == 421
    assert named.get(TABLE).status_code == 200


# ---- a forged host in the code that carries a token


@pytest.mark.parametrize("header", ["X-Forwarded-Host", "X-Host", "Forwarded", "X-Forwarded-Server", "X-Original-URL"])
def test_no_header_but_host_names_the_site_in_its_code(named, header):
    forged = {header: "host=evil.example" if header == "Forwarded" else "evil.example", "Host": NAME}
    for address in ("/api", "/people/table?rows=sex"):
        page = named.get(address, headers={**forged, "X-Forwarded-For": "10.0.0.9", "X-Forwarded-Proto": "https"})
        assert page.status_code == 200 and "evil" not in page.text and f"https://{NAME}" in page.text


# ---- other ways to name a host


def test_a_host_named_twice_or_not_at_all_or_by_an_absolute_target_is_turned_away_once(server):
    own = urlsplit(server.url).netloc
    hosts = f"Host: {own}"
    for lines in (
        ("GET / HTTP/1.1", hosts, "Host: evil.example"),
        ("GET / HTTP/1.1", "Host: evil.example", hosts),
        ("GET / HTTP/1.1",),
        ("GET http://evil.example/ HTTP/1.1", hosts),
        (f"GET http://{own}/ HTTP/1.1", "Host: evil.example"),
        ("GET evil.example HTTP/1.1", hosts),
        ("GET / HTTP/1.1", f"Host: user@{own}"),
        ("GET / HTTP/1.1", f"Host: {own}@evil.example"),
        ("GET / HTTP/1.1", "Host: localhost:http"),
        ("GET / HTTP/1.1", "Host: löcalhost".encode()),
        ("GET / HTTP/1.1", "Host: localhost\u3002".encode()),
        ("GET / HTTP/1.1", f"Host: {own}, evil.example"),
    ):
        answer = say(server, *lines, "Connection: close")
        assert status(answer) == 400 and answer.count(b"HTTP/1.1 ") == 1, lines


# ---- pages of other sites


def test_what_another_sites_page_asks_for_is_neither_answered_nor_recorded(site, serve_here):
    server = serve_here(site)
    asked = [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": server.url.replace("127.0.0.1", "localhost")},
        PAGE_OF_ANOTHER_SITE,
        {**PAGE_OF_ANOTHER_SITE, "Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
    ]
    for headers in asked:
        assert server.get(TABLE, headers=headers).status_code == 403, headers
        assert server.client.post(server.url + "/login", headers=headers).status_code == 403, headers
    assert not (site / "ledger.jsonl").exists() or not (site / "ledger.jsonl").read_text()


def test_links_from_other_sites_and_own_pages_are_answered(server):
    for headers in (
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
        {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
        {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"},
        {"Origin": server.url},
    ):
        assert server.get(TABLE, headers=headers).status_code == 200, headers


# ---- a web server in front that nobody declared


@pytest.mark.parametrize(
    "header",
    [
        "X-Forwarded-For",
        "X-Forwarded-Proto",
        "X-Forwarded-Host",
        "X-Forwarded-Anything",
        "Forwarded",
        "Via",
        "X-Real-IP",
    ],
)
def test_a_local_site_answers_nobody_through_a_web_server(server, header):
    answer = server.get(TABLE, headers={header: "127.0.0.1"})
    assert answer.status_code == 403 and "This site is local" in answer.json()["detail"]


def test_a_local_site_does_not_answer_a_web_server_that_says_nothing_of_itself_but_is_old(server):
    answer = say(server, f"GET {TABLE} HTTP/1.0", f"Host: {urlsplit(server.url).netloc}", "Connection: close")
    assert status(answer) == 403


def test_a_site_that_becomes_local_while_it_runs_is_local_from_the_next_request_on(site, serve_here):
    declare(site / "access.toml", Reach.PUBLIC, names=[NAME], proxies=["127.0.0.1"])
    server, through = serve_here(site), {"Host": NAME, "X-Forwarded-For": "10.0.0.9", "X-Forwarded-Proto": "https"}
    assert server.get(TABLE, headers=through).status_code == 200
    declare(site / "access.toml", Reach.LOCAL)
    assert server.get(TABLE, headers=through).status_code == 403
    assert server.get(TABLE, headers={"Host": NAME}).status_code == 421 and server.get(TABLE).status_code == 200


# ---- what is declared is told


def test_the_server_and_the_custodians_pages_say_who_may_reach_the_site(site, serve, browser):
    token = add_token(site / "access.toml", name="carla", role=PersonRole.CUSTODIAN)
    declare(site / "access.toml", Reach.PUBLIC, names=[NAME], proxies=["10.0.0.1"])
    server = serve(site)
    said = server.log.read_text()
    assert f"Who may reach the site: public: everybody, with a token or without, as {NAME}, through the" in said
    here = browser(server)
    here.log_in(token)
    for address in ("/custodian", "/custodian/tokens"):
        page = here.get(address).text
        assert "Who may reach this site: <strong>public</strong>" in page and NAME in page and "10.0.0.1" in page


@pytest.mark.parametrize(
    "spoil", [Path.unlink, lambda file: file.write_text(""), lambda file: file.write_text("reach = 'loc")]
)
def test_a_site_whose_declaration_is_lost_or_torn_does_not_start(site, run, spoil):
    spoil(site / "access.toml")
    done = run("serve", site, "--port", "1")
    assert done.returncode == 2 and b"confide access" in done.stderr and done.stderr.count(b"\n") == 1


def test_adding_data_to_a_site_does_not_make_a_lost_declaration_again(site, run, tmp_path):
    (site / "access.toml").unlink()
    (tmp_path / "more.csv").write_text("a,b\n" + "".join(f"{n % 3},{n % 2}\n" for n in range(300)))
    assert run("init", tmp_path / "more.csv", "-o", site).returncode == 0
    assert not (site / "access.toml").exists()
