"""What every page has: one stylesheet, one script, strict headers, nothing that acts by itself."""

import re

import pytest

PAGES = ["/", "/about", "/people", "/people/variables/county", "/people/table/build?rows=sex&where=region=N",
         "/people/table?rows=sex&columns=region", "/people/table?rows=sx", "/people/table?rows=occupation&columns=municipality",
         "/nowhere"]  # fmt: skip


@pytest.mark.parametrize("address", PAGES)
def test_pages_carry_no_script_or_style_of_their_own_and_strict_headers(look, address):
    page = look(address)
    assert page.headers["cache-control"] == "no-store" and page.headers["x-frame-options"] == "DENY"
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy and "script-src 'self'" in policy
    scripts = [attributes for tag, attributes in page.tags if tag == "script"]
    assert [re.sub(r"[0-9a-f]{12}", "#", attributes["src"]) for attributes in scripts] == ["/static/confide.#.js"]
    assert not any(tag == "style" or "style" in attributes for tag, attributes in page.tags)
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)


@pytest.mark.parametrize("address", PAGES)
def test_pages_are_made_to_be_read_by_ear_and_by_keyboard(look, address):
    page = look(address)
    assert page.html.startswith('<!doctype html>\n<html lang="en">') and page.html.count("<h1>") == 1
    assert page.html.index('class="skip" href="#main"') < page.html.index('<main id="main"')
    labelled = {attributes["for"] for tag, attributes in page.tags if tag == "label" and "for" in attributes}
    fields = [a for tag, a in page.tags if tag in ("input", "select") and a.get("type") not in ("hidden", "checkbox")]
    assert all(field["id"] in labelled for field in fields)
    pointed = [
        word for _, a in page.tags for key in ("aria-labelledby", "aria-describedby") for word in a.get(key, "").split()
    ]
    assert set(pointed) <= page.ids
    assert not any(address.startswith("#") and address[1:] not in page.ids for address in page.links.values())


def test_files_are_kept_for_ever_under_an_address_that_names_their_contents(look, server):
    found = [a.get("href", a.get("src", "")) for _, a in look("/").tags]
    files = {address for address in found if address.startswith("/static/")}
    assert {address.rpartition(".")[2] for address in files} == {"css", "js", "svg"}
    for address in files:
        response = server.get(address)
        assert response.status_code == 200 and "immutable" in response.headers["cache-control"]
        assert response.headers["x-content-type-options"] == "nosniff"
        other = server.get(re.sub(r"\.[0-9a-f]{12}\.", ".000000000000.", address))
        assert other.status_code == 404 and other.headers["cache-control"] == "no-store"
    assert server.get("/static/..%2fapi.py").status_code == 404


def test_the_stylesheet_and_the_script_ask_nobody_else(look, server):
    for _, attributes in look("/").tags:
        address = attributes.get("href", attributes.get("src", ""))
        if address.startswith("/static/") and not address.endswith(".svg"):
            assert "http" not in server.get(address).text and "@import" not in server.get(address).text


def test_the_first_table_page_has_under_60_kb_in_all(look, server):
    page = look("/people/table?rows=education&columns=sex")
    addresses = [a.get("href", a.get("src", "")) for tag, a in page.tags if tag in ("link", "script")]
    sizes = [len(server.get(address).content) for address in addresses if address.startswith("/static/")]
    assert len(sizes) == 3 and len(page.html.encode()) + sum(sizes) < 60_000
