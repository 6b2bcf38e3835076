"""Everybody can use the pages: axe finds nothing, nothing scrolls sideways, with and without script, large and printed."""

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

OpenPage = Callable[..., Page]
Visit = Callable[[Page, str], int]

PAGES = (
    "/",
    "/about",
    "/about?dataset=firms",
    "/api",
    "/login",
    "/people",
    "/people?q=occupation",
    "/people/variables/occupation",
    "/people/variables/income",
    "/people/table/build",
    "/people/table/build?rows=education&columns=sex&where=sex%3Df",
    "/people/table?rows=education&columns=sex",
    "/people/table?rows=occupation_sub&columns=region&measure=count,total&of=income",
    "/people/table?rows=education&columns=sex&show=row&noise=show",
    "/people/table?rows=occupation,county",
    "/people/table?rows=nothing",
    "/people/regression/build?formula=income+~+age+*+sex",
    "/people/regression?formula=income+~+age+%2B+sex&diagnostics=true",
    "/people/regression?formula=employment=unemployed~age%2Brelevel(sex,+male)&family=binomial&also=deviance,effects&against=employment=unemployed~age",
    "/people/regression?formula=income+~+aeg",
    "/people/correlation/build",
    "/people/correlation?variables=age,income,hours",
    "/nowhere",
)
CUSTODIAN = (
    "",
    "/policy",
    "/policy?dataset=firms",
    "/draft?dataset=people",
    "/draft/form?dataset=firms&from=force",
    "/draft",
    "/replay",
    "/why",
    "/frontier",
    "/records",
    "/red-team",
    "/audit",
    "/ledger",
    "/tokens",
)


def violations(page: Page, axe: Axe) -> list[str]:
    found = axe.run(page).response["violations"]
    return [f"{one['id']}: {node['html'][:120]}" for one in found for node in one["nodes"]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("address", PAGES)
def test_axe_finds_nothing(open_page: OpenPage, axe: Axe, address: str, scheme: str) -> None:
    page = open_page(address, color_scheme=scheme)
    assert violations(page, axe) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_the_custodians_pages(custodian: Page, axe: Axe, visit: Visit, scheme: str) -> None:
    custodian.emulate_media(color_scheme=scheme)
    for address in CUSTODIAN:
        visit(custodian, "/custodian" + address)
        assert violations(custodian, axe) == [], address


@pytest.mark.parametrize("width", [320, 640, 1280])
def test_nothing_scrolls_sideways(open_page: OpenPage, custodian: Page, visit: Visit, width: int) -> None:
    """640 px is a window of 1280 at 200 % zoom; 320 at 400 % (WCAG 2.2, 1.4.10)."""
    page = open_page("/", viewport={"width": width, "height": 800})
    custodian.set_viewport_size({"width": width, "height": 800})
    for view, addresses in ((page, PAGES), (custodian, ["/custodian" + address for address in CUSTODIAN])):
        for address in addresses:
            visit(view, address)
            wide = view.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, f"{address} is {wide} px wide"


def test_a_printed_table_has_no_controls(open_page: OpenPage) -> None:
    page = open_page("/people/table?rows=education&columns=sex")
    page.emulate_media(media="print")
    expect(page.get_by_role("table").first).to_be_visible()
    expect(page.get_by_role("link", name="% of row")).to_be_hidden()
    assert page.pdf(format="A4")[:4] == b"%PDF"


def test_no_page_needs_a_script(open_page: OpenPage, visit: Visit) -> None:
    page = open_page("/", java_script_enabled=False)
    for address in PAGES:
        assert visit(page, address) in (200, 403, 404, 422), address
        expect(page.get_by_role("heading", level=1)).to_have_count(1)


@pytest.mark.parametrize("width", [1200, 320])
def test_no_words_of_a_picture_are_cut_off(open_page: OpenPage, width: int) -> None:
    page = open_page("/people/table?rows=education&columns=sex", viewport={"width": width, "height": 800})
    picture = page.locator("figure img").first.evaluate("image => image.currentSrc")
    page.goto(picture)
    outside = """() => [...document.querySelectorAll('text')].filter(text => {
        const place = text.getBoundingClientRect(), room = document.documentElement.getBoundingClientRect();
        return place.left < room.left || place.right > room.right + 1;
    }).map(text => text.textContent)"""
    assert page.locator("text=No completed education").count(), "the labels are text"
    assert page.evaluate(outside) == []
