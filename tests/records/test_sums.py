"""Sums and counts over cells give what counting column by column gives."""

import numpy as np
import pytest

from confide.records.sums import (
    add_columns,
    add_counts,
    add_values,
    count_classes,
    cross_cells,
    number_cells,
    part_cells,
    raise_to_largest,
    right_claims,
    rows_of_few,
    sole_classes,
)


def test_sums_of_columns_over_cells_are_those_of_bincount() -> None:
    rng = np.random.default_rng(1)
    cell, columns = rng.integers(0, 7, 500), rng.normal(size=(500, 3))
    plain = np.column_stack([np.bincount(cell, column, 9) for column in columns.T])
    sums = np.zeros((9, 3))
    for part in slice(0, 0), slice(0, 123), slice(123, 500):
        add_columns(sums, cell[part], columns[part])
    np.testing.assert_allclose(sums, plain, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("others", [False, True])
def test_the_commonest_class_of_a_cell_is_claimed_of_its_targets(others: bool) -> None:
    """Against counting by hand: of the records alike, without one's own if others are asked; where there is none, the usual."""
    rng = np.random.default_rng(2)
    cell, columns = np.sort(rng.integers(0, 90, 200)), rng.integers(0, 4, (200, 2)).astype(np.uint16)
    rows, usual = np.flatnonzero(rng.random(200) < 0.5), np.array([3, 1])
    wanted = cell[rows] if others else rng.integers(0, 90, len(rows))
    number, found = number_cells(wanted, 90)
    counts = np.zeros((found, 2, 4), np.int32)
    for part in slice(0, 50), slice(50, 200):
        count_classes(counts, number, cell[part], columns[part].T.copy())
    right = right_claims(counts, number, wanted, usual, columns[rows].T.copy(), others).T
    for i, row in enumerate(rows):
        alike = (cell == wanted[i]) & (np.arange(200) != row if others else True)
        for j in range(2):
            claim = np.bincount(columns[alike, j]).argmax() if alike.any() else usual[j]
            assert right[i, j] == (claim == columns[row, j]), (row, j)


@pytest.mark.parametrize("most", [0, 1, 3])
def test_records_of_cells_with_few_are_those_that_counting_finds(most: int) -> None:
    cell, counts = np.random.default_rng(3).integers(0, 60, 100), np.zeros(60, np.int64)
    for part in cell[:40], cell[40:]:
        add_counts(counts, part)
    assert counts.tolist() == np.bincount(cell, minlength=60).tolist()
    few = np.flatnonzero(counts[cell] <= most)
    rows = np.zeros(101, np.int32)
    done = rows_of_few(rows, 0, cell[:40], counts, most, 0)
    done = rows_of_few(rows, done, cell[40:], counts, most, 40)
    assert rows[:done].tolist() == few.tolist() and rows_of_few(rows, done, cell[:0], counts, most, 100) == done


def test_values_are_added_up_and_the_largest_found_by_cell() -> None:
    cell, values = np.array([1, 0, 1, 3]), np.array([0.5, 2.0, 1.5, -1.0])
    sums, largest = np.zeros(4), np.zeros(4)
    add_values(sums, cell, values)
    raise_to_largest(largest, cell.astype(np.int32), values)
    assert sums.tolist() == [2.0, 2.0, 0.0, -1.0] and largest.tolist() == [2.0, 1.5, 0.0, 0.0]


def test_cells_of_three_variables_are_numbered_with_the_last_the_fastest() -> None:
    one, two, three = (np.array(places, np.uint16) for places in ([0, 2, 1], [3, 0, 1], [1, 1, 0]))
    assert cross_cells(one, two, three, (4, 2)).tolist() == [7, 17, 10]


def test_cells_are_parted_by_one_more_variable() -> None:
    cell = np.array([0, 1, 2])
    part_cells(cell, np.array([3, 0, 4], np.uint16), 5)
    assert cell.tolist() == [3, 5, 14]


@pytest.mark.parametrize("seed", range(5))
def test_the_one_class_that_goes_with_another_is_found_where_there_is_but_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    fine = rng.choice(np.array([0, 1, 3, 4], np.uint8), 300)
    coarse = np.array([2, 0, 9, 0, 1], np.uint16)[fine]
    assert sole_classes(fine, coarse, 6).tolist() == [2, 0, -1, 0, 1, -1]
    coarse[rng.integers(300)] = 7
    assert sole_classes(fine, coarse, 6).tolist() == []
