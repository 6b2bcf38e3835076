"""Charts of tables: what kind is drawn, from what, and that vl-convert draws it."""

import json

import numpy as np
import pytest

from confide.formats.charts.tables import table_chart
from confide.model.catalog.dataset import TOTAL
from confide.model.release import Column, Dimension, Release
from confide.model.request import TableRequest


def table(*sizes: int, labels=None, marks=None) -> Release:
    names = tuple("abc"[: len(sizes)])
    codes = [(*(f"{name}{number}" for number in range(size)), TOTAL) for name, size in zip(names, sizes, strict=True)]
    values = np.arange(1, np.prod([len(c) for c in codes]) + 1, dtype=float).reshape([len(c) for c in codes])
    marks = np.full(values.shape, "", dtype="<U1") if marks is None else marks
    values = np.where(marks == "", values, np.nan)
    return Release(
        request=TableRequest("d", names),
        title="People <b>",
        scope="Everyone",
        dimensions=tuple(Dimension(n, n.upper(), c, labels or c) for n, c in zip(names, codes, strict=True)),
        columns={"count": Column("count", "Count", 0, values, marks, np.where(marks == "", 1.0, np.nan))},
        notes=(),
        totals_add=False,
        policy="p",
        receipt="cfd-0",
    )


@pytest.mark.parametrize(
    "sizes, kind",
    [
        ((1,), "Bar chart of"),
        ((60,), "Bar chart of"),
        ((8, 2), "Bar chart in groups of"),
        ((2, 8), "Bar chart in groups of"),
        ((30, 30), "Heat map of"),
        ((61,), None),
        ((50, 40), None),
        ((2, 2, 2), None),
    ],
)
def test_the_kind_of_chart_is_one_that_can_be_read(sizes, kind):
    chart = table_chart(table(*sizes))
    assert chart is None if kind is None else chart["description"].startswith(kind)


def test_totals_are_left_out_and_numbers_are_those_of_the_table():
    chart = table_chart(table(3))
    assert chart["data"]["values"] == [{"v0": f"a{n}", "value": n + 1.0} for n in range(3)]
    assert chart["title"] == "Count by A" and chart["description"] == "Bar chart of Count by A. Everyone."


def test_the_variable_with_fewer_classes_gives_the_colours():
    for sizes, colour in (((8, 2), "v1"), ((2, 8), "v0")):
        assert table_chart(table(*sizes))["encoding"]["color"]["field"] == colour


def test_what_is_withheld_is_left_out_and_said():
    marks = np.array(["", "c", "z", ""], dtype="<U1")
    chart = table_chart(table(3, marks=marks))
    assert (
        len(chart["data"]["values"]) == 1
        and "2 numbers that are withheld or do not apply are left out" in chart["description"]
    )
    assert table_chart(table(3, marks=np.array(["c", "c", "c", ""], dtype="<U1"))) is None


def test_classes_with_the_same_label_stay_apart_and_hostile_labels_are_plain():
    chart = table_chart(table(3, labels=("Other", "Other", "x\u202ey\n<script>", "Total")))
    assert [value["v0"] for value in chart["data"]["values"]] == ["Other (a0)", "Other (a1)", "x\ufffdy <script>"]


@pytest.mark.parametrize("sizes", [(5,), (4, 3), (20, 12)])
def test_charts_are_drawn(sizes):
    vl_convert = pytest.importorskip("vl_convert")
    chart = table_chart(table(*sizes))
    svg = vl_convert.vegalite_to_svg(json.loads(json.dumps({**chart, "width": 400})), allowed_base_urls=[])
    assert svg.startswith("<svg") and svg.count("<path") > np.prod(sizes)
