"""Sums over cells give what counting column by column gives."""

import numpy as np

from confide.records.sums import cell_sums


def test_sums_of_columns_over_cells_are_those_of_bincount() -> None:
    rng = np.random.default_rng(1)
    cell, columns = rng.integers(0, 7, 500), rng.normal(size=(500, 3))
    plain = np.column_stack([np.bincount(cell, column, 9) for column in columns.T])
    np.testing.assert_allclose(cell_sums(cell, columns, 9), plain, rtol=1e-12, atol=1e-12)
    assert cell_sums(cell[:0], columns[:0], 2).tolist() == [[0, 0, 0], [0, 0, 0]]
