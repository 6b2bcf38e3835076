"""Reading files to be compared."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from confide.errors import Mistake
from confide.measures.pairs import paired, side_by_side, unpaired
from confide.measures.records import FileRecords, codes_of
from confide.measures.risk import distance_linkage
from confide.measures.utility import changes


def test_numbers_have_double_precision_and_nan_is_missing_as_null_is():
    table = pa.table({"x": pa.array([1, None, 2**53]), "y": pa.array([np.nan, 0.5, None])})
    read = FileRecords.of(table, ["x", "y"])
    np.testing.assert_array_equal(read.columns["x"].numbers, [1, np.nan, 2.0**53])
    np.testing.assert_array_equal(read.columns["y"].numbers, [np.nan, 0.5, np.nan])
    assert codes_of(table, ["y"])[:, 0].tolist() == [-1, 0, -1]


def test_codes_are_sorted_and_free_of_chunks_and_dictionaries():
    chunks = pa.chunked_array([["b", "a"], ["c", None, "a"]])
    plain = codes_of(pa.table({"s": chunks}), ["s"])[:, 0].tolist()
    assert plain == [1, 0, 2, -1, 0]
    assert codes_of(pa.table({"s": chunks.dictionary_encode()}), ["s"])[:, 0].tolist() == plain
    assert codes_of(pl.DataFrame({"s": ["b", "a", "c", None, "a"]}), ["s"])[:, 0].tolist() == plain
    assert codes_of(pd.DataFrame({"s": pd.Categorical(["b", "a", "c", None, "a"])}), ["s"])[:, 0].tolist() == plain


def test_every_usual_kind_of_column_can_be_compared():
    columns = {
        "b": [True, False],
        "d": [dt.date(2020, 1, 1), dt.date(2021, 1, 1)],
        "t": [dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1)],
        "m": [Decimal("1.5"), Decimal("2.5")],
        "u": ["żółw", "龟"],
        "n": pa.array([None, None]),
        "v": pa.array(["a", "b"], pa.string_view()),
    }
    table = pa.table(columns)
    pair = paired(table, table, list(columns))
    assert [column.numeric for column in pair.columns] == [False, True, True, True, False, False, False]
    assert changes(table, table, columns=list(columns)).percent == 0
    assert distance_linkage(table, table, columns=["d", "u"]).percent == 100


def test_whole_numbers_and_others_are_the_same_numbers_and_the_same_codes():
    whole, others = pa.table({"x": [1, 2]}), pa.table({"x": [1.0, 2.0]})
    assert paired(whole, others, "x").columns[0].numeric
    text = pa.table({"x": ["1", "2"]})
    both = side_by_side(others, text, "x").columns[0]  # each value became one category: itself
    assert both.labels == ("1", "2") and both.original.tolist() == both.released.tolist() == [0, 1]


def test_a_column_suppressed_altogether_is_of_the_kind_it_was():
    blank = pa.table({"x": pa.array([None, None]), "s": pa.array([None, None])})
    pair = paired(pa.table({"x": [1.5, 2.5], "s": ["a", "b"]}), blank, ["x", "s"])
    assert [column.numeric for column in pair.columns] == [True, False]


def test_one_list_of_categories_serves_both_files():
    pair = unpaired(pa.table({"s": ["b", "a"]}), pa.table({"s": ["c", "a", None]}), "s")
    column = pair.columns[0]
    assert column.labels == ("a", "b", "c")
    assert column.original.tolist() == [1, 0] and column.released.tolist() == [2, 0, -1]


def test_a_released_file_has_every_column_that_is_compared():
    with pytest.raises(Mistake, match="In the released file: No column called 'income'. Did you mean 'incomes'"):
        paired(pa.table({"income": [1]}), pa.table({"incomes": [1]}), "income")


def test_identifiers_may_be_text_in_one_file_and_numbers_in_the_other():
    original = pa.table({"id": [7, 8, 9], "x": [1.0, 2.0, 3.0]})
    released = pa.table({"id": ["9", "7"], "x": [3.0, 1.0]})
    assert paired(original, released, "x", identifier="id").truth.tolist() == [2, 0]


@pytest.mark.parametrize("frame", [3, "file.csv", object(), None])
def test_what_is_no_frame_is_a_mistake(frame):
    with pytest.raises(Mistake):
        unpaired(frame, frame, "x")
