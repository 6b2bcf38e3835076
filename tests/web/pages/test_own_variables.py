"""Variables of one's own in the browser and over HTTP: defined in a field, chosen like any other, shown as text and nothing else."""

import csv
import io
import zipfile
from urllib.parse import quote, unquote, urlsplit

import pytest

ADULT = "adult = age >= 20"
HOSTILE = 'w = "<script>alert(1)</script>" "<b>bold</b> & \'so\'": employment in (employed); else: "a, b"'


def query(page):
    return unquote(urlsplit(page.address).query)


def test_a_newcomer_defines_a_variable_and_makes_a_table_of_it(look):
    page = look("/people/table/build")
    assert "adult" not in page.choices("add.rows")
    page = look(page.send("define", changed={"define": ADULT}))
    assert query(page) == f"define={ADULT}" and "adult" in page.choices("add.rows")
    page = look(page.send("rows.add", changed={"add.rows": "adult"}))
    answer = look(page.send("show"))
    assert answer.status == 200 and query(answer) == f"rows=adult&define={ADULT}"
    assert "Defined by the asker: adult = age >= 20." in answer.text
    assert "Yes" in answer.text and "No" in answer.text
    emptied = look(page.send("update", changed={"define": ""}))
    assert query(emptied) == "rows=adult" and "adult" not in emptied.choices("add.columns")


@pytest.mark.parametrize("ask", ["table", "regression", "correlation"])
def test_every_builder_keeps_a_definition_and_says_what_is_wrong_with_one(look, ask):
    page = look(f"/people/{ask}/build?define={quote(ADULT)}")
    assert page.status == 200 and page.chosen("define") == [ADULT, ""]
    wrong = look(f"/people/{ask}?define={quote('adult = age >= 18')}")
    assert wrong.status == 422 and "18 is no declared cutpoint of 'age'" in wrong.text
    assert wrong.chosen("define") == ["adult = age >= 18", ""]


@pytest.mark.parametrize(
    "address",
    [
        f"/people/regression?formula=income~adult%2Bsex&define={quote(ADULT)}",
        f"/people/correlation?variables=income,adult&define={quote(ADULT)}",
        f"/people/table?rows=sex&where=adult=yes&define={quote(ADULT)}",
    ],
)
def test_models_correlations_and_universes_take_it(look, address):
    assert look(address).status == 200


def test_a_condition_on_it_is_chosen_in_the_form(look):
    page = look(f"/people/table/build?rows=sex&where=adult=&define={quote(ADULT)}")
    assert page.choices("in.1.adult") == ["yes", "no"]
    answer = look(page.send("show", changed={"in.1.adult": "yes"}))
    assert answer.status == 200 and "Age group: 20-29 or" in answer.text


def test_a_refused_table_says_what_was_asked_by_labels(look):
    define = 'place "My places" = a: municipality in (N101); else: b'
    page = look(f"/people/table?rows=place,occupation&columns=income&define={quote(define)}")
    assert page.status == 403 and "My places" in page.text


def test_labels_are_text_in_pages_and_files(look, server, wait_for):
    page = look(f"/people/table?rows=w&define={quote(HOSTILE)}")
    assert page.status == 200 and "<script>alert" not in page.html and "<b>bold" not in page.html
    assert "<b>bold</b> & 'so'" in page.text
    address = f"/people/table.{{}}?rows=w&define={quote(HOSTILE)}"
    rows = list(csv.reader(io.StringIO(wait_for(server, address.format("csv")).text)))
    assert rows[1][:2] == ["<script>alert(1)</script>", "<b>bold</b> & 'so'"] and rows[2][0] == "a, b"
    book = zipfile.ZipFile(io.BytesIO(wait_for(server, address.format("xlsx")).content))
    assert not any(b"<script>" in book.read(name) or b"<f>" in book.read(name) for name in book.namelist())
    labels = wait_for(server, address.format("json")).json()["dimension"]["w"]["category"]["label"]
    assert labels["a, b"] == "a, b"


@pytest.mark.parametrize("label", ["=HYPERLINK(1)", "+1", "-1", "@x", "\tx", "a\nb", "x" * 200])
def test_a_label_that_a_spreadsheet_would_run_is_a_mistake(server, label):
    define = f'w "{label}" = employment in (employed)'
    assert server.get(f"/people/table.csv?rows=w&define={quote(define)}").status_code == 422


def test_ten_definitions_and_no_more(server):
    many = "&".join(f"define={quote(f'v{i} = age >= 20')}" for i in range(11))
    answer = server.get(f"/people/table.csv?rows=v1&{many}")
    assert answer.status_code == 422 and "at most 10" in answer.text
    assert server.get(f"/people/table/build?{many}").status_code == 200
