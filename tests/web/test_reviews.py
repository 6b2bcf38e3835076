"""Results that wait for a custodian's yes or no, as the asker and the custodian see them."""

from threading import Event

import pytest

import confide
from confide.answering.service import Service
from confide.errors import Fault, Mistake, Refused, Waiting
from confide.model.request import CorrelationRequest, RegressionRequest, TableRequest
from confide.site import ledger
from confide.site.access import (
    Person,
    PersonRole,
    Project,
    Reach,
    TokenTerms,
    add_project,
    add_token,
    declare,
    load_access,
)
from confide.site.folder import Folder
from confide.site.reviews import ReviewState
from confide.spelling.python import read_arguments

TABLE = "/people/table.json?rows=sex"
CARLA = Person("carla", PersonRole.CUSTODIAN)


def bearer(token):
    return {"headers": {"Authorization": f"Bearer {token}"}}


@pytest.fixture
def file(site):
    declare(Folder(site).access, Reach.TOKENS)
    return Folder(site).access


def test_a_result_that_the_policy_marks_waits_until_a_custodian_says_yes(file, site, policy, serve_here, browser, run):
    policy(site, tables="true")
    ana, ben = (add_token(file, name=name, role=PersonRole.ANALYST) for name in ("ana", "ben"))
    carla = add_token(file, name="carla", role=PersonRole.CUSTODIAN)
    here = serve_here(site)
    for _ in range(2):
        waits = here.get(TABLE, **bearer(ana))
        assert waits.status_code == 202 and waits.json()["title"] == "Waiting" and "value" not in waits.json()
        assert waits.json()["reasons"][0]["rule"] == "review.waiting"
    page = here.get("/people/table?rows=sex", **bearer(ana))
    assert page.status_code == 202 and "under review" in page.text and "<td" not in page.text
    with confide.open(here.url, token=ana) as client:
        with pytest.raises(Waiting):
            client["people"].table(rows="sex")
        (mine,) = client.reviews()
        assert mine["state"] == "waiting" and mine["who"] == "ana"
    told = run("table", here.url, "people", "--rows", "sex", "--token", ana)
    assert told.returncode == 3 and told.stderr.startswith(b"Waiting: It waits")
    listed = run("review", "list", here.url, "--token", ana)
    assert mine["id"].encode() in listed.stdout and b"waiting" in listed.stdout
    assert here.get("/api/reviews", **bearer(ben)).json() == {"reviews": []}
    assert mine["id"] not in here.get("/reviews", **bearer(ben)).text
    assert here.get("/custodian/review", **bearer(ana)).status_code == 403

    assert here.get(TABLE, **bearer(carla)).status_code == 200
    custodian = browser(here)
    csrf = custodian.secret("/login")
    assert custodian.post("/login", {"csrf": csrf, "token": carla}).status_code == 303
    address = f"/custodian/review?id={mine['id']}"
    assert "Female" in custodian.get(address).text
    fields = {"csrf": custodian.secret(address), "id": mine["id"], "say": "yes"}
    assert custodian.post("/custodian/review", fields | {"reason": ""}).status_code == 422
    assert custodian.post("/custodian/review", fields | {"reason": "Large groups"}).status_code == 303
    assert custodian.post("/custodian/review", fields | {"reason": "Again"}).status_code == 422
    assert here.get(TABLE, **bearer(ana)).status_code == 200
    assert here.get(TABLE, **bearer(ben)).status_code == 202
    assert "Large groups" in here.get("/reviews", **bearer(ana)).text
    kept = [(e.who, e.outcome, e.rules or e.request.get("act")) for e in ledger.last(Folder(site).ledger, 20)]
    assert kept == [
        ("ana", "refused", ("review.waiting",)),
        ("carla", "released", None),
        ("carla", "done", "review yes"),
        ("ana", "released", None),
        ("ben", "refused", ("review.waiting",)),
    ]


def test_a_no_is_told_with_its_reason_on_the_command_line_too_while_the_site_is_served(
    file, site, policy, serve_here, run
):
    policy(site, tables="true")
    ana = add_token(file, name="ana", role=PersonRole.ANALYST)
    here = serve_here(site)
    assert here.get(TABLE, **bearer(ana)).status_code == 202
    (waiting,) = here.get("/api/reviews", **bearer(ana)).json()["reviews"]
    said = run("review", "no", str(site), waiting["id"], "--reason", "Ask by region")
    assert said.returncode == 0, said.stderr
    told = here.get(TABLE, **bearer(ana))
    assert told.status_code == 403 and told.json()["reasons"] == [
        {"rule": "review.no", "text": "A custodian said no: Ask by region"}
    ]
    assert run("review", "yes", str(site), waiting["id"], "--reason", "x").returncode == 2
    assert run("review", "yes", str(site), "0" * 12, "--reason", "x").returncode == 2
    entry = ledger.last(Folder(site).ledger, 1)[0]
    assert entry.request["act"] == "review no" and entry.request["reason"] == "Ask by region"
    assert entry.request["receipt"] == waiting["receipt"] and entry.request["asker"] == "ana"


def test_all_results_of_a_project_wait_and_models_where_the_policy_says(file, site, policy):
    policy(site, models="true")
    add_project(file, Project("sales", "How firms sell", people=("ana",), datasets=("firms", "people"), review=True))
    inside, outside = (
        add_token(file, name="ana", role=PersonRole.ANALYST, terms=terms)
        for terms in (TokenTerms(project="sales"), TokenTerms("own", datasets=("people",)))
    )
    ana, own = (load_access(file).person(shown).asking for shown in (inside, outside))
    table = read_arguments(TableRequest, "people", {"rows": "sex"})
    model = read_arguments(CorrelationRequest, "people", {"variables": ["age", "income"]})
    with Service.open(site) as service:
        service.answer(table, who=own)
        for request, who in ((model, own), (table, ana), (model, ana)):
            with pytest.raises(Waiting):
                service.answer(request, who=who)
        service.answer(model)
        assert len(service.reviews_of(CARLA)) == 3 and len(service.reviews_of(ana.person)) == 2
        first = service.reviews_of(own.person)[0]
        service.decide(first.id, ReviewState.YES, custodian=CARLA, reason="Fine")
        service.answer(model, who=own)
        with pytest.raises(Waiting):
            service.answer(model, who=ana)


def test_a_model_answered_without_some_classes_waits_and_is_there_after_the_yes(file, site, policy):
    """No child is employed: what waits is the model without them, and it is given to who asked for the other."""
    policy(site, models="true")
    shown = add_token(file, name="ana", role=PersonRole.ANALYST, terms=TokenTerms("own", datasets=("people",)))
    own = load_access(file).person(shown).asking
    words = {"formula": "employment=employed ~ age_group + sex", "family": "binomial"}
    model = read_arguments(RegressionRequest, "people", words)
    with Service.open(site) as service:
        for _ in range(2):
            with pytest.raises(Waiting):
                service.answer(model, who=own)
        [review] = service.reviews_of(own.person)
        service.decide(review.id, ReviewState.YES, custodian=CARLA, reason="Fine")
        answer = service.answer(model, who=own)
        assert answer.notes[0].startswith("Records of age_group ") and answer.receipt == review.receipt


class Later(Service):
    """A site that answers when it may."""

    def __init__(self, *site, **options):
        super().__init__(*site, **options)
        self.may = Event()

    def answer(self, request, **more):
        assert self.may.wait(60)
        return super().answer(request, **more)


def test_a_result_that_takes_long_waits_too_and_is_there_after_the_yes(file, site, policy, serve_here):
    policy(site, tables="true")
    ana = bearer(add_token(file, name="ana", role=PersonRole.ANALYST))
    here, page = serve_here(site, kind=Later), "/people/table?rows=sex"
    sent = here.get(page, **ana)
    assert sent.status_code == 303 and here.get(sent.headers["location"], **ana).status_code == 200
    here.service.may.set()
    assert here.get(TABLE, **ana).status_code == 202, "asked once: it waits for the job"
    told = here.get(page, **ana)
    assert told.status_code == 202 and "under review" in told.text and "<td" not in told.text
    (waiting,) = here.service.reviews_of(CARLA)
    here.service.decide(waiting.id, ReviewState.YES, custodian=CARLA, reason="Large groups")
    assert "<td" in here.get(page, **ana).text
    outcomes = [entry.outcome for entry in ledger.read_questions(Folder(site).ledger)]
    assert outcomes == ["refused", "released"]


def test_what_a_rule_refuses_never_waits_and_a_spoilt_review_releases_nothing(file, site, policy):
    policy(site, tables="true")
    ana = Person("ana", PersonRole.ANALYST).asking
    with Service.open(site) as service:
        many = read_arguments(
            TableRequest, "people", {"rows": ["sex", "region", "age_group", "occupation", "education"]}
        )
        with pytest.raises(Refused) as refused:
            service.answer(many, who=ana)
        assert not isinstance(refused.value, Waiting) and not service.reviews_of(CARLA)
        with pytest.raises(Waiting):
            service.answer(read_arguments(TableRequest, "people", {"rows": "sex"}), who=ana)
        (waiting,) = (site / "reviews").glob("*.json")
        assert waiting.stat().st_mode & 0o777 == 0o600
        waiting.write_text("{")
        with pytest.raises(Fault, match="withheld"):
            service.answer(read_arguments(TableRequest, "people", {"rows": "sex"}), who=ana)
        with pytest.raises(Mistake):
            service.review("../secret")


def test_a_yes_to_a_model_gives_no_residuals_that_nobody_has_seen(file, site, policy, serve_here, run):
    policy(site, models="true")
    ana = add_token(file, name="ana", role=PersonRole.ANALYST)
    here = serve_here(site)
    model = "/people/regression.json?formula=hours~age"
    assert here.get(model, **bearer(ana)).status_code == 202
    with confide.open(here.url, token=ana) as client:
        (waiting,) = client.reviews()
    assert run("review", "yes", site, waiting["id"], "--reason", "Fine").returncode == 0
    assert here.get(model, **bearer(ana)).status_code == 200
    refused = here.get(model + "&diagnostics=true", **bearer(ana))
    assert refused.status_code == 422 and "without residuals" in refused.json()["detail"]
