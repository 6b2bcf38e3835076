"""The page of a table: what it shows, other views of the same answer, and every way on from it."""

import re
import shlex
from urllib.parse import unquote, urlsplit

import pytest

from confide.model.policy import PRESETS
from confide.site import ledger
from confide.site.folder import Folder
from confide.spelling.curl import read_curl
from confide.spelling.python import read_python
from confide.spelling.r import read_r
from confide.spelling.url import read_url
from confide.spelling.words import read_words

STANDARD = PRESETS["standard"].counts

TABLE = "/people/table?rows=education&columns=sex&where=age_group=30-39,40-49"


def cells(page):
    """The numbers of the table, row by row."""
    body = page.html[page.html.index("<tbody>") : page.html.index("</tbody>")]
    rows = [re.findall(r'<td class="number[^"]*">([^<]*)</td>', row) for row in body.split("</tr>")]
    return [[cell.replace(",", "") for cell in row] for row in rows if row]


def test_a_table_has_a_caption_scopes_and_the_numbers_of_its_data(look, server):
    page = look(TABLE)
    values = server.get(TABLE.replace("table?", "table.json?")).json()["value"]
    assert [float(cell) for row in cells(page) for cell in row] == values
    assert "<caption>" in page.html and page.html.count("<h1>") == 1
    heads = [attributes for tag, attributes in page.tags if tag == "th"]
    assert heads and all(attributes.get("scope") in ("row", "col") for attributes in heads)
    assert "Highest completed education by Sex" in page.text and "Age group: 30-39 or 40-49" in page.text


def test_the_page_says_how_the_numbers_were_protected_and_whether_totals_add(look):
    text = look(TABLE).text
    assert (
        f"Counts are changed at random by at most {STANDARD.distance}" in text
        and "Totals need not equal the sum of their parts" in text
    )


def test_marks_are_explained(site, serve, page, under):
    server = serve(under(site, "drop-q"))
    found = page(server.get("/firms/table?rows=industry_section&columns=county&measure=total&of=turnover"))
    assert any(cell == "[c]" for row in cells(found) for cell in row) and "[c] confidential" in found.text


@pytest.mark.parametrize("share", ["row", "column", "total"])
def test_percentages_are_computed_from_the_released_numbers(look, share):
    counts = [[float(cell) for cell in row] for row in cells(look(TABLE))]
    shares = [[float(cell) for cell in row] for row in cells(look(f"{TABLE}&percent={share}"))]
    for r, row in enumerate(counts):
        for c, count in enumerate(row):
            whole = {"row": row[-1], "column": counts[-1][c], "total": counts[-1][-1]}[share]
            assert shares[r][c] == pytest.approx(100 * count / whole, abs=0.0501)


@pytest.mark.parametrize("share", ["row", "column", "total"])
def test_what_a_page_of_percentages_downloads_and_runs_are_percentages(look, server, share):
    page = look(f"{TABLE}&percent={share}")
    shown = [float(cell) for row in cells(page) for cell in row]
    assert server.get(page.links["JSON-stat"]).json()["value"] == shown
    lines = [line.split(",") for line in server.get(page.links["CSV"]).text.splitlines()]
    assert [float(line[lines[0].index("count_percent")]) for line in lines[1:]] == shown
    assert all(f"percent={share}" in text or "percent = " in text for _, text in samples(page)[1:])
    assert f"percent=&#39;{share}&#39;" in samples(page)[0][1]


def test_percentages_of_rows_are_offered_only_where_there_are_rows_and_columns(look):
    assert {"% of row", "% of column", "% of total"} <= set(look(TABLE).links)
    assert {"% of row", "% of column", "% of total"} & set(look("/people/table?rows=sex").links) == {"% of total"}
    means = look("/people/table?rows=sex&measure=mean&of=income")
    assert not any(words.startswith("%") for words in means.links)


def test_zeros_are_hidden_on_demand(look):
    address = "/people/table?rows=employment&columns=sex&where=age_group=30-39"
    with_zeros, without = cells(look(address)), cells(look(f"{address}&zeros=hide"))
    kept = [row for row in with_zeros if any(float(cell) for cell in row)]
    assert len(kept) < len(with_zeros) and without == kept


def test_the_spread_of_the_noise_is_shown_on_demand(look):
    page = look("/people/table?rows=sex&noise=show")
    assert [row[1] for row in cells(page)] == [f"{STANDARD.variance**0.5:.2f}"] * 3 and "Noise, s.d." in page.text


def test_views_keep_each_other_and_mark_what_is_shown(look):
    page = look(f"{TABLE}&percent=row&noise=show")
    assert page.links["Numbers"].endswith("age_group=30-39,40-49&noise=show")
    assert page.links["% of column"].endswith("&percent=column&noise=show")
    assert page.html.count('aria-current="true">% of row') == 1


def test_index_numbers_are_offered_shown_and_left_again(look, server):
    page = look("/people/table?rows=sex&columns=region&measure=count,mean&of=income&noise=show")
    assert {"Male", "Female", "Numbers"} <= set(page.links), "the classes of the first variable that is short"
    assert page.links["Female"].endswith("&index=sex=female&noise=show")
    page = look(page.links["Female"])
    assert page.status == 200 and page.html.count('aria-current="true">Female') == 1
    assert server.get(page.links["CSV"]).text.splitlines()[0].count("_index") == 4
    assert all("index" in text for _, text in samples(page))
    for words in ("% of row", "None", "Numbers"):
        left = look(page.links[words])
        assert left.status == 200 and "index=" not in left.address
    long = look("/people/table?rows=municipality&index=municipality=C101")
    assert long.status == 200 and [words for words in long.links if words.startswith("C1")] == ["C101"]
    assert "Index" not in look("/people/table?rows=municipality").text


@pytest.mark.parametrize("part", ["rows", "columns", "measure", "universe"])
def test_a_change_link_by_each_part_leads_to_that_part_with_everything_kept(look, part):
    address = look(TABLE).links[f"Change the {part}"]
    assert address == f"/people/table/build?rows=education&columns=sex&where=age_group=30-39,40-49#{part}"
    assert part in look(address).ids
    assert look(look(address).send("show")).address.endswith(TABLE)


def test_downloads_are_the_same_answer(look, server):
    page = look(TABLE)
    receipt = re.search(r"cfd-[0-9a-f]{32}", page.html)[0]
    for name in ("CSV", "Excel", "JSON-stat"):
        response = server.get(page.links[name])
        assert response.status_code == 200 and response.headers["etag"] == f'"{receipt}"'


@pytest.mark.parametrize(
    "query",
    [
        "measure=count,weighted_count,total,mean,sd&of=income",
        "measure=ratio&of=taxes&over=income",
        "measure=median,p10,p25,p75,p90&of=income",
        "percent=total&interval=90",
        "measure=weighted_count&percent=column",
        "measure=total&of=income&percent=row",
        "index=sex=male",
        "measure=mean,ratio&of=taxes&over=income&index=adult=yes&define=adult+%3D+age+>%3D+20",
    ],
)
def test_every_statistic_has_a_page_and_downloads_of_one_receipt(look, server, query):
    rows = "adult" if "adult" in query else "region"
    page = look(f"/people/table?rows={rows}&columns=sex&{query}")
    assert page.status == 200
    receipt = re.search(r"cfd-[0-9a-f]{32}", page.html)[0]
    for name in ("CSV", "Excel", "JSON-stat"):
        assert server.get(page.links[name]).headers["etag"] == f'"{receipt}"'
    for words in {"Numbers", "% of row", "% of column", "% of total", "95 %", "Male", "Show its spread"} & set(
        page.links
    ):
        assert look(page.links[words]).status == 200, words


def samples(page):
    return re.findall(r"<summary>([^<]+)</summary>\s*<pre[^>]*><code>(.*?)</code>", page.html, re.DOTALL)


def test_code_in_every_language_is_the_same_question(look):
    page = look(TABLE)
    texts = {language: text.replace("&#39;", "'").replace("&#34;", '"').replace("&amp;", "&").replace("&gt;", ">").replace("&lt;", "<")
             for language, text in samples(page)}  # fmt: skip
    asked = read_url(TABLE)
    assert list(texts) == ["Python", "R", "curl", "Command line"]
    assert read_python(texts["Python"].partition("answer = ")[2]) == asked
    assert read_r(texts["R"]) == asked and read_curl(texts["curl"]) == asked
    words = shlex.split(texts["Command line"])
    assert (
        words[:2] == ["confide", "table"]
        and words[2].startswith("http://127.0.0.1:")
        and read_words(words[3:], type(asked)) == asked
    )


def test_the_citation_names_the_receipt_and_the_address(look):
    page = look(TABLE)
    cited = page.html[page.html.index('id="cite"') :]
    assert re.search(r"Receipt cfd-[0-9a-f]{32}\. http://127\.0\.0\.1:\d+/people/table\?rows=education", cited)


def test_a_host_that_is_none_is_not_repeated(server):
    response = server.get("/people/table?rows=sex", headers={"Host": 'evil"><script>'})
    assert response.status_code in (200, 400) and "evil" not in response.text


def test_another_view_is_no_second_question(site, serve, page):
    server = serve(site)
    for view in ("", "&percent=total", "&zeros=hide", "&noise=show"):
        assert page(server.get(f"/people/table?rows=sex{view}")).status == 200
    assert [entry.outcome for entry in ledger.read(Folder(site).ledger)] == ["released"]


def test_a_chart_is_shown_with_words_for_who_does_not_see_it(look, server):
    page = look("/people/table?rows=region")
    picture = next(attributes for tag, attributes in page.tags if tag == "img" and "/charts/" in attributes["src"])
    assert picture["alt"] == "Bar chart of Count by Region. Everyone."
    assert server.get(picture["src"]).headers["content-type"] == "image/svg+xml"
    assert "/charts/" not in look("/people/table?rows=region,sex&columns=education").html


def test_every_link_of_a_table_works(look, server):
    for words, address in look(TABLE).links.items():
        if address.startswith("/") and not address.startswith("/api"):
            assert server.get(address).status_code == 200, (words, unquote(urlsplit(address).query))
