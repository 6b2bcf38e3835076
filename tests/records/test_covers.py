"""Tables that are parts of larger ones: each is of one, and what is added up of that gives it."""

from math import prod
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from confide.records.covers import covers

SIZES = {"a": 2, "b": 3, "c": 4, "d": 7, "e": 20}


@st.composite
def tables(draw: Any) -> list[tuple[str, ...]]:
    chosen = draw(st.sets(st.frozensets(st.sampled_from(list(SIZES)), min_size=1, max_size=3), max_size=12))
    return [tuple(name for name in SIZES if name in one) for one in sorted(chosen, key=sorted)]


@given(tables=tables(), most=st.sampled_from([0, 6, 60, 500, 10_000]))
def test_every_table_is_part_of_one_cover_and_none_is_larger_than_it_may_be(
    tables: list[tuple[str, ...]], most: int
) -> None:
    found = covers(tables, SIZES, most)
    assert sorted(table for cover in found for table in cover.tables) == sorted(tables)
    for cover in found:
        assert prod(SIZES[name] for name in cover.variables) <= most or cover.variables in cover.tables
        assert all(set(table) <= set(cover.variables) for table in cover.tables)


@given(tables=tables(), most=st.sampled_from([0, 60, 10_000]))
def test_the_counts_of_a_table_are_added_up_from_those_of_its_cover(tables: list[tuple[str, ...]], most: int) -> None:
    rng = np.random.default_rng(1)
    records = {name: rng.integers(0, size, 300) for name, size in SIZES.items()}

    def counted(names: tuple[str, ...]) -> Any:
        shape = [SIZES[name] for name in names]
        cell = np.ravel_multi_index([records[name] for name in names], shape)
        return np.bincount(cell, minlength=prod(shape)).reshape(shape)

    for cover in covers(tables, SIZES, most):
        whole = counted(cover.variables)
        for table in cover.tables:
            np.testing.assert_array_equal(whole.sum(axis=cover.left_out(table)), counted(table))
