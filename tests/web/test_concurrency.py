"""Many at once: a quota is neither exceeded nor wasted, and a token that was removed opens nothing."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import httpx
import pytest

from confide.answering.service import Service
from confide.errors import Mistake, Refused
from confide.model.request import Request
from confide.site.access import PersonRole, Reach, add_token, declare, remove_token
from confide.site.folder import Folder
from confide.site.ledger import read
from confide.spelling.url import read_url
from confide.web.questions import Questions

NAMES = ("sex", "region", "education", "marital", "age_group", "employment")
DIFFERENT = [read_url(f"people/table?rows={rows}&columns={columns}") for rows, columns in permutations(NAMES, 2)]
PEOPLE = 16

Way = Callable[[Request], Any]


def outcomes(way: Way, questions: list[Request]) -> list[str]:
    """How each question comes out, all of them asked at once."""
    together = Barrier(len(questions))

    def ask(question: Request) -> str:
        together.wait(60)
        try:
            way(question)
        except Refused as refusal:
            return refusal.reasons[0].rule
        except Mistake:
            return "mistake"
        return "answered"

    with ThreadPoolExecutor(len(questions)) as pool:
        return list(pool.map(ask, questions))


def ways(service: Service) -> dict[str, Way]:
    """Every way to ask, as one person."""
    questions = Questions(service)

    def program(question: Request) -> Any:
        job = questions.begin(question, who="ana")
        job.wait(60)
        questions.leave(job)
        return questions.outcome(job)

    return {"service": lambda question: service.answer(question, who="ana"), "program": program}


@pytest.mark.parametrize("way", ["service", "program"])
@pytest.mark.parametrize("before", [0, 2, 5])
def test_together_people_get_exactly_the_quota(site: Path, policy: Any, way: str, before: int) -> None:
    policy(site, per_day=5)
    with Service.open(site) as service:
        ask = ways(service)[way]
        for question in DIFFERENT[:before]:
            ask(question)
        found = outcomes(ask, DIFFERENT[before : before + PEOPLE])
        assert found.count("answered") == 5 - before and found.count("quota.per_day") == PEOPLE - (5 - before)
        assert len(list(read(service.papers.ledger))) == 5
        assert outcomes(ask, DIFFERENT[-2:]) == ["quota.per_day"] * 2


def test_mistakes_in_between_use_up_nothing(site: Path, policy: Any) -> None:
    policy(site, per_day=4)
    wrong = read_url("people/table?rows=aeg")
    with Service.open(site) as service:
        mixed = [question for right in DIFFERENT[:8] for question in (right, wrong)]
        found = outcomes(ways(service)["program"], mixed)
        assert (found.count("answered"), found.count("mistake"), found.count("quota.per_day")) == (4, 8, 4)


def test_the_last_question_of_the_day_is_answered_to_all_who_ask_it_at_once(site: Path, policy: Any) -> None:
    policy(site, per_day=1)
    with Service.open(site) as service:
        assert set(outcomes(ways(service)["program"], DIFFERENT[:1] * PEOPLE)) == {"answered"}
        assert len(list(read(service.papers.ledger))) == 1


def test_refusals_count_too_whoever_comes_first(site: Path, policy: Any) -> None:
    policy(site, per_day=6)
    refused = [read_url(f"people/table?rows=occupation,municipality&columns={name}") for name in NAMES[:5]]
    with Service.open(site) as service:
        found = outcomes(ways(service)["program"], [*refused, *DIFFERENT[:5]])
        assert found.count("quota.per_day") == 4
        entries = list(read(service.papers.ledger))
        assert len(entries) == 6 and sum(entry.outcome == "refused" for entry in entries) == sum(
            rule not in ("answered", "quota.per_day") for rule in found
        )


def test_a_removed_token_opens_nothing_while_requests_run(site: Path, serve_here: Any) -> None:
    file = Folder(site).access
    declare(file, Reach.TOKENS)
    add_token(file, name="carla", role=PersonRole.CUSTODIAN)
    here, stop = serve_here(site), Event()
    rounds: list[tuple[str, Event]] = []
    wrong: list[int] = []

    def knock() -> None:
        with httpx.Client(base_url=here.url, timeout=60) as client:
            while not stop.is_set():
                for token, removed in rounds[-2:]:
                    gone = removed.is_set()
                    status = client.get("/api/datasets", headers={"Authorization": f"Bearer {token}"}).status_code
                    if status not in (200, 401) or (gone and status == 200):
                        wrong.append(status)

    with ThreadPoolExecutor(3) as pool:
        knocking = [pool.submit(knock) for _ in range(3)]
        try:
            for number in range(15):
                token, removed = add_token(file, name=f"person {number}", role=PersonRole.ANALYST), Event()
                rounds.append((token, removed))
                header = {"Authorization": f"Bearer {token}"}
                assert here.get("/api/datasets", headers=header).status_code == 200
                remove_token(file, name=f"person {number}")
                removed.set()
                assert here.get("/api/datasets", headers=header).status_code == 401
        finally:
            stop.set()
        for each in knocking:
            each.result()
    assert not wrong
