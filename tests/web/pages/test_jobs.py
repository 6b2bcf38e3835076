"""Long questions: a job of the asker's own, asked and counted once, bounded, and finished or dropped at the end."""

import time
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress

import pytest

from confide.answering.service import Service
from confide.errors import Mistake, Refused
from confide.model.model_release import ModelRelease
from confide.model.release import Release
from confide.site.access import Role, add_token
from confide.site.ledger import read
from confide.spelling.url import read_url
from confide.web.api import create_app
from confide.web.jobs import MOST_KEPT, MOST_OPEN_EACH, PLOTTED, Job, Jobs, State

SEX = read_url("people/table?rows=sex")
REFUSED = read_url("people/table?rows=sex&where=municipality=N501;age_group=20-29")
MODEL = "people/regression?formula=income~age%2Bhours"


@pytest.fixture
def service(site):
    with Service.open(site) as opened:
        yield opened


@pytest.fixture
def jobs(service):
    """Jobs that wait for nothing: every answer becomes one, unless it is kept."""
    made = Jobs(service, patience=0)
    yield made
    made.close()


def ask(jobs, question, *, who="ana", **more):
    return jobs.answer(question, who=who, address="/page", **more)


def finish(job):
    assert isinstance(job, Job)
    wait([job.future], 30)
    return job


def asked(service):
    return [entry.who for entry in read(service.folder.ledger)]


def test_an_answer_in_time_is_given_at_once(service):
    jobs = Jobs(service, patience=30)
    assert isinstance(ask(jobs, SEX), Release)
    jobs.close()


def test_a_long_question_becomes_a_job_and_is_asked_once(service, jobs):
    job = ask(jobs, SEX)
    assert isinstance(job, Job) and job.state in (State.WAITING, State.RUNNING, State.DONE)
    assert finish(job).state is State.DONE and job.running_since is not None
    assert ask(jobs, SEX) == service.answer(SEX, who="another")
    assert isinstance(ask(jobs, SEX), Release)
    assert asked(service) == ["ana", "another"]


def test_the_same_question_at_the_same_time_is_one_job(service, jobs):
    with ThreadPoolExecutor(8) as people:
        found = list(people.map(lambda _: ask(jobs, SEX), range(8)))
    for job in found:
        if isinstance(job, Job):
            finish(job)
    assert asked(service) == ["ana"] and len({job.id for job in found if isinstance(job, Job)}) <= 1


def test_spellings_of_one_question_are_one_job(service, jobs):
    finish(ask(jobs, read_url("people/regression?formula=employed~age&family=binomial")))
    assert isinstance(
        ask(jobs, read_url("people/regression?formula=employment=employed~age&family=binomial")), ModelRelease
    )


def test_a_job_and_its_outcome_are_the_askers_alone(service, jobs):
    job = finish(ask(jobs, SEX))
    assert jobs.find(job.id, who="ana") is job
    assert jobs.find(job.id, who="bob") is None and jobs.find("", who="ana") is None
    assert jobs.find(job.id + "é", who="ana") is None
    finish(ask(jobs, SEX, who="bob"))
    assert sorted(asked(service)) == ["ana", "bob"]


def test_a_refusal_is_kept_and_counted_once(service, jobs):
    assert finish(ask(jobs, REFUSED)).state is State.REFUSED
    for _ in range(3):
        with pytest.raises(Refused) as caught:
            ask(jobs, REFUSED)
        assert caught.value.reasons
    assert asked(service) == ["ana"]


def test_a_mistake_is_told_at_once_and_never_a_job(jobs):
    with pytest.raises(Mistake, match="aeg"):
        ask(jobs, read_url("people/table?rows=aeg"))
    assert len(jobs) == 0


def test_what_a_quota_refuses_is_not_kept(site, policy):
    policy(site, per_day=1)
    with Service.open(site) as service:
        jobs = Jobs(service, patience=30)
        ask(jobs, SEX)
        for _ in range(2):
            with pytest.raises(Refused) as caught:
                ask(jobs, read_url("people/table?rows=region"))
            assert caught.value.reasons[0].rule == "quota.per_day"
            assert len(jobs) == 1
        assert isinstance(ask(jobs, SEX), Release), "what was answered is still there"
        jobs.close()


def test_a_question_is_asked_again_when_its_outcome_is_no_longer_kept(service):
    jobs = Jobs(service, patience=30, kept=0.05)
    ask(jobs, SEX)
    time.sleep(0.1)
    assert isinstance(ask(jobs, SEX), Release)
    jobs.close()
    assert asked(service) == ["ana", "ana"]


def test_diagnostics_are_a_question_of_their_own(service, jobs):
    finish(ask(jobs, read_url(MODEL)))
    plain = ask(jobs, read_url(MODEL))
    assert isinstance(plain, ModelRelease) and not plain.charts
    finish(ask(jobs, read_url(MODEL), diagnose=True))
    assert ask(jobs, read_url(MODEL), diagnose=True).charts
    assert len(asked(service)) == 2


def test_so_many_outcomes_are_kept_and_no_more(service):
    jobs = Jobs(service, patience=30)
    countries = service.datasets["people"].variables["country_of_birth"].codes.names
    for rows in ("sex", "region", "marital"):
        for country in countries:
            with suppress(Refused):
                ask(jobs, read_url(f"people/table?rows={rows}&where=country_of_birth={country}"))
    assert len(asked(service)) == 3 * len(countries) > MOST_KEPT + 5
    assert len(jobs) == MOST_KEPT + 1
    jobs.close()


def test_outcomes_with_plots_are_kept_in_smaller_numbers(service):
    jobs = Jobs(service, patience=30)
    for predictor in (
        "age",
        "hours",
        "children",
        "sex",
        "region",
        "marital",
        "education",
        "log(hours)",
        "sqrt(age)",
        "sqrt(hours)",
    ):
        ask(jobs, read_url(f"people/regression?formula=income~{predictor}"), diagnose=True)
    assert len(jobs) == MOST_KEPT // PLOTTED + 1
    jobs.close()


def test_nobody_can_have_too_many_questions_open(service, jobs):
    numbers = ["hours", "income", "wages", "taxes", "children"]
    pairs = [(a, b) for a in numbers[1:4] for b in ["age", *numbers] if a != b]
    questions = [read_url(f"people/regression?formula={a}~{b}") for a, b in pairs][: MOST_OPEN_EACH + 4]
    with pytest.raises(Refused, match="Wait until one is finished") as caught:
        for question in questions:
            ask(jobs, question, diagnose=True)
    assert caught.value.http_status == 429 and caught.value.reasons[0].rule == "quota.waiting"
    assert isinstance(ask(jobs, SEX, who="bob"), Job), "others can still ask"


def test_closing_finishes_what_runs_and_drops_what_waits(service):
    jobs = Jobs(service, patience=0)
    questions = [
        read_url(f"people/regression?formula={a}~age") for a in ("hours", "income", "wages", "taxes", "children")
    ]
    opened = [ask(jobs, question, diagnose=True) for question in questions]
    jobs.close()
    states = [job.state for job in opened if isinstance(job, Job)]
    assert set(states) <= {State.DONE, State.FAILED}
    done = states.count(State.DONE) + sum(not isinstance(job, Job) for job in opened)
    assert len(asked(service)) == done, "nothing is recorded that was not answered, nor answered and not recorded"


@pytest.fixture
def impatient(service, serving):
    """The site, served with no patience at all."""
    app = create_app(service)
    app.state.jobs.close()
    app.state.jobs = Jobs(service, patience=0)
    with serving(app) as client:
        yield client


def follow(client, address, **options):
    """Follow redirects and refreshes as a browser does; gives the last answer and the addresses on the way."""
    way = []
    for _ in range(200):
        answer = client.get(address, **options)
        way.append(answer)
        if answer.status_code == 303:
            address = answer.headers["location"]
        elif "refresh" in answer.headers:
            assert int(answer.headers["refresh"]) >= 2
            time.sleep(0.05)
        else:
            return answer, way
    raise AssertionError("no end")


@pytest.mark.parametrize(
    "address", ["/people/table?rows=sex", "/people/regression?formula=income~age&diagnostics=true"]
)
def test_a_browser_without_scripts_arrives_at_the_answers_own_address(impatient, service, address):
    answer, way = follow(impatient, address)
    assert answer.status_code == 200 and str(answer.url).endswith(address)
    assert way[0].status_code == 303 and way[0].headers["location"].startswith("/jobs/")
    assert len(asked(service)) == 1
    assert impatient.get(address).status_code == 200
    assert len(asked(service)) == 1, "looking again is not asking again"


def test_a_job_page_says_how_far_it_is(impatient):
    job = impatient.get("/people/regression?formula=wages~age*hours&diagnostics=true").headers["location"]
    page = impatient.get(job)
    if page.status_code == 200:
        assert "Your question is being answered" in page.text and "wages~age*hours" in page.text
        assert page.headers["cache-control"] == "no-store"
        assert "Being worked on" in page.text or "Waiting for its turn" in page.text


def test_a_long_refusal_is_told_at_the_questions_own_address(impatient, service):
    answer, _ = follow(impatient, "/people/table?rows=sex&where=municipality=N501;age_group=20-29")
    assert answer.status_code == 403 and "What to try" in answer.text
    assert len(asked(service)) == 1


def test_there_is_no_job_to_guess(impatient):
    for number in ("x", "%00", "a" * 5000, "..%2f..%2fetc"):
        answer = impatient.get(f"/jobs/{number}")
        assert answer.status_code == 404 and "text/html" in answer.headers["content-type"]


def test_a_job_is_nothing_to_somebody_else(site, serving):
    tokens = {name: add_token(site / "access.toml", name=name, role=Role.ANALYST) for name in ("ana", "bob")}
    with Service.open(site) as service:
        app = create_app(service)
        app.state.jobs.close()
        app.state.jobs = Jobs(service, patience=0)
        with serving(app) as client:
            ana, bob = ({"Authorization": f"Bearer {token}"} for token in tokens.values())
            job = client.get("/people/table?rows=sex", headers=ana).headers["location"]
            assert client.get(job, headers=bob).status_code == 404
            assert client.get(job).status_code == 401
            assert client.get(job, headers=ana).status_code in (200, 303)
