"""Questions of pages and programs: asked, recorded and counted once for their asker, in whatever format they are looked at."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import Event

import pytest

from confide.answering.service import Service
from confide.errors import Mistake, Refused
from confide.model.model_release import ModelRelease
from confide.model.release import Release
from confide.site.access import PersonRole, Reach, add_token, declare
from confide.site.folder import Folder
from confide.site.ledger import read
from confide.spelling.url import read_url
from confide.web.api import create_app
from confide.web.questions import EACH, KEPT, Questions
from confide.web.under_way.jobs import Job, JobState

LONG = 60
"""Seconds after which a test gives up: only a test that fails waits so long."""

SEX = read_url("people/table?rows=sex")
REFUSED = read_url("people/table?rows=occupation&where=municipality=N501;age_group=20-29")
MODEL = read_url("people/regression?formula=income~age%2Bhours")


class Held(Service):
    """A site that can be made to take long: it answers when it is let go."""

    def __init__(self, *site, **options):
        super().__init__(*site, **options)
        self.go = Event()
        self.go.set()

    def answer(self, request, **more):
        assert self.go.wait(LONG)
        return super().answer(request, **more)

    @contextmanager
    def taking_long(self):
        self.go.clear()
        try:
            yield
        finally:
            self.go.set()


@pytest.fixture
def service(site):
    with Held.open(site) as opened:
        yield opened


@pytest.fixture
def make(service):
    """Make questions that end with the test."""
    made = []

    def making(**options):
        made.append(Questions(service, **{"patience": LONG, **options}))
        return made[-1]

    yield making
    for each in made:
        each.close()


@pytest.fixture
def questions(make):
    """Questions whose pages wait for their answers as long as it takes."""
    return make()


@pytest.fixture
def impatient_questions(make):
    """Questions whose pages wait for nothing: every answer becomes a job, unless it is kept."""
    return make(patience=0)


def ask(questions, question, *, who="ana", **more):
    """As a page asks: for its patience."""
    return asked_for(questions, question, questions.patience, who=who, address="/page", **more)


def program(questions, question, *, who="ana", **more):
    """As a program asks: however long it takes."""
    return asked_for(questions, question, LONG, who=who, **more)


def asked_for(questions, question, seconds, *, diagnose=False, **more):
    job = questions.begin(question, diagnose=diagnose, **more)
    try:
        over = job.wait(seconds)
        if not over:
            questions.show(job)
    finally:
        questions.leave(job)
    return questions.outcome(job, diagnose=diagnose) if over else job


def finish(job):
    assert isinstance(job, Job) and job.wait(LONG)
    return job


def asked(service):
    return [entry.who for entry in read(service.papers.ledger)]


# ---- one question


def test_an_answer_in_time_is_given_at_once(questions):
    assert isinstance(ask(questions, SEX), Release)


def test_a_long_question_becomes_a_job_and_is_asked_once(service, impatient_questions):
    with service.taking_long():
        job = ask(impatient_questions, SEX)
        assert isinstance(job, Job) and job.state in (JobState.WAITING, JobState.RUNNING)
    assert finish(job).state is JobState.DONE and job.running_since is not None
    assert ask(impatient_questions, SEX) == service.answer(SEX, who="another")
    assert isinstance(ask(impatient_questions, SEX), Release)
    assert asked(service) == ["ana", "another"]


def test_a_page_and_a_program_share_the_answer_whoever_comes_first(service, questions):
    page = ask(questions, SEX)
    assert program(questions, SEX) is page
    again = program(questions, replace(SEX, rows=("region",)))
    assert ask(questions, replace(SEX, rows=("region",))) is again
    assert asked(service) == ["ana", "ana"]


def test_a_program_waits_for_the_job_of_a_page(service, impatient_questions):
    with service.taking_long():
        job = ask(impatient_questions, MODEL, diagnose=True)
    found = program(impatient_questions, MODEL, diagnose=True)
    assert isinstance(job, Job) and job.done and job.outcome is found and asked(service) == ["ana"]


def test_the_same_question_at_the_same_time_is_one(service, questions):
    ways = (ask, program)
    with ThreadPoolExecutor(8) as people:
        found = list(people.map(lambda number: ways[number % 2](questions, SEX), range(8)))
    assert asked(service) == ["ana"] and all(each is found[0] for each in found)


def test_spellings_of_one_question_are_one(service, questions):
    ask(questions, read_url("people/regression?formula=employed~age&family=binomial"))
    ask(questions, read_url("people/regression?formula=employment=employed~age&family=binomial"))
    assert asked(service) == ["ana"]


def test_two_askers_are_two_questions(service, questions):
    for who in ("ana", "bob", "ana", "bob"):
        ask(questions, SEX, who=who)
        program(questions, SEX, who=who)
    assert asked(service) == ["ana", "bob"]


def test_a_job_is_the_askers_alone(service, impatient_questions):
    with service.taking_long():
        job = ask(impatient_questions, SEX)
        assert impatient_questions.job(job.id, who="bob") is None
    finish(job)
    assert impatient_questions.job(job.id, who="ana") is job and impatient_questions.job(job.id, who="bob") is None


def test_a_refusal_is_kept_and_counted_once(service, questions):
    told = []
    for way in (ask, ask, program):
        with pytest.raises(Refused) as caught:
            way(questions, REFUSED)
        told.append((caught.value.reasons, caught.value.suggestions))
    assert told[0] == told[1] == told[2] and told[0][0]
    assert asked(service) == ["ana"]


def test_a_mistake_is_told_at_once_and_never_a_job(questions):
    for way in (ask, program):
        with pytest.raises(Mistake, match="aeg"):
            way(questions, read_url("people/table?rows=aeg"))
    assert len(questions) == 0


def test_what_a_quota_refuses_is_not_kept(site, policy):
    policy(site, per_day=1)
    with Service.open(site) as service:
        questions = Questions(service, patience=LONG)
        ask(questions, SEX)
        for _ in range(2):
            with pytest.raises(Refused) as caught:
                ask(questions, read_url("people/table?rows=region"))
            assert caught.value.reasons[0].rule == "quota.per_day"
            assert len(questions) == 1
        assert isinstance(program(questions, SEX), Release), "what was answered is still there"
        questions.close()


def test_a_question_is_asked_again_when_its_outcome_is_no_longer_kept(service, make):
    now = [0.0]
    questions = make(clock=lambda: now[0])
    for moment in (0.0, KEPT - 1, KEPT + 1, KEPT + 2):
        now[0] = moment
        ask(questions, SEX)
        program(questions, SEX)
    assert asked(service) == ["ana", "ana"]


def test_under_another_policy_it_is_another_question(site, policy):
    for cells in (20_000, 19_999):
        policy(site, cells=cells)
        with Service.open(site) as service:
            questions = Questions(service, patience=LONG)
            ask(questions, SEX)
            program(questions, SEX)
            questions.close()
    entries = list(read(Folder(site).ledger))
    assert len(entries) == 2 and entries[0].receipt != entries[1].receipt


# ---- diagnostics


def test_a_model_with_diagnostics_is_the_model_without_them_too(service, questions):
    full = ask(questions, MODEL, diagnose=True)
    plain = program(questions, MODEL)
    assert full.charts and isinstance(plain, ModelRelease)
    assert plain == ask(questions, MODEL) == service.answer(MODEL, who="another")
    assert asked(service) == ["ana", "another"]


def test_diagnostics_asked_for_later_are_counted_once_more(service, questions):
    assert not ask(questions, MODEL).charts
    for _ in range(2):
        assert ask(questions, MODEL, diagnose=True).charts and program(questions, MODEL, diagnose=True).charts
    assert asked(service) == ["ana", "ana"]


@pytest.mark.parametrize("first", [True, False])
def test_a_refused_model_is_refused_once_with_and_without_diagnostics(service, questions, first):
    refused = read_url("people/regression?formula=income~age&where=municipality=N501;age_group=20-29")
    for diagnose in (first, not first, first):
        with pytest.raises(Refused):
            ask(questions, refused, diagnose=diagnose)
        with pytest.raises(Refused):
            program(questions, refused, diagnose=diagnose)
    assert asked(service) == ["ana"]


# ---- bounds


def test_outcomes_are_kept_within_the_memory_and_no_more(service, make):
    questions = make(memory=100_000)
    countries = service.datasets["people"].variables["country_of_birth"].codes.names
    for country in countries:
        with suppress(Refused):
            ask(questions, read_url(f"people/table?rows=sex&where=country_of_birth={country}"))
    assert len(asked(service)) == len(countries) > len(questions) and 10 <= len(questions) <= 100_000 // 6_000


def test_outcomes_with_plots_are_kept_in_smaller_numbers(make):
    questions = make(memory=20_000_000)
    for predictor in ("age", "hours", "children", "log(hours)", "sqrt(age)"):
        ask(questions, read_url(f"people/regression?formula=income~{predictor}"), diagnose=True)
    assert 2 <= len(questions) <= 4


def test_closing_records_what_is_answered_and_nothing_else(service, make):
    questions = make(patience=0)
    models = [
        read_url(f"people/regression?formula={response}~age")
        for response in ("hours", "income", "wages", "taxes", "children")
    ]
    opened = [ask(questions, model, diagnose=True) for model in models]
    questions.close()
    states = [job.state for job in opened if isinstance(job, Job)]
    assert set(states) <= {JobState.DONE, JobState.FAILED}
    done = states.count(JobState.DONE) + sum(not isinstance(job, Job) for job in opened)
    recorded = [entry.outcome for entry in read(service.papers.ledger)]
    assert recorded.count("released") == done, "nothing is answered and not recorded"
    assert recorded.count("cancelled") == len(recorded) - done <= EACH, "what was begun is recorded as well"


# ---- over HTTP


DOWNLOADS = ("json", "csv", "xlsx")
PAGES = {
    "table": "rows=sex&columns=region",
    "correlation": "variables=age,income,hours",
    "regression": "formula=income~age",
    "regression with plots": "formula=income~age&diagnostics=true",
}


def addresses(words):
    """The page of a question, and its downloads."""
    ask = words.partition(" ")[0]
    return [f"/people/{ask}?{PAGES[words]}", *(f"/people/{ask}.{ending}?{PAGES[words]}" for ending in DOWNLOADS)]


@pytest.mark.parametrize("words", PAGES)
@pytest.mark.parametrize("backwards", [False, True])
def test_a_page_and_its_downloads_are_one_question_in_the_ledger_and_the_quota(
    site, policy, serve_here, wait_for, words, backwards
):
    policy(site, per_day=1)
    here = serve_here(site)
    for address in sorted(addresses(words), reverse=backwards) * 2:
        assert wait_for(here, address).status_code == 200, address
    assert asked(here.service) == ["anyone"]
    other = here.get("/people/table.json?rows=education")
    assert other.status_code == 403 and other.json()["reasons"][0]["rule"] == "quota.per_day"


def test_a_page_with_plots_and_everything_without_them_are_one_question(site, serve_here, wait_for):
    here = serve_here(site)
    for address in [*addresses("regression with plots"), *addresses("regression")]:
        assert wait_for(here, address).status_code == 200, address
    assert asked(here.service) == ["anyone"]
    assert "charts" not in here.get("/people/regression.json?formula=income~age").json()


def test_a_refused_page_and_its_downloads_are_one_refusal(site, serve_here, wait_for):
    here = serve_here(site)
    query = "rows=occupation&where=municipality=N501;age_group=20-29"
    page = wait_for(here, f"/people/table?{query}")
    told = [here.get(f"/people/table.{ending}?{query}") for ending in DOWNLOADS]
    assert page.status_code == 403 and {each.status_code for each in told} == {403}
    first, second, third = (each.json() for each in told)
    assert first["reasons"] == second["reasons"] == third["reasons"]
    assert [offer["text"] for offer in first["suggestions"]] == [offer["text"] for offer in second["suggestions"]]
    assert all(offer["url"].partition("?")[0].endswith(".csv") for offer in second["suggestions"])
    assert len(asked(here.service)) == 1


def test_two_people_are_two_questions_over_http(site, serve_here):
    declare(site / "access.toml", Reach.TOKENS)
    tokens = [add_token(site / "access.toml", name=name, role=PersonRole.ANALYST) for name in ("ana", "bob")]
    here = serve_here(site)
    for address in addresses("table"):
        for token in tokens:
            answer = here.get(address, headers={"Authorization": f"Bearer {token}"}, follow_redirects=True)
            assert answer.status_code == 200
    assert asked(here.service) == ["ana", "bob"]


@pytest.fixture
def impatient(service, serving):
    """The site, served with no patience at all."""
    app = create_app(service)
    app.state.questions.close()
    app.state.questions = Questions(service, patience=0)
    with serving(app) as client:
        yield client


def follow(client, address, service):
    """Ask something that takes long, and follow redirects and refreshes as a browser does; gives all the answers on the way."""
    with service.taking_long():
        way = [client.get(address)]
    while way[-1].status_code == 303 or "refresh" in way[-1].headers:
        assert len(way) < 1000, "no end"
        if "refresh" in way[-1].headers:
            assert int(way[-1].headers["refresh"]) >= 2
            time.sleep(0.05)
        way.append(client.get(way[-1].headers.get("location", way[-1].request.url.raw_path.decode())))
    return way


@pytest.mark.parametrize(
    "address", ["/people/table?rows=sex", "/people/regression?formula=income~age&diagnostics=true"]
)
def test_a_browser_without_scripts_arrives_at_the_answers_own_address(impatient, service, address):
    way = follow(impatient, address, service)
    answer = way[-1]
    assert answer.status_code == 200 and str(answer.url).endswith(address)
    assert way[0].status_code == 303 and way[0].headers["location"].startswith("/jobs/")
    assert len(asked(service)) == 1
    assert impatient.get(address).status_code == 200
    assert len(asked(service)) == 1, "looking again is not asking again"


@pytest.mark.parametrize("words", PAGES)
def test_data_are_answered_at_once_however_impatient_the_site(impatient, service, words):
    page, *data = addresses(words)
    with service.taking_long():
        assert impatient.get(page).status_code == 303
    for address in data:
        assert impatient.get(address).status_code == 200
    assert len(asked(service)) == 1


def test_a_job_page_says_how_far_it_is(impatient, service):
    with service.taking_long():
        job = impatient.get("/people/regression?formula=wages~age*hours&diagnostics=true").headers["location"]
        page = impatient.get(job)
    assert page.status_code == 200 and page.headers["cache-control"] == "no-store"
    assert "Your question is being answered" in page.text and "wages~age*hours" in page.text
    assert "Being worked on" in page.text or "Waiting for its turn" in page.text


def test_a_long_refusal_is_told_at_the_questions_own_address(impatient, service):
    answer = follow(impatient, "/people/table?rows=occupation&where=municipality=N501;age_group=20-29", service)[-1]
    assert answer.status_code == 403 and "What to try" in answer.text
    assert len(asked(service)) == 1


def test_there_is_no_job_to_guess(impatient):
    for number in ("x", "%00", "a" * 5000, "..%2f..%2fetc"):
        answer = impatient.get(f"/jobs/{number}")
        assert answer.status_code == 404 and "text/html" in answer.headers["content-type"]


def test_a_job_is_nothing_to_somebody_else(site, serving):
    declare(site / "access.toml", Reach.TOKENS)
    tokens = {name: add_token(site / "access.toml", name=name, role=PersonRole.ANALYST) for name in ("ana", "bob")}
    with Held.open(site) as service:
        app = create_app(service)
        app.state.questions.close()
        app.state.questions = Questions(service, patience=0)
        with serving(app) as client, service.taking_long():
            ana, bob = ({"Authorization": f"Bearer {token}"} for token in tokens.values())
            job = client.get("/people/table?rows=sex", headers=ana).headers["location"]
            assert client.get(job, headers=bob).status_code == 404
            assert client.get(job).status_code == 401
            assert client.get(job, headers=ana).status_code == 200
