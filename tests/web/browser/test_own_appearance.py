"""A site that looks like its institute's, below a path: everybody can still read it, and everything it loads is there."""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from confide.site.access import PersonRole, Reach, add_token, declare

HOW_TO = Path(__file__).parents[3] / "docs" / "how-to" / "make-it-look-like-yours.md"
ADDRESSES = (
    "/stats/",
    "/stats/people",
    "/stats/people/table?rows=education&columns=sex",
    "/stats/people/regression?formula=income+~+age+%2B+sex&diagnostics=true&charts=interactive",
    "/stats/people/table/build?rows=education",
    "/stats/nowhere",
)


@pytest.fixture(scope="module")
def dressed(
    made: Path, starting: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str]]:
    """The site of the how-to page, below a path, and a custodian's token."""
    site = Path(shutil.copytree(made, tmp_path_factory.mktemp("dressed") / "site"))
    for title, text in re.findall(r'```\w+ title="demo-site/([^"]+)"\n(.*?)```', HOW_TO.read_text(), re.DOTALL):
        (site / title).write_text(text)
    declare(site / "access.toml", Reach.PUBLIC)
    token = add_token(site / "access.toml", name="carla", role=PersonRole.CUSTODIAN)
    running = starting(site, "--path", "/stats")
    yield running.url, token
    running.kill()


@pytest.fixture
def page(browser: Browser, dressed: tuple[str, str]) -> Iterator[Page]:
    """A page whose console says nothing, and that loads nothing which is not below the path."""
    wrong: list[str] = []
    context = browser.new_context(base_url=dressed[0])
    context.set_default_timeout(120_000)
    opened = context.new_page()
    opened.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("request", lambda sent: None if sent.url.startswith(dressed[0] + "/stats/") else wrong.append(sent.url))
    yield opened
    context.close()
    assert not [text for text in wrong if "status of 4" not in text], wrong


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_site_in_colours_of_its_own_can_be_read_by_everybody(page, axe, visit, scheme):
    page.emulate_media(color_scheme=scheme)
    for address in ADDRESSES:
        visit(page, address)
        found = axe.run(page).response["violations"]
        assert [f"{one['id']}: {one['nodes'][0]['html'][:120]}" for one in found] == [], address
        drawn = page.evaluate("[...document.images].every(image => image.complete && image.naturalWidth > 0)")
        assert drawn, address
    accent = page.evaluate(
        "getComputedStyle(document.querySelector('.brand + nav, main a')).getPropertyValue('--accent')"
    )
    assert accent == {"light": "#7a1f5c", "dark": "#f0a6d8"}[scheme]


def test_a_name_and_a_footer_do_not_make_pages_wider_than_a_telephone(page, visit):
    page.set_viewport_size({"width": 320, "height": 700})
    for address in ADDRESSES:
        visit(page, address)
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, address


def test_a_custodian_logs_in_works_and_logs_out_below_the_path(page, dressed, arriving):
    page.goto("/stats/login?next=/custodian/tokens")
    page.get_by_label("Token").fill(dressed[1])
    with arriving(page):
        page.get_by_role("button", name="Log in").click()
    assert page.url == dressed[0] + "/stats/custodian/tokens"
    assert [cookie["path"] for cookie in page.context.cookies()] == ["/stats"]
    with arriving(page):
        page.get_by_role("link", name="Log out").click()
    with arriving(page):
        page.get_by_role("button", name="Log out").click()
    assert page.url == dressed[0] + "/stats/" and page.context.cookies() == []
