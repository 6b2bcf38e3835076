"""Sums and counts over cells give what counting column by column gives."""

import numpy as np

from confide.records.sums import cell_sums, class_counts, part_cells


def test_sums_of_columns_over_cells_are_those_of_bincount() -> None:
    rng = np.random.default_rng(1)
    cell, columns = rng.integers(0, 7, 500), rng.normal(size=(500, 3))
    plain = np.column_stack([np.bincount(cell, column, 9) for column in columns.T])
    np.testing.assert_allclose(cell_sums(cell, columns, 9), plain, rtol=1e-12, atol=1e-12)
    assert cell_sums(cell[:0], columns[:0], 2).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_classes_are_counted_in_the_cells_that_are_asked_about() -> None:
    rng = np.random.default_rng(2)
    cell, columns = rng.integers(0, 5, 500), rng.integers(0, 4, (500, 2)).astype(np.uint16)
    counts = class_counts(cell, np.array([-1, 1, -1, 0, -1]), columns, (2, 4))
    for column in range(2):
        for row, asked in enumerate((3, 1)):
            plain = np.bincount(columns[cell == asked, column], minlength=4)
            np.testing.assert_array_equal(counts[row, column], plain)


def test_cells_are_parted_by_one_more_variable() -> None:
    cell = np.array([0, 1, 2])
    part_cells(cell, np.array([3, 0, 4], np.uint16), 5)
    assert cell.tolist() == [3, 5, 14]
