"""What people with a token keep: on the page, for programs, and by name in questions."""

import pytest

import confide
from confide.errors import Denied, Mistake
from confide.site import ledger
from confide.site.access import PersonRole, Reach, add_token, declare
from confide.site.folder import Folder

TABLE = "/people/table.json?rows=adult"
NAMED = {"dataset": "people", "define": "adult = age >= 20"}


def bearer(token):
    return {"headers": {"Authorization": f"Bearer {token}"}}


@pytest.fixture
def people(site):
    file = Folder(site).access
    declare(file, Reach.TOKENS)
    return {name: add_token(file, name=name, role=PersonRole.ANALYST) for name in ("ana", "ben")}


def test_a_variable_is_kept_on_the_page_and_named_in_questions(people, site, serve_here, browser):
    here = serve_here(site)
    assert here.get("/workspace").status_code == 401
    ana = browser(here)
    assert ana.post("/login", {"csrf": ana.secret("/login"), "token": people["ana"]}).status_code == 303
    assert here.get(TABLE, **bearer(people["ana"])).status_code == 422
    fields = {"csrf": ana.secret("/workspace"), **NAMED}
    assert ana.post("/workspace", fields | {"csrf": "another"}).status_code == 403
    wrong = ana.post("/workspace", fields | {"define": "adult = age >= 18"})
    assert wrong.status_code == 422 and "no declared cutpoint" in wrong.text
    assert ana.post("/workspace", fields).status_code == 303
    assert "adult = age &gt;= 20" in ana.get("/workspace").text
    assert 'value="adult"' in ana.get("/people/table/build").text

    own, spelled = (
        here.get(TABLE, **bearer(people["ana"])),
        here.get(f"{TABLE}&define=adult = age >= 20", **bearer(people["ben"])),
    )
    assert own.status_code == spelled.status_code == 200 and own.json() == spelled.json()
    assert here.get(TABLE, **bearer(people["ben"])).status_code == 422
    asked = [entry.request["define"] for entry in ledger.last(Folder(site).ledger, 2)]
    assert asked == [["adult = age >= 20"]] * 2
    page = here.get("/people/table?rows=adult", **bearer(people["ana"]))
    assert page.status_code == 200 and "Defined by the asker" in page.text

    gone = {"csrf": ana.secret("/workspace"), "dataset": "people", "name": "adult"}
    assert ana.post("/workspace/remove", gone).status_code == 303
    assert ana.post("/workspace/remove", gone).status_code == 404
    assert here.get(TABLE, **bearer(people["ana"])).status_code == 422


def test_questions_are_kept_without_being_asked(people, site, serve_here):
    here = serve_here(site)
    with confide.open(here.url, token=people["ana"]) as mine, confide.open(here.url, token=people["ben"]) as other:
        mine.keep("people", "adult = age >= 20")
        mine.keep_question("By age", "/people/table?rows=adult&columns=sex")
        assert mine.workspace() == {
            "definitions": {"people": {"adult": "adult = age >= 20"}},
            "questions": {"By age": mine.workspace()["questions"]["By age"]},
        }
        assert mine.workspace()["questions"]["By age"]["define"] == ["adult = age >= 20"]
        assert other.workspace() == {"definitions": {}, "questions": {}}
        assert mine["people"].table(rows="adult").to_csv().splitlines()[1].startswith("yes,Yes,")
        with pytest.raises(Mistake, match="No variable called 'adult'"):
            other["people"].table(rows="adult")
        with pytest.raises(Mistake, match="No variable called 'nobody'"):
            mine.keep_question("Wrong", "/people/table?rows=nobody")
        mine.forget("adult", dataset="people")
        mine.forget("By age")
        assert mine.workspace() == {"definitions": {}, "questions": {}}
        with pytest.raises(Mistake, match="You keep no question"):
            mine.forget("By age")
    asked = [entry for entry in ledger.last(Folder(site).ledger, 10) if entry.outcome == "released"]
    assert len(asked) == 1


def test_a_kept_question_is_a_link_and_is_text(people, site, serve_here):
    here = serve_here(site)
    with confide.open(here.url, token=people["ana"]) as mine:
        mine.keep_question("<script>alert(1)</script>", "/people/table?rows=sex")
    page = here.get("/workspace", **bearer(people["ana"])).text
    assert "<script>alert" not in page and 'href="/people/table?rows=sex"' in page


def test_who_shows_no_token_keeps_nothing(site, serve_here):
    here = serve_here(site)
    assert here.get("/workspace").status_code == 401
    with confide.open(here.url) as anyone, pytest.raises(Denied):
        anyone.keep("people", "adult = age >= 20")


def test_who_has_the_folder_keeps_things_too(local):
    local.keep("people", "adult = age >= 20")
    assert local["people"].table(rows="adult").release.request.define
    with pytest.raises(Mistake, match="no data set called 'nothing'"):
        local.keep("nothing", "adult = age >= 20")
    local.forget("adult", dataset="people")
    assert local.workspace() == {"definitions": {}, "questions": {}}
