"""A real browser: Debian's Chromium, driven by Playwright, on a real server."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, sync_playwright

from confide.site.access import Role, add_token, set_public
from confide.site.folder import Folder

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")


@dataclass(frozen=True)
class Public:
    """A served site that the public may ask, and the token of its custodian."""

    url: str
    folder: Path
    token: str


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="module")
def browser(playwright: Playwright) -> Iterator[Browser]:
    path = shutil.which("chromium")
    assert path, "These tests need the browser Chromium as 'chromium'. On Debian: apt-get install chromium"
    opened = playwright.chromium.launch(executable_path=path, args=FLAGS)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def public(made: Path, starting: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Public]:
    """The demo site as `confide demo` leaves it: public, with one custodian."""
    site = Path(shutil.copytree(made, tmp_path_factory.mktemp("public") / "site"))
    set_public(Folder(site).access, public=True)
    token = add_token(Folder(site).access, name="custodian", role=Role.CUSTODIAN)
    running = starting(site)
    yield Public(running.url, site, token)
    running.kill()


@pytest.fixture
def open_page(browser: Browser, public: Public) -> Iterator[Callable[..., Page]]:
    """A new page of the site; whatever a page's console says against us fails the test."""
    contexts: list[BrowserContext] = []
    said: list[str] = []

    def opening(address: str = "/", **options: Any) -> Page:
        context = browser.new_context(base_url=public.url, **options)
        context.set_default_timeout(15_000)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(address)
        return page

    yield opening
    for context in contexts:
        context.close()
    assert not [text for text in said if "status of 4" not in text], said


@pytest.fixture
def custodian(open_page: Callable[..., Page], public: Public) -> Page:
    """A page on which the custodian has logged in."""
    page = open_page("/login?next=/custodian")
    page.get_by_label("Token").fill(public.token)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/custodian")
    return page


@pytest.fixture(scope="session")
def axe() -> Axe:
    return Axe()
