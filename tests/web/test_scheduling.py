"""People take turns, cheap pages and kept answers wait for no question, and what nobody waits for is cancelled and recorded.

No test measures time: questions go on until they are interrupted, and what is to happen meanwhile is waited for.
"""

import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from threading import Semaphore
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from confide.answering.service import Service
from confide.cancellation import current_cancellation
from confide.site.access import PersonRole, Project, Reach, TokenTerms, add_project, add_token, declare
from confide.site.folder import Folder
from confide.site.ledger import Entry, read
from confide.web.questions import EACH, WORKERS
from confide.web.under_way import jobs

LONG = 60
TABLE = "/people/table.json?rows=sex"
NAMES = ("income", "wages", "taxes", "hours", "age", "children")
ENDLESS = [
    f"/people/correlation.json?variables={a},{b}{where}"
    for a in NAMES
    for b in NAMES
    if a < b
    for where in ("", *(f"&where=region={code}" for code in "NESW"), "&where=sex=male", "&where=sex=female")
]


class Endless(Service):
    """A site whose correlations go on until they are interrupted, as a statement of the engine would."""

    def __init__(self, *site: Any, **options: Any) -> None:
        super().__init__(*site, **options)
        self.begun, self.on = Semaphore(0), True

    def answer(self, request: Any, **more: Any) -> Any:
        if self.on and self.admit(request).request.ask == "correlation":
            interrupted = Semaphore(0)
            with current_cancellation().interrupting(interrupted.release):
                self.begun.release()
                assert interrupted.acquire(timeout=LONG)
        return super().answer(request, **more)

    def wait_for(self, many: int) -> None:
        """Wait until so many more are worked on."""
        for _ in range(many):
            assert self.begun.acquire(timeout=LONG)

    def recorded(self) -> list[Entry]:
        return [entry for entry in read(self.papers.ledger) if not entry.is_act]


class Asking:
    """Questions on the way, of people with tokens, each on a connection of its own."""

    def __init__(self, here: Any, tokens: dict[str, str]) -> None:
        self.here, self.tokens, self._opened = here, tokens, ExitStack()

    def headers(self, who: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens[who]}"}

    def get(self, address: str, who: str) -> httpx.Response:
        answer: httpx.Response = self.here.get(address, headers=self.headers(who))
        return answer

    def send(self, address: str, who: str) -> socket.socket:
        """Ask, and do not wait for the answer."""
        url = urlsplit(self.here.url)
        wire = self._opened.enter_context(socket.create_connection((url.hostname, url.port), LONG))
        wire.sendall(
            f"GET {address} HTTP/1.1\r\nHost: {url.netloc}\r\nAuthorization: Bearer {self.tokens[who]}\r\n\r\n".encode()
        )
        return wire

    def hang_up(self) -> None:
        self._opened.close()


@pytest.fixture
def asking(site: Path, serve_here: Callable[..., Any]) -> Any:
    declare(Folder(site).access, Reach.TOKENS)
    people = {"carla": PersonRole.CUSTODIAN, **dict.fromkeys(("ana", "bob", "zoe"), PersonRole.ANALYST)}
    tokens = {name: add_token(Folder(site).access, name=name, role=role) for name, role in people.items()}
    found = Asking(serve_here(site, kind=Endless), tokens)
    yield found
    found.hang_up()


def until(what: Callable[[], bool]) -> None:
    """Wait for something that comes in the end."""
    for _ in range(100 * LONG):
        if what():
            return
        time.sleep(0.01)
    raise AssertionError("it did not come")


def test_who_floods_a_site_leaves_workers_to_others(asking: Asking) -> None:
    for address in ENDLESS[:50]:
        asking.send(address, "ana")
    asking.here.service.wait_for(EACH)
    assert asking.get(TABLE, "bob").status_code == 200
    assert asking.get("/people/table?rows=sex&columns=region", "bob").status_code == 200
    assert not asking.here.service.begun.acquire(blocking=False), "one person never has more"


def test_metrics_tell_how_many_questions_wait(asking: Asking) -> None:
    def waiting(many: int) -> bool:
        return f"\nconfide_questions_waiting {many}\n" in asking.get("/metrics", "carla").text

    assert waiting(0)
    for address in ENDLESS[:20]:
        asking.send(address, "ana")
    until(lambda: waiting(20 - EACH))


def test_pages_and_kept_answers_wait_for_no_question(asking: Asking) -> None:
    kept = asking.get(TABLE, "ana")
    for who in ("ana", "bob"):
        for address in ENDLESS[:50]:
            asking.send(address, who)
    asking.here.service.wait_for(WORKERS)
    home = asking.get("/", "zoe")
    static = "/static/" + home.text.partition("/static/")[2].partition('"')[0]
    for address in ("/people", "/people/table/build", "/about", "/api/datasets", static):
        assert asking.get(address, "zoe").status_code == 200
    again = asking.get(TABLE, "ana")
    assert again.content == kept.content and len(asking.here.service.recorded()) == 1
    assert asking.get("/people/table?rows=sex", "ana").status_code == 200


def test_what_was_abandoned_is_interrupted_and_recorded_and_workers_are_free_again(asking: Asking) -> None:
    """Of those that waited, one may be begun before the server knows that nobody waits for it: then it is recorded too."""
    service = asking.here.service
    for address in ENDLESS[:50]:
        asking.send(address, "ana")
    service.wait_for(EACH)
    asking.hang_up()
    until(lambda: len(service.recorded()) >= EACH)
    service.on = False
    assert asking.get(ENDLESS[-1], "ana").status_code in (200, 403), "the workers are free again"
    cancelled = [entry for entry in service.recorded() if entry.outcome == "cancelled"]
    assert EACH <= len(cancelled) <= 50
    assert all(entry.who == "ana" and not entry.answer and not entry.rules for entry in cancelled)


def test_who_asks_in_two_projects_has_no_more_turns_and_the_ledger_says_in_which_a_question_was_cancelled(
    asking: Asking, site: Path
) -> None:
    service, file, projects = asking.here.service, Folder(site).access, ("taxes", "wages")
    for name in projects:
        add_project(file, Project(name, "Who pays", people=("ana",), datasets=("people",)))
        terms = TokenTerms(name, project=name)
        asking.tokens[name] = add_token(file, name="ana", role=PersonRole.ANALYST, terms=terms)
    for address in ENDLESS[:10]:
        for name in projects:
            asking.send(address, name)
    service.wait_for(EACH)
    assert asking.get(TABLE, "carla").status_code == 200
    assert not service.begun.acquire(blocking=False), "one person never has more"
    asking.hang_up()
    until(lambda: len(service.recorded()) > EACH)  # more, if some came in when the first were interrupted
    cancelled = service.recorded()[1:]
    assert {(entry.who, entry.outcome) for entry in cancelled} == {("ana", "cancelled")}
    assert {entry.project for entry in cancelled} <= {*projects}
    assert service.asked_today("taxes") + service.asked_today("wages") >= EACH


def test_a_question_that_somebody_else_of_the_same_name_waits_for_is_not_cancelled(asking: Asking) -> None:
    service = asking.here.service
    leaving = asking.send(ENDLESS[0], "ana")
    service.wait_for(1)
    page = asking.send(ENDLESS[0].replace(".json", ""), "ana")
    redirect = page.recv(4096)
    assert redirect.startswith(b"HTTP/1.1 303 ") and b"location: /jobs/" in redirect
    leaving.close()
    job = redirect.partition(b"location: ")[2].partition(b"\r\n")[0].decode()
    for _ in range(5):
        assert asking.get(job, "ana").status_code == 200
    assert not service.recorded()


def test_too_many_open_questions_of_one_are_429_with_the_time_to_wait(
    asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "MOST_OPEN_EACH", EACH)
    for address in ENDLESS[:EACH]:
        asking.send(address, "ana")
    asking.here.service.wait_for(EACH)
    for address in (ENDLESS[EACH], ENDLESS[EACH].replace(".json", "")):
        answer = asking.get(address, "ana")
        assert answer.status_code == 429 and 1 <= int(answer.headers["Retry-After"]) <= 60
        assert "Wait until some are finished" in answer.text
    assert asking.get(ENDLESS[EACH], "ana").json()["reasons"][0]["rule"] == "quota.waiting"
    assert asking.get(TABLE, "bob").status_code == 200
    monkeypatch.setattr(jobs, "MOST_OPEN", EACH)
    full = asking.get(TABLE.replace("sex", "region"), "bob")
    assert full.status_code == 503 and full.headers["Retry-After"] == "60" and full.json()["title"] == "Refused"
    assert asking.get(TABLE, "bob").status_code == 200, "what is kept is given all the same"


def test_a_server_that_stops_cancels_what_goes_on(asking: Asking) -> None:
    service = asking.here.service
    asking.send(ENDLESS[0], "ana")
    service.wait_for(1)
    asking.here.stop()
    assert [entry.outcome for entry in service.recorded()] == ["cancelled"]


def test_a_question_that_takes_too_long_is_refused_and_recorded(
    site: Path, policy: Callable[..., None], serve_here: Callable[..., Any]
) -> None:
    policy(site, seconds=1)
    here = serve_here(site, kind=Endless)
    answer = here.get(ENDLESS[0])
    assert answer.status_code == 403 and answer.json()["reasons"][0]["rule"] == "quota.seconds"
    [entry] = here.service.recorded()
    assert entry.outcome == "refused" and entry.rules == ("quota.seconds",)
    page = here.get(ENDLESS[1].replace(".json", ""))
    assert "too much at once" in page.text
