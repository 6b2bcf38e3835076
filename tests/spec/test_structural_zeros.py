"""Declared structural zeros: nobody can be in these cells, so they have the mark [z] instead of any number."""

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from asking import PLACES_AND_WORK, python_table
from confide.answering.mechanisms.safe.build import build_base, to_base
from confide.engines.memory.engine import MemoryEngine
from confide.formats.charts.tables import table_chart
from confide.formats.csv import write_csv
from confide.formats.html import write_html
from confide.formats.jsonstat.write import write_jsonstat
from confide.formats.views import as_asked
from confide.model.admission.derived import with_definitions
from confide.model.admission.zeros import structural_zeros
from confide.model.catalog.toml import read_dataset
from confide.model.definition.text import read_definitions
from confide.model.release import Release

BOOK = f"""
{PLACES_AND_WORK}
[variables.age]
kind = "numeric"
missing = [""]
minimum = 0
cutpoints = [15, 30, 65]

[variables.age_wide]
of = "age"
cutpoints = [15]

[variables.age_odd]
of = "age"
cutpoints = [10, 15, 40]
"""
YOUNG = '[[structural_zeros]]\nage = ["0-14"]\nwork = ["yes"]\n'
AWAY = '[[structural_zeros]]\ncounty = ["A"]\nwork = ["no", "?"]\n'
OPEN = {
    "universe": {"gamma": 0, "gamma_star": 0, "marginals": False, "complement": False, "decide_on": "true"},
    "tables": {"sparsity": 1.0, "mean_cell": 0.0, "class_disclosure": False},
    "totals": {"units": 0, "dominance_k": 100.0, "p_percent": 0.0, "risk_limit": 1.0},
}
DESERTED = '[[structural_zeros]]\ntown = ["a9"]\nsex = ["f", "m"]\n'
MEN_IN_B = '[[structural_zeros]]\ncounty = ["B"]\nsex = ["m"]\n'


def cells(zeros: str, by: Sequence[str], boxes: Any = (), define: Sequence[str] = ()) -> list[tuple[str, ...]]:
    """The marked cells, by codes; a total is T."""
    dataset = with_definitions(read_dataset(BOOK + zeros, name="people", read_file=str), read_definitions(define))
    names = [(*(code.code for code in dataset.classifier(name).codes or ()), "T") for name in by]
    places = tuple(
        tuple(
            (name, tuple(dataset.classifier(name).codes.names.index(code) for code in codes))
            for name, codes in box.items()
        )
        for box in boxes
    )
    found = structural_zeros(by, places, dataset)
    return [tuple(own[at] for own, at in zip(names, place, strict=True)) for place in np.argwhere(found)]


def test_the_cells_named_are_marked_and_no_margin_is() -> None:
    assert cells(YOUNG, ["age", "work"]) == [("0-14", "yes")]
    assert cells(YOUNG, ["work", "sex", "age"]) == [("yes", s, "0-14") for s in ("f", "m", "T")]
    assert cells(YOUNG, ["age"]) == cells(YOUNG, ["sex"]) == []


def test_finer_classes_within_those_named_are_marked() -> None:
    assert cells(AWAY, ["town", "work"]) == [(t, w) for t in ("a1", "a2") for w in ("no", "?")]
    assert cells(YOUNG, ["age_odd", "work"]) == [("0-9", "yes"), ("10-14", "yes")], "10-14 is cut where 0-14 ends"


def test_a_coarser_class_is_marked_if_all_its_classes_are_within() -> None:
    town = '[[structural_zeros]]\ntown = ["{}"]\nwork = ["no"]\n'
    assert cells(town.format("b1"), ["county", "work"]) == [("B", "no")]
    assert cells(town.format("a1"), ["county", "work"]) == []
    ages = '[[structural_zeros]]\nage = [{}]\nwork = ["no"]\n'
    assert cells(ages.format('"15-29", "30-64", "65+"'), ["age_wide", "work"]) == [("15+", "no")]
    assert cells(ages.format('"15-29", "30-64"'), ["age_wide", "work"]) == []


def test_missing_codes_are_within_only_where_they_are_named() -> None:
    missing = '[[structural_zeros]]\nage = ["missing"]\nwork = ["?"]\n'
    assert cells(missing, ["age_wide", "work"]) == [("missing", "?")]
    assert ("missing", "yes") not in cells(YOUNG, ["age_wide", "work"])


def test_the_universe_holds_a_condition_for_all_cells_and_margins() -> None:
    assert cells(YOUNG, ["work"], [{"age": ["0-14"]}]) == [("yes",)]
    assert cells(YOUNG, ["work"], [{"age": ["0-14", "15-29"]}]) == []
    assert cells(AWAY, ["sex", "work"], [{"town": ["a2"]}]) == [(s, w) for s in ("f", "m", "T") for w in ("no", "?")]
    assert len(cells(AWAY, ["sex"], [{"county": ["A"], "work": ["?"]}])) == 3, "the total too"


def test_every_piece_of_a_union_must_hold_it_by_the_same_zero_or_another() -> None:
    both = YOUNG + AWAY.replace('"no", "?"', '"yes"')
    assert cells(both, ["work"], [{"age": ["0-14"]}, {"county": ["A"], "age": ["65+"]}]) == [("yes",)]
    assert cells(both, ["work"], [{"age": ["0-14"]}, {"county": ["B"], "age": ["65+"]}]) == []


def test_variables_of_an_askers_own_are_read_by_the_declared_ones_they_are_made_of() -> None:
    child = ["child = age < 15"]
    marked = cells(YOUNG, ["child", "work"], define=child)
    assert len(marked) == 1 and marked[0][1] == "yes"


def without_protection(town: Any, zeros: str) -> Any:
    return replace(town.under(**OPEN), catalog=town.catalog + zeros).desk()


MEASURES = ["count", "weighted_count", "total", "mean", "sd"]


def test_no_measure_escapes_a_mark_and_other_cells_stay_as_they_are(town: Any) -> None:
    request = python_table("people", rows="county", columns="sex", measure=MEASURES, of="income")
    plain, marked = (without_protection(town, zeros).consider(request).release for zeros in ("", MEN_IN_B))
    assert list(marked.columns) == MEASURES
    for name, column in marked.columns.items():
        assert column.marks[1, 1] == "z" and np.isnan(column.values[1, 1]) and np.isnan(column.noise[1, 1])
        others = np.ones(column.marks.shape, bool)
        others[1, 1] = False
        np.testing.assert_array_equal(column.marks[others], plain.columns[name].marks[others])
        np.testing.assert_array_equal(column.values[others], plain.columns[name].values[others])
    assert marked.notes[-1] == "Where nobody can be, as the custodian declares, stands [z]."
    assert marked.notes[:-1] == plain.notes


@pytest.mark.parametrize(
    "more", [{"measure": "ratio", "of": "income", "over": "income2"}, {"measure": "median", "of": "income"}]
)
def test_ratios_and_quantiles_are_marked(town: Any, more: dict[str, str]) -> None:
    income = town.people.column("income")
    other = town.of(town.people.append_column("income2", income))
    cut = "cutpoints = [100, 300, 400, 500, 800]\n"
    second = f'\n[variables.income2]\nkind = "numeric"\nminimum = 0\nmissing = [""]\n{MEN_IN_B}'
    found = without_protection(other, cut + second).consider(
        python_table("people", rows="county", columns="sex", **more)
    )
    assert [str(column.marks[1, 1]) for column in found.columns.values()] == ["z"]


def test_percentages_index_numbers_and_intervals_are_marked(town: Any) -> None:
    request = python_table("people", rows="county", columns="sex")
    release = without_protection(town, MEN_IN_B).consider(request).release
    for view in ({"percent": "row", "interval": "95"}, {"index": "county=A"}):
        shown = as_asked(release, python_table("people", rows="county", columns="sex", **view))
        assert {str(column.marks[1, 1]) for column in shown.columns.values()} == {"z"}
        assert all((column.marks[:1, :2] == "").all() for column in shown.columns.values())


def test_standard_errors_are_marked(town: Any) -> None:
    catalog = town.catalog.replace('weight = "w"', 'weight = "w"\n[sampling]', 1)
    desk = without_protection(replace(town, catalog=catalog), MEN_IN_B)
    columns = desk.consider(python_table("people", rows="county", columns="sex", measure=["weighted_count", "mean"],
                                         of="income", error=["se", "reliability"])).columns  # fmt: skip
    assert len(columns) == 6 and {str(column.marks[1, 1]) for column in columns.values()} == {"z"}


def test_a_table_whose_marks_hide_a_number_says_that_its_totals_do_not_add(town: Any) -> None:
    """Only where the declaration is wrong; where it is right nothing is hidden."""
    exact = town.under(**OPEN, drop={"k": 0}, counts={"mechanism": "none"})
    request = python_table("people", rows="town", columns="sex")
    for zeros, adds in ((DESERTED, True), (MEN_IN_B, False)):
        release = replace(exact, catalog=town.catalog + zeros).desk().consider(request).release
        assert release.totals_add is adds


def test_counts_from_a_protected_base_are_marked(town: Any) -> None:
    safe = replace(town.under(**OPEN, counts={"mechanism": "safe"}), catalog=town.catalog + DESERTED)
    found = build_base(safe.dataset, MemoryEngine(safe.coded()), safe.secret(), by=["sex", "town"])
    desk = safe.desk(base=to_base(found, mark="m"))
    marks = desk.consider(python_table("people", rows="sex", columns="town")).columns["count"].marks
    assert marks[:, 2].tolist() == ["z", "z", "", ""], "of the third sex nothing is declared"


def test_the_receipt_tells_answers_with_declarations_from_those_without(town: Any) -> None:
    request = python_table("people", rows="county")
    receipts = {without_protection(town, zeros).receipt(request) for zeros in ("", MEN_IN_B, DESERTED)}
    assert len(receipts) == 3


def test_of_one_person_the_marks_are_the_same(town: Any) -> None:
    alone = replace(town.of(town.people.slice(0, 1)).preset("open"), catalog=town.catalog + MEN_IN_B).desk()
    assert alone.consider(python_table("people", rows="county", columns="sex")).columns["count"].marks[1, 1] == "z"


@pytest.fixture(scope="module")
def marked(town: Any) -> Release:
    catalog = town.catalog.replace('m = "Men"', 'm = "Männer – ♂"') + MEN_IN_B
    desk = replace(town.under(**OPEN), catalog=catalog).desk()
    release = desk.consider(python_table("people", rows="county", columns="sex")).release
    assert isinstance(release, Release)
    return release


def test_every_format_shows_the_mark_and_its_legend(marked: Release) -> None:
    stat = write_jsonstat(marked)
    assert list(stat["status"].values()) == ["z"]
    assert stat["value"][int(next(iter(stat["status"])))] is None
    assert [row for row in csv.reader(io.StringIO(write_csv(marked))) if "[z]" in row]
    page = write_html(marked)
    assert "[z]" in page and "Männer – ♂" in page and "Where nobody can be" in page
    assert "1 numbers that are withheld or do not apply" in (table_chart(marked) or {})["description"]
