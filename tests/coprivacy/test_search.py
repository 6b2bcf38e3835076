"""What a peer keeps, where it searches, and what it is told."""

import asyncio
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from confide.coprivacy import FullText, OpenSearch, PeerSettings, QueryCounts, SearchHit, SearXNG, Unanswered
from confide.coprivacy.search.rule import CLOSE, entropy
from confide.errors import Mistake


@pytest.fixture
def counts(tmp_path):
    found = QueryCounts(tmp_path / "counts.db")
    yield found
    found.close()


def test_what_is_kept_names_no_query_and_no_peer(counts, tmp_path):
    counts.submit("unspeakable illness")
    counts.forward("unspeakable illness", "robert")
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"unspeakable" not in kept and b"robert" not in kept
    assert all(file.stat().st_mode & 0o077 == 0 for file in tmp_path.iterdir())


def test_the_same_query_has_another_hash_under_another_key(tmp_path):
    for name in ("one", "other"):
        made = QueryCounts(tmp_path / name)
        made.submit("flu")
        made.close()
    assert (tmp_path / "one.key").read_text() != (tmp_path / "other.key").read_text()
    moved = QueryCounts((tmp_path / "one.key").rename(tmp_path / "other.key").with_name("other"))
    assert moved.submitted() == [1] and moved._base.execute("SELECT query FROM submitted").fetchone()[
        0
    ] != moved._hashed("flu")
    moved.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(asked=st.lists(st.sampled_from("abcde"), max_size=15), query=st.sampled_from("abcdef"))
def test_deciding_is_comparing_entropies_before_and_after(asked, query, tmp_path_factory):
    counts = QueryCounts(tmp_path_factory.mktemp("counts") / "counts.db")
    for one in asked:
        counts.submit(one)
    before = entropy([asked.count(one) for one in set(asked)])
    after = entropy([[*asked, query].count(one) for one in {*asked, query}])
    helps = counts.submit_for_other(query)
    assert helps == (after - before > CLOSE) and sum(counts.submitted()) == len(asked) + helps
    if not helps:
        assert counts.submit_own(query) == (after - before >= -CLOSE)
    counts.close()


def test_peers_are_asked_from_the_least_asked_and_ties_are_random(counts):
    for peer, times in (("bob", 2), ("cat", 1), ("dan", 0), ("eve", 0)):
        for _ in range(times):
            counts.forward("flu", peer)
    orders = {tuple(counts.least_asked("flu", ["bob", "cat", "dan", "eve"], Random(seed))) for seed in range(20)}
    assert orders == {("dan", "eve", "cat", "bob"), ("eve", "dan", "cat", "bob")}
    assert len({tuple(counts.least_asked("tea", ["bob", "cat"], Random(seed))) for seed in range(20)}) == 2


def test_two_processes_may_count_at_once(tmp_path):
    """A command that asks runs beside the one that answers: each writes while the other has the file open."""
    one, other = QueryCounts(tmp_path / "counts.db"), QueryCounts(tmp_path / "counts.db")
    for counts in (one, other, one, other):
        counts.submit("flu")
    assert one.submitted() == other.submitted() == [4]
    one.close()
    other.close()


def test_counts_that_are_no_file_of_counts_are_a_mistake(tmp_path):
    (tmp_path / "counts.db").write_text("not a database, for more than sixteen bytes" * 20)
    with pytest.raises(Mistake, match="cannot be opened"):
        QueryCounts(tmp_path / "counts.db")
    with pytest.raises(Mistake, match="cannot be written"):
        QueryCounts(tmp_path / "nowhere" / "counts.db")


def test_full_text_finds_by_stems_and_takes_any_query():
    text = FullText([SearchHit("Flu", "u", "symptoms of influenza"), SearchHit("Tea", "v", "green tea")])
    assert [hit.title for hit in asyncio.run(text.find("symptom", 5))] == ["Flu"]
    for query in ('"', "OR AND NOT", "a* -b (c", "title:x", "; drop table document", "?"):
        asyncio.run(text.find(query, 5))
    text.close()


@contextmanager
def engine(answer, status=200):
    """A real HTTP server on the loopback that answers as the search engines' documents say; and what it was asked."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked.append((self.command, self.path, json.loads(body or "null")))
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(answer if isinstance(answer, bytes) else json.dumps(answer).encode())

        do_POST = do_GET

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_opensearch_is_asked_and_read_as_documented():
    source = {"title": "Flu", "url": "https://example.org", "text": "symptoms"}
    answer = {"took": 5, "timed_out": False, "hits": {"total": {"value": 1, "relation": "eq"}, "max_score": 1.3,
              "hits": [{"_index": "pages", "_id": "1", "_score": 1.3, "_source": source}]}}  # fmt: skip
    with engine(answer) as (url, asked):
        found = asyncio.run(OpenSearch(url=f"{url}/", index="pages").find("flu", 7))
    assert found == [SearchHit("Flu", "https://example.org", "symptoms")]
    ((method, path, body),) = asked
    assert (method, path, body["size"]) == ("POST", "/pages/_search", 7)
    assert body["query"] == {"simple_query_string": {"query": "flu"}}


def test_searxng_is_asked_and_read_as_documented():
    result = {"url": "https://example.org", "title": "Flu", "content": "symptoms", "engine": "wikipedia", "score": 1.0}
    answer = {
        "query": "flu & tea",
        "number_of_results": 0,
        "results": [result, {"url": "u", "title": "t", "content": None}],
    }
    with engine(answer) as (url, asked):
        found = asyncio.run(SearXNG(url=url).find("flu & tea", 7))
    assert found == [SearchHit("Flu", "https://example.org", "symptoms"), SearchHit("t", "u", "")]
    ((method, path, _),) = asked
    assert method == "GET" and parse_qs(urlsplit(path).query) == {"q": ["flu & tea"], "format": ["json"]}
    assert urlsplit(path).path == "/search"


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (b"<html>", 200), ({"hits": []}, 200), ({"results": 3}, 200), ([], 200), ({"results": [3]}, 200),
        ({"hits": {"hits": [{"_source": {"title": 3}}]}, "results": [{"title": None}]}, 200), ({}, 403), ({}, 500),
    ],
)  # fmt: skip
def test_a_search_engine_that_answers_otherwise_is_unanswered_and_quotes_nothing(answer, status):
    with engine(answer, status) as (url, _):
        for backend in (OpenSearch(url=url, index="pages"), SearXNG(url=url)):
            with pytest.raises(Unanswered) as complaint:
                asyncio.run(backend.find("flu", 5))
            assert str(complaint.value) == ""


SETTINGS = """
name = "ann"
listen = "127.0.0.1:9401"
deny = "deny.txt"

[backend]
kind = "fts5"
documents = "documents.csv"

[peers]
bob = "127.0.0.1:9402"
"""


def test_settings_are_read_and_paths_are_from_their_folder(tmp_path):
    (tmp_path / "peer.toml").write_text(SETTINGS)
    told = PeerSettings.read(tmp_path / "peer.toml")
    assert Path(told.certificate) == tmp_path / "peer.pem" and Path(told.counts) == tmp_path / "counts.db"
    assert Path(told.backend["documents"]) == tmp_path / "documents.csv" and told.peers == {"bob": "127.0.0.1:9402"}


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('name = "ann"\n', "", "'name' is missing"),
        ("listen", "lisen", "Did you mean 'listen'"),
        ("9401", "x", "not an address"),
        ("127.0.0.1:9402", "somewhere", "not an address"),
        ("bob =", "ann =", "take it out"),
        ("fts5", "google", "no backend 'google'"),
        ("documents =", "url =", "needs documents"),
        ("[peers]", "attempts = 0\n[peers]", "backend must be a table"),
        ('name = "ann"', 'name = "ann"\nattempts = 0', "at least 1"),
        ("[", "[[[", "cannot be read"),
    ],
)
def test_settings_that_cannot_be_are_a_mistake(old, new, complaint, tmp_path):
    (tmp_path / "peer.toml").write_text(SETTINGS.replace(old, new, 1))
    with pytest.raises(Mistake, match=complaint):
        PeerSettings.read(tmp_path / "peer.toml")


def test_a_deny_list_or_documents_that_are_not_there_are_a_mistake(tmp_path):
    (tmp_path / "peer.toml").write_text(SETTINGS)
    told = PeerSettings.read(tmp_path / "peer.toml")
    with pytest.raises(Mistake, match="deny list"):
        told.denied()
    with pytest.raises(Mistake, match="no file"):
        told.searched()
    (tmp_path / "documents.csv").write_text("title,url\na,b\n")
    with pytest.raises(Mistake, match="no column 'text'"):
        told.searched()
