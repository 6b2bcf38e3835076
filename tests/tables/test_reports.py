"""Pages about results: escaped, self-contained, with charts where they can be drawn."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from confide import tables
from confide.errors import Mistake
from confide.tables.reports.intervals import report_of_intervals
from confide.tables.reports.report import report_of

EVIL = "<script>alert('1')</script>&\"é"


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    return tables.Table.from_microdata(
        {EVIL: rng.choice([EVIL, "y", "z"], 400), "b": rng.choice(list("pqr"), 400)}, by=[EVIL, "b"]
    )


@pytest.fixture(scope="module")
def adjusted(table):
    matrix = tables.transitions(D=5, V=2.0, js=2)
    noisy = matrix.draw(table.value.astype(int), np.random.default_rng(2).random(len(table))).astype(float)
    return tables.adjust(replace(table, value=noisy), original=table, D=5, teaching_seed=1)


def check_page(page):
    """Nothing runs, nothing is loaded, every picture says what it shows."""
    assert page.startswith("<!doctype html>")
    assert "<script" not in page
    assert not re.search(r'(?:src|href)="(?!data:image/svg\+xml;base64,)', page)
    assert all('alt="' in image for image in re.findall("<img[^>]*>", page))


def test_a_changed_table_shows_its_loss_and_the_cells_that_moved(adjusted, tmp_path):
    adjusted.report(tmp_path / "out.html")
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    check_page(page)
    assert "Cells by deviation" in page
    assert "data:image/svg+xml" in page
    assert "Cells that moved farthest" in page
    assert "&lt;script&gt;" in page
    assert f"mean {adjusted.mean:.3g}" in page


def test_a_safe_base_shows_every_controlled_table(tmp_path):
    rng = np.random.default_rng(3)
    base = tables.safe(
        {name: rng.choice(list("abcd"), 300) for name in "uvw"}, by=list("uvw"), controlled=2, teaching_seed=1
    )
    base.report(tmp_path / "out.html")
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    check_page(page)
    assert all(name in page for name in ("u x v", "u x w", "v x w"))


def test_a_matrix_shows_its_probabilities():
    matrix = tables.transitions(D=3, V=2.0, js=2)
    page = report_of(matrix).html()
    check_page(page)
    assert "0.6667" in page
    assert "Counts from 1 to 2 never appear" in page
    assert "6 and more" in page


def test_a_pattern_shows_which_cells_can_be_known_too_well(table):
    flagged = table.mark(table.find(b="p")[:1], "primary", range=50).mark(table.find(b="q")[:1], "secondary")
    low, high = flagged.value.copy(), flagged.value.copy()
    page = report_of_intervals("Pattern", flagged, low, high).html()
    check_page(page)
    assert "Cells that can be known too well: 1." in page
    low, high = low * 0, np.full(len(flagged), np.inf)
    page = report_of_intervals("Pattern", flagged, low, high, notes=("Made elsewhere.",)).html()
    assert "Every interval is wide enough." in page
    assert "Made elsewhere." in page


def test_a_pattern_without_suppressed_cells_has_no_chart(table):
    page = report_of_intervals("Pattern", table, table.value, table.value).html()
    assert "<img" not in page
    assert "0 of 16 cells are suppressed" in page


def test_without_the_extra_a_sentence_stands_for_each_chart(adjusted, monkeypatch):
    monkeypatch.setattr("confide.data.report.find_spec", lambda name: None)
    page = report_of(adjusted).html()
    assert "<img" not in page
    assert "Install confide[charts]" in page


def test_long_grids_are_cut_and_say_so(table):
    many = tables.Table.from_microdata({"a": [f"c{i:03}" for i in range(300)]}, by=["a"]).flag(tables.Threshold(2))
    page = report_of_intervals("Many", many, many.value * 0, many.value + 9).html()
    assert "The first 200 of 300." in page


def test_the_same_result_gives_the_same_page(adjusted):
    assert report_of(adjusted).html() == report_of(adjusted).html()


def test_a_page_that_cannot_be_written_is_a_mistake(adjusted, tmp_path: Path):
    with pytest.raises(Mistake, match="cannot be written"):
        adjusted.report(tmp_path / "no" / "such" / "out.html")


def test_cells_that_fail_stand_first_and_say_what_they_miss(table):
    flagged = table.flag(tables.Threshold(400)).mark(table.find(b="Total"), "safe")
    worst = int(np.flatnonzero(flagged.primary)[-1])
    low, high = flagged.value * 0, flagged.value + 1000
    report = report_of_intervals("Audit", flagged, low, high, failed={worst: "upper against a contributor"})
    cells = dict(report.grids)["Suppressed cells"].to_pylist()
    assert cells[0]["cell"] == flagged.name(worst)
    assert cells[0]["verdict"] == "too narrow: upper against a contributor"
    assert {cell["verdict"] for cell in cells[1:]} == {"enough"}
    assert "Cells that can be known too well: 1." in report.sentences


def test_what_solvers_leave_of_zero_is_shown_as_zero(table):
    flagged = table.mark(table.find(b="p")[:1], "primary")
    report = report_of_intervals("Audit", flagged, flagged.value * 0 - 1e-13, flagged.value + np.inf)
    (cell,) = dict(report.grids)["Suppressed cells"].to_pylist()
    assert cell["known from"] == 0
    assert "∞" in report.html()


def test_secondary_cells_are_not_said_to_need_anything(table):
    flagged = table.mark(table.find(b="q")[1:2], "secondary")
    (cell,) = dict(report_of_intervals("A", flagged, flagged.value, flagged.value).grids)[
        "Suppressed cells"
    ].to_pylist()
    assert (cell["needed from"], cell["needed to"], cell["verdict"]) == (None, None, "")


def test_a_table_of_two_variables_is_drawn_and_others_are_not(table):
    flagged = table.flag(tables.Threshold(400))
    drawn = report_of_intervals("A", flagged, flagged.value, flagged.value).charts
    assert drawn[0].title == "Which cells are suppressed"
    one = tables.Table.from_microdata({"a": list("xyyy")}, by=["a"]).flag(tables.Threshold(2))
    assert len(report_of_intervals("A", one, one.value, one.value).charts) == 1


def test_totals_are_drawn_by_percent(tmp_path):
    rng = np.random.default_rng(4)
    firms = {"a": rng.choice(list("xyz"), 60), "b": rng.choice(list("pq"), 60), "v": rng.pareto(1, 60)}
    flagged = tables.Table.from_microdata(firms, by=["a", "b"], of="v").flag(tables.PPercent(40))
    page = report_of(tables.adjust(flagged, teaching_seed=1)).html()
    check_page(page)
    assert "percent of the value" in page
