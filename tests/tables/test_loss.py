"""Information loss: Giessing and Höhne (2011), Tables 4 to 6."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide import tables
from confide.errors import Mistake
from confide.tables.changed import Changed
from confide.tables.loss import Loss, cell_loss

# Percentages of 22,670 cells by absolute deviation, and the mean the paper gives.
TABLE_5 = {
    "SAFE": ([12.88, 44.62, 27.68, 11.09, 3.16, 0.48, 0.10], 1.49),
    "noise D3 adjusted": ([23.17, 44.05, 23.31, 9.47], 1.19),
    "noise D3": ([29.44, 40.23, 22.31, 8.01], 1.09),
    "noise D4 adjusted": ([29.44, 39.87, 21.01, 5.86, 3.82], 1.15),
    "noise D5 adjusted": ([30.62, 40.05, 20.41, 5.07, 2.38, 1.47], 1.13),
    "noise D5": ([40.18, 34.63, 18.48, 3.33, 1.92, 1.46], 0.97),
}

# Numbers of cells by deviation, from -13 to 12.
TABLE_6 = [
    1, 5, 30, 110, 310, 836, 1872, 8203, 34859, 162116, 369234, 622462, 1226831, 739905,
    783760, 778735, 393652, 170659, 37674, 9230, 2141, 878, 372, 108, 44, 7,
]  # fmt: skip


@pytest.mark.parametrize("method", TABLE_5)
def test_mean_and_histogram_agree_as_in_table_5_of_giessing_and_hoehne(method):
    percent, mean = TABLE_5[method]
    cells = np.rint(22670 * np.array(percent) / 100).astype(int)
    signs = np.where(np.arange(cells.sum()) % 2, 1.0, -1.0)
    away = np.repeat(np.arange(len(cells)), cells) * signs
    found = Loss(np.full(len(away), 50.0), 50 + away, np.full(len(away), 3))
    assert found.mean == pytest.approx(mean, abs=0.0055)
    assert found.histogram()["percent"].to_numpy() == pytest.approx(percent, abs=0.02)
    assert found.largest == len(percent) - 1


def test_frequencies_of_deviations_are_kept_as_in_table_6_of_giessing_and_hoehne():
    """A hundredth of the cells of the paper; there n - n* is between -2 and 2, here it is 0."""
    cells = np.ceil(np.array(TABLE_6) / 100).astype(int)
    deviations = np.repeat(np.arange(-13.0, 13), cells)
    told = cell_loss(deviations, teaching_seed=7)
    assert np.bincount(told).tolist() == np.bincount(np.abs(deviations).astype(int)).tolist()
    moved = told != np.abs(deviations)
    assert 0.03 < moved.mean() < 0.4


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=300), st.integers(0, 2**32), st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=100, deadline=None)
def test_the_frequencies_are_kept_whatever_the_deviations(deviations, seed, alpha, stay):
    given_ = np.array(deviations, dtype=float)
    told = cell_loss(given_, teaching_seed=seed, alpha=alpha, stay=stay)
    assert np.bincount(told, minlength=10).tolist() == np.bincount(np.abs(given_).astype(int), minlength=10).tolist()
    assert (told == cell_loss(given_, teaching_seed=seed, alpha=alpha, stay=stay)).all()


def test_any_cell_may_be_told_another_loss():
    """Of 10 cells with the same deviation, over 400 seeds, each is moved about as often: 4.5 standard errors."""
    deviations = np.repeat([0.0, 1, 2], 10)
    moved = np.array([cell_loss(deviations, teaching_seed=seed) != deviations for seed in range(400)])
    rates = moved[:, 10:20].mean(axis=0)
    assert rates.min() > 0.05
    assert np.ptp(rates) < 2 * 4.5 * np.sqrt(rates.mean() * (1 - rates.mean()) / 400)


@pytest.mark.parametrize("deviations", [[], [0.0, 0, 0], [3.0]])
def test_where_all_deviate_alike_there_is_nothing_to_move(deviations):
    assert cell_loss(np.array(deviations), teaching_seed=1).tolist() == [abs(int(d)) for d in deviations]


def test_missing_deviations_and_wrong_shares_are_mistakes():
    with pytest.raises(Mistake, match="missing"):
        cell_loss(np.array([0.0, np.nan]), teaching_seed=1)
    with pytest.raises(Mistake, match="alpha"):
        cell_loss(np.array([0.0, 1.0]), teaching_seed=1, alpha=2.0)


def test_losses_by_dimension_and_by_size():
    t = tables.Table.from_microdata({"a": list("xxxxyyy"), "b": list("pqqqppp")}, by=["a", "b"])
    noise = np.where(t.value > 0, np.arange(len(t)) % 3 - 1.0, 0.0)
    found = tables.information_loss(Changed.to(t.value + noise, of=t))
    rows = found.by_dimension().to_pylist()
    assert [row["dimension"] for row in rows] == [0, 1, 2]
    assert sum(row["cells"] for row in rows) == (t.value > 0).sum() == len(found.before)
    assert rows[0] == {"dimension": 0, "cells": 1, "mean": 1.0, "largest": 1.0}
    sizes = found.by_size().to_pylist()
    assert [row["size"] for row in sizes] == ["1-2", "3-4", "5-9"]
    assert sum(row["cells"] for row in sizes) == len(found.before)
    assert sum(found.signed()["cells"].to_pylist()) == len(found.before)


def test_a_safe_base_has_a_loss_over_its_controlled_tables():
    rng = np.random.default_rng(2)
    frame = {name: rng.choice(list("abcd"), 200) for name in "xyz"}
    base = tables.safe(frame, by=["x", "y", "z"], controlled=2, teaching_seed=1)
    found = tables.information_loss(base)
    assert (found.largest, found.mean) == (base.largest, pytest.approx(base.mean))
    assert set(found.by_dimension()["dimension"].to_pylist()) == {1, 2}


def test_a_table_of_nothing_has_no_loss():
    found = Loss(np.array([]), np.array([]), np.array([], dtype=np.int64))
    assert (found.mean, found.largest) == (0.0, 0.0)
    assert found.by_size().num_rows == found.by_dimension().num_rows == found.histogram().num_rows == 0


def test_totals_are_told_by_percent_of_their_value():
    found = Loss(np.full(6, 200.0), 200 + np.array([0, 0.1, -0.2, 7.5, -10, 900.0]), np.ones(6))
    rows = {row["percent of the value"]: row["cells"] for row in found.relative().to_pylist()}
    assert not found.whole
    assert rows == {
        "0": 1, "up to 0.1": 2, "up to 1": 0, "up to 2": 0, "up to 5": 2, "up to 10": 0, "up to 20": 0, "up to 50": 0,
        "up to 100": 0, "over 100": 1,
    }  # fmt: skip
    assert Loss(np.ones(0), np.ones(0), np.ones(0)).relative()["cells"].to_pylist() == [0] * 10
