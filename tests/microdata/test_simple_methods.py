"""Rounding, top and bottom coding, recoding, sampling: what each does beside what the battery asks of all."""

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import Mistake
from confide.microdata import GlobalRecoding, Method, Microaggregation, Rounding, Sampling, TopBottomCoding

numbers = st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6)), min_size=1, max_size=40)


def masked(method: Method, values: object, kind: pa.DataType | None = None) -> list[object]:
    frame = pa.table({"x": pa.array(values, kind)})
    return method.protect(frame, columns="x").frame["x"].to_pylist()


# ---- rounding


@given(numbers, st.floats(0.01, 1000))
def test_every_value_goes_to_a_multiple_next_to_it(values: list[float | None], base: float) -> None:
    for old, new in zip(values, masked(Rounding(base=base), values, pa.float64()), strict=True):
        assert (old is None) == (new is None)
        assert old is None or (abs(new - old) <= base / 2 * (1 + 1e-9) and abs(new / base - round(new / base)) < 1e-6)


def test_ties_go_to_the_even_multiple() -> None:
    assert masked(Rounding(base=10), [5, 15, 25, -5]) == [0, 20, 20, 0]


def test_a_base_that_is_not_whole_does_not_fit_whole_numbers() -> None:
    with pytest.raises(Mistake, match="'x' holds whole numbers"):
        masked(Rounding(base=2.5), [1, 2])


def test_decimals_and_dates_keep_their_kind() -> None:
    assert masked(Rounding(base=1), [Decimal("1.40"), Decimal("2.60")]) == [Decimal("1.00"), Decimal("3.00")]
    assert masked(Rounding(base=7), [date(1970, 1, 2), date(1970, 1, 7)]) == [date(1970, 1, 1), date(1970, 1, 8)]


def test_the_report_counts_what_changed() -> None:
    frame = pa.table({"x": [10.0, 11.0, None]})
    assert Rounding(base=10).protect(frame, columns="x").report == {"changed": 1}


# ---- top and bottom coding


@given(numbers, st.floats(-1e5, 0), st.floats(1, 1e5))
def test_no_value_is_left_beyond_a_threshold_and_others_stay(
    values: list[float | None], low: float, high: float
) -> None:
    after = masked(TopBottomCoding(bottom=low, top=high), values, pa.float64())
    assert after == [None if value is None else min(max(value, low), high) for value in values]


@pytest.mark.parametrize("share", [0.01, 0.1, 0.25, 0.5, 0.999])
def test_at_most_the_given_share_is_cut(share: float) -> None:
    values = np.arange(1000.0)
    after = np.array(masked(TopBottomCoding(top_share=share), values))
    assert np.sum(after != values) == int(share * 1000 + 1e-9) and np.all(after <= values)
    below = np.array(masked(TopBottomCoding(bottom_share=share), values))
    assert np.sum(below != values) == int(share * 1000 + 1e-9) and np.all(below >= values)


def test_a_share_is_of_each_stratum() -> None:
    frame = pa.table({"x": [1, 2, 3, 4, 10, 20, 30, 40], "area": list("aaaabbbb")})
    after = TopBottomCoding(top_share=0.25).protect(frame, columns="x", by="area")
    assert after.frame["x"].to_pylist() == [1, 2, 3, 3, 10, 20, 30, 30]
    assert after.report["top"] == 2


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({}, "say where to cut"),
        ({"top": 1, "top_share": 0.1}, "not both"),
        ({"bottom": 1, "bottom_share": 0.1}, "not both"),
        ({"top": 1, "bottom": 1}, "bottom must be less than top"),
        ({"top_share": 0.5, "bottom_share": 0.5}, "leave something between"),
    ],
)
def test_thresholds_that_make_no_sense_are_mistakes(given: dict[str, float], complaint: str) -> None:
    with pytest.raises(Mistake, match=complaint):
        TopBottomCoding(**given)


def test_a_threshold_that_is_not_whole_does_not_fit_whole_numbers() -> None:
    with pytest.raises(Mistake, match="'x' holds whole numbers"):
        masked(TopBottomCoding(top=1.5), [1, 2])


def levels(values: list[str | None]) -> pa.Table:
    order = ["none", "school", "trade", "degree"]
    places = pa.array([None if value is None else order.index(value) for value in values], pa.int8())
    return pa.table({"x": pa.DictionaryArray.from_arrays(places, order, ordered=True)})


def test_the_ends_of_an_ordered_category_are_lumped_together_in_the_order_that_is_declared() -> None:
    frame = levels(["degree", "none", None, "trade", "school"])
    released = TopBottomCoding(top="trade", bottom="school").protect(frame, columns="x")
    assert released.frame["x"].to_pylist() == ["trade", "school", None, "trade", "school"]
    assert released.frame.schema == frame.schema and released.report == {"top": 1, "bottom": 1}


def test_a_share_of_an_ordered_category_is_cut_by_whole_categories() -> None:
    frame = levels(["degree"] + ["trade"] * 4 + ["none"] * 5)
    after = TopBottomCoding(top_share=0.2).protect(frame, columns="x").frame["x"].to_pylist()
    assert after == ["trade"] * 5 + ["none"] * 5


def test_numbers_as_codes_of_an_ordered_category_may_be_written_as_numbers() -> None:
    frame = pd.DataFrame({"x": pd.Categorical([3, 1, 2], [1, 2, 3], ordered=True)})
    assert TopBottomCoding(top=2).protect(frame, columns="x").frame["x"].tolist() == [2, 1, 2]


@pytest.mark.parametrize(
    ("given", "frame", "complaint"),
    [
        ({"top": "degre"}, levels(["none"]), "no category 'degre'.*'degree'"),
        ({"top": "school", "bottom": "trade"}, levels(["none"]), "'trade' does not come before 'school'"),
        ({"top": "school"}, pa.table({"x": [1]}), "holds numbers"),
        ({"top": "b"}, pa.table({"x": ["a", "b"]}), "without an order"),
    ],
)
def test_a_threshold_that_is_no_category_or_has_no_order_is_named(given: dict, frame: pa.Table, complaint: str) -> None:
    with pytest.raises(Mistake, match=complaint):
        TopBottomCoding(**given).protect(frame, columns="x")


# ---- recoding


def test_numbers_become_classes_in_order() -> None:
    frame = pd.DataFrame({"age": [17, 18, 64, 65, -1], "income": [0.5, 1.5, 2.5, np.nan, 99]})
    recoding = GlobalRecoding(cutpoints={"age": [18, 65], "income": [1.5, 10]})
    after = recoding.protect(frame, columns=["age", "income"]).frame
    assert after["age"].tolist() == ["<18", "18-64", "18-64", "65+", "<18"]
    assert after["age"].cat.ordered and after["age"].cat.categories.tolist() == ["<18", "18-64", "65+"]
    assert after["income"].astype(object).where(after["income"].notna(), None).tolist() == [
        "<1.5", "1.5 to <10", "1.5 to <10", None, "10+",
    ]  # fmt: skip


TRADES = "A\n@A1\n@@A11\n@@A12\n@A2\nB\n@B1\n"


@pytest.mark.parametrize(("up", "after"), [(1, ["A1", "A1", "A2", "B1"]), (2, ["A", "A", "A", "B"])])
def test_a_hierarchy_is_climbed_level_by_level(up: int, after: list[str]) -> None:
    recoding = GlobalRecoding(hierarchies={"x": TRADES}, up=up)
    assert masked(recoding, ["A11", "A12", "A2", "B1"]) == after
    assert masked(recoding, pa.array(["A11", "A12", "A2", "B1"]).dictionary_encode()) == after


def test_codes_that_are_numbers_climb_too() -> None:
    assert masked(GlobalRecoding(hierarchies={"x": "low\n@1\n@2\nhigh\n@3\n"}), [1, 2, 3, None]) == [
        "low",
        "low",
        "high",
        None,
    ]


def test_what_a_hierarchy_does_not_have_is_named() -> None:
    with pytest.raises(Mistake, match="'A13' and 1 more of column 'x'"):
        masked(GlobalRecoding(hierarchies={"x": TRADES}), ["A11", "A13", "Z"])
    with pytest.raises(Mistake, match="up is 3, and above the categories of 'x' are 2 levels"):
        masked(GlobalRecoding(hierarchies={"x": TRADES}, up=3), ["A11"])


def test_an_order_that_is_declared_stays_declared() -> None:
    order = pd.CategoricalDtype(["none", "school", "trade", "degree"], ordered=True)
    frame = pd.DataFrame({"x": pd.Series(["degree", "none", "trade", None], dtype=order)})
    after = GlobalRecoding(codes={"x": {"none": "low", "school": "low"}}).protect(frame, columns="x").frame["x"]
    assert after.dtype == pd.CategoricalDtype(["low", "trade", "degree"], ordered=True)
    assert after.isna().tolist() == [False, False, False, True]


@pytest.mark.parametrize(
    ("recoding", "values", "complaint"),
    [
        (GlobalRecoding(), [1], "say once"),
        (GlobalRecoding(cutpoints={"x": [1]}, codes={"x": {}}), [1], "say once"),
        (GlobalRecoding(cutpoints={"x": [1], "xx": [2]}), [1], "'xx' is not among.*'x'"),
        (GlobalRecoding(cutpoints={"x": [1]}), ["a"], "cutpoints are for numbers"),
        (GlobalRecoding(cutpoints={"x": [1]}), [date(2020, 1, 1)], "cutpoints are for numbers"),
        (GlobalRecoding(cutpoints={"x": [1.5]}), [1, 2], "must be whole too"),
    ],
)
def test_recodings_that_do_not_fit_are_mistakes(recoding: Method, values: list[object], complaint: str) -> None:
    with pytest.raises(Mistake, match=complaint):
        masked(recoding, values)


@pytest.mark.parametrize("cuts", [[], [2, 1], [1, 1]])
def test_cutpoints_increase(cuts: list[float]) -> None:
    with pytest.raises(Mistake, match="cutpoints of 'x'"):
        GlobalRecoding(cutpoints={"x": cuts})


# ---- sampling


def test_every_record_has_the_same_chance() -> None:
    frame = pa.table({"i": range(20)})
    drawn = np.zeros(20)
    for seed in range(400):
        drawn[Sampling(share=0.25).protect(frame, teaching_seed=seed).frame["i"].to_numpy()] += 1
    # 400 draws of 5 from 20: mean 100, standard deviation of each count sqrt(400 * .25 * .75) = 8.7; five of them
    assert np.all(np.abs(drawn - 100) < 43)


def test_weighted_counts_stay_in_every_stratum() -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"area": rng.choice(["a", "b"], 101), "w": np.full(101, 2.0)})
    after = Sampling(share=0.3).protect(frame, by="area", weight="w", teaching_seed=1).frame
    assert after.groupby("area")["w"].sum().tolist() == pytest.approx(frame.groupby("area")["w"].sum().tolist())


def test_a_sample_keeps_households_whole_and_says_nothing_of_where_records_stood() -> None:
    frame = pd.DataFrame({"h": np.repeat(np.arange(30), 3), "x": np.arange(90)}, index=np.arange(90) + 1000)
    after = Sampling(share=0.2).protect(frame, household="h", teaching_seed=1).frame
    assert after.groupby("h").size().tolist() == [3] * 6
    assert after.index.tolist() == list(range(18)) and after["x"].is_monotonic_increasing


# ---- frames


def test_columns_that_are_not_masked_are_the_very_same() -> None:
    odd = pd.Series([object(), {1: 2}, [3]])
    frame = pd.DataFrame({"x": [1, 2, 3], "odd": odd, "period": pd.period_range("2020", periods=3, freq="M")})
    after = Rounding(base=2).protect(frame, columns="x").frame
    assert (
        all(a is b for a, b in zip(after["odd"], odd, strict=True)) and after["period"].dtype == frame["period"].dtype
    )


@pytest.mark.parametrize(
    "dtype", ["int8", "uint16", "int64", "float32", "Int32", "Float64", "int64[pyarrow]", "double[pyarrow]"]
)
def test_every_kind_of_number_of_pandas_comes_back(dtype: str) -> None:
    frame = pd.DataFrame({"x": pd.array([1, 2, 13, 14], dtype=dtype)})
    after = Microaggregation(k=2).protect(frame, columns="x").frame
    assert str(after["x"].dtype) == str(frame["x"].dtype)
    assert after["x"].astype(float).round().tolist() == [2.0, 2.0, 14.0, 14.0]


def test_missing_of_every_kind_stays_what_it_was() -> None:
    frame = pl.DataFrame({"x": [1.2, float("nan"), None]})
    after = Rounding(base=1).protect(frame, columns="x").frame["x"]
    assert after.is_null().to_list() == [False, False, True] and after.is_nan().to_list() == [False, True, None]


def test_text_of_every_kind_of_pandas_comes_back() -> None:
    values = ["a", "b", None, "a"]
    frame = pd.DataFrame({dtype: pd.Series(values, dtype=dtype) for dtype in ("object", "string", "category", "str")})
    after = Microaggregation(k=3).protect(frame, columns=list(frame)).frame
    assert list(after.dtypes) == list(frame.dtypes)
    assert all(after[name].dropna().tolist() == ["a"] * 3 and after[name].isna().sum() == 1 for name in frame)


def test_views_of_text_and_columns_of_nothing_are_read() -> None:
    frame = pa.table({"v": pa.array(["a", "b", "a"], pa.string_view()), "n": pa.nulls(3), "x": [1, 2, 9]})
    after = Microaggregation(k=3).protect(frame, columns=["v"], by="n").frame
    assert after["v"].to_pylist() == ["a"] * 3
    assert Rounding().protect(frame, columns=["n", "x"], by="v").frame["n"].equals(frame["n"])


def test_columns_may_have_any_name() -> None:
    frame = pd.DataFrame({"frame": [1, 9], "report": [1, 2], 3: [4, 5]})
    released = Rounding(base=10).protect(frame, columns="frame")
    assert released.frame["frame"].tolist() == [0, 10] and pa.table(released).column_names == ["frame", "report", "3"]


def test_a_frame_in_pieces_is_whole() -> None:
    pieces = pa.table({"x": pa.chunked_array([[1, 9], [], [11]])})
    assert Rounding(base=10).protect(pieces, columns="x").frame["x"].to_pylist() == [0, 10, 10]


def test_anything_that_speaks_arrow_is_read_and_nothing_else() -> None:
    class Speaker:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return pa.table({"x": [1, 9]}).__arrow_c_stream__(requested_schema)

    assert Rounding(base=10).protect(Speaker(), columns="x").frame["x"].to_pylist() == [0, 10]
    with pytest.raises(Mistake, match="list is not microdata"):
        Rounding().protect([1, 2], columns="x")
    with pytest.raises(Mistake, match="Series is not microdata"):
        Rounding().protect(pd.Series([1, 2]), columns="x")
    for columns in (3, [["x"]]):
        with pytest.raises(Mistake, match="Name columns by text"):
            Rounding().protect(pa.table({"x": [1]}), columns=columns)
    with pytest.raises(Mistake, match="Collect it first"):
        Rounding().protect(pl.LazyFrame({"x": [1]}), columns="x")
    with pytest.raises(Mistake, match="appears twice"):
        Rounding().protect(pa.table([pa.array([1]), pa.array([2])], names=["x", "x"]), columns="x")
    with pytest.raises(Mistake, match="mixes kinds"):
        Rounding().protect(pd.DataFrame({"x": [1, "a"]}), columns="x")
    with pytest.raises(Mistake, match="cannot be masked"):
        Rounding().protect(pa.table({"x": [[1], [2]]}), columns="x")


def test_numbers_that_cannot_be_calculated_with_are_mistakes() -> None:
    with pytest.raises(Mistake, match="infinite"):
        masked(Rounding(), [1.0, float("inf")])
    with pytest.raises(Mistake, match="beyond 9,007"):
        masked(Rounding(), [2**53 + 1, 1])
    with pytest.raises(Mistake, match="too narrow"):
        masked(Rounding(base=10), [255], pa.uint8())


def test_a_household_that_is_not_known_is_a_mistake() -> None:
    with pytest.raises(Mistake, match="'h' is missing"):
        Rounding().protect(pa.table({"x": [1, 2], "h": [1, None]}), columns="x", household="h")


def test_missing_is_a_stratum_of_its_own() -> None:
    frame = pa.table({"x": [1.0, 2.0, 30.0, 40.0], "area": ["a", "a", None, None]})
    after = Microaggregation(k=2).protect(frame, columns="x", by="area")
    assert after.frame["x"].to_pylist() == [1.5, 1.5, 35.0, 35.0]
    assert set(after.report["strata"]) == {("a",), (None,)}


def test_a_seed_is_a_whole_number() -> None:
    for seed in (-1, 1.5, "one", True):
        with pytest.raises(Mistake, match="seed"):
            Sampling().protect(pa.table({"x": [1]}), teaching_seed=seed)
