"""Margins outside the range of their parts, counted in tables made up for it."""

import numpy as np
import pytest

from asking import python_table
from confide.attacks.workload.margins import margins_outside
from confide.model.catalog.toml import read_dataset
from confide.model.release import Column, Dimension, Release

TEXT = "title = 'T'\n[variables.sex]\n[variables.sex.codes]\nf = 'F'\nm = 'M'\n[variables.pay]\nkind = 'numeric'\n"
BOOK = read_dataset(TEXT + "minimum = 0\n", name="people", read_file=str)
SIGNED = read_dataset(TEXT, name="people", read_file=str)


def table(measure: str, *values: float, marks: tuple[str, ...] = ("", "", "")) -> Release:
    of = "pay" if measure in ("mean", "total") else None
    request = python_table("people", rows="sex", measure=measure, of=of)
    shown = np.where(np.array(marks) == "", np.array(values), np.nan)
    column = Column(measure, measure, 0, shown, np.array(marks), np.where(np.array(marks) == "", 0.0, np.nan))
    sex = Dimension("sex", "Sex", ("f", "m", "_T"), ("F", "M", "Total"))
    return Release(request, "T", "", (sex,), {measure: column}, (), False, "standard", "cfd-0")


@pytest.mark.parametrize(
    ("measure", "values", "outside"),
    [
        ("mean", (1, 3, 2), 0),
        ("mean", (1, 3, 4), 1),
        ("mean", (1, 3, 0.5), 1),
        ("count", (3, 5, 8), 0),
        ("count", (3, 5, 100), 0),
        ("count", (3, 5, 4), 1),
        ("total", (3, 5, 4), 1),
    ],
)
def test_a_margin_is_outside_or_not(measure: str, values: tuple[float, ...], outside: int) -> None:
    [(_, found, of)] = margins_outside(table(measure, *values), BOOK)
    assert (found, of) == (outside, 1)


def test_the_total_of_what_may_be_negative_has_no_range() -> None:
    assert list(margins_outside(table("total", 3, 5, 4), SIGNED)) == []


@pytest.mark.parametrize(("mark", "of"), [("c", 0), ("x", 0), ("z", 1)])
def test_a_margin_with_a_withheld_part_is_left_out_and_one_with_an_empty_part_is_not(mark: str, of: int) -> None:
    [(_, _, found)] = margins_outside(table("mean", 1, 3, 3, marks=(mark, "", "")), BOOK)
    assert found == of


def test_margins_of_all_axes_are_looked_at() -> None:
    request = python_table("people", rows="sex", columns="pay")
    counts = np.array([[1.0, 2, 3], [4, 5, 9], [5, 4, 12]])
    column = Column("count", "Count", 0, counts, np.full((3, 3), ""), np.zeros((3, 3)))
    sides = tuple(Dimension(n, n, ("a", "b", "_T"), ("a", "b", "Total")) for n in ("sex", "pay"))
    release = Release(request, "T", "", sides, {"count": column}, (), False, "standard", "cfd-0")
    assert list(margins_outside(release, BOOK)) == [("counts", 1, 6)]
