"""What happens instead of an answer: as a page where a page was asked for, as a document where data were."""

import asyncio
import re

import pytest

from confide.answering.service import Service
from confide.site.access import Access
from confide.web.api import create_app
from confide.web.metrics import Metrics
from confide.web.middleware import Middleware
from confide.web.subpath import ROOT

REFUSED = [
    "/people/table?rows=occupation&columns=municipality",
    "/people/table?rows=occupation_sub&columns=sex&where=municipality=N504;age_group=20-29",
    "/people/table?rows=age,sex,education,marital,region",
    "/people/table?rows=occupation&where=municipality=N504;sex=female&percent=total",
]


@pytest.mark.parametrize("address", REFUSED)
def test_a_refusal_names_the_rule_in_plain_words_and_each_suggestion_is_a_page_that_works(look, server, address):
    page = look(address)
    assert page.status == 403 and re.search(r"Rule <code>[a-z]+\.[a-z_]+</code>: [A-Z]", page.html)
    offers = re.findall(r'<a class="button" href="(/people/table\?[^"]*)"', page.html)
    assert offers
    for offer in offers:
        assert server.get(offer.replace("&amp;", "&")).status_code == 200
    assert look(page.links["Change the question"]).status == 200


def test_a_refusal_speaks_of_labels_and_says_what_was_asked(look):
    page = look(REFUSED[0])
    assert "“Occupation, sub-group” instead of “Occupation”" in page.text
    assert "You asked: Occupation by Municipality. Everyone." in page.text and "occupation_sub'" not in page.html


def test_data_addresses_answer_with_documents(server):
    refused = "/people/table.csv?rows=occupation&columns=municipality"
    for address in ("/people/table.json?rows=sx", "/nowhere.csv", "/api/nowhere", refused):
        assert server.get(address).headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("address", ["/nowhere", "/people/", "/people/tables", "/a/b/c", "/people/table.json/", "//"])
def test_what_is_not_there_is_a_page_that_leads_home(look, address):
    page = look(address)
    assert page.status == 404 and page.links["All data sets"] == "/"


def test_a_data_set_that_is_nearly_right_is_offered(look):
    assert "Did you mean 'people'?" in look("/peple").text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
@pytest.mark.parametrize("address", ["/", "/people", "/people/table?rows=sex"])
def test_pages_of_analysts_only_answer_questions(server, page, method, address):
    response = server.ask(method, address)
    assert page(response).status == 405 and response.headers["allow"] == "GET, HEAD"


def test_what_is_too_long_is_said_on_a_page(look, server, page):
    assert page(server.get("/people/table?rows=" + "a" * 8000)).status == 414
    assert page(server.ask("GET", "/people", content=b"x" * 2000)).status == 413


def test_who_knocks_too_often_reads_how_long_to_wait_and_files_do_not_count(site, serve, policy, page):
    policy(site, per_minute=6)
    server = serve(site)
    home = page(server.get("/"))
    style = next(attributes["href"] for tag, attributes in home.tags if attributes.get("rel") == "stylesheet")
    assert [server.get(style).status_code for _ in range(20)] == [200] * 20
    answers = [server.get("/") for _ in range(8)]
    assert answers[-1].status_code == 429 and int(answers[-1].headers["retry-after"]) >= 1
    assert "Wait" in page(answers[-1]).text


def test_who_asked_enough_for_today_is_told_so(site, serve, policy, page):
    policy(site, per_day=1)
    server = serve(site)
    assert page(server.get("/people/table?rows=sex")).status == 200
    over = page(server.get("/people/table?rows=region"))
    assert over.status == 403 and "enough for today" in over.text and "Ask again tomorrow" in over.text
    assert "recognised" not in over.text


def ask(app, path):
    """The status, headers and body of a GET."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b"rows=sex"}
    scope |= {
        "headers": [(b"host", b"localhost")],
        "client": ("127.0.0.1", 1),
        "server": ("x", 80),
        "scheme": "http",
        "root_path": "",
    }
    asyncio.run(app(scope, receive, send))
    return sent[0]["status"], dict(sent[0]["headers"]), b"".join(m.get("body", b"") for m in sent[1:]).decode()


def test_a_fault_is_a_page_without_detail(site, monkeypatch, caplog):
    with Service.open(site) as service:
        app = create_app(service)
        monkeypatch.setattr(Service, "admit", lambda self, request: 1 / 0)
        status, headers, text = ask(app, "/people/table")
    assert (
        status == 500 and headers[b"content-type"].startswith(b"text/html") and headers[b"x-frame-options"] == b"DENY"
    )
    assert "went wrong on our side" in text and "ZeroDivision" not in text and "Traceback" not in text
    noted = re.search(r"noted under ([0-9a-f]{12})", text)[1]
    assert noted in caplog.text


def test_a_fault_of_the_page_that_would_tell_it_is_told_all_the_same(caplog):
    async def app(scope, receive, send):
        raise RuntimeError("secret")

    def reply(scope, problem, headers):
        raise KeyError("secret too")

    class Nobody:
        def recognise(self, scope):
            return None

    class Policy:
        class quota:
            per_minute = 0

    async def probe(scope):
        return None

    more = {"probe": probe, "metrics": Metrics(), "path": ROOT}
    status, headers, text = ask(
        Middleware(app, access=Access, policy=Policy, authentication=Nobody(), reply=reply, **more), "/static/x"
    )
    assert (
        status == 500 and headers[b"content-type"] == b"application/problem+json" and "secret" not in text + caplog.text
    )
