"""What a service and its roads promise whatever the question: bound receipts, drops, records before answers, hidden limits."""

from collections.abc import Iterator
from dataclasses import replace
from errno import ENOSPC
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confide
from asking import python_correlation, python_regression, python_table
from confide.answering.reproducing import reproduce
from confide.answering.service import Service
from confide.errors import Fault, Mistake, Refused
from confide.model.request import Request
from confide.site.ledger import read
from confide.site.ledger.tail import Tail
from confide.spelling.json import write_request
from edges import OFF, people

QUESTIONS: dict[str, Request[Any]] = {
    "table": python_table("people", rows="town"),
    "regression": python_regression("people", "income ~ age + sex"),
    "correlation": python_correlation("people", ["age", "income"]),
}
NARROW = python_table("people", rows="sex", where={"town": "a1", "age": "20-39", "work": "yes", "ill": "yes"})


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, town: Any) -> Path:
    path = tmp_path_factory.mktemp("asked") / "site"
    confide.add(town.people, path, name="people", catalog=town.catalog, preset="drop-q")
    return path


@pytest.fixture
def service(site: Path) -> Iterator[Service]:
    with Service.open(site) as opened:
        yield opened


@pytest.mark.parametrize("kind", QUESTIONS)
def test_a_receipt_is_bound_to_question_policy_data_and_keys(town: Any, kind: str) -> None:
    request = QUESTIONS[kind]
    others = [
        town.under(output={"digits": 5}).desk().receipt(request),
        town.of(town.people.slice(1)).desk().receipt(request),
        town.desk(1).receipt(request),
        town.desk().receipt(replace(request, where=NARROW.where)),
    ]
    own = town.desk().receipt(request)
    assert own == town.desk().receipt(request)
    assert len({own, *others}) == 5


@pytest.mark.parametrize("kind", QUESTIONS)
def test_numbers_of_every_kind_are_those_of_the_units_that_are_not_dropped(town: Any, kind: str) -> None:
    """Over everyone two to fifty units are dropped: the true numbers before rounding are of fewer units."""
    units = []
    for k in (0, 50):
        considered = town.under(**OFF).under(drop={"k": k}).desk().consider(QUESTIONS[kind])
        found = considered.release.columns["count"].values[-1] if kind == "table" else considered.model.published
        units.append(int(found))
    assert 2 <= units[0] - units[1] <= 50


@pytest.mark.parametrize("kind", ["regression", "correlation"])
def test_the_number_of_units_behind_a_model_is_protected(town: Any, kind: str) -> None:
    """Nobody is dropped, so that only cell keys can make it another one for each secret."""
    keyed = town.under(**OFF).under(counts={"mechanism": "cell-key"})
    published = {keyed.desk(n).consider(QUESTIONS[kind]).model.published for n in range(10)}
    assert len(published) > 1


@pytest.mark.parametrize("kind", ["regression", "correlation"])
def test_what_rests_on_about_as_many_units_as_the_limit_passes_for_some_secrets_only(town: Any, kind: str) -> None:
    """Eleven people of another age where no coefficient may rest on fewer than eleven, and each secret moves the limit."""
    crowd = people((11, {"age": 50.0}), (400, {"age": 10.0}))
    asked = town.under(**OFF).under(models={"leverage_units": 11}).of(crowd)
    request = {**QUESTIONS, "regression": python_regression("people", "income ~ age")}[kind]
    verdicts = [[r.rule for r in asked.desk(n).consider(request).reasons] for n in range(30)]
    assert {tuple(said) for said in verdicts} == {(), ("models.unfit",)}


def fill_the_disk(*_: Any) -> None:
    raise OSError(ENOSPC, "no space")


@pytest.mark.parametrize("when", ["before it is asked", "when it is recorded"])
def test_an_answer_that_cannot_be_recorded_is_not_given(
    service: Service, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if when == "before it is asked":
        service._ledger.close()
    else:
        monkeypatch.setattr(Tail, "write", fill_the_disk)
    for request in (QUESTIONS["table"], NARROW):
        with pytest.raises(Fault):
            service.answer(request)


def test_answers_and_refusals_are_recorded_under_the_policy_in_force(service: Service, site: Path) -> None:
    before = len(list(read(site / "ledger.jsonl")))
    answer = service.answer(QUESTIONS["table"], who="ana")
    with pytest.raises(Refused) as refused:
        service.answer(NARROW, who="ben")
    released, denied = list(read(site / "ledger.jsonl"))[before:]
    assert (released.who, released.outcome, released.rules) == ("ana", "released", ())
    assert (released.receipt, released.answer) == (answer.receipt, answer.digest)
    assert (denied.who, denied.outcome, denied.answer) == ("ben", "refused", "")
    assert denied.rules == tuple(reason.rule for reason in refused.value.reasons)
    assert all(service.policy_of("people").mark in entry.policy for entry in (released, denied))


def test_a_question_that_failed_takes_no_place_of_the_day(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The place is given back: ten faults leave a quota of one untouched."""
    road = service._road("people")
    monkeypatch.setattr(road, "policy", replace(road.policy, quota=replace(road.policy.quota, per_day=1)))
    with monkeypatch.context() as broken:
        broken.setattr(type(road), "consider", lambda road, question: 1 / 0)
        for _ in range(10):
            with pytest.raises(ZeroDivisionError):
                service.answer(QUESTIONS["table"], who="cara")
    assert service.answer(QUESTIONS["table"], who="cara").receipt
    with pytest.raises(Refused, match="today"):
        service.answer(QUESTIONS["table"], who="cara")


def test_only_a_regression_is_diagnosed(service: Service) -> None:
    for kind in ("table", "correlation"):
        with pytest.raises(Mistake):
            service.answer(QUESTIONS[kind], diagnostics=True)


def test_a_refused_question_has_no_answer(town: Any) -> None:
    """Whether it is refused before numbers are gathered or after."""
    road = town.under(tables={"mean_cell": 1e6}).desk().road
    for request in (NARROW, QUESTIONS["table"]):
        considered = road.consider(road.admit(request))
        assert considered.reasons and considered.protected is None
        with pytest.raises(Fault):
            road.release(considered)


def test_what_is_suggested_would_pass_and_is_tried_under_the_same_policy(town: Any) -> None:
    """Nothing is offered where nothing near passes either."""
    strict = town.under(universe={"gamma": 5000})
    assert list(town.desk().suggest(NARROW)) and not list(strict.desk().suggest(NARROW))


def test_what_is_answered_instead_is_what_is_recorded_reproduced_and_limited(tmp_path: Path, town: Any) -> None:
    """Nobody in b1 is ill: the question is answered without b1, under the receipt of that question, and counts as it."""
    people, at = town.people, np.arange(len(town.people))
    towns = np.array(people["town"].to_pylist())
    ill = np.where(towns == "b1", "no", np.array(["no", "yes"])[at % 2])
    people = people.set_column(people.column_names.index("ill"), "ill", [ill])
    confide.add(people, tmp_path / "site", name="people", catalog=town.catalog, preset="open")
    asked = python_regression("people", "ill=yes ~ town + age", family="binomial")
    with Service.open(tmp_path / "site", allow_open=True) as service:
        answer = service.answer(asked, who="ana")
        assert answer.notes[0].startswith("Records of town b1 are left out")
        [entry] = list(read(tmp_path / "site" / "ledger.jsonl"))
        assert entry.request == write_request(answer.request) and "b1" not in str(entry.request["where"])
        assert entry.receipt == answer.receipt == service.answer(answer.request, who="ben").receipt
        assert answer.receipt != service.receipt(service.admit(asked))
    assert reproduce(tmp_path / "site", answer.receipt).same
