"""What people come for, from the home page to the end, in a real browser."""

import csv
import io
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

OpenPage = Callable[..., Page]
Visit = Callable[[Page, str], int]
Arriving = Callable[[Page], AbstractContextManager[None]]


def _press(what: Locator) -> None:
    """By the keyboard: a page that scrolls to its part meanwhile takes a click elsewhere."""
    what.press("Enter")


def _activate(what: Locator) -> None:
    """Without script it cannot be checked what a click met: a page that scrolls to its part meanwhile takes it elsewhere."""
    what.dispatch_event("click")


@pytest.mark.parametrize(("script", "choose"), [(True, _press), (False, _activate)])
def test_a_newcomer_makes_a_table_refines_it_is_refused_and_follows_a_suggestion(
    open_page: OpenPage, visit: Visit, arriving: Arriving, script: bool, choose: Callable[[Locator], None]
) -> None:
    page = open_page("/", java_script_enabled=script)
    with arriving(page):
        choose(page.locator(".card", has_text="People of Norland").get_by_role("link", name=re.compile("Make a table")))
    page.get_by_label("A variable for the rows").select_option("education")
    with arriving(page):
        choose(page.get_by_role("button", name="Add to the rows"))
    with arriving(page):
        choose(page.get_by_role("button", name="Show the table"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("Highest completed education")
    expect(page.get_by_role("row", name=re.compile("^Total"))).to_be_visible()

    with arriving(page):
        choose(page.get_by_role("link", name=re.compile("Change.*[Cc]olumns")))
    page.get_by_label("A variable for the columns").select_option("sex")
    with arriving(page):
        choose(page.get_by_role("button", name="Add to the columns"))
    with arriving(page):
        choose(page.get_by_role("button", name="Show the table"))
    expect(page.get_by_role("columnheader", name="Female")).to_be_visible()
    with arriving(page):
        choose(page.get_by_role("link", name="% of row"))
    shares = page.get_by_role("row", name=re.compile("^Secondary")).get_by_role("cell").all_inner_texts()
    assert sum(float(text.strip(" %")) for text in shares[:2]) == pytest.approx(100, abs=3), "of protected numbers"

    visit(page, "/people/table?rows=occupation,municipality")
    expect(page.get_by_role("heading", level=1)).to_contain_text(re.compile("[Rr]efused|not be released"))
    with arriving(page):
        choose(page.locator(".offers a").first)
    expect(page.get_by_role("table").first).to_be_visible()
    expect(page.get_by_role("heading", name="Download")).to_be_visible()


def test_a_download_holds_the_numbers_of_the_page(open_page: OpenPage) -> None:
    page = open_page("/people/table?rows=sex")
    female = page.get_by_role("row", name=re.compile("^Female")).get_by_role("cell").first.inner_text()
    with page.expect_download() as waiting:
        page.get_by_role("link", name=re.compile("^CSV")).click()
    rows = list(csv.DictReader(io.StringIO(Path(waiting.value.path()).read_text("utf-8"))))
    assert female.replace(",", "") in {value for row in rows for value in row.values()}


def test_every_state_of_the_builder_is_an_address(open_page: OpenPage, arriving: Arriving) -> None:
    page = open_page("/people/table/build?rows=education&columns=sex")
    with arriving(page):
        page.get_by_role("button", name="Add a piece").click()
    page.get_by_label("A condition on").select_option("sex")
    with arriving(page):
        page.get_by_role("button", name="Add condition to piece 1").click()
    page.get_by_role("checkbox", name="Female").check()
    with arriving(page):
        page.get_by_role("button", name="Update").last.click()
    again = open_page(page.url)
    expect(again.get_by_role("checkbox", name="Female")).to_be_checked()
    with arriving(again):
        again.get_by_role("button", name="Show the table").click()
    expect(again.get_by_text("Sex: Female").or_(again.get_by_text("Female")).first).to_be_visible()


def test_an_analyst_builds_a_regression_and_looks_at_the_residuals(open_page: OpenPage, arriving: Arriving) -> None:
    page = open_page("/people/regression/build")
    page.get_by_label("Response", exact=True).select_option("gaussian income")
    with arriving(page):
        page.get_by_role("button", name="Use it").click()
    for predictor in ("age", "sex"):
        page.locator("#predictor").select_option(predictor)
        with arriving(page):
            page.get_by_role("button", name="Add the predictor").click()
    for box in page.locator("input[name=tick]").all():
        box.check()
    with arriving(page):
        page.get_by_role("button", name="Add the interaction of the ticked").click()
    expect(page.locator("output.formula")).to_contain_text("age:sex")
    with arriving(page):
        page.get_by_role("button", name=re.compile("^Remove.*×|Remove.*:|Remove Age.*Sex")).first.click()
    expect(page.locator("output.formula")).not_to_contain_text("age:sex")
    with arriving(page):
        page.get_by_role("button", name="Show the model").click()
    assert "/people/regression?" in page.url
    expect(page.get_by_role("rowheader", name=re.compile("Age")).first).to_be_visible()
    with arriving(page):
        page.get_by_role("link", name=re.compile("residuals", re.I)).first.click()
    expect(page.locator("figure img").nth(1)).to_be_visible()
    widths = page.evaluate("Promise.all([...document.images].map(i => i.decode().then(() => i.naturalWidth)))")
    assert widths and all(widths), "every chart is drawn"


def test_a_correlation_is_shown_as_a_picture_and_as_a_table(open_page: OpenPage) -> None:
    page = open_page("/people/correlation?variables=age,income,hours")
    expect(page.locator("figure img").first).to_be_visible()
    expect(page.get_by_role("table").first).to_be_visible()


def test_a_mistake_clears_nothing(open_page: OpenPage, arriving: Arriving) -> None:
    page = open_page("/people/regression/build")
    page.get_by_label("Formula").fill("income ~ aeg + sex")
    with arriving(page):
        page.get_by_role("button", name="Use this formula").click()
    expect(page.get_by_label("Formula")).to_have_value("income ~ aeg + sex")
    expect(page.locator(".notice.error")).to_contain_text("age")


def test_the_custodian_drafts_a_policy_and_replays_the_ledger_under_it(
    open_page: OpenPage, custodian: Page, visit: Visit, arriving: Arriving
) -> None:
    open_page("/people/table?rows=education&columns=sex")
    visit(custodian, "/custodian/draft")
    with arriving(custodian):
        custodian.get_by_role("link", name="Start from the policy in force").click()
    custodian.locator("summary", has_text="Tables").click()
    custodian.get_by_label("tables.cells").fill("10")
    with arriving(custodian):
        custodian.get_by_role("button", name="Save the draft").click()
    expect(custodian.get_by_text("It is not in force")).to_be_visible()
    with arriving(custodian):
        custodian.get_by_role("link", name="Replay the ledger").click()
    with arriving(custodian):
        custodian.get_by_role("button", name=re.compile("^Replay")).click()
    expect(custodian.get_by_text(re.compile("outcomes? would change"))).to_be_visible()
    expect(custodian.get_by_role("cell", name=re.compile("tables.cells")).first).to_be_visible()


def test_analysts_never_reach_the_custodians_pages(open_page: OpenPage) -> None:
    page = open_page("/")
    for address in ("", "/policy", "/draft", "/replay", "/why", "/frontier", "/ledger", "/tokens"):
        answer = page.goto("/custodian" + address)
        assert answer is not None and answer.status in (401, 403), address


def test_the_whole_table_journey_works_by_keyboard(open_page: OpenPage, arriving: Arriving) -> None:
    page = open_page("/people/table/build")
    rows = page.get_by_label("A variable for the rows")
    rows.focus()
    for _ in rows.locator("option").all():  # not typed: letters that come slowly are each a search of their own
        if rows.input_value() != "sex":
            page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Add to the rows")).to_be_focused()
    with arriving(page):
        page.keyboard.press("Enter")
    page.get_by_role("button", name="Show the table").focus()
    with arriving(page):
        page.keyboard.press("Space")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Sex")


def test_the_code_on_the_page_runs(open_page: OpenPage) -> None:
    page = open_page("/people/table?rows=sex")
    text = page.locator("pre", has_text="import confide").inner_text()
    found: dict[str, object] = {}
    exec(text, found)
    shown = page.get_by_role("row", name=re.compile("^Female")).get_by_role("cell").first.inner_text()
    assert shown in str(found["answer"]) or shown.replace(",", "") in str(found["answer"])
