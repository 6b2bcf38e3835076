"""Projects: who asks together sees what others do not, within a quota and limits of their own."""

from dataclasses import replace

import pytest

from confide.answering.service import Service
from confide.errors import Denied, Fault, Mistake
from confide.model.request import TableRequest
from confide.site import ledger
from confide.site.access import (
    PersonRole,
    Project,
    Reach,
    TokenTerms,
    add_project,
    add_token,
    declare,
    load_access,
    remove_project,
)
from confide.site.folder import Folder
from confide.spelling.python import read_arguments

SALES = Project("sales", "How firms sell", people=("ana", "ben"), datasets=("firms",), quota=3)
FIRMS = "/firms/table.json?rows=region"


def bearer(token):
    return {"headers": {"Authorization": f"Bearer {token}"}}


def table(dataset, rows):
    return read_arguments(TableRequest, dataset, {"rows": rows})


@pytest.fixture
def file(site):
    declare(Folder(site).access, Reach.PUBLIC, names=["stats.example.org"])
    add_project(Folder(site).access, SALES)
    return Folder(site).access


def token(file, name, **terms):
    return add_token(file, name=name, role=PersonRole.ANALYST, terms=TokenTerms(**terms))


def person(file, name, project):
    shown = token(file, name, project=project)
    return load_access(file).person(shown)


def test_the_data_sets_of_a_project_are_there_for_its_people_and_for_nobody_else(file, site, serve_here):
    ana, own = token(file, "ana", project="sales"), token(file, "ana", label="own")
    named, carla = token(file, "dora", datasets=("firms",)), add_token(file, name="carla", role=PersonRole.CUSTODIAN)
    here = serve_here(site)
    for who in (bearer(ana), bearer(named), bearer(carla)):
        assert here.get(FIRMS, **who).status_code == 200
    for who in ({}, bearer(own)):
        assert here.get(FIRMS, **who).status_code == 404
        assert here.get("/people/table.json?rows=sex", **who).status_code == 200
    assert here.get("/people/table.json?rows=sex", **bearer(ana)).status_code == 404
    page = here.get("/project", **bearer(ana)).text
    assert "How firms sell" in page and "ana, ben" in page and "1 of 3" in page
    assert here.get("/project", **bearer(own)).status_code == 404
    entries = list(ledger.read_questions(Folder(site).ledger))
    assert {(entry.who, entry.project) for entry in entries if entry.dataset == "firms"} == {
        ("ana", "sales"), ("dora", ""), ("carla", ""),
    }  # fmt: skip


def test_the_quota_of_a_project_is_shared_by_its_people_and_survives_a_restart(file, site):
    ana, ben = (person(file, name, "sales") for name in ("ana", "ben"))
    for opening in range(2):
        with Service.open(site) as service:
            if not opening:
                for who, rows in ((ana, "region"), (ben, "region"), (ana, "region")):
                    service.answer(table("firms", rows), who=who.asking)
            with pytest.raises(Exception, match="'sales' has asked 3 questions today") as refused:
                service.answer(table("firms", "region"), who=ben.asking)
            assert [reason.rule for reason in refused.value.reasons] == ["quota.project"]
            assert service.asked_today("sales") == 3
            service.answer(table("firms", "region"), who="somebody else")


def test_who_leaves_a_project_and_a_project_without_people_open_nothing(file):
    ana = token(file, "ana", project="sales")
    assert load_access(file).person(ana).datasets == ("firms",)
    for people in ((), ("ben",)):
        remove_project(file, name="sales")
        with pytest.raises(Denied):
            load_access(file).person(ana)
        add_project(file, replace(SALES, people=people))
        with pytest.raises(Denied):
            load_access(file).person(ana)
    with pytest.raises(Mistake, match="no project called 'sails'.*Did you mean 'sales'"):
        token(file, "ana", project="sails", label="x")
    with pytest.raises(Mistake, match="already"):
        add_project(file, SALES)
    assert load_access(file).projects == (replace(SALES, people=("ben",)),)


def test_a_project_may_have_limits_of_its_own_and_no_other_noise(file, site, run):
    words = ["project", "add", str(site), "few", "--purpose", "Small tables", "--dataset", "people", "--person", "ana"]
    draft = site.parent / "few.toml"
    draft.write_text('preset = "site"\n[counts]\nvariance = 9.0\n')
    wrong = run(*words, "--policy", str(draft))
    assert wrong.returncode == 2 and b"protects numbers otherwise" in wrong.stderr
    draft.write_text('preset = "site"\n[audit]\nlimit = 3.0\n')
    assert b"another limit of the audit" in run(*words, "--policy", str(draft)).stderr
    draft.write_text('preset = "site"\n[tables]\ndimensions = 1\n')
    assert run(*words, "--policy", str(draft)).returncode == 0
    ana = person(file, "ana", "few")
    with Service.open(site) as service:
        with pytest.raises(Exception, match="variable") as refused:
            service.answer(table("people", ["sex", "region"]), who=ana.asking)
        assert refused.value.policy.startswith("standard for few")
        inside = service.answer(table("people", "sex"), who=ana.asking)
        outside = service.answer(table("people", "sex"))
        assert inside.columns == outside.columns and inside.receipt != outside.receipt
        service.answer(table("people", ["sex", "region"]))
    again = run("ledger", "reproduce", str(site), inside.receipt)
    assert again.returncode == 0 and b"This is the answer that was recorded" in again.stdout, again.stderr
    with Service.open(site) as service:
        Folder(site).project("few").unlink()
        with pytest.raises(Fault, match="'few' cannot be used"):
            service.answer(table("people", "sex"), who=ana.asking)


def test_a_project_whose_policy_is_lost_is_told_so_on_a_page_too(file, site, serve_here):
    add_project(file, Project("few", "Small tables", people=("ana",), datasets=("people",), policy=True))
    ana, here = bearer(token(file, "ana", project="few")), serve_here(site)
    for address in ("/people/table?rows=sex", "/people/table.json?rows=sex"):
        lost = here.get(address, **ana)
        assert lost.status_code == 500 and "<td" not in lost.text and '"value"' not in lost.text
    assert "Something went wrong on our side" in here.get("/people/table?rows=sex", **ana).text
    assert not list(ledger.read_questions(Folder(site).ledger))


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"name": "a b"}, "cannot name a project"),
        ({"purpose": ""}, "purpose"),
        ({"datasets": ()}, "needs a data set"),
        ({"quota": -1}, "quota"),
        ({"people": ("anyone",)}, "without a token"),
    ],
)
def test_what_cannot_be_a_project_is_a_mistake(fields, complaint):
    with pytest.raises(Mistake, match=complaint):
        replace(SALES, **fields)


@pytest.mark.parametrize("line", ["people = 'ana'", "review = 1", "policy = 'yes'", "quota = 1.5", "other = 1"])
def test_a_project_that_is_spelled_wrong_lets_nobody_in(file, line):
    file.write_text(file.read_text() + f"\n[[project]]\nname = 'x'\npurpose = 'y'\ndatasets = ['firms']\n{line}\n")
    with pytest.raises(Mistake):
        load_access(file)
