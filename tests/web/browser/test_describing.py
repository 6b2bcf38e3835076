"""A custodian mends a fresh draft in a real browser: by keyboard, without script, and so that everybody can."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect

LONG = 120_000
PAGES = ("/", "/variable?name=sex", "/variable?name=work", "/variable?name=age", "/variable?name=nobody")

Opening = Callable[..., tuple[Any, Page]]


@pytest.fixture
def described(browser: Browser, survey: Path, describe_here: Callable[[Path, str], Any]) -> Iterator[Opening]:
    """A description, open in a browser; whatever its console says against us fails the test."""
    contexts: list[BrowserContext] = []
    said: list[str] = []

    def opening(**options: Any) -> tuple[Any, Page]:
        found = describe_here(survey, "people")
        context = browser.new_context(**{"base_url": found.url, "reduced_motion": "reduce"} | options)
        context.set_default_timeout(LONG)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(found.address)
        return found, page

    yield opening
    for context in contexts:
        context.close()
    assert not [text for text in said if "status of 4" not in text], said


@pytest.mark.parametrize("script", [True, False])
def test_a_custodian_labels_regroups_and_sets_roles(described: Opening, script: bool) -> None:
    found, page = described(java_script_enabled=script)
    expect(page.get_by_role("heading", level=1)).to_have_text("Describe people")
    page.get_by_label("Label of sex").fill("Sex")
    page.get_by_label("Role of work").select_option("confidential")
    page.keyboard.press("Tab")
    page.get_by_label("Label of work").press("Enter")  # sends the form, as in every form
    expect(page.get_by_role("status")).to_contain_text("--renew")
    page.get_by_role("link", name="work").click()
    page.get_by_label("Label of clerk").fill("Clerks")
    page.get_by_label("Merge nurse into").fill("cook")
    page.get_by_role("button", name="Save").click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("'cook' is no code of 'work'")
    assert 'clerk = "clerk"' in found.text, "nothing is written"
    alert.get_by_role("link").click()
    expect(page.get_by_label("Label of clerk")).to_have_value("Clerks")
    page.get_by_label("Merge nurse into").fill("baker")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_contain_text("confide ingest FILE")
    for code, group in (("baker", "trade"), ("clerk", "office"), ("<b>", "trade")):
        page.get_by_label(f"Group of {code}").fill(group)
    page.get_by_label("Name of the level").fill("field")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_contain_text("Saved in dataset.toml")
    work = found.file.read().dataset.chain("work")
    assert [(v.name, str(v.role), len(v.codes or ())) for v in work] == [
        ("work", "confidential", 3),
        ("field", "confidential", 2),
    ]
    assert 'label = "Sex"' in found.text and "# Drafted from the data." in found.text


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_and_nothing_scrolls_sideways(described: Opening, axe: Axe, scheme: str) -> None:
    _, page = described(color_scheme=scheme)
    for address in PAGES:
        page.goto(address)
        wrong = axe.run(page).response["violations"]
        assert [f"{one['id']}: {node['html'][:120]}" for one in wrong for node in one["nodes"]] == [], address
        for width in (320, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), (address, width)
