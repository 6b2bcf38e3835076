"""Hostile names, codes and labels, in the catalog and in the address: shown as text, never as markup, and never lost."""

import json
import re
from urllib.parse import parse_qsl, urlencode, urlsplit

import numpy as np
import pyarrow as pa
import pytest

from confide.records.ingest import add

SCRIPT = "<script>alert(1)</script>"
ATTACKS = {
    "script": SCRIPT,
    "quotes": "\"'><img src=x onerror=alert(1)>",
    "bidi": "abc\u202edcba\u2066 \u200bhidden",
    "template": "{{ 7 * 7 }}{% if 1 %}",
    "spelled": "a,b;c=d\\e &amp; f+g%20h#i?j",
    "long": "x" * 10_000,
    "lines": "one\ntwo\r\nthree",
}
NAME = "we\"ird, <b>=;x.y/z'\\n"


def catalog() -> str:
    codes = "\n".join(f"{json.dumps(text)} = {json.dumps('label ' + text)}" for text in ATTACKS.values())
    return f"""
title = {json.dumps("Title " + SCRIPT)}
source = {json.dumps("Source " + ATTACKS["bidi"])}
period = {json.dumps(ATTACKS["quotes"])}

[variables.{json.dumps(NAME)}]
label = {json.dumps("Label " + SCRIPT)}
subject = {json.dumps("Subject " + SCRIPT)}
[variables.{json.dumps(NAME)}.codes]
{codes}

[variables.plain]
[variables.plain.codes]
a = "A"
b = "B"
"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory, made):
    site = tmp_path_factory.mktemp("hostile") / "site"
    rng = np.random.default_rng(1)
    data = pa.table({NAME: rng.choice(list(ATTACKS.values()), 4000), "plain": rng.choice(["a", "b"], 4000)})
    add(data, site, name="odd", catalog=catalog())
    (site / "policy.toml").write_text((made / "policy.toml").read_text())
    return site


@pytest.fixture(scope="module")
def odd(hostile, start_server):
    return start_server(hostile)


def check(page):
    """No markup of others: every element and attribute is one that the templates write, and no text is invisible."""
    assert "alert(1)" not in [attributes.get("onerror") for _, attributes in page.tags]
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert not any(
        tag == "img" and not attributes["src"].startswith(("/static/", "/charts/")) for tag, attributes in page.tags
    )
    assert not any(name.startswith("on") or name == "style" for _, attributes in page.tags for name in attributes)
    assert not any(character in page.text for character in "\u202e\u2066\u200b")


def spelled(name):
    return re.sub(r"([\\,;=])", r"\\\1", name)


def test_hostile_catalogs_are_shown_as_text(odd, page):
    table = urlencode({"rows": spelled(NAME), "columns": "plain"})
    where = urlencode({"rows": "plain", "where": f"{spelled(NAME)}={spelled(SCRIPT)}"})
    addresses = [
        "/",
        "/odd",
        "/odd?q=script",
        f"/odd/variables/{urlencode({'': NAME})[1:].replace('+', '%20')}",
        "/about",
    ]
    addresses += [
        f"/odd/table?{table}",
        f"/odd/table/build?{table}",
        f"/odd/table?{where}",
        f"/odd/table/build?{where}",
    ]
    for address in addresses:
        shown = page(odd.get(address))
        assert shown.status == 200, address
        check(shown)
    assert SCRIPT in page(odd.get("/odd")).text
    codes = page(odd.get(addresses[3])).text
    assert "{{ 7 * 7 }}{% if 1 %}" in codes and "abc\ufffddcba" in codes and ATTACKS["long"] in codes


def test_hostile_codes_and_names_go_through_the_form_unchanged(odd, page):
    where = f"{spelled(NAME)}=" + ",".join(spelled(text) for key, text in ATTACKS.items() if key != "long")
    start = {"rows": "plain", "where": where}
    shown = page(odd.get("/odd/table/build", params=start))
    assert set(shown.chosen(f"in.1.{NAME}")) == {text for key, text in ATTACKS.items() if key != "long"}
    sent = odd.get(shown.send("update").removeprefix(odd.url))
    kept = dict(parse_qsl(urlsplit(sent.headers["location"]).query))
    assert sent.status_code == 303 and kept["rows"] == "plain"
    again = page(odd.get(sent.headers["location"]))
    assert sorted(again.chosen(f"in.1.{NAME}")) == sorted(shown.chosen(f"in.1.{NAME}"))
    assert page(odd.get(again.send("show").removeprefix(odd.url), follow_redirects=True)).status in (200, 403)


PLACES = [
    "/{}",
    "/{}/table",
    "/people/{}",
    "/people?q={}",
    "/people/variables/{}",
    "/people/variables/county?q={}",
    "/people/table?rows={}",
    "/people/table?rows=sex&where={}={}",
    "/people/table?rows=sex&where=region={}",
    "/people/table?rows=sex&{}={}",
    "/people/table?rows=sex&percent={}",
    "/people/table/build?rows={}&columns={}&measure={}&of={}",
    "/people/table/build?piece=1&on.1={}&in.1.{}={}&find.1.{}={}",
    "/people/table/build?do={}&add.rows={}",
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("attack", ATTACKS)
def test_hostile_addresses_are_not_reflected_as_markup(server, page, place, attack):
    text = urlencode({"": ATTACKS[attack][:1200]})[1:]
    response = server.get(place.replace("{}", text), follow_redirects=True)
    assert response.status_code in (200, 404, 414, 422)
    if response.headers["content-type"].startswith("text/html"):
        check(page(response))


def test_a_list_of_many_codes_is_searched_and_paged(tmp_path, made, serve, page):
    codes = "\n".join(f'c{number:04d} = "Place {number}"' for number in range(2500))
    text = f'title = "Many"\n[variables.place]\n[variables.place.codes]\n{codes}\n[variables.sex]\n[variables.sex.codes]\nf = "F"\n'
    rng = np.random.default_rng(1)
    data = pa.table({"place": [f"c{n:04d}" for n in rng.integers(0, 2500, 500)], "sex": ["f"] * 500})
    site = tmp_path / "many"
    add(data, site, name="many", catalog=text)
    (site / "policy.toml").write_text((made / "policy.toml").read_text())
    server = serve(site)

    def press(shown, button, changed):
        return page(server.get(shown.send(button, changed=changed).removeprefix(server.url), follow_redirects=True))

    variable = page(server.get("/many/variables/place"))
    assert "2,500 classes, 1 to 200 shown." in variable.text
    later = page(server.get(variable.links["Later classes"].partition("#")[0]))
    assert "201 to 400 shown" in later.text and "Place 200" in later.text
    assert "1 class found" in page(server.get("/many/variables/place?q=place+2499")).text
    assert page(server.get("/many/variables/place?page=9999")).status == 200
    start = "/many/table/build?rows=sex&where=place=c2400"
    build = page(server.get(start))
    assert len(build.choices("in.1.place")) == 200 and build.chosen("in.1.place") == ["c2400"]
    found = press(build, "find.1", {"find.1.place": "place 1234"})
    assert found.choices("in.1.place") == ["c1234", "c2400"] and found.chosen("in.1.place") == ["c2400"]
    both = press(found, "update", {"in.1.place": ["c1234", "c2400"]})
    assert both.chosen("in.1.place") == ["c1234", "c2400"] and "find.1.place" in both.address
    assert len(server.get(start).content) < 100_000
