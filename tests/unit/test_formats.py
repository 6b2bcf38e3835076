"""Every format of one release: what a person sees, what a program reads, and that nothing withheld gets out."""

import copy
import csv
import io
import json
import re
import zipfile
from dataclasses import replace
from datetime import datetime
from html.parser import HTMLParser
from math import prod
from pathlib import Path

import duckdb
import jsonschema
import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from confide.errors import Mistake
from confide.formats.about import legend
from confide.formats.arrow import to_arrow
from confide.formats.citation import cite
from confide.formats.csv import write_csv
from confide.formats.html import write_html
from confide.formats.jsonstat.write import read_jsonstat, write_jsonstat
from confide.formats.text import write_text
from confide.formats.xlsx import write_xlsx
from confide.model.release import MARKS, Column, Dimension, Release
from confide.model.request import Measure, TableRequest
from confide.model.universe import Piece, Universe

SCRIPT, FORMULA, COMMAND = "<script>alert(1)</script>", "=1+1", "=cmd|' /C calc'!A0"
OVERRIDE, COMBINING, WIDE, LONG = "abc\u202edef", "e\u0301" * 5, "東京都", "x" * 10_000
HOSTILE = [SCRIPT, FORMULA, COMMAND, OVERRIDE, COMBINING, WIDE, LONG, "", "a,b", 'say "x"', "two\nlines", "cr\rhere",
           "@SUM(A1)", "+1+1", "-1+1", "\t=1", "\x00\x07\x1b[31m", "\ufffe\uffff", "http://a.b/",
           "_x0041_", "\u2028", "{=1}"]  # fmt: skip
SCHEMA = json.loads((Path(__file__).parent / "jsonstat_schema.json").read_text())
WRITERS = {
    "arrow": to_arrow,
    "csv": write_csv,
    "jsonstat": write_jsonstat,
    "xlsx": write_xlsx,
    "text": write_text,
    "html": write_html,
}


def dimension(name: str, *labels: str, label: str | None = None) -> Dimension:
    codes = (*(str(place) for place in range(len(labels) - 1)), "_T")
    return Dimension(name, name.capitalize() if label is None else label, codes, labels)


def column(name: str, shape: tuple[int, ...], *, decimals: int = 0, first: float = 1000.0, marks: str = "") -> Column:
    values = first + np.arange(prod(shape), dtype=float)
    given_marks = np.array(list(marks.ljust(values.size))) if marks else np.full(values.size, " ")
    values[given_marks != " "] = np.nan
    noise = np.where(np.isnan(values), np.nan, 1.5).reshape(shape)
    cells = np.char.strip(given_marks).reshape(shape)
    return Column(name, name.capitalize(), decimals, values.reshape(shape), cells, noise)


def release(
    dimensions: list[Dimension], columns: list[Column], *, rows: int = 1, title: str = "People", **facts: object
) -> Release:
    names = tuple(d.name for d in dimensions)
    measures = tuple(Measure(c.name) for c in columns)
    of = "income" if any(m.of_variable for m in measures) else None
    where = Universe((Piece.of({"age": ["16-24", "25+"]}),))
    over = "taxes" if Measure.RATIO in measures else None
    request = TableRequest("people", names[:rows], names[rows:], where, measures, of, over=over)
    given_facts = {
        "scope": "Aged 16 and over",
        "notes": ("Counts carry noise.",),
        "totals_add": False,
        "policy": "standard 3",
        "receipt": "r-123",
        "source": "Example survey",
    }
    return Release(
        request, title, dimensions=tuple(dimensions), columns={c.name: c for c in columns}, **given_facts | facts
    )  # type: ignore[arg-type]


REGION = dimension("region", "North", "South", "Total")
SEX = dimension("sex", "Female", "Male", "Total")
AGE = dimension("age", "Young", "Old", "Total")

ONE = release([REGION], [column("count", (3,), marks=" c")])
TWO = release([REGION, SEX], [column("count", (3, 3), marks=" c x")])
ACROSS = release([SEX], [column("count", (3,))], rows=0)
THREE = release([REGION, SEX, AGE], [column("count", (3, 3, 3))], rows=2)
SEVERAL = release(
    [REGION, SEX], [column("count", (3, 3)), column("mean", (3, 3), decimals=2, first=20.5, marks="  zzz")]
)
NASTY_AXIS = Dimension("weird", SCRIPT, tuple(f"{i}{text[:50]}" for i, text in enumerate(HOSTILE)), tuple(HOSTILE))
NASTY = release(
    [NASTY_AXIS, SEX], [column("count", (len(HOSTILE), 3))], title=SCRIPT, scope=FORMULA, notes=(OVERRIDE,), source=LONG
)
ALL = {"one": ONE, "two": TWO, "across": ACROSS, "three": THREE, "several": SEVERAL, "nasty": NASTY}

texts = st.one_of(st.text(max_size=12), st.sampled_from(HOSTILE))


@st.composite
def columns(draw: st.DrawFn, measure: Measure, shape: tuple[int, ...]) -> Column:
    size, decimals = prod(shape), draw(st.integers(0, 4))
    marks = np.array(draw(st.lists(st.sampled_from(["", *MARKS]), min_size=size, max_size=size)), dtype="<U1")
    number = st.integers(-(2**52), 2**52) if not decimals else st.floats(-1e12, 1e12)
    values = np.array(draw(st.lists(number, min_size=size, max_size=size)), dtype=float)
    noise = np.array(draw(st.lists(st.floats(0, 1e9), min_size=size, max_size=size)))
    values[marks != ""] = noise[marks != ""] = np.nan
    arrays = (values.reshape(shape), marks.reshape(shape), noise.reshape(shape))
    return Column(measure, draw(texts), decimals, *arrays)


@st.composite
def releases(draw: st.DrawFn) -> Release:
    name = st.one_of(
        st.sampled_from(["measure", "count", "count_mark", "a", "a_label"]), st.text(min_size=1, max_size=6)
    )
    names = draw(st.lists(name, min_size=1, max_size=3, unique=True))
    dimensions = [draw(dimension_of(name)) for name in names]
    shape = tuple(len(d.codes) for d in dimensions)
    measures = draw(st.lists(st.sampled_from(list(Measure)), min_size=1, max_size=3, unique=True))
    drawn = [draw(columns(measure, shape)) for measure in measures]
    facts = {name: draw(texts) for name in ("scope", "policy", "receipt", "source")}
    notes = tuple(draw(st.lists(texts, max_size=2)))
    rows = draw(st.integers(0, len(names)))
    return release(
        dimensions, drawn, rows=rows, title=draw(texts), notes=notes, totals_add=draw(st.booleans()), **facts
    )


@st.composite
def dimension_of(draw: st.DrawFn, name: str) -> Dimension:
    codes = draw(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=3, unique=True))
    labels = draw(st.lists(texts, min_size=len(codes), max_size=len(codes)))
    return Dimension(name, draw(texts), tuple(codes), tuple(labels))


slow = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


# ---------------------------------------------------------------- all formats


@pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)
@pytest.mark.parametrize("table", ALL.values(), ids=ALL)
def test_every_format_writes_every_shape_and_twice_the_same(writer, table):
    first, again = writer(table), writer(table)
    assert first == again


@slow
@given(releases())
def test_no_format_raises_and_no_withheld_value_shows_as_a_number(table):
    hidden = [np.isnan(c.values).ravel() for c in table.columns.values()]
    numbers = sum(int((~h).sum()) for h in hidden)
    marks = sum(int(h.sum()) for h in hidden)
    arrow = to_arrow(table)
    assert [arrow.column(len(table.shape) + 3 * i).is_null().to_pylist() for i in range(len(hidden))] == [
        h.tolist() for h in hidden
    ]
    assert [v is None for v in write_jsonstat(table)["value"]] == np.stack(hidden, -1).ravel().tolist()
    assert sum(cell in ("[c]", "[x]", "[z]") for cell in csv_values(table)) == marks
    assert sum(cell != "" and "[" not in cell for cell in csv_values(table)) == numbers
    assert len(re.findall(r'<td class="number mark[^"]*">\[[cxz]\]</td>', write_html(table))) == marks
    assert len(re.findall(r'<td class="number( total)?">-?[0-9,.]+</td>', write_html(table))) == numbers
    assert xlsx_cells(table) == (numbers, marks)
    printed = [cell for line in text_body(table) for cell in line.split()[-leaves(table) :]]
    assert sum(cell in ("[c]", "[x]", "[z]") for cell in printed) == marks
    assert sum(re.fullmatch(r"-?[0-9,]+(\.[0-9]+)?", cell) is not None for cell in printed) == numbers


def csv_rows(table: Release) -> list[list[str]]:
    return list(csv.reader(io.StringIO(write_csv(table), newline=""), strict=True))


def csv_values(table: Release) -> list[str]:
    return [cell for row in csv_rows(table)[1:] for cell in row[2 * len(table.shape) :: 2]]


def text_body(table: Release) -> list[str]:
    """The lines of cells, counted from below: above stand labels that may look like anything."""
    bare = replace(table, notes=(), source="", policy="", receipt="")
    below, rows = len(legend(bare)) + 2, prod(table.shape[: len(table.request.rows)])
    return write_text(bare).rstrip("\n").split("\n")[:-below][-rows:]


def sheets(table: Release) -> dict[str, openpyxl.worksheet.worksheet.Worksheet]:
    book = openpyxl.load_workbook(io.BytesIO(write_xlsx(table)))
    return {sheet.title: sheet for sheet in book.worksheets}


def xlsx_cells(table: Release) -> tuple[int, int]:
    cells = [cell for sheet in list(sheets(table).values())[:-1] for row in sheet.iter_rows(min_row=4) for cell in row]
    numbers = sum(cell.data_type == "n" and cell.value is not None for cell in cells)
    marks = sum(cell.value in ("[c]", "[x]", "[z]") and cell.alignment.horizontal == "right" for cell in cells)
    return numbers, marks


def test_a_missing_number_without_a_mark_shows_as_not_available():
    table = release([REGION], [column("count", (3,))])
    table.columns["count"].values[1] = np.nan
    assert to_arrow(table)["count_mark"].to_pylist() == ["", "x", ""]
    assert csv_values(table) == ["1000", "[x]", "1002"]
    assert "[x] not available" in write_text(table)


@pytest.mark.parametrize("decimals", [0, 1])
def test_a_number_under_a_mark_never_shows(decimals):
    table = release([REGION], [column("count", (3,), decimals=decimals, marks=" c")])
    table.columns["count"].values[1] = 777.0
    assert not any("777" in WRITERS[name](table) for name in ("csv", "text", "html"))
    assert "777" not in json.dumps(write_jsonstat(table))
    assert xlsx_cells(table) == (2, 1)
    values = to_arrow(table)["count"].chunk(0)
    assert values.to_pylist() == [1000, None, 1002]
    assert 777 not in np.frombuffer(values.buffers()[1], dtype=np.float64 if decimals else np.int64)


# ---------------------------------------------------------------- arrow


def test_arrow_has_a_row_a_cell_with_value_mark_and_noise():
    table = to_arrow(SEVERAL)
    assert table.column_names == [
        "region", "sex", "count", "count_mark", "count_noise_sd", "mean", "mean_mark", "mean_noise_sd",
    ]  # fmt: skip
    assert table.num_rows == 9
    assert table.schema.field("count").type == pa.int64()
    assert table.schema.field("mean").type == pa.float64()
    assert table.slice(4, 1).to_pylist() == [
        {"region": "1", "sex": "1", "count": 1004, "count_mark": "", "count_noise_sd": 1.5,
         "mean": None, "mean_mark": "z", "mean_noise_sd": None}
    ]  # fmt: skip


def test_arrow_metadata_carry_the_receipt():
    facts = {key.decode(): value.decode() for key, value in to_arrow(TWO).schema.metadata.items()}
    assert facts == {
        "receipt": "r-123", "policy": "standard 3", "title": "People", "scope": "Aged 16 and over",
        "source": "Example survey",
    }  # fmt: skip


def test_a_dimension_keeps_its_name_and_the_measure_gives_way():
    axes = [dimension("Count", "a", "Total"), dimension("count_2_mark", "b", "Total")]
    table = release(axes, [column("count", (2, 2))])
    assert to_arrow(table).column_names == ["Count", "count_2_mark", "count_3", "count_3_mark", "count_3_noise_sd"]


def test_pandas_polars_and_duckdb_read_the_arrow_table():
    table = to_arrow(TWO)
    frame = table.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert frame["count"].isna().tolist() == [False, True, False, True] + [False] * 5
    assert pl.from_arrow(table)["count"].to_list()[:3] == [1000, None, 1002]
    assert duckdb.sql("SELECT sum(count) FROM table WHERE region = '_T'".replace("table", '"table"')).fetchall() == [
        (1006 + 1007 + 1008,)
    ]


# ---------------------------------------------------------------- csv


def test_csv_is_tidy_with_codes_labels_marks_and_noise():
    assert write_csv(ONE) == (
        "region,region_label,count,count_noise_sd\n0,North,1000,1.5\n1,South,[c],\n_T,Total,1002,1.5\n"
    )


def test_csv_defuses_formulas_but_leaves_number_codes():
    axis = Dimension("code", "Code", ("-9", "=1+1", "_T"), ("-1.5", "@x", "\t=1"))
    rows = csv_rows(release([axis], [column("count", (3,), first=-1000.0)]))
    assert [row[:3] for row in rows[1:]] == [["-9", "-1.5", "-1000"], ["'=1+1", "'@x", "-999"], ["_T", "'\t=1", "-998"]]


@slow
@given(releases())
def test_csv_reads_back_row_for_row_and_nothing_starts_a_formula(table):
    header, *body = csv_rows(table)
    assert len(set(header)) == len(header)
    assert len(body) == prod(table.shape)
    for row in body:
        for cell in row[: 2 * len(table.shape)]:
            assert cell[:1] not in tuple("=+-@\t\r") or re.fullmatch(r"[+-]?[0-9]+(\.[0-9]+)?", cell) or not cell


def test_csv_label_columns_give_way_to_dimensions():
    axes = [dimension("a", "x", "Total"), dimension("a_label", "y", "Total")]
    header = csv_rows(release(axes, [column("count", (2, 2))]))[0]
    assert header == ["a", "a_label_2", "a_label", "a_label_label", "count", "count_noise_sd"]


# ---------------------------------------------------------------- JSON-stat


@slow
@given(releases())
def test_jsonstat_is_valid_and_reads_back_exactly(table):
    document = json.loads(json.dumps(write_jsonstat(table), allow_nan=False))
    jsonschema.validate(document, SCHEMA)
    assert len(document["id"]) == len(document["size"]) == len(document["dimension"])
    assert len(document["value"]) == prod(document["size"])
    back = read_jsonstat(document)
    assert back == table
    assert list(back.columns) == list(table.columns)
    for name, written in table.columns.items():
        np.testing.assert_array_equal(back.columns[name].values, written.values)
        np.testing.assert_array_equal(back.columns[name].noise, written.noise)


def test_jsonstat_says_what_is_withheld_and_how_many_decimals():
    document = write_jsonstat(SEVERAL)
    assert document["id"] == ["region", "sex", "measure"]
    assert document["size"] == [3, 3, 2]
    assert document["role"] == {"metric": ["measure"]}
    assert document["value"][:6] == [1000, 20.5, 1001, 21.5, 1002, None]
    assert document["status"] == {"5": "z", "7": "z", "9": "z"}
    assert document["dimension"]["measure"]["category"]["unit"] == {"count": {"decimals": 0}, "mean": {"decimals": 2}}
    assert document["extension"]["status"]["label"] == {"z": "not applicable"}


def test_the_measure_dimension_gives_way_to_a_variable_of_that_name():
    table = release([dimension("measure", "a", "Total")], [column("count", (2,))])
    assert write_jsonstat(table)["id"] == ["measure", "measure_"]
    assert read_jsonstat(write_jsonstat(table)) == table


@pytest.mark.parametrize("junk", [None, [], {}, "x", 3, {"version": "2.0"}, {"class": "dataset", "version": "2.0"}])
def test_what_is_no_jsonstat_is_a_mistake(junk):
    with pytest.raises(Mistake, match="not a JSON-stat table"):
        read_jsonstat(junk)


@pytest.mark.parametrize("decimals", [-1, 2.0, True, None, 10**400])
def test_decimals_that_make_no_sense_are_a_mistake(decimals):
    document = write_jsonstat(SEVERAL)
    document["dimension"]["measure"]["category"]["unit"]["count"]["decimals"] = decimals
    with pytest.raises(Mistake):
        read_jsonstat(document)


def paths(node: object, path: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [path, *(found for key, child in items for found in paths(child, (*path, key)))][0 if path else 1 :]


@slow
@given(st.data())
def test_damaged_jsonstat_is_a_mistake_or_still_a_release(data):
    document = copy.deepcopy(json.loads(json.dumps(write_jsonstat(SEVERAL))))
    *path, last = data.draw(st.sampled_from(paths(document)))
    node = document
    for key in path:
        node = node[key]
    junk = st.sampled_from([None, "", "x", -1, 2.5, True, [], {}, [1], {"a": 1}, float("inf"), 10**400, "99999"])
    if data.draw(st.booleans()):
        del node[last]
    else:
        node[last] = data.draw(junk)
    try:
        table = read_jsonstat(document)
    except Mistake:
        return
    assert all(c.values.shape == table.shape for c in table.columns.values())
    assert write_csv(table)
    assert write_text(table)


# ---------------------------------------------------------------- xlsx


def test_xlsx_has_a_sheet_for_each_measure_laid_out_as_a_person_expects():
    book = sheets(SEVERAL)
    assert list(book) == ["Count", "Mean", "About"]
    rows = [list(row) for row in book["Mean"].iter_rows(values_only=True)]
    assert rows == [
        ["People", None, None, None],
        ["Aged 16 and over", None, None, None],
        ["Mean", None, None, None],
        [None, "Sex", None, None],
        ["Region", "Female", "Male", "Total"],
        ["North", 20.5, 21.5, "[z]"],
        ["South", "[z]", "[z]", 25.5],
        ["Total", 26.5, 27.5, 28.5],
    ]
    assert [str(merged) for merged in book["Mean"].merged_cells.ranges] == ["B4:D4"]
    assert book["Mean"].freeze_panes == "B6"
    assert book["Mean"]["B6"].number_format == "#,##0.00"
    assert book["Count"]["B6"].number_format == "#,##0"
    assert [book["Count"][cell].font.bold for cell in ("B6", "D6", "B8", "A8")] == [False, True, True, True]


def test_xlsx_leaves_repeated_row_labels_blank():
    sheet = sheets(THREE)["Count"]
    assert [sheet.cell(row, 1).value for row in range(6, 10)] == ["North", None, None, "South"]
    assert [sheet.cell(row, 2).value for row in range(6, 10)] == ["Female", "Male", "Total", "Female"]


def test_xlsx_says_what_it_is():
    about = list(sheets(TWO)["About"].iter_rows(values_only=True))
    assert about == [
        ("Title", "People"),
        ("Scope", "Aged 16 and over"),
        ("Source", "Example survey"),
        ("How protected", "Counts carry noise."),
        ("Totals", "Totals need not equal the sum of their parts."),
        ("Policy", "standard 3"),
        ("Receipt", "r-123"),
        ("[c]", "confidential"),
        ("[x]", "not available"),
    ]


@slow
@given(releases())
def test_xlsx_has_no_formula_and_no_link(table):
    for sheet in sheets(table).values():
        for row in sheet.iter_rows():
            assert all(cell.data_type in "sn" and cell.hyperlink is None for cell in row)


def test_xlsx_bytes_carry_no_clock():
    written = write_xlsx(TWO)
    properties = openpyxl.load_workbook(io.BytesIO(written)).properties
    assert properties.created == properties.modified == datetime(2000, 1, 1)
    assert {part.date_time for part in zipfile.ZipFile(io.BytesIO(written)).infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_xlsx_sheet_names_are_made_acceptable():
    base = column("count", (3,)), column("total", (3,)), column("mean", (3,))
    labels = "About", "a/b[c]:*?" + "x" * 40, "A B C    " + "X" * 40
    table = release([REGION], [replace(c, label=label) for c, label in zip(base, labels, strict=True)])
    names = list(sheets(table))
    assert names[0] == "About 2"
    assert names[-1] == "About"
    assert all(len(name) <= 31 for name in names)
    assert len({name.casefold() for name in names}) == 4


@pytest.mark.parametrize("rows", [0, 1])
def test_a_table_larger_than_a_sheet_is_a_mistake_that_names_csv(rows):
    size = (16_385, 1_048_573)[rows]
    codes = tuple(map(str, range(size)))
    axis = Dimension("place", "Place", codes, codes)
    with pytest.raises(Mistake, match="CSV"):
        write_xlsx(release([axis], [column("count", (size,))], rows=rows))


def test_the_widest_table_still_fits():
    codes = tuple(map(str, range(16_384)))
    table = release([Dimension("place", "Place", codes, codes)], [column("count", (16_384,))], rows=0)
    assert len(write_xlsx(table)) > 100_000


# ---------------------------------------------------------------- text


def test_text_reads_like_a_table():
    assert (
        write_text(SEVERAL)
        == """\
People
Aged 16 and over

        Sex
        Female        Male          Total
Region  Count   Mean  Count   Mean  Count   Mean
------  -----  -----  -----  -----  -----  -----
North   1,000  20.50  1,001  21.50  1,002    [z]
South   1,003    [z]  1,004    [z]  1,005  25.50
Total   1,006  26.50  1,007  27.50  1,008  28.50

[z] not applicable
Counts carry noise.
Totals need not equal the sum of their parts.
Source: Example survey
Policy: standard 3
Receipt: r-123
"""
    )


def test_what_stands_beside_a_measure_says_only_what_it_adds_in_every_format() -> None:
    """Long titles were cut to one width, so that the two ends of an interval looked alike."""
    share = "Weighted count, % of row"
    ends = {"se": "Standard error", "low": "95 % interval from", "high": "95 % interval to"}
    named = {
        "weighted_count_percent": share,
        **{f"weighted_count_percent_{e}": f"{share}, {t.lower()}" for e, t in ends.items()},
    }
    measures = {n: replace(column("count", (3, 3)), name=n, label=label) for n, label in named.items()}
    shown = replace(release([REGION, SEX], [column("count", (3, 3))]), columns=measures)
    for written in (write_text(shown), write_html(shown)):
        assert all(title in written for title in (share, *ends.values())) and f"{share}," not in written
    assert openpyxl.load_workbook(io.BytesIO(write_xlsx(shown))).sheetnames[:4] == [share, *ends.values()]
    assert f"{share}; Standard error; 95 % interval from; 95 % interval to by" in cite(shown)


def test_a_second_measure_keeps_its_own_title() -> None:
    both = [replace(column(n, (3, 3)), label=t) for n, t in (("count", "Count"), ("total", "Count, of jobs"))]
    assert "Count, of jobs" in write_text(release([REGION, SEX], both))


def test_text_without_columns_names_the_measure_and_without_rows_is_one_line():
    assert "Region  Count\n" in write_text(ONE)
    assert text_body(ACROSS) == [" 1,000  1,001  1,002"]


def test_text_of_three_variables_leaves_repeated_labels_blank():
    assert [line[:14] for line in text_body(THREE)[:4]] == [
        "North   Female", "        Male  ", "        Total ", "South   Female",
    ]  # fmt: skip


def test_text_numbers_line_up_whatever_the_script_of_the_labels():
    body = text_body(NASTY)
    assert len({cell_len(line) for line in body}) == 1
    assert len(body) == len(HOSTILE)


@slow
@given(releases())
def test_text_has_nothing_that_steers_a_terminal(table):
    text = write_text(table, width=50)
    assert all(char == "\n" or char.isprintable() or char in " \u200c\u200d\u3000" or ord(char) > 127 for char in text)
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]", text)


def test_text_with_a_width_continues_in_panels():
    lines = write_text(SEVERAL, width=40).splitlines()
    assert all(cell_len(line) <= 40 for line in lines[:-5] if "equal" not in line)
    assert sum("Region" in line for line in lines) == 2
    assert sum(line.startswith("Receipt") for line in lines) == 1


# ---------------------------------------------------------------- html


HARMLESS = {"class", "scope", "colspan", "rowspan", "role", "tabindex", "aria-label"}


class Tags(HTMLParser):
    """Every tag with its attributes, and every text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@slow
@given(releases())
def test_html_is_well_formed_and_carries_no_script_style_or_handler(table):
    page = Tags(write_html(table))
    assert page.open == []
    allowed = {"div", "table", "caption", "span", "thead", "tbody", "tr", "th", "td", "dl", "dt", "dd", "ul", "li"}
    assert {tag for tag, _ in page.tags} <= allowed
    assert {name for _, attributes in page.tags for name in attributes} <= HARMLESS
    assert all("scope" in attributes for tag, attributes in page.tags if tag == "th")


@pytest.mark.parametrize("table", ALL.values(), ids=ALL)
def test_html_rows_all_have_the_same_width(table):
    assert set(grid_widths(write_html(table))) == {len(table.request.rows) + leaves(table)}


def test_html_repeats_a_heading_wider_than_a_browser_allows():
    codes = tuple(map(str, range(1500)))
    table = release([REGION, Dimension("place", "Place", codes, codes)], [column("count", (3, 1500))])
    assert set(grid_widths(write_html(table))) == {1501}
    assert write_html(table).count('colspan="1000">Place') == write_html(table).count('colspan="500">Place') == 1


def leaves(table: Release) -> int:
    return prod(table.shape[len(table.request.rows) :]) * len(table.columns)


def grid_widths(text: str) -> list[int]:
    """Fill a grid as a browser does, rowspans included, and give the width of each row."""
    rows: list[list[tuple[int, int]]] = []
    for tag, attributes in Tags(text).tags:
        if tag == "tr":
            rows.append([])
        elif tag in ("th", "td"):
            rows[-1].append((int(attributes.get("colspan", 1)), int(attributes.get("rowspan", 1))))
    widths = [0] * len(rows)
    for place, row in enumerate(rows):
        for across, down in row:
            for covered in range(place, place + down):
                widths[covered] += across
    return widths


def test_html_escapes_hostile_labels():
    page = write_html(NASTY)
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "\u202e" not in page


def test_html_shows_legend_notes_and_receipt():
    page = write_html(TWO)
    assert "<dt>[c]</dt><dd>confidential</dd>" in page
    assert "<li>Counts carry noise.</li>" in page
    assert "Receipt: r-123" in page
    assert '<td class="number mark">[c]</td>' in page
