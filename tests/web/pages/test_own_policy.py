"""The pages of a site on which a data set has a policy of its own: each page is about the one that is chosen."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.web.pages.test_custodian import Place, fields_of, text_of

from confide.demo.texts import policy_text
from confide.model.policy import SECTIONS
from confide.web.pages.custodian.fields import TITLES

OWN = """
preset = "standard"
name = "firm rules"
version = 3
[universe]
gamma = 30
[tables]
dimensions = 1
[quota]
per_day = 0
"""
"""Not over the site's policy; with the [records] of the demo's firms, as which the records were protected."""
RECORDS = "[records]" + policy_text("firms").partition("[records]")[2]
FIRMS = "/firms/table.json?rows=region"
CROSSED = "/firms/table.json?rows=region&columns=industry"


@pytest.fixture
def place(site: Path, serve_here: Any, browser: Any) -> Place:
    """A site whose firms have a policy of their own and whose people follow the site, with a custodian logged in."""
    (site / "firms" / "policy.toml").write_text(OWN + RECORDS)
    return Place(site, serve_here, browser)


def test_the_policy_page_is_about_the_site_or_a_chosen_data_set(place):
    site, firms, people = (
        place.here.get(f"/custodian/policy{which}") for which in ("", "?dataset=firms", "?dataset=people")
    )
    assert "standard, version 1, from the preset standard" in text_of(site)
    assert "firm rules, version 3, from the preset standard" in text_of(firms)
    assert "tables.dimensions 1 changed 4" in text_of(firms) and "tables.dimensions 4 4" in text_of(site)
    assert "standard, version 1, the policy of the site: People of Norland, 2025 has none of its own" in text_of(people)
    assert "Draft a policy of its own" in text_of(people) and "Draft a change" in text_of(firms)
    for page in (site, firms, people):
        assert page.text.count('aria-current="true"') >= 1 and 'href="/custodian/policy?dataset=firms"' in page.text
    assert place.here.get("/custodian/policy?dataset=nobody").status_code == 404


def test_a_draft_of_a_data_set_is_saved_beside_its_policy_and_changes_nothing(place):
    page = place.here.get("/custodian/draft/form?dataset=firms&from=force")
    form = fields_of(page)
    assert (form["dataset"], form["preset"], form["version"], form["tables.dimensions"]) == (
        "firms",
        "standard",
        "4",
        "1",
    )
    saved = place.here.post("/custodian/draft/form", {**form, "tables.dimensions": "2"})
    assert (saved.status_code, saved.headers["location"]) == (303, "/custodian/draft?dataset=firms")
    assert place.drafts.read() is None
    assert place.drafts.read(name="firms").policy.tables.dimensions == 2
    shown = place.here.get("/custodian/draft?dataset=firms")
    assert "tables.dimensions 1 2" in text_of(shown) and "confide enforce SITE --data firms" in text_of(shown)
    assert "There is none" in text_of(place.here.get("/custodian/draft"))
    assert (
        place.here.send(
            "/custodian/draft/discard", {"dataset": "firms"}, page="/custodian/draft/discard?dataset=firms"
        ).status_code
        == 303
    )
    assert place.drafts.read(name="firms") is None


def test_a_data_set_that_follows_gets_a_draft_over_the_site_s_policy(place, run):
    page = place.here.get("/custodian/draft/form?dataset=people&from=force")
    form = fields_of(page)
    assert (form["preset"], form["name"], form["version"]) == ("site", "standard for people", "2")
    assert "The site’s: 4." in page.text
    assert place.here.post("/custodian/draft/form", {**form, "tables.dimensions": "3"}).status_code == 303
    assert "follows the policy of the site" not in text_of(place.here.get("/custodian/draft?dataset=people"))
    done = run("enforce", place.site, "--data", "people")
    assert done.returncode == 0 and b"The policy of 'people' is now standard for people, version 2." in done.stdout
    assert place.folder.policy("people").tables.dimensions == 3 and place.folder.policy().tables.dimensions == 4


def test_a_draft_as_toml_may_start_from_the_site_only_for_a_data_set(place):
    text = 'preset = "site"\n[tables]\ndimensions = 3\n'
    saved = place.here.send("/custodian/draft/text", {"text": text, "base": "", "dataset": "firms"})
    assert saved.status_code == 303
    draft = place.drafts.read(name="firms")
    assert (draft.preset, draft.policy.tables.dimensions, draft.policy.name) == ("site", 3, "standard for firms")
    wrong = place.here.send("/custodian/draft/text", {"text": text, "base": ""})
    assert wrong.status_code == 422 and "No preset called 'site'" in text_of(wrong)


def test_a_draft_names_variables_of_its_own_data_set(place):
    form = fields_of(place.here.get("/custodian/draft/form?dataset=firms&from=force"))
    page = place.here.post("/custodian/draft/form", {**form, "models.suppressed": "education"})
    assert page.status_code == 422 and "variable 'education'" in text_of(page)


def test_a_replay_is_of_the_questions_that_a_draft_is_for(place):
    for address in (FIRMS, CROSSED, "/people/table.json?rows=sex"):
        place.ask(address)
    form = fields_of(place.here.get("/custodian/draft/form?dataset=firms&from=force"))
    place.here.post("/custodian/draft/form", {**form, "tables.cells": "1"})
    assert "Replay 2 questions" in place.here.get("/custodian/replay?dataset=firms").text
    assert "There is no draft to try" in text_of(place.here.get("/custodian/replay"))
    started = place.here.send("/custodian/replay", {"dataset": "firms"}, page="/custodian/replay?dataset=firms")
    assert started.headers["location"] == "/custodian/replay?dataset=firms"
    page = place.done("/custodian/replay?dataset=firms")
    assert "of 2 outcomes would change" in text_of(page) and "under=draft:firms" in page.text
    why = text_of(place.here.get("/custodian/why?number=0&under=draft:firms"))
    assert "It would be refused by tables.cells" in why and "firm rules, version 4" in why
    other = place.here.get("/custodian/why?number=2&under=draft:firms")
    assert other.status_code == 422 and "draft of 'firms' is not for questions about 'people'" in text_of(other)


def test_a_draft_of_the_site_is_not_tried_on_a_data_set_that_has_its_own(place):
    for address in (FIRMS, "/people/table.json?rows=sex"):
        place.ask(address)
    form = fields_of(place.here.get("/custodian/draft/form"))
    place.here.post("/custodian/draft/form", {**form, "tables.cells": "1"})
    assert "Replay one question" in place.here.get("/custodian/replay").text
    page = place.here.get("/custodian/why?number=0&under=draft")
    assert page.status_code == 422 and "'firms' has a policy of its own" in text_of(page)
    assert "It would be refused by tables.cells" in text_of(place.here.get("/custodian/why?number=1&under=draft"))


def test_a_refusal_is_explained_by_the_policy_of_the_data_set(place):
    assert place.ask(CROSSED) == 403
    said = text_of(place.here.get("/custodian/why?number=0"))
    assert "It is refused by tables.dimensions" in said and "under firm rules, version 3" in said
    assert "/custodian/policy?dataset=firms#tables-dimensions" in place.here.get("/custodian/why?number=0").text


def test_versions_are_those_of_the_one_that_is_chosen(place):
    assert (
        "firm rules, version 3" in text_of(place.here.get("/custodian/policy?dataset=firms")).partition("Versions")[2]
    )
    assert "standard, version 1" in text_of(place.here.get("/custodian/policy?dataset=people")).partition("Versions")[2]
    form = fields_of(place.here.get("/custodian/draft/form?dataset=firms&from=force"))
    place.here.post("/custodian/draft/form", {**form, "tables.dimensions": "2"})
    said = text_of(place.here.get("/custodian/policy/changes?dataset=firms&before=1&after=draft"))
    assert "2 fields differ" in said and "tables.dimensions 1 2" in said


def test_analysts_read_the_policy_of_each_data_set(place):
    bearer = {"Authorization": f"Bearer {place.token}"}
    firms, people = (
        json.loads(place.server.get(f"/api/datasets/{name}", headers=bearer).text)["policy"]
        for name in ("firms", "people")
    )
    assert (firms["name"], firms["tables"]["dimensions"]) == ("firm rules", 1)
    assert (people["name"], people["tables"]["dimensions"]) == ("standard", 4)
    assert "The policy of this site is standard, version 1" in text_of(place.here.get("/about"))
    about = place.here.get("/about?dataset=firms")
    assert "The policy of Establishments of Norland, 2025 is firm rules, version 3" in text_of(about)
    assert "Policy firm rules, version 3." in text_of(place.here.get("/firms"))
    assert place.here.get("/about?dataset=nobody").status_code == 404
    home = place.here.get("/")
    assert 'href="/about?dataset=firms"' in home.text and "groups under 30 are refused" in text_of(home)


def test_a_stranger_is_told_nothing_of_data_sets_on_the_page_on_protection(place):
    said = place.server.get("/about?dataset=firms").text
    assert "firm rules" not in said and "standard, version 1" in said and "dataset=firms" not in said


def test_a_spoilt_policy_of_a_data_set_stops_the_start_and_names_the_file(site, run):
    (site / "firms" / "policy.toml").write_text("[tables]\ndimension = 1\n")
    for words in (["check", site], ["policy", site, "--data", "firms"], ["attack", site, "firms"]):
        done = run(*words)
        assert done.returncode == 2 and b"firms/policy.toml cannot be used" in done.stderr, words
        assert b"Did you mean 'dimensions'?" in done.stderr


def test_a_site_of_one_data_set_that_follows_it_offers_no_choice(site, serve_here, browser):
    shutil.rmtree(site / "firms")
    place = Place(site, serve_here, browser)
    assert 'class="switch"' not in place.here.get("/custodian/policy").text
    (site / "people" / "policy.toml").write_text("")
    place.server.stop()
    again = browser(serve_here(site))
    again.log_in(place.token)
    assert 'class="switch"' in again.get("/custodian/policy").text


def test_every_section_of_a_policy_has_a_title_on_the_pages():
    assert set(SECTIONS) <= set(TITLES)
