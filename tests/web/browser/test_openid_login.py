"""A person who logs in at a provider of another site comes back, stays logged in, and logs out."""

import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from confide.site.access import Admission, Provider, Reach, declare, declare_login
from confide.site.folder import Folder

SCRIPT = Path(__file__).parent.parent / "openid_provider.py"


@pytest.fixture
def address(site, serve, tmp_path):
    """A site that is called localhost, and a provider called 127.0.0.1: to a browser these are two sites."""
    folder, server = Folder(site), serve(site)
    here = server.url.replace("127.0.0.1", "localhost")
    words = [sys.executable, str(SCRIPT), str(tmp_path), f"{here}/login/openid/return"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as provider:
        issuer = f"http://127.0.0.1:{int(provider.stdout.readline())}/o"
        declare(folder.access, Reach.TOKENS)
        folder.login_secret_file.write_text("between us\n")
        declare_login(folder.access, Provider(issuer, "confide", label="The Office", admits=(Admission(),)))
        yield here
        provider.kill()


@pytest.mark.parametrize("scripted", [True, False])
def test_a_person_comes_back_from_the_provider_to_where_they_wanted_to_go(scripted, address, browser: Browser):
    context = browser.new_context(java_script_enabled=scripted, reduced_motion="reduce")
    page = context.new_page()
    page.goto(f"{address}/people")
    page.goto(f"{address}/login?next=/people")
    page.get_by_role("link", name="Log in at The Office").click()
    page.get_by_label("Name").fill("ana")
    page.get_by_label("Password").fill("open sesame")
    page.get_by_role("button", name="Enter").click()
    expect(page).to_have_url(f"{address}/people")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Norland")
    page.get_by_role("link", name="Log out").click()
    page.get_by_role("button", name="Log out").click()
    page.goto(f"{address}/people")
    expect(page.get_by_role("heading", level=1)).to_have_text("Please log in")
    context.close()
