"""A site below a path, crawled through real web servers as the how-to page sets them up: nginx and Caddy, with TLS."""

import re
import shutil
import socket
import subprocess
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag, urljoin, urlsplit

import httpx
import pytest

import confide
from confide.errors import Mistake, Refused
from confide.site.access import PersonRole, Reach, add_token, declare
from confide.web.subpath import SubPath

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "run-behind-a-web-server.md"
NAME, SITE = "stats.example.org", "https://stats.example.org"
ADDRESSES = re.compile(r' (?:href|src|srcset|action|formaction|data-chart)="([^"]*)"')
LONG = 120


def written(title: str) -> str:
    """A file as the how-to page has it."""
    found = re.search(rf'```\w+ title="{re.escape(title)}"\n(.*?)```', PAGE.read_text(), re.DOTALL)
    assert found, title
    return found[1]


class Resolved(httpx.BaseTransport):
    """Asks a web server on this machine, whatever it is called."""

    def __init__(self, port: int) -> None:
        self._port, self._inner = port, httpx.HTTPTransport(verify=False)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url.copy_with(host="127.0.0.1", port=self._port)
        more = {**request.extensions, "sni_hostname": NAME}
        return self._inner.handle_request(
            httpx.Request(request.method, url, headers=request.headers, stream=request.stream, extensions=more)
        )

    def close(self) -> None:
        self._inner.close()


@dataclass
class Front:
    """A web server in front of a site."""

    client: httpx.Client
    tokens: dict[str, str]
    process: subprocess.Popen[bytes]

    def get(self, address: str, **options: Any) -> httpx.Response:
        return self.client.get(address, **options)

    def log_in(self, who: str) -> httpx.Response:
        page = self.get("/stats/login?next=/custodian").text
        fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', page))
        action = re.search(r'<form method="post" action="([^"]+)"', page)
        assert action and fields["next"] == "/custodian"
        sent = {"Origin": SITE, "Sec-Fetch-Site": "same-origin"}
        return self.client.post(action[1], data={**fields, "token": self.tokens[who]}, headers=sent)


def nginx(folder: Path, config: str, port: int) -> list[str]:
    """The command that runs nginx with a configuration of the page, which `nginx -t` finds good."""
    key, pem = folder / "key", folder / "pem"
    subprocess.run(
        ["openssl", *f"req -x509 -newkey rsa:2048 -nodes -keyout {key} -out {pem} -subj /CN={NAME}".split()],
        check=True,
        capture_output=True,
    )
    config = config.replace("/etc/ssl/stats.example.org.pem", str(pem)).replace(
        "/etc/ssl/stats.example.org.key", str(key)
    )
    config = config.replace("listen 443 ssl", f"listen 127.0.0.1:{port} ssl").replace(
        "listen 80;", f"listen unix:{folder}/80;"
    )
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    whole = folder / "nginx.conf"
    whole.write_text(
        f"daemon off;\nuser root;\npid {folder}/pid;\nerror_log {folder}/error.log;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{temporary}{config}\n}}\n"
    )
    words = ["nginx", "-p", str(folder), "-c", str(whole)]
    tested = subprocess.run([*words, "-t"], capture_output=True, text=True, check=False)
    assert tested.returncode == 0, tested.stderr
    return words


def caddy(folder: Path, config: str, port: int) -> list[str]:
    """The command that runs Caddy with a configuration of the page, which `caddy validate` finds good."""
    file = folder / "Caddyfile"
    head = f"{{\nadmin off\nlocal_certs\nskip_install_trust\nauto_https disable_redirects\nstorage file_system {folder}/caddy\n}}\n"
    file.write_text(head + config.replace(f"{NAME} {{", f"{NAME}:{port} {{"))
    words = ["--config", str(file), "--adapter", "caddyfile"]
    tested = subprocess.run(["caddy", "validate", *words], capture_output=True, text=True, check=False)
    assert tested.returncode == 0, tested.stderr
    return ["caddy", "run", *words]


BELOW = written("confide.conf").replace(
    re.search(r"    location / \{.*?\n    \}\n", written("confide.conf"), re.DOTALL)[0], written("below.conf")
)  # type: ignore[index]
FRONTS: dict[str, tuple[Callable[[Path, str, int], list[str]], str]] = {
    "nginx that passes the path on": (nginx, BELOW),
    "nginx that takes it off": (nginx, BELOW.replace("127.0.0.1:8000;", "127.0.0.1:8000/;")),
    "Caddy that takes it off": (caddy, written("below.Caddyfile")),
    "Caddy that passes it on": (caddy, written("below.Caddyfile").replace("handle_path", "handle")),
}


@pytest.fixture(scope="module")
def below(made: Path, tmp_path_factory: pytest.TempPathFactory, starting: Any) -> Iterator[tuple[Any, dict[str, str]]]:
    """A site below /stats, for people with tokens, behind a web server."""
    site = Path(shutil.copytree(made, tmp_path_factory.mktemp("below") / "site"))
    declare(site / "access.toml", Reach.TOKENS, names=[NAME], proxies=["127.0.0.1"])
    people = {"carla": PersonRole.CUSTODIAN, "ana": PersonRole.ANALYST}
    tokens = {name: add_token(site / "access.toml", name=name, role=role) for name, role in people.items()}
    running = starting(site, "--path", "/stats")
    yield running, tokens
    assert running.stop() == 0


@pytest.fixture
def open_front(tmp_path: Path) -> Iterator[Callable[..., Front]]:
    """Start web servers that end with the test."""
    opened: list[Front] = []

    def opening(kind: Any, config: str, server: Any, tokens: dict[str, str]) -> Front:
        port = _free_port()
        words = kind(tmp_path, config.replace("127.0.0.1:8000", urlsplit(server.url).netloc), port)
        with (tmp_path / "front.log").open("wb") as log:
            process = subprocess.Popen(words, stdout=log, stderr=log)
        client = httpx.Client(base_url=SITE, transport=Resolved(port), timeout=LONG)
        opened.append(Front(client, tokens, process))
        _wait(opened[-1], tmp_path / "front.log")
        return opened[-1]

    yield opening
    for each in opened:
        each.client.close()
        each.process.terminate()
        each.process.wait(LONG)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(front: Front, log: Path) -> None:
    for _ in range(10 * LONG):
        assert front.process.poll() is None, log.read_text()
        try:
            front.get("/stats/health")
            return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError(log.read_text())


@pytest.fixture(params=list(FRONTS))
def front(request: pytest.FixtureRequest, below: Any, open_front: Any) -> Front:
    kind, config = FRONTS[request.param]
    found: Front = open_front(kind, config, *below)
    return found


def crawl(get: Callable[[str], httpx.Response], begin: str, *, most: int) -> dict[str, httpx.Response]:
    """Everything that pages lead to, each path with one or two queries; every address must be below the path."""
    waiting, seen, asked = deque([begin]), dict[str, httpx.Response](), Counter[str]()
    while waiting and len(seen) < most:
        address = waiting.popleft()
        path = urlsplit(address).path
        if address in seen or asked[path] == 2 or path.endswith("/logout"):
            continue
        asked[path] += 1
        answer = seen[address] = get(address)
        if "location" in answer.headers:
            waiting.append(answer.headers["location"])
        if answer.headers.get("content-type", "").startswith("text/html"):
            found = [unescape(each) for each in ADDRESSES.findall(answer.text)]
            inside = [each for each in found if not each.startswith(("#", "https:", "mailto:"))]
            waiting += [urldefrag(urljoin(address, each)).url for each in inside if each != ""]
    outside = [each for each in seen if urlsplit(each).path != "/stats" and not each.startswith("/stats/")]
    assert not outside, outside
    return seen


def test_every_address_that_a_page_leads_to_is_there(front):
    inside = front.log_in("carla")
    assert inside.status_code == 303 and inside.headers["location"] == "/stats/custodian"
    cookie = inside.headers["set-cookie"]
    assert cookie.startswith("__Secure-confide-session=") and "Path=/stats;" in cookie and "Secure" in cookie
    seen = crawl(front.get, "/stats/", most=150)
    assert {address: each.status_code for address, each in seen.items() if each.status_code in (401, 404, 500)} == {}
    paths = {urlsplit(address).path for address in seen}
    assert {"/stats/custodian/ledger", "/stats/people/table/build", "/stats/about", "/stats/api"} <= paths
    assert any(path.startswith("/stats/static/") for path in paths) and len(seen) > 80


def test_a_form_leads_back_below_the_path(front):
    front.log_in("ana")
    built = front.get("/stats/people/table/build?rows=sex&go=ask", follow_redirects=True)
    assert built.status_code == 200 and built.url.path.startswith("/stats/people/table")
    closed = front.get("/stats/custodian/tokens")
    assert closed.status_code == 403


def test_programs_find_the_site_below_the_path(front):
    shown = {"Authorization": f"Bearer {front.tokens['ana']}"}
    document = front.get("/stats/openapi.json", headers=shown).json()
    assert document["servers"] == [{"url": "/stats"}]
    for path in document["paths"]:
        assert (
            front.get(
                "/stats" + path.format(name="people", dataset="people", ending="json", kind="x"), headers=shown
            ).status_code
            != 404
        )
    page = unescape(front.get("/stats/api", headers=shown).text)
    assert f"{SITE}/stats/api/datasets" in page and f"{SITE}/api" not in page
    refused = front.get("/stats/people/table.json?rows=municipality&columns=occupation,age", headers=shown).json()
    for offer in refused["suggestions"]:
        if offer.get("url"):
            assert (
                offer["url"].startswith("/stats/people/") and front.get(offer["url"], headers=shown).status_code == 200
            )


def test_the_page_for_a_host_of_its_own_runs_too(made, tmp_path, starting, open_front):
    site = Path(shutil.copytree(made, tmp_path / "site"))
    declare(site / "access.toml", Reach.TOKENS, names=[NAME], proxies=["127.0.0.1"])
    token = add_token(site / "access.toml", name="ana", role=PersonRole.ANALYST)
    server = starting(site)
    try:
        for kind, title in ((nginx, "confide.conf"), (caddy, "Caddyfile")):
            front = open_front(kind, written(title), server, {})
            assert front.get("/health").json() == {"status": "alive"}
            assert front.get("/people/table.json?rows=sex").status_code == 401
            shown = {"Authorization": f"Bearer {token}", "X-Forwarded-For": "10.9.9.9", "X-Forwarded-Proto": "http"}
            assert front.get("/people/table.json?rows=sex", headers=shown).status_code == 200
            form = front.get("/login")
            assert "__Host-confide-login" in form.headers["set-cookie"] and 'name="token"' in form.text
            # nginx refuses it by its length; Caddy stops while it passes it on, as Confide does while it is sent, and may hang up.
            with suppress(httpx.TransportError):
                assert front.client.post("/login", content=b"x" * 70_000).status_code in (413, 502)
    finally:
        server.kill()


def test_the_client_reaches_a_site_below_a_path_and_reads_its_suggestions(site, serve):
    server = serve(site, "--path", "/stats")
    with confide.open(f"{server.url}/stats") as remote, confide.open(server.url) as stripped:
        assert remote["people"].table(rows="sex").receipt == stripped["people"].table(rows="sex").receipt
        with pytest.raises(Refused) as refused:
            remote["people"].table(rows="municipality", columns="occupation")
    addresses = [offer.address for offer in refused.value.suggestions if hasattr(offer, "address")]
    assert addresses and all(address.startswith("people/") for address in addresses)


@pytest.mark.parametrize(
    ("sent", "path", "raw"),
    [
        ("/stats", "/", b"/"),
        ("/stats/", "/", b"/"),
        ("/stats/people", "/people", b"/people"),
        ("/people", "/people", b"/people"),
        ("/statsmore", "/statsmore", b"/statsmore"),
        ("/stats/stats/x", "/stats/x", b"/stats/x"),
    ],
)
def test_the_path_is_taken_off_once_and_only_where_it_stands(sent, path, raw):
    scope = SubPath("/stats").within({"path": sent, "raw_path": sent.encode()})
    assert (scope["path"], scope["raw_path"]) == (path, raw)


@pytest.mark.parametrize(
    "path", ["stats", "/", "/stats/", "//evil.example", "/a b", "/../x", "/.x", "/a?b", '/"', "/%41", "/" + "a" * 200]
)
def test_what_is_no_path_is_a_mistake(path):
    with pytest.raises(Mistake, match="is no path"):
        SubPath(path)


def test_a_path_may_not_be_the_name_of_something_on_the_site(site, run):
    with pytest.raises(Mistake, match="/static itself"):
        SubPath("/static/x")
    done = run("serve", site, "--path", "/people")
    assert done.returncode == 2 and b"The site has something at /people itself." in done.stderr


def test_text_of_a_page_is_never_taken_for_an_address():
    text = '<p>Write &lt;a href=&#34;/people&#34;&gt; or href=/people.</p><a href="//other.example/x">'
    assert SubPath("/stats").page(text) == text
