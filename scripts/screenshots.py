"""Take the pictures of the tutorial 'In the browser' anew, from a demo site made for the purpose.

    python scripts/screenshots.py [--to docs/tutorials/pictures]

Needs Chromium as `chromium`. The site has its own secret, so numbers differ from one run to the next.
"""

import argparse
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from playwright.sync_api import Page, expect, sync_playwright

CONFIDE = (sys.executable, "-m", "confide")
WIDTH, HEIGHT = 1100, 800
PAGES = {
    "home": "/",
    "dataset": "/people",
    "builder": "/people/table/build?rows=education&columns=sex&where=sex%3Df",
    "table": "/people/table?rows=education&columns=sex",
    "refused": "/people/table?rows=occupation,municipality",
    "model-builder": "/people/regression/build?formula=income+~+age+%2B+sex",
    "model": "/people/regression?formula=income+~+age+%2B+sex",
    "residuals": "/people/regression?formula=income+~+age+%2B+sex&diagnostics=true#residuals",
    "custodian": "/custodian",
    "replay": "/custodian/replay",
}


@contextmanager
def demo_site(folder: Path) -> Iterator[tuple[str, str]]:
    """The address of a running demo site and the token of its custodian."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    made = subprocess.run(
        [*CONFIDE, "demo", str(folder), "--rows", "50000", "--no-serve"], capture_output=True, text=True, check=True
    )
    token = re.search(r"confide_\S+", made.stderr)
    assert token, "the demo shows the custodian's token"
    server = subprocess.Popen([*CONFIDE, "serve", str(folder), "--port", port])
    try:
        yield _waited(f"http://127.0.0.1:{port}"), token[0]
    finally:
        server.terminate()
        server.wait(20)


def _waited(url: str) -> str:
    for _ in range(200):
        try:
            httpx.get(url)
            return url
        except httpx.TransportError:
            time.sleep(0.1)
    raise RuntimeError("the server does not answer")


def log_in(page: Page, token: str) -> None:
    """Log in, keep a draft and replay the ledger under it, so that the custodian's pages have something to show."""
    page.goto("/login?next=/custodian")
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()
    page.goto("/custodian/draft/form?from=force")
    page.locator("summary", has_text="Tables").click()
    page.get_by_label("tables.cells").fill("10")
    page.get_by_role("button", name="Save the draft").click()
    page.goto("/custodian/replay")
    page.get_by_role("button", name=re.compile("^Replay")).click()


def take(page: Page, address: str, file: Path) -> None:
    page.goto(address)
    expect(page.locator("[data-waiting], progress")).to_have_count(0, timeout=120_000)
    page.wait_for_load_state("networkidle")
    page.evaluate("Promise.all([...document.images].map(image => image.decode()))")
    part = address.partition("#")[2]
    top = page.locator(f"#{part}").bounding_box()["y"] + page.evaluate("window.scrollY") if part else 0
    height = min(page.evaluate("document.documentElement.scrollHeight") - top, 1400)
    page.screenshot(path=file, clip={"x": 0, "y": top, "width": WIDTH, "height": height}, full_page=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, default=Path("docs/tutorials/pictures"))
    folder: Path = parser.parse_args().to
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as made,
        demo_site(Path(made) / "site") as (url, token),
        sync_playwright() as run,
    ):
        browser = run.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(base_url=url, viewport={"width": WIDTH, "height": HEIGHT})
        for name, address in PAGES.items():
            if name == "custodian":
                log_in(page, token)
            take(page, address, folder / f"{name}.png")
            print(folder / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
