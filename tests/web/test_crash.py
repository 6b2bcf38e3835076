"""What must not be lost, and what must not be told, when things break."""

import asyncio
import http.server
import resource
import socket
import threading
import time
from itertools import cycle, permutations

import httpx
import pytest

import confide
from confide.answering.service import Service
from confide.site import ledger
from confide.site.folder import Folder
from confide.web.api import create_app

TABLE = "/people/table.json?rows=sex&columns=region"
QUESTIONS = [
    f"/people/table.{ending}?rows={rows}&columns={columns}{measure}"
    for measure in ("", "&measure=mean&of=age", "&where=employment=employed", "&where=sex=female;employment=employed")
    for ending, (rows, columns) in zip(
        cycle(["json", "csv"]), permutations(["region", "education", "marital", "age_group", "employment", "sex"], 2)
    )
]
"""Different ones: what is asked again is not recorded again."""

PATHS = ("ledger.jsonl", "records.duckdb", "/tmp", "/work", "site-packages", "Traceback", 'File "')


def check_fault(response, *secrets):
    assert response.status_code == 500 and response.headers["content-type"] == "application/problem+json"
    assert response.headers["x-content-type-options"] == "nosniff"
    document = response.json()
    assert document["title"] == "Fault" and "noted under" in document["detail"]
    assert not [word for word in (*PATHS, *secrets) if word in response.text]
    return document["detail"].rstrip(".").rpartition(" ")[2]


def ask_until_it_dies(server, first, answers, wrong):
    """Ask one question after another; keep the receipt of every answer that arrived."""
    with httpx.Client(timeout=60) as client:
        for number in range(first, 10_000):
            try:
                response = client.get(server.url + QUESTIONS[number % len(QUESTIONS)])
            except httpx.TransportError:
                return
            if response.status_code == 200:
                answers.append(response.headers["etag"].strip('"'))
            elif response.status_code != 403:
                wrong.append(response.text)


@pytest.mark.parametrize("after", [1, 7, 60])
def test_kill_9_in_a_stream_of_requests_loses_no_released_answer(site, serve, after):
    server = serve(site)
    answers, wrong = [], []
    clients = [
        threading.Thread(target=ask_until_it_dies, args=(server, 30 * number, answers, wrong)) for number in range(4)
    ]
    for client in clients:
        client.start()
    while len(answers) < after and not wrong:
        time.sleep(0.001)
    server.process.kill()
    for client in clients:
        client.join()
    assert answers and not wrong
    found = ledger.verify(Folder(site).ledger)
    assert found.problem is None
    recorded = {entry.receipt for entry in ledger.read(Folder(site).ledger) if entry.outcome == "released"}
    assert set(answers) <= recorded
    assert serve(site).get(TABLE).status_code == 200
    later = ledger.verify(Folder(site).ledger)
    assert later.problem is None and later.entries == found.entries + 1


def test_the_answer_after_a_crash_is_the_answer_before(site, serve):
    server = serve(site)
    before = server.get(TABLE)
    server.kill()
    assert serve(site).get(TABLE).content == before.content


def test_a_second_server_and_a_local_question_are_told_who_has_the_site(site, serve, run):
    server = serve(site)
    for words in (["serve", site, "--port", "1"], ["table", site, "people", "--rows", "sex"]):
        done = run(*words)
        assert done.returncode == 1 and f"process {server.process.pid}" in done.stderr.decode()
        assert "over HTTP" in done.stderr.decode()
    assert server.get(TABLE).status_code == 200


def test_a_server_that_is_asked_to_stop_closes_the_site(site, serve):
    server = serve(site)
    server.get(TABLE)
    assert server.stop() == 0
    assert not (site / "ledger.jsonl.pid").exists()
    with confide.open(site) as opened:
        assert opened["people"].table(rows="sex")


def test_a_taken_port_is_a_clear_fault(site, server, run):
    done = run("serve", site, "--port", server.url.rpartition(":")[2])
    assert done.returncode == 1 and b"Is the port taken? Choose another with --port." in done.stderr


def test_a_corrupt_ledger_stops_the_start_with_a_clear_fault(site, serve, run):
    server = serve(site)
    for question in (TABLE, *QUESTIONS[:2]):
        server.get(question)
    server.stop()
    file = Folder(site).ledger
    file.write_bytes(file.read_bytes().replace(b'"sex"', b'"age"', 1))
    done = run("serve", site, "--port", "1")
    assert done.returncode == 1 and b"is damaged: entry 0 was changed" in done.stderr
    verified = run("ledger", "verify", site)
    assert verified.returncode == 1 and b"entry 0 was changed" in verified.stderr


def test_a_ledger_changed_under_a_running_server_withholds_answers(site, serve):
    server = serve(site)
    assert server.get(TABLE).status_code == 200
    with Folder(site).ledger.open("ab") as file:
        file.write(b"{}\n")
    number = check_fault(server.get(QUESTIONS[0]))
    log = server.log.read_text()
    assert number in log and "the answer was withheld" in log


def test_a_full_disk_withholds_answers_and_says_so_to_the_custodian(site, serve):
    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    with confide.open(site):
        pass  # the policy in force is longer than that, and is written down when a site is first opened
    server = serve(site, limit=small_files)
    answers = [server.get(question) for question in QUESTIONS[:12]]
    assert answers[0].status_code == 200 and answers[-1].status_code == 500
    number = check_fault(answers[-1])
    assert f"fault {number}: Fault (The ledger" in server.log.read_text()
    assert "could not be written" in server.log.read_text()
    released = [answer for answer in answers if answer.status_code == 200]
    server.kill()
    found = ledger.verify(Folder(site).ledger)
    assert found.problem is None and found.entries == len(released) and not found.torn


@pytest.mark.parametrize("damage", ["deleted", "truncated", "garbled"])
def test_a_damaged_store_stops_the_start_without_detail(site, run, damage):
    store = Folder(site).store("people")
    if damage == "deleted":
        store.unlink()
    else:
        content = store.read_bytes()
        store.write_bytes(content[:5000] if damage == "truncated" else b"\x00" * len(content))
    done = run("serve", site, "--port", "1")
    assert done.returncode == (2 if damage == "deleted" else 1)
    text = done.stderr.decode()
    assert "ngest" in text and "Traceback" not in text and "SELECT" not in text


def test_a_fault_in_the_engine_is_shown_by_an_id_alone(site, serve):
    """The store is garbled under a running server, so that reading it fails inside DuckDB."""
    server = serve(site)
    store = Folder(site).store("people")
    with store.open("r+b") as file:
        file.seek(12_288)
        file.write(b"\xa5" * (store.stat().st_size - 12_288))
    response = server.get("/people/table.json?rows=age,sex,education&where=region=N;marital=married")
    number = check_fault(response, "SELECT", "duckdb", "Corrupt", "checksum")
    log = server.log.read_text()
    assert f"fault {number}: Fault" in log and "SELECT" not in log and "Traceback" not in log
    assert server.get("/firms/table.json?rows=region").status_code == 200


async def ask_app(app, address):
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
        return await client.get(address)


def test_an_unforeseen_error_tells_and_logs_nothing_of_its_message(site, monkeypatch, caplog):
    def broken(*_args, **_more):
        raise RuntimeError("person 4711 earns 1234567")

    with Service.open(site) as service:
        monkeypatch.setattr(service, "answer", broken)
        response = asyncio.run(ask_app(create_app(service), TABLE))
    number = check_fault(response, "4711", "1234567", "RuntimeError")
    assert f"fault {number}: RuntimeError at " in caplog.text and "broken" in caplog.text
    assert "4711" not in caplog.text and "1234567" not in caplog.text


class Stranger(http.server.BaseHTTPRequestHandler):
    """A server that is no Confide site."""

    def do_GET(self):
        known = self.path == "/api/datasets"
        self.send_response(200 if known else 404)
        self.end_headers()
        self.wfile.write(b'{"hello": "world"}' if known else b"<p>Not found.</p>")

    def log_message(self, *_):
        pass


def test_nobody_at_the_address_is_a_fault(run):
    with socket.socket() as taken:  # a port that nobody else can get, and nobody listens on
        taken.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with confide.open(nobody) as opened, pytest.raises(confide.Fault, match="cannot be reached"):
            opened["people"]
        assert run("table", nobody, "people", "--rows", "sex").returncode == 1


def test_a_stranger_at_the_address_is_a_fault(run):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stranger) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            stranger = f"http://127.0.0.1:{server.server_port}"
            for ask in (lambda s: s["people"], lambda s: s.codebook("people")):
                with confide.open(stranger) as opened, pytest.raises(confide.Fault, match="as a Confide site"):
                    ask(opened)
            done = run("table", stranger, "people", "--rows", "sex")
            assert done.returncode == 1 and b"did not answer as a Confide site" in done.stderr
        finally:
            server.shutdown()
            thread.join()
