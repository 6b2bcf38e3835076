"""A real browser: Debian's Chromium, driven by Playwright, on a real server."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect, sync_playwright

from confide.attacks.history import keep_report
from confide.attacks.report import AttackReport, Conditions
from confide.attacks.result import Result
from confide.site.access import PersonRole, Reach, add_token, declare
from confide.site.folder import Folder

LONG = 120_000
"""Milliseconds after which a test gives up: only a test that fails waits so long, however busy the machine."""

expect.set_options(timeout=LONG)

Arriving = Callable[[Page], AbstractContextManager[None]]

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


def attacked(folder: Folder) -> None:
    """Keep two runs of the red team with a site, as if it had been attacked under two policies."""
    results = tuple(
        Result(attack=f"attack-{n}", code=f"T{n}", words="what is done", targets=100, claimed=90, right=80 - 10 * n,
               success=0.8 - 0.1 * n, guess=0.3, others=0.2, questions=700, curve=((100, 0.4), (700, 0.8 - 0.1 * n)))
        for n in range(6)
    )  # fmt: skip
    for number, mark in enumerate((folder.policy().mark, "0123456789ab")):
        about = {"dataset": "people", "policy": f"standard, version {2 - number}", "mark": mark}
        conditions = Conditions(**about, targets=100, questions=1000, seed=1)
        keep_report(folder, AttackReport(conditions, f"2026-01-0{2 - number}T00:00:00Z", results))


@pytest.fixture(scope="session")
def public(made: Path, starting: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Public]:
    """The demo site as `confide demo` leaves it: public, with one custodian."""
    site = Path(shutil.copytree(made, tmp_path_factory.mktemp("public") / "site"))
    declare(Folder(site).access, Reach.PUBLIC)
    token = add_token(Folder(site).access, name="custodian", role=PersonRole.CUSTODIAN)
    attacked(Folder(site))
    running = starting(site)
    yield Public(running.url, site, token)
    running.kill()


def arrived(page: Page) -> None:
    """Wait until the page of a job has led to the answer. A page without a job is there when it is loaded."""
    page.wait_for_url(lambda address: "/jobs/" not in address)


@contextmanager
def _arriving(page: Page) -> Iterator[None]:
    with page.expect_navigation():
        yield
    arrived(page)


@pytest.fixture
def arriving() -> Arriving:
    """Do what leads to another page, and go on when that page is there: what is asked of the page before may still be answered."""
    return _arriving


@pytest.fixture
def visit() -> Callable[[Page, str], int]:
    """Open an address, and wait for its answer; gives the status of the first response."""

    def visiting(page: Page, address: str) -> int:
        answer = page.goto(address)
        assert answer is not None, address
        arrived(page)
        return answer.status

    return visiting


@pytest.fixture
def open_page(browser: Browser, public: Public) -> Iterator[Callable[..., Page]]:
    """A new page of the site; whatever a page's console says against us fails the test."""
    contexts: list[BrowserContext] = []
    said: list[str] = []

    def opening(address: str = "/", **options: Any) -> Page:
        context = browser.new_context(**{"base_url": public.url, "reduced_motion": "reduce"} | options)
        context.set_default_timeout(LONG)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(address)
        arrived(page)
        return page

    yield opening
    for context in contexts:
        context.close()
    assert not [text for text in said if "status of 4" not in text], said


@pytest.fixture
def custodian(open_page: Callable[..., Page], public: Public, arriving: Arriving) -> Page:
    """A page on which the custodian has logged in."""
    page = open_page("/login?next=/custodian")
    page.get_by_label("Token").fill(public.token)
    with arriving(page):
        page.get_by_role("button", name="Log in").click()
    assert page.url.endswith("/custodian")
    return page


@pytest.fixture(scope="session")
def axe() -> Axe:
    return Axe()
