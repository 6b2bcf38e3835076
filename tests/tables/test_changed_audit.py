"""Audits of changed tables: what is left of the interval that everybody knows when the true table must add up."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from confide import tables
from confide.cli.main import app
from confide.errors import Mistake
from confide.tables import PPercent, Table, Threshold, audit_changed


def counts(*inner: int) -> Table:
    frame = {"sex": [f"s{number}" for number in range(len(inner))], "n": list(inner)}
    return Table.from_cells(frame, by=["sex"], frequency="n").flag(Threshold(3))


def test_two_ones_shown_as_three_and_their_total_as_nothing_are_known_as_in_the_paper():
    # Giessing and Höhne (2011), section 5: a maximum perturbation of two.
    judged = audit_changed(counts(1, 1), np.array([0.0, 3, 3]), D=2)
    assert judged.lower.tolist() == judged.upper.tolist() == [2, 1, 1]
    assert judged.recovered == [0, 1, 2]
    assert {failure.cell for failure in judged.failures} == {0, 1, 2}


def test_who_does_not_know_how_little_values_move_does_not_know_the_values():
    judged = audit_changed(counts(1, 5), np.array([9.0, 3, 6]), D=3)
    assert judged.passed
    assert (judged.lower[1], judged.upper[1]) == (1, 6)


@given(st.lists(st.integers(0, 4), min_size=4, max_size=4), st.lists(st.integers(-2, 2), min_size=9, max_size=9))
@settings(max_examples=30)
def test_intervals_are_those_of_all_true_tables_that_fit(inner, moves):
    frame = {"r": list("aabb"), "c": list("xyxy"), "n": inner}
    table = Table.from_cells(frame, by=["r", "c"], frequency="n")
    table = table.mark(np.arange(1), "primary")
    value = np.maximum(0.0, table.value + np.array(moves))
    judged = audit_changed(table, value, D=2)
    stay = bool((value[table.value == 0] == 0).all())
    possible = []
    low, high = np.maximum(0, value - 2), value + 2
    low = np.maximum(low, 1.0 * (value != 0)) if stay else low
    corner = [
        int(np.intersect1d(table.find(r=r), table.find(c=c))[0]) for r, c in zip(frame["r"], frame["c"], strict=True)
    ]
    for four in product(*(range(int(low[cell]), int(high[cell]) + 1) for cell in corner)):
        a, b, c, d = four
        whole = np.array([a + b + c + d, a + c, b + d, a + b, a, b, c + d, c, d], dtype=float)
        if (whole >= low).all() and (whole <= high).all():
            possible.append(whole)
    assert judged.lower.tolist() == np.min(possible, axis=0).tolist()
    assert judged.upper.tolist() == np.max(possible, axis=0).tolist()


def test_results_of_rounding_and_adjusting_are_judged_as_they_come():
    data = {"a": list("wwwxxyyyyyzz"), "b": list("uvuvuvuvuvuv"), "t": [90.0, 5, 30, 20, 40, 5, 60, 70, 10, 80, 20, 30]}
    rounded = tables.round(Table.from_microdata(data, by=["a", "b"]).flag(Threshold(3)), base=3, teaching_seed=7)
    judged = audit_changed(Table.from_microdata(data, by=["a", "b"]).flag(Threshold(3)), rounded, base=3)
    assert (judged.lower <= rounded.before.value).all()
    assert (judged.upper >= rounded.before.value).all()
    firms = Table.from_microdata(data, by=["a", "b"], of="t").flag(PPercent(20))
    adjusted = tables.adjust(firms, time_limit=5, teaching_seed=7)
    loose = audit_changed(firms, adjusted, D=2 * adjusted.largest)
    assert len(loose.failures) <= len(audit_changed(firms, adjusted, D=adjusted.largest).failures)


@pytest.mark.parametrize(
    ("value", "known", "words"),
    [
        ([0.0, 3, 3], {}, "Say how far values move"),
        ([0.0, 3, 3], {"D": 2, "base": 3}, "Say how far values move"),
        ([0.0, 3, 3], {"D": 1}, "has moved by 2, and values are said to move by at most 1"),
        ([0.0, 3], {"D": 2}, "a number for each of the 3 cells"),
        ([0.0, 3, 3], {"D": -1}, "a number of 0 or more"),
    ],
)
def test_what_cannot_be_judged_is_a_mistake(value, known, words):
    with pytest.raises(Mistake, match=words):
        audit_changed(counts(1, 1), np.array(value), **known)


def test_a_table_without_primary_cells_would_pass_whatever_is_shown():
    with pytest.raises(Mistake, match="every table would pass"):
        audit_changed(counts(5, 6), np.array([11.0, 5, 6]), D=2)


def test_the_command_line_judges_a_changed_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "true.csv").write_text("sex,n\nf,1\nm,1\n")
    (tmp_path / "shown.csv").write_text("sex,value\nf,3\nm,3\nTotal,0\n")
    asked = [
        "protect",
        "audit",
        "true.csv",
        "--by",
        "sex",
        "--frequency",
        "n",
        "--threshold",
        "3",
        "--changed",
        "shown.csv",
    ]
    run = CliRunner().invoke(app, [*asked, "--D", "2", "--report", "page.html", "-o", "ends.csv"])
    assert run.exit_code == 1, run.output
    assert "Audit of 3 changed cells: FAILED for 3 of 3 primary cells." in run.output
    assert "sex=f: can be computed" in run.output
    assert (tmp_path / "ends.csv").read_text().count("\n") == 4
    assert "3 of 3 cells are changed" in (tmp_path / "page.html").read_text()
    (tmp_path / "true.csv").write_text("sex,n\nf,1\nm,5\n")
    (tmp_path / "shown.csv").write_text("sex,value\nf,3\nm,6\nTotal,9\n")
    assert CliRunner().invoke(app, [*asked, "--base", "4"]).exit_code == 0
    assert "are for --changed" in str(CliRunner().invoke(app, [*asked[:-2], "--base", "4"]).exception)
