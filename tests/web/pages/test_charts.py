"""Charts: only what a page registered is drawn, for whom it was registered; nothing is fetched; light and dark, wide and narrow."""

import gzip
import json
import os
import re
import signal
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from confide.answering.diagnostics import charts as diagnostic
from confide.answering.diagnostics.plots import CategoricalPlot, GroupedPlot, NumericPlot
from confide.answering.service import Service
from confide.errors import Fault
from confide.formats.charts.colours import _TWINS, POINT, darkened
from confide.formats.charts.theme import dressed, moving
from confide.web import charts as module
from confide.web.api import create_app
from confide.web.charts import Charts, Look

BARS = {
    "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
    "description": "Two bars.",
    "width": "container",
    "height": {"step": 20},
    "data": {"values": [{"x": 1, "y": "<script>alert(1)</script>"}, {"x": 2, "y": POINT}]},
    "mark": {"type": "bar", "color": POINT},
    "encoding": {"x": {"field": "x", "type": "quantitative"}, "y": {"field": "y", "type": "nominal"}},
}


@pytest.fixture(scope="module")
def charts():
    made = Charts(b"k" * 32)
    yield made
    made.close()


def drawn(charts, spec, look=Look.LIGHT):
    name = charts.register(spec, who="ana").address.removeprefix("/charts/")
    return gzip.decompress(charts.svg(name, look, who="ana")).decode()


def test_a_registered_spec_is_drawn_and_its_texts_are_texts(charts):
    svg = drawn(charts, BARS)
    root = ElementTree.fromstring(svg)
    assert root.tag.endswith("svg") and not [e for e in root.iter() if "script" in e.tag]
    assert "&lt;script&gt;" in svg and "href" not in svg and "url(" not in svg
    assert charts.register(BARS, who="ana").words == "Two bars."


def test_the_address_is_the_sites_secret_and_the_readers_own():
    one, again, other = Charts(b"k" * 32), Charts(b"k" * 32), Charts(b"x" * 32)
    try:
        addresses = [
            c.register(BARS, who=who).address for c, who in ((one, "ana"), (again, "ana"), (other, "ana"), (one, "bob"))
        ]
        assert addresses[0] == addresses[1], "the same after a restart, and on a second server"
        assert len(set(addresses)) == 3
        name = addresses[0].removeprefix("/charts/")
        assert one.spec(name, who="ana") == BARS
        assert one.spec(name, who="bob") is None and one.svg(name, Look.LIGHT, who="bob") is None
        assert other.spec(name, who="ana") is None, "what was not registered is not known"
    finally:
        for each in (one, again, other):
            each.close()


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/data.csv", "data.csv", "/etc/passwd"])
def test_nothing_is_fetched_while_drawing(charts, url):
    with pytest.raises(Fault, match="could not be drawn"):
        drawn(charts, {**BARS, "data": {"url": url}})


def test_no_file_is_read_while_drawing(charts, tmp_path):
    (tmp_path / "file.csv").write_text("x,y\n1,found\n")
    try:
        assert "found" not in drawn(charts, {**BARS, "data": {"url": f"file://{tmp_path}/file.csv"}})
    except Fault:
        return


def test_a_process_that_was_killed_is_replaced(charts):
    drawn(charts, BARS)
    for worker in list(charts._drawing._pool._processes):
        os.kill(worker, signal.SIGKILL)
    assert "<svg" in drawn(charts, {**BARS, "description": "drawn anew"})


def test_each_look_is_drawn_as_it_should_be(charts):
    svgs = {look: drawn(charts, BARS, look) for look in Look}
    widths = {look: int(re.search(r'width="(\d+)"', svg)[1]) for look, svg in svgs.items()}
    assert widths == {look: look.width for look in Look}
    assert f'fill="{POINT}"' in svgs[Look.LIGHT] and f'fill="{POINT}"' not in svgs[Look.DARK]
    assert all(POINT in svg for svg in svgs.values()), "a label that reads like a colour stays"
    assert not any('fill="white"' in svg for svg in svgs.values()), "the page shows through"


def test_a_picture_is_drawn_once(charts):
    name = charts.register({**BARS, "description": "once"}, who="ana").address.removeprefix("/charts/")
    first = charts.svg(name, Look.LIGHT, who="ana")
    assert charts.svg(name, Look.LIGHT, who="ana") is first


def plots():
    x = np.linspace(0, 1, 30)
    seven = [
        np.array([-2.0, 0.1]),
        np.array([-1.0, 0.1]),
        np.array([0.0, 0.1]),
        np.array([1.0, 0.1]),
        np.array([2.0, 0.1]),
    ]
    return [
        diagnostic.numeric_chart(NumericPlot(x, x, x, x, 0.5), name="age"),
        diagnostic.categorical_chart(CategoricalPlot(("a", "b"), *seven, np.array([False, True]), 0.5), name="sex"),
        diagnostic.grouped_chart(GroupedPlot(x, x, x, 0.25), name="age"),
    ]


def colours(spec, key=""):
    if isinstance(spec, dict):
        return {c for name, part in spec.items() if name != "data" for c in colours(part, name)}
    if isinstance(spec, list):
        return {c for part in spec for c in colours(part, key)}
    return {spec} if key in ("color", "fill", "stroke") and isinstance(spec, str) else set()


@pytest.mark.parametrize("spec", plots())
def test_every_colour_of_a_diagnostic_chart_has_a_twin_for_dark_pages(spec):
    used = colours(spec)
    assert used and used <= set(_TWINS), used - set(_TWINS)
    assert not colours(darkened(spec)) & used


def contrast(one: str, two: str) -> float:
    def light(colour):
        parts = [int({"white": "#ffffff"}.get(colour, colour)[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(one), light(two)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("light", "dark"), [pair for pair in _TWINS.items() if pair[0] not in ("white", "#f4f2ef")])
def test_marks_can_be_told_from_the_page(light, dark):
    assert contrast(light, "#ffffff") >= 3 and contrast(dark, "#10181d") >= 3


@pytest.mark.parametrize("spec", plots())
def test_an_interactive_chart_of_points_can_be_moved(spec):
    ready = moving(spec, dark=True, width=500)
    assert ready["width"] == "container" and "$schema" not in ready
    zoomed = [layer for layer in ready["layer"] if "params" in layer]
    assert len(zoomed) == (0 if "by sex" in spec["description"] else 1)
    assert dressed(spec, dark=True, width=500)["width"] == 500


PAGE = "/people/correlation?variables=age,income,hours"


def addresses(html):
    return re.findall(r'(?:srcset|src)="(/charts/[^"]+\.svg)"', html)


def test_a_page_shows_its_chart_in_four_looks_with_words(server, wait_for):
    html = wait_for(server, PAGE).text
    found = addresses(html)
    assert len(found) == 4 and 'alt="Heat map of the correlations of Age' in html
    for address in found:
        answer = server.get(address)
        assert answer.status_code == 200 and answer.headers["content-type"] == "image/svg+xml"
        assert answer.headers["content-encoding"] == "gzip" and "immutable" in answer.headers["cache-control"]
        assert (
            "private" in answer.headers["cache-control"]
            and "script-src 'self'" in answer.headers["content-security-policy"]
        )
        plain = server.get(address, headers={"Accept-Encoding": "identity"})
        assert "content-encoding" not in plain.headers and plain.text == answer.text
        assert server.get(address.replace(".svg", ".json")).json()["layer"]


def test_there_is_no_chart_to_guess(server, wait_for):
    [address, *_] = addresses(wait_for(server, PAGE).text)
    name = address.split("/")[2]
    wrong = [f"/charts/{'0' * 40}/light.svg", address.replace(name, name[::-1]), "/charts/vega.000000000000.js"]
    assert [server.get(a).status_code for a in wrong] == [404] * 3
    for odd in ("purple.svg", "light.png", "light.svg%00", "..%2flight.svg"):
        assert server.get(f"/charts/{name}/{odd}").status_code in (404, 422)


def test_the_script_of_interactive_charts_comes_only_when_asked_for(server, wait_for):
    assert "/charts/vega." not in wait_for(server, PAGE).text
    html = wait_for(server, f"{PAGE}&chart=interactive").text
    [script] = re.findall(r'<script defer src="(/charts/vega\.[0-9a-f]{12}\.js)">', html)
    answer = server.get(script)
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/javascript")
    assert (
        "defaultStyle" in answer.text and "data-chart" in answer.text and "immutable" in answer.headers["cache-control"]
    )
    assert 'role="img"' in html and addresses(html), "without scripts the picture is there"


def test_pictures_do_not_count_against_the_pace(site, policy, serve, wait_for):
    policy(site, per_minute=30)
    server = serve(site)
    found = addresses(wait_for(server, PAGE).text)
    assert found and {server.get(address).status_code for address in found * 10} == {200}


def test_without_the_extra_a_page_says_what_to_install_and_shows_the_numbers(site, serving, wait_for, monkeypatch):
    monkeypatch.setattr(module, "INSTALLED", False)
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with Service.open(site) as service, serving(create_app(service)) as client:
        page = wait_for(client, PAGE)
        assert page.status_code == 200 and "confide[charts]" in page.text and "/charts/" not in page.text
        assert page.text.count("<table") == 1
        plot = wait_for(client, "/people/regression?formula=income~age&diagnostics=true&chart=interactive")
        assert plot.status_code == 200 and "The data of this chart" in plot.text


def test_a_hostile_address_of_a_chart_is_a_document_never_html(server):
    answer = server.get("/charts/%3Cscript%3E/light.svg")
    assert answer.status_code == 404 and "html" not in answer.headers["content-type"]
    assert json.loads(answer.text)["status"] == 404
