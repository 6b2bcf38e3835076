"""Every format of one released model: what a person sees, what a program reads."""

import copy
import csv
import io
import json
import math
import re
from html.parser import HTMLParser

import duckdb
import openpyxl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from confide.errors import Mistake
from confide.formats.arrow import grid_to_arrow
from confide.formats.csv import write_model_csv
from confide.formats.html import write_model_html
from confide.formats.models.json import read_model, write_model
from confide.formats.text import write_model_text
from confide.formats.xlsx import write_model_xlsx
from confide.model.formula import read_formula
from confide.model.model_release import Grid, ModelRelease
from confide.model.request import CorrelationRequest, RegressionRequest
from confide.model.universe import Piece, Universe

SCRIPT, FORMULA, OVERRIDE = "<script>alert(1)</script>", "=1+1", "abc\u202edef"
HOSTILE = [SCRIPT, FORMULA, OVERRIDE, "e\u0301" * 5, "東京都", "x" * 10_000, "", "a,b", 'say "x"', "two\nlines", "cr\rhere",
           "@SUM(A1)", "-1+1", "\x00\x07\x1b[31m", "\ufffe\uffff", "http://a.b/", "_x0041_", "{=1}", "table"]  # fmt: skip


def release(
    *grids: Grid, request: RegressionRequest | CorrelationRequest | None = None, **facts: object
) -> ModelRelease:
    where = Universe((Piece.of({"employment": ["employed"]}),))
    asked = request or RegressionRequest("people", read_formula("log(income) ~ age + sex"), where)
    given_facts = {
        "title": "People",
        "scope": "Employed",
        "notes": ("Coefficients are rounded.",),
        "policy": "standard, version 1",
        "receipt": "cfd-123",
        "source": "Example survey",
    }
    return ModelRelease(asked, grids={grid.name: grid for grid in grids}, **given_facts | facts)  # type: ignore[arg-type]


COEFFICIENTS = Grid(
    "coefficients",
    "Coefficients",
    ("term", "estimate", "standard error", "t"),
    (("(intercept)", 7.25, 0.013, 557.7), ("age", 0.0042, 0.0003, 14.0), ("sex: male", None, None, None)),
)
STATISTICS = Grid(
    "statistics", "Fit", ("statistic", "value"), (("units", 12000), ("R squared", 0.31), ("family", "gaussian"))
)
MODEL = release(COEFFICIENTS, STATISTICS)
CORRELATION = release(
    Grid("correlations", "Correlations", ("variable", "age", "table"), (("age", 1.0, 0.25), ("table", 0.25, 1.0))),
    request=CorrelationRequest("people", ("age", "table")),
)
CHARTED = release(COEFFICIENTS, charts={"age": {"title": "Residuals", "layer": [{"mark": "point"}], "n": 1.5}})
NASTY = release(
    Grid("odd", SCRIPT, tuple(HOSTILE), tuple((*[text] * (len(HOSTILE) - 2), -0.0, None) for text in HOSTILE)),
    Grid("none", "", ("a",), ()),
    title=SCRIPT,
    scope=FORMULA,
    notes=(OVERRIDE,),
)
ALL = {"model": MODEL, "correlation": CORRELATION, "charted": CHARTED, "nasty": NASTY}
WRITERS = (write_model, write_model_csv, write_model_html, write_model_text, write_model_xlsx)

texts = st.text(max_size=8) | st.sampled_from(HOSTILE)
values = st.none() | texts | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def releases(draw: st.DrawFn) -> ModelRelease:
    grids = []
    for name in draw(st.lists(texts, min_size=1, max_size=3, unique=True)):
        columns = draw(st.lists(texts, min_size=1, max_size=4))
        rows = draw(st.lists(st.tuples(*[values] * len(columns)), max_size=4))
        grids.append(Grid(name, draw(texts), tuple(columns), tuple(rows)))
    charts = draw(st.dictionaries(texts, st.dictionaries(texts, values, max_size=2), max_size=2))
    return release(*grids, title=draw(texts), notes=tuple(draw(st.lists(texts, max_size=2))), charts=charts)


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("model", ALL.values(), ids=ALL)
def test_every_format_writes_every_model_and_twice_the_same(write, model):
    assert write(model) == write(model)


@settings(max_examples=200)
@given(releases())
def test_no_format_raises_and_json_reads_back_exactly(model):
    for write in WRITERS:
        assert write(model)
    for name, grid in model.grids.items():
        assert grid_to_arrow(model, name).num_rows == len(grid.rows)
    assert read_model(json.loads(json.dumps(write_model(model), allow_nan=False))) == model


def test_json_is_a_plain_object():
    written = write_model(CHARTED)
    assert list(written) == [
        "class",
        "title",
        "scope",
        "policy",
        "receipt",
        "source",
        "request",
        "grids",
        "notes",
        "charts",
    ]
    assert written["class"] == "confide-model" and written["request"]["formula"] == "log(income) ~ age + sex"
    grid = written["grids"]["coefficients"]
    assert grid["title"] == "Coefficients" and grid["columns"][1] == "estimate" and grid["rows"][2][1] is None
    assert "charts" not in write_model(MODEL)


@pytest.mark.parametrize("junk", [{}, [], None, {"class": "dataset"}, {"class": "confide-model"}])
def test_what_is_no_model_is_a_mistake(junk):
    with pytest.raises(Mistake, match="not a model written by Confide"):
        read_model(junk)


def paths(node: object, path: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [path, *(found for key, value in items for found in paths(value, (*path, key)))]


WRITTEN = write_model(CHARTED)
JUNK = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just([]) | st.just({})


@settings(max_examples=200)
@given(st.sampled_from(paths(WRITTEN)[1:]), JUNK)
def test_a_damaged_model_is_a_mistake_or_still_a_release(path, junk):
    damaged = copy.deepcopy(WRITTEN)
    node = damaged
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = junk
    try:
        found = read_model(damaged)
    except Mistake:
        return
    numbers = [v for grid in found.grids.values() for row in grid.rows for v in row if isinstance(v, int | float)]
    assert all(math.isfinite(number) for number in numbers)
    assert all(len(row) == len(grid.columns) for grid in found.grids.values() for row in grid.rows)


def test_a_table_is_not_read_as_a_model():
    asked = {"ask": "table", "dataset": "people", "rows": ["sex"]}
    with pytest.raises(Mistake):
        read_model({**WRITTEN, "request": asked})


def test_csv_names_the_table_of_each_row():
    assert write_model_csv(MODEL).splitlines() == [
        "table,term,estimate,standard error,t,statistic,value",
        "coefficients,(intercept),7.25,0.013,557.7,,",
        "coefficients,age,0.0042,0.0003,14.0,,",
        "coefficients,sex: male,[z],[z],[z],,",
        "statistics,,,,,units,12000",
        "statistics,,,,,R squared,0.31",
        "statistics,,,,,family,gaussian",
    ]


def test_a_column_called_table_gives_way():
    assert write_model_csv(CORRELATION).splitlines()[0] == "table,variable,age,table_2"


@given(releases())
def test_csv_reads_back_row_for_row_and_nothing_starts_a_formula(model):
    header, *rows = csv.reader(io.StringIO(write_model_csv(model), newline=""))
    assert len(rows) == sum(len(grid.rows) for grid in model.grids.values())
    assert {len(row) for row in rows} <= {len(header)}
    for text in (text for row in [header, *rows] for text in row):
        assert not text.startswith(("=", "+", "@", "-")) or re.fullmatch(r"[+-][\d.]+(e[+-]\d+)?", text)


def test_text_reads_like_a_page():
    assert (
        write_model_text(MODEL)
        == """\
People
Employed
Model: log(income) ~ age + sex (gaussian)

Coefficients
term         estimate  standard error      t
-----------  --------  --------------  -----
(intercept)      7.25           0.013  557.7
age            0.0042          0.0003     14
sex: male         [z]             [z]    [z]

Fit
statistic     value
---------  --------
units        12,000
R squared      0.31
family     gaussian

[z] not applicable
Coefficients are rounded.
Source: Example survey
Policy: standard, version 1
Receipt: cfd-123
"""
    )


def test_text_of_a_correlation_names_its_variables_and_has_no_legend_without_marks():
    text = write_model_text(CORRELATION)
    assert "Correlations of age, table\n" in text and "[z]" not in text


def test_text_with_a_width_continues_in_panels():
    narrow = write_model_text(MODEL, width=30)
    body = narrow.split("\n\n")[1:-1]
    assert [panel.splitlines()[0] for panel in body] == [
        "Coefficients",
        "term         standard error",
        "term             t",
        "Fit",
    ]
    assert all(cell_len(line) <= 30 for panel in body for line in panel.splitlines())


@given(releases())
def test_text_has_nothing_that_steers_a_terminal(model):
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", write_model_text(model))


HARMLESS = {"class", "scope", "role", "tabindex", "aria-label"}


class Strict(HTMLParser):
    """Elements as a strict reader sees them: closed in order, none that acts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag not in ("script", "style", "img", "a") and {name for name, _ in attrs} <= HARMLESS
        self.seen.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("model", ALL.values(), ids=ALL)
def test_html_is_well_formed_and_carries_no_script_style_or_handler(model):
    page = Strict(write_model_html(model))
    assert page.seen.count("table") == page.seen.count("caption") == len(model.grids)
    cells = sum(len(grid.columns) * (1 + len(grid.rows)) for grid in model.grids.values())
    assert page.seen.count("th") + page.seen.count("td") == cells


def test_html_shows_what_text_shows():
    page = write_model_html(MODEL)
    assert '<td class="number mark">[z]</td>' in page and '<th scope="row">(intercept)</th>' in page
    assert "<dt>[z]</dt><dd>not applicable</dd>" in page and "Receipt: cfd-123" in page
    assert "Model: log(income) ~ age + sex (gaussian)" in page and "&lt;script&gt;" in write_model_html(NASTY)


def sheets(model: ModelRelease) -> dict[str, list[tuple[object, ...]]]:
    book = openpyxl.load_workbook(io.BytesIO(write_model_xlsx(model)))
    return {sheet.title: list(sheet.values) for sheet in book}


def test_xlsx_has_a_sheet_for_each_grid_and_one_that_says_what_it_is():
    found = sheets(MODEL)
    assert list(found) == ["Coefficients", "Statistics", "About"]
    assert found["Coefficients"][0][0] == "People" and found["Coefficients"][3] == COEFFICIENTS.columns
    assert found["Coefficients"][4:6] == list(COEFFICIENTS.rows[:2])
    assert found["Coefficients"][6] == ("sex: male", "[z]", "[z]", "[z]")
    about = dict(row for row in found["About"])
    assert about["Asked"] == "Model: log(income) ~ age + sex (gaussian)" and about["Receipt"] == "cfd-123"
    assert about["[z]"] == "not applicable" and about["How protected"] == "Coefficients are rounded."


@pytest.mark.parametrize("model", ALL.values(), ids=ALL)
def test_xlsx_has_no_formula_and_no_link(model):
    book = openpyxl.load_workbook(io.BytesIO(write_model_xlsx(model)))
    cells = [cell for sheet in book for row in sheet.rows for cell in row]
    assert not [cell for cell in cells if cell.data_type == "f" or cell.hyperlink]


def test_a_grid_larger_than_a_sheet_is_a_mistake_that_names_csv():
    wide = Grid("wide", "Wide", tuple(str(n) for n in range(16_385)), ())
    with pytest.raises(Mistake, match="CSV"):
        write_model_xlsx(release(wide))


def test_arrow_has_types_and_the_receipt():
    grid = grid_to_arrow(MODEL, "coefficients")
    assert grid.schema.types == [pa.string(), pa.float64(), pa.float64(), pa.float64()]
    assert grid.to_pylist()[2] == {"term": "sex: male", "estimate": None, "standard error": None, "t": None}
    assert grid.schema.metadata[b"receipt"] == b"cfd-123"
    assert grid_to_arrow(MODEL, "statistics")["value"].to_pylist() == ["12000", "0.31", "gaussian"]
    assert duckdb.sql("SELECT count(*) FROM grid").fetchall() == [(3,)]


def test_arrow_keeps_columns_of_the_same_name_apart():
    grid = Grid("g", "", ("x", "X", "x"), ((1, 2, 3),))
    assert grid_to_arrow(release(grid), "g").to_pylist() == [{"x": 1, "X_2": 2, "x_3": 3}]
