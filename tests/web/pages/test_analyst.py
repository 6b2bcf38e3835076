"""Home, data sets, variables and how answers are protected: pages that explain themselves."""

import pytest

from confide.model.policy import PRESETS
from confide.site.access import PersonRole, Reach, add_token, declare
from confide.site.folder import Folder

STANDARD = PRESETS["standard"]


def test_home_explains_itself_and_lists_the_data_sets_with_first_actions(look):
    page = look("/")
    assert page.html.count("<h1>") == 1 and "nobody can be recognised" in page.text
    for words in (
        "People of Norland, 2025",
        "Unit Person",
        "Period 2025",
        "Variables 19",
        f"confidential numbers carry noise, {STANDARD.records.noise:.0%} as a rule",
    ):
        assert words in page.text
    assert page.links["Make a table of People of Norland, 2025"] == "/people/table/build"
    assert page.links["Fit a model of People of Norland, 2025"] == "/people/regression/build"
    assert (
        page.links["How answers are protected"] == "/about"
        and page.links["For programs"] == page.links["Programs"] == "/api"
    )


@pytest.mark.parametrize("address", ["/", "/about", "/people", "/people/variables/county", "/people/table/build"])
def test_every_link_works(look, server, address):
    for words, link in look(address).links.items():
        if link.startswith("/"):
            assert server.get(link).status_code == 200, (words, link)


def test_strangers_are_told_nothing_but_how_to_log_in(site, serve, page):
    declare(Folder(site).access, Reach.TOKENS)
    token = add_token(Folder(site).access, name="ana", role=PersonRole.ANALYST)
    server = serve(site)
    stranger = page(server.get("/"))
    assert "Norland" not in stranger.html and stranger.links["Log in"] == "/login" and "token" in stranger.text
    for address in ("/people", "/people/variables/sex", "/people/table/build", "/people/table?rows=sex", "/nothing"):
        denied = page(server.get(address))
        assert denied.status == 401 and "Norland" not in denied.html
        assert any(link.startswith("/login?next=%2F") for link in denied.links.values())
    known = {"Authorization": f"Bearer {token}"}
    assert "Norland" in page(server.get("/", headers=known)).html
    assert page(server.get("/people", headers=known)).status == 200


def test_variables_are_listed_under_their_subjects_without_identifiers(look):
    page = look("/people")
    order = [page.html.index(f">{subject}</h3>") for subject in ("Geography", "Population", "Work", "Income")]
    assert order == sorted(order) and "person_id" not in page.html and "Identification" not in page.html
    assert page.links["County"] == "/people/variables/county" and "Region › County › Municipality" in page.text


@pytest.mark.parametrize("words, found", [("work", 6), ("OCCUPATION sub", 1), ("geogr", 3), ("zzz", 0), ("county", 1)])
def test_the_search_works_without_scripts(look, words, found):
    page = look(f"/people?q={words}")
    assert sum(link.startswith("/people/variables/") for link in page.links.values()) == found
    assert f"{found} variable{'s' if found != 1 else ''} found" in page.text


def test_every_variable_has_a_page(look):
    for link in [link for link in look("/people").links.values() if "/variables/" in link]:
        assert look(link).status == 200


def test_a_variable_says_what_it_is_and_can_be_used_for(look):
    county = look("/people/variables/county")
    for words in (
        "Could help to recognise someone",
        "20 classes",
        "Region , 5 classes",
        "Totals and means : no, it is not a number",
    ):
        assert words in county.text, words
    assert "Kronmark" in county.text and county.links["Make a table with it"] == "/people/table/build?rows=county"
    income = look("/people/variables/income")
    assert (
        "Confidential" in income.text
        and "A class begins at each of 1, 10,000, 20,000" in income.text
        and "Suggested weight weight" in income.text
    )
    assert look(income.links["Average it"]).chosen("of") == ["income"]


@pytest.mark.parametrize("name", ["nothing", "person_id", "a/b", "%00", "<script>"])
def test_an_unknown_or_identifying_variable_is_not_found(look, name):
    page = look(f"/people/variables/{name}")
    assert page.status == 404 and "Person" not in page.text


def test_how_answers_are_protected_is_said_in_the_words_of_the_policy(look):
    text = look("/about").text
    for words in (
        "standard, version 1",
        f"at most {STANDARD.counts.distance} (standard deviation {STANDARD.counts.variance**0.5:.2g})",
        f"at least {STANDARD.tables.mean_cell:g} units",
        "[c] confidential",
    ):
        assert words in text


def test_an_open_policy_is_not_called_protected(site, serve, page, under):
    server = serve(under(site, "open"), "--allow-open")
    assert "Nothing: this site is for teaching" in page(server.get("/")).text
    assert "These numbers are not protected" in page(server.get("/about")).text
