"""Peers that search for each other: real TLS on the loopback, real crashes."""

import asyncio
import os
import signal
import socket
import ssl
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from confide.coprivacy import QueryCounts, SearXNG
from confide.coprivacy.search.messages import LONGEST_LINE
from confide.errors import Mistake, Refused

CONFIDE = [sys.executable, "-c", "from confide.cli.main import main; main()"]
OFTEN = ("flu", "flu", "flu", "tea")
"""After these, asking for flu once more lowers the entropy, so it is forwarded."""
NOBODY = {"ann": 1}
"""Whom a helper hears; it never calls back, so any port will do."""


def port_of(server):
    return server.sockets[0].getsockname()[1]


@asynccontextmanager
async def pretender(certificates, name, said):
    """A server with a certificate that reads a query and says this, or nothing; gives its port and what it read."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificates / f"{name}.pem", certificates / f"{name}.key")
    read: list[bytes] = []
    heard = asyncio.Event()

    async def connected(reader, writer):
        read.append(await reader.readline())
        heard.set()
        if said is None:
            await reader.read()
        else:
            writer.write(said)
        writer.close()

    async with await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls) as server:
        yield port_of(server), read, heard


def test_a_query_that_would_raise_the_entropy_goes_directly(peer):
    ann = peer("ann", {"bob": 1}, *OFTEN)
    found = asyncio.run(ann.search("green tea"))
    assert (found.by, found.asked) == ("ann", 0) and found.hits[0].title == "Tea"
    assert ann.counts.submitted() == [3, 1, 1]


def test_a_query_that_would_lower_it_is_submitted_by_a_peer_whose_entropy_it_raises(peer):
    async def work():
        async with bob.serving() as server:
            ann = peer("ann", {"bob": port_of(server)}, *OFTEN)
            found = await ann.search("Flu")
            return ann, found

    bob = peer("bob", NOBODY, "weather")
    ann, found = asyncio.run(work())
    assert (found.by, found.asked, [hit.title for hit in found.hits]) == ("bob", 1, ["Flu"])
    assert bob.counts.submitted() == [1, 1] and ann.counts.submitted() == [3, 1]
    assert ann.counts.forwarded("flu", "bob") == 1


def test_a_peer_who_refuses_is_counted_and_the_next_is_asked_and_at_last_oneself(peer):
    async def work():
        async with bob.serving() as one, cat.serving() as other:
            ann = peer("ann", {"bob": port_of(one), "cat": port_of(other)}, *OFTEN)
            return ann, [await ann.search("flu") for _ in range(3)]

    bob = peer("bob", NOBODY)  # has submitted nothing, which nothing raises
    cat = peer("cat", NOBODY, "weather")
    ann, found = asyncio.run(work())
    # Cat helps once: then flu would be more than half of what it submitted.
    assert [one.by for one in found] == ["cat", "ann", "ann"] and [one.asked for one in found[1:]] == [2, 2]
    assert ann.counts.forwarded("flu", "bob") >= 2 and ann.counts.submitted() == [5, 1]
    assert bob.counts.submitted() == []


def test_a_peer_passes_nothing_on(peer):
    async def work():
        async with cat.serving() as other:
            bob = peer("bob", {"ann": 1, "cat": port_of(other)}, *OFTEN)
            async with bob.serving() as one:
                ann = peer("ann", {"bob": port_of(one)}, *OFTEN)
                return await ann.search("flu")

    cat = peer("cat", {"ann": 1, "bob": 1}, "weather")
    assert asyncio.run(work()).by == "ann" and cat.counts.submitted() == [1]


@pytest.mark.parametrize(
    "said",
    [
        b"\n",
        b"[]\n",
        b"{}\n",
        b'{"hits": 3}\n',
        b'{"hits": [3]}\n',
        b'{"hits": [{"title": 3}]}\n',
        b"\xff\xfe\n",
        b"",
        b"[",
    ],
)
def test_garbage_is_a_refusal(said, peer, certificates):
    async def work():
        async with pretender(certificates, "bob", said) as (port, _, _):
            ann = peer("ann", {"bob": port}, *OFTEN)
            return ann, await ann.search("flu")

    ann, found = asyncio.run(work())
    assert (found.by, found.asked) == ("ann", 1) and ann.counts.forwarded("flu", "bob") == 1


def test_an_answer_without_end_is_not_heard_out(peer, certificates):
    async def work():
        async with pretender(certificates, "bob", b" " * (3 * LONGEST_LINE)) as (port, _, _):
            return await peer("ann", {"bob": port}, *OFTEN).search("flu")

    assert asyncio.run(work()).by == "ann"


def test_a_silent_peer_is_given_up_and_counted_if_the_query_left(peer, certificates):
    async def work():
        async with pretender(certificates, "bob", None) as (port, read, _):
            ann = peer("ann", {"bob": port}, *OFTEN, timeout=2.0)
            return ann, await ann.search("flu"), read

    ann, found, read = asyncio.run(work())
    # On a busy machine the two seconds may be over before they are connected; then nobody saw it.
    assert found.by == "ann" and ann.counts.forwarded("flu", "bob") == found.asked >= len(b"".join(read)) // 17
    assert set(read) <= {b'{"query": "flu"}\n', b""}


def test_answers_cannot_steer_a_terminal(peer, certificates):
    said = b'{"hits": [{"title": "\\u001b[2J Flu", "url": "x", "text": "a\\nb"}]}\n'

    async def work():
        async with pretender(certificates, "bob", said) as (port, _, _):
            return await peer("ann", {"bob": port}, *OFTEN).search("flu")

    (hit,) = asyncio.run(work()).hits
    assert (hit.title, hit.text) == (" [2J Flu", "a b")


def test_dead_peers_have_seen_nothing_and_oneself_remains(peer):
    ann = peer("ann", {"bob": 1, "cat": 1}, *OFTEN)
    found = asyncio.run(ann.search("flu"))
    assert (found.by, found.asked) == ("ann", 0) and ann.counts.forwarded("flu", "bob") == 0


def test_never_direct_refuses_rather_than_submit_even_what_is_new(peer):
    ann = peer("ann", {"bob": 1}, *OFTEN)
    for query in ("flu", "something new"):
        with pytest.raises(Refused, match="never to do it yourself") as refusal:
            asyncio.run(ann.search(query, never_direct=True))
        assert refusal.value.reasons[0].rule == "coprivacy.never_direct"
    assert ann.counts.submitted() == [3, 1]


@pytest.mark.parametrize("name", ["mallory", "cat", "forged-bob"])
def test_who_cannot_show_the_name_that_was_asked_for_gets_no_query(name, peer, certificates):
    """Signed by another authority, by ours in another name, or by a peer."""

    async def work():
        async with pretender(certificates, name, b'{"hits": []}\n') as (port, read, _):
            ann = peer("ann", {"bob": port}, *OFTEN)
            return await ann.search("flu"), read

    found, read = asyncio.run(work())
    assert (found.by, found.asked) == ("ann", 0) and b"".join(read) == b""


@pytest.mark.parametrize("name", ["eve", "mallory", "forged-ann", None])
def test_only_peers_of_the_list_are_answered(name, peer, certificates):
    """Eve is signed and not in the list; mallory is signed by another, ann by a peer; the last shows no certificate."""

    async def work():
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        tls.load_verify_locations(certificates / "ca.pem")
        if name:
            tls.load_cert_chain(certificates / f"{name}.pem", certificates / f"{name}.key")
        async with bob.serving() as server:
            try:
                reader, writer = await asyncio.open_connection(
                    "127.0.0.1", port_of(server), ssl=tls, server_hostname="bob"
                )
                writer.write(b'{"query": "flu"}\n')
                said = await reader.read()
                writer.close()
            except OSError:
                said = b""
        return said

    bob = peer("bob", NOBODY, "weather")
    assert asyncio.run(work()) == b"" and bob.counts.submitted() == [1]


def test_the_rate_of_each_peer_is_limited_by_the_minute(peer):
    now = [0.0]
    bob = peer("bob", {"ann": 1, "cat": 1}, "weather", per_minute=2)
    bob.clock = lambda: now[0]

    def helps(who, query):
        return asyncio.run(bob.answer(who, query)) is not None

    assert [helps("ann", f"new {number}") for number in range(3)] == [True, True, False]
    assert helps("cat", "new 4")
    now[0] = 61
    assert helps("ann", "new 5")


def test_denied_words_are_submitted_for_nobody_and_the_own_query_may_have_them(peer, tmp_path):
    (tmp_path / "deny.txt").write_text("Bomb\nhow to  steal\n\n")
    bob = peer("bob", NOBODY, "weather", deny=str(tmp_path / "deny.txt"))
    for query, helped in (("a BOMB", False), ("bombay", True), ("how to steal a car", False), ("how to", True)):
        assert (asyncio.run(bob.answer("ann", query)) is not None) == helped
    assert asyncio.run(bob.search("bomb")).by == "bob"


def test_a_helper_whose_search_engine_fails_refuses_and_an_asker_is_told(peer):
    bob = peer("bob", NOBODY, "weather")
    bob.backend = SearXNG(url="http://127.0.0.1:1")
    assert asyncio.run(bob.answer("ann", "flu")) is None
    with pytest.raises(Mistake, match="search engine did not answer"):
        asyncio.run(bob.search("tea"))


@pytest.mark.parametrize(
    "sent", [b"{}", b'{"query": 3}', b'{"query": ""}', b'{"query": "\\ud800"}', b"[" * 100_000, b"\xff"]
)
def test_a_request_that_is_garbage_is_not_answered_and_the_peer_lives(sent, peer, certificates):
    async def work():
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        tls.load_verify_locations(certificates / "ca.pem")
        tls.load_cert_chain(certificates / "ann.pem", certificates / "ann.key")
        async with bob.serving() as server:
            said = []
            for line in (sent, b'{"query": "flu"}'):
                reader, writer = await asyncio.open_connection(
                    "127.0.0.1", port_of(server), ssl=tls, server_hostname="bob"
                )
                writer.write(line + b"\n")
                said.append(await reader.read())
                writer.close()
        return said

    bob = peer("bob", NOBODY, "weather")
    nothing, answer = asyncio.run(work())
    assert nothing == b"" and b"symptoms" in answer


@pytest.mark.parametrize("query", ["", "  ", "x" * 1001, "a\nb", "\ud800"])
def test_an_empty_or_endless_query_is_a_mistake(query, peer):
    with pytest.raises(Mistake, match="1 to 1,000"):
        asyncio.run(peer("ann", {}).search(query))


def written(settings, file, **more):
    """The settings as a file."""
    told = {
        name: value for name in settings.__dataclass_fields__ if (value := getattr(settings, name)) is not None
    } | more
    plain = [f"{name} = {value!r}" for name, value in told.items() if not isinstance(value, dict)]
    for name in ("backend", "peers"):
        plain += [f"[{name}]", *(f"{key} = {value!r}" for key, value in told[name].items())]
    file.write_text("\n".join(plain))
    return file


def test_counts_of_a_helper_survive_kill_9(peer, settings, tmp_path):
    (tmp_path / "documents.csv").write_text("title,url,text\nFlu,https://example.org,symptoms of the flu\n")
    before = QueryCounts(tmp_path / "bob.db")
    before.submit("weather")
    before.close()
    told = settings("bob", NOBODY, backend={"kind": "fts5", "documents": str(tmp_path / "documents.csv")})
    with Listening(told, tmp_path) as (process, port):
        ann = peer("ann", {"bob": port}, *OFTEN)
        assert asyncio.run(ann.search("flu")).by == "bob"
        process.send_signal(signal.SIGKILL)
        process.wait()
    after = QueryCounts(tmp_path / "bob.db")
    assert after.submitted() == [1, 1] and not after.submit_for_other("Flu"), "it knows what it has submitted"
    after.close()


def test_counts_of_an_asker_survive_kill_9_while_a_peer_is_silent(settings, certificates, tmp_path):
    async def work():
        async with pretender(certificates, "bob", None) as (port, _, heard):
            told = settings(
                "ann", {"bob": port}, backend={"kind": "fts5", "documents": str(tmp_path / "documents.csv")}
            )
            file = written(told, tmp_path / "peer.toml")
            command = [*CONFIDE, "coprivacy", "search", str(file), "flu"]
            process = await asyncio.create_subprocess_exec(*command)
            await heard.wait()
            process.kill()
            await process.wait()

    (tmp_path / "documents.csv").write_text("title,url,text\nFlu,https://example.org,symptoms of the flu\n")
    before = QueryCounts(tmp_path / "ann.db")
    for query in OFTEN:
        before.submit(query)
    before.close()
    asyncio.run(work())
    after = QueryCounts(tmp_path / "ann.db")
    assert after.forwarded("flu", "bob") == 1 and after.submitted() == [3, 1]
    after.close()


class Listening:
    """`confide coprivacy peer` as a process, once it listens; and its port."""

    def __init__(self, told, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.file = written(told, folder / "peer.toml", listen=f"127.0.0.1:{self.port}")

    def __enter__(self):
        self.process = subprocess.Popen(
            [*CONFIDE, "coprivacy", "peer", str(self.file)], stderr=subprocess.PIPE, env=dict(os.environ)
        )
        assert b"listens on" in self.process.stderr.readline()
        return self.process, self.port

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.process.stderr.close()


def test_a_peer_that_is_told_to_stop_stops(settings, tmp_path):
    (tmp_path / "documents.csv").write_text("title,url,text\nFlu,https://example.org,symptoms of the flu\n")
    told = settings("bob", NOBODY, backend={"kind": "fts5", "documents": str(tmp_path / "documents.csv")})
    with Listening(told, tmp_path) as (process, _):
        process.terminate()
        assert process.wait() == 0


def test_if_everybody_says_never_direct_from_the_start_nothing_is_ever_submitted(peer):
    """Nothing raises the entropy of nothing: somebody must begin."""
    bob = peer("bob", NOBODY)
    assert [asyncio.run(bob.answer("ann", query)) for query in ("flu", "tea")] == [None, None]
