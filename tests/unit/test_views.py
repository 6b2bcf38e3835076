"""Percentages, noise and hidden zeros: from released numbers alone."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import Mistake
from confide.formats.html import write_html
from confide.formats.layout import cross, without_zeros
from confide.formats.views import as_asked, with_noise
from confide.model.catalog.dataset import TOTAL
from confide.model.release import Column, Dimension, Release
from confide.model.request import Measure, Share, TableRequest
from confide.tables.perturbation.transitions import transitions


def dimension(name: str, size: int) -> Dimension:
    codes = (*(f"{name}{number}" for number in range(size)), TOTAL)
    return Dimension(name, name.upper(), codes, codes)


def release(values, *, rows=("a",), columns=("b",), name="count", marks=None, noise=1.0) -> Release:
    values = np.array(values, dtype=float)
    marks = np.full(values.shape, "") if marks is None else np.array(marks)
    shown = np.where(marks == "", values, np.nan)
    spread = np.where(marks == "", noise, np.nan)
    of = "x" if name in ("total", "mean") else None
    return Release(
        request=TableRequest("d", rows, columns, measure=(Measure(name),), of=of),
        title="T",
        scope="Everyone",
        dimensions=tuple(dimension(n, s - 1) for n, s in zip((*rows, *columns), values.shape, strict=True)),
        columns={name: Column(name, name.title(), 0, shown, marks.astype("<U1"), spread)},
        notes=(),
        totals_add=False,
        policy="p",
        receipt="cfd-0",
    )


def as_shares(table: Release, share: Share) -> Release:
    return as_asked(table, replace(table.request, percent=share))


TWO = release([[10, 30, 42], [0, 60, 61], [12, 88, 100]])


@pytest.mark.parametrize(
    "share, expected",
    [
        (Share.ROW, [[23.8, 71.4, 100], [0, 98.4, 100], [12, 88, 100]]),
        (Share.COLUMN, [[83.3, 34.1, 42], [0, 68.2, 61], [100, 100, 100]]),
        (Share.TOTAL, [[10, 30, 42], [0, 60, 61], [12, 88, 100]]),
    ],
)
def test_shares_are_of_the_totals_as_released(share, expected):
    column = as_shares(TWO, share).columns["count_percent"]
    assert column.values.tolist() == expected and column.decimals == 1 and column.label == f"Count, % of {share}"


def test_what_is_withheld_stays_withheld_and_so_does_what_is_part_of_it():
    marked = release([[10, 0, 42], [0, 60, 61], [12, 88, 100]], marks=[["", "c", "c"], ["", "", ""], ["", "", ""]])
    column = as_shares(marked, Share.ROW).columns["count_percent"]
    assert column.marks.tolist() == [["x", "c", "c"], ["", "", ""], ["", "", ""]]


def test_shares_of_nothing_do_not_apply():
    column = as_shares(release([[0, 0, 0], [1, 2, 3], [1, 2, 3]]), Share.ROW).columns["count_percent"]
    assert column.marks.tolist()[0] == ["z", "z", "z"] and column.values[1].tolist() == [33.3, 66.7, 100.0]
    negative = as_shares(release([[5, -9, -4]], rows=("a",), columns=("b",), name="total"), Share.ROW).columns[
        "total_percent"
    ]
    assert negative.marks.tolist() == [["z", "z", "z"]]


def test_means_have_no_shares():
    means = release([[1, 2], [3, 4]], name="mean")
    assert means.request.shares == ()
    with pytest.raises(Mistake, match="Percentages are of counts and totals"):
        as_shares(means, Share.ROW)


def test_a_mean_beside_a_count_stays_a_mean():
    table = release([[1, 2], [3, 4]])
    mean = replace(table.columns["count"], name="mean", label="Mean")
    both = replace(
        table,
        request=replace(table.request, measure=(Measure.COUNT, Measure.MEAN), of="x"),
        columns={**table.columns, "mean": mean},
    )
    shown = as_shares(both, Share.TOTAL)
    assert list(shown.columns) == ["count_percent", "mean"] and shown.columns["mean"] == mean
    assert shown.request.percent is Share.TOTAL and not shown.totals_add


def test_shares_of_rows_need_rows_and_columns():
    assert TWO.request.shares == tuple(Share)
    for one in (release([1, 2, 3], columns=()), release([1, 2, 3], rows=(), columns=("b",))):
        assert one.request.shares == (Share.TOTAL,)
        with pytest.raises(Mistake, match="no percentages of a row"):
            as_shares(one, Share.ROW)


def test_a_total_is_100_percent_without_noise_and_a_part_has_the_noise_of_both():
    noise = as_shares(TWO, Share.ROW).columns["count_percent"].noise
    assert noise[:, -1].tolist() == [0, 0, 0]
    assert noise[0, 0] == pytest.approx(100 * np.hypot(1, 10 / 42) / 42, abs=0.006)


@given(st.integers(1, 3), st.integers(1, 3), st.integers(0, 2**32 - 1), st.sampled_from(list(Share)))
def test_shares_agree_with_plain_arithmetic(rows, columns, seed, share):
    """One cell at a time, for tables with up to three variables a side."""
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(2, 4, rows + columns))
    values = rng.integers(0, 50, shape)
    names = tuple("abcdef"[: rows + columns])
    table = release(values, rows=names[:rows], columns=names[rows:])
    column = as_shares(table, share).columns["count_percent"]
    for place in np.ndindex(shape):
        down = tuple(-1 for _ in range(rows)) if share is not Share.ROW else place[:rows]
        across = tuple(-1 for _ in range(columns)) if share is not Share.COLUMN else place[rows:]
        whole = values[down + across]
        if whole == 0:
            assert column.marks[place] == "z"
        else:
            assert column.values[place] == pytest.approx(100 * values[place] / whole, abs=0.0501)


def interval(table: Release, share: Share, level: str) -> tuple[np.ndarray, np.ndarray]:
    shown = as_asked(table, replace(table.request, percent=share, interval=level))
    assert list(shown.columns) == ["count_percent", "count_percent_low", "count_percent_high"]
    return shown.columns["count_percent_low"].values, shown.columns["count_percent_high"].values


def test_an_interval_without_noise_is_wilsons():
    from statsmodels.stats.proportion import proportion_confint

    counts = np.array([0, 1, 12, 87, 100])
    low, high = interval(release([*counts, 200], columns=(), noise=0.0), Share.TOTAL, "95")
    for place, count in enumerate(counts):
        ends = proportion_confint(count, 200, alpha=0.05, method="wilson")
        assert (low[place], high[place]) == pytest.approx([100 * end for end in ends], abs=0.051)
    assert low[-1] == high[-1] == 100


def test_an_interval_is_wider_for_noise_and_for_confidence():
    widths = [
        np.subtract(*interval(release([[10, 30, 40], [2, 60, 62], [12, 90, 102]], noise=noise), Share.ROW, level)[::-1])
        for noise, level in ((0.0, "90"), (0.0, "95"), (3.0, "95"), (3.0, "99"))
    ]
    assert all((more[:, :2] > less[:, :2]).all() for less, more in pairwise(widths))


@pytest.mark.parametrize(("units", "share"), [(50, 0.06), (50, 0.5), (400, 0.1), (2000, 0.3)])
def test_an_interval_holds_the_share_as_often_as_it_says(units, share):
    """Counts changed as cell keys change them (D = 3, V = 1). 2,000 draws: 95 % less three standard errors of 0.5 points."""
    rng = np.random.default_rng(units)
    drawn = np.column_stack([rng.binomial(units, share, 2000), np.full(2000, units)])
    table = release(transitions(D=3, V=1.0, js=1).draw(drawn, rng.random(drawn.shape)), noise=1.0)
    low, high = interval(table, Share.ROW, "95")
    assert ((low[:, 0] <= 100 * share) & (100 * share <= high[:, 0])).mean() > 0.935


def test_an_interval_goes_with_percentages_of_counts_alone():
    for wrong in (
        {"interval": "95"},
        {"measure": (Measure.TOTAL,), "of": "x", "percent": Share.TOTAL, "interval": "95"},
    ):
        with pytest.raises(Mistake, match="An interval goes with percentages of counts"):
            replace(TWO.request, **wrong)


def test_noise_stands_beside_each_measure():
    shown = with_noise(TWO)
    assert list(shown.columns) == ["count", "count_noise_sd"]
    assert (shown.columns["count_noise_sd"].values == 1.0).all() and shown.columns["count_noise_sd"].decimals == 2
    assert write_html(shown).count("Noise, s.d.") == 4


def test_rows_and_columns_of_zeros_are_left_out_with_their_headings():
    values = np.zeros((3, 3, 3))
    values[1, 1, :] = values[1, 2, :] = values[2, 1, :] = values[2, 2, :] = [0, 7, 7]
    table = without_zeros(cross(release(values, rows=("a", "b"), columns=("c",))))
    assert table.values.tolist() == [[7, 7]] * 4
    assert [(h.text, h.span) for h in table.side[0]] == [("a1", 2), ("_T", 2)]
    assert [h.text for h in table.side[1]] == ["b1", "_T", "b1", "_T"] and [h.text for h in table.head[1]] == [
        "c1",
        "_T",
    ]


def test_a_table_of_zeros_alone_is_empty_and_still_a_table():
    nothing = release(np.zeros((2, 2)))
    assert without_zeros(cross(nothing)).values.shape == (0, 0) and "<table" in write_html(nothing, zeros=False)


def test_what_is_withheld_is_not_taken_for_zero():
    marked = release([[0, 0], [5, 5]], marks=[["c", ""], ["", ""]])
    assert without_zeros(cross(marked)).values.shape == (2, 2)
