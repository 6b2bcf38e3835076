"""Coding records: exact, checked against the catalog, and the same whatever the order of the file."""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.engines import Coded
from confide.engines.order import in_stored_order
from confide.errors import Mistake
from confide.model.catalog.toml import read_dataset
from confide.site.coding.encode import catalog_mark, encode
from confide.site.secret import Secret

SECRET, OTHER = Secret(b"s" * 32), Secret(b"t" * 32)


def coded(catalog: str, table: pa.Table | dict[str, Any], secret: Secret = SECRET, **files: str) -> Coded:
    dataset = read_dataset(catalog, name="d", read_file=lambda name: files[name])
    return encode(dataset, table if isinstance(table, pa.Table) else pa.table(table), secret=secret)


def column(found: Coded, name: str) -> list[Any]:
    """The stored classes of a variable, or its contributions."""
    return list(found.records[found.facts.classes.get(name) or found.facts.numbers[name]].to_pylist())


def fails(catalog: str, table: pa.Table | dict[str, Any], *words: str, **files: str) -> None:
    with pytest.raises(Mistake) as mistake:
        coded(catalog, table, **files)
    for word in words:
        assert word in str(mistake.value), str(mistake.value)


CODES = "[variables.x.codes]\n1 = 'One'\n2 = 'Two'\n"
MISSING = "[variables.x]\nmissing = ['9', 'NA']\n" + CODES
YESNO = "[variables.x.codes]\ntrue = 'Yes'\nfalse = 'No'\n"


@pytest.mark.parametrize(
    "values",
    [
        ["1", " 2 ", "1"],
        [1, 2, 1],
        [1.0, 2.0, 1.0],
        pa.array([1, 2, 1], pa.uint8()),
        pa.array([1, 2, 1], pa.float32()),
        pa.array([1, 2, 1], pa.float16()),
        pa.array([Decimal("1.00"), Decimal("2.00"), Decimal("1.00")]),
        pa.array(["1", "2", "1"]).dictionary_encode(),
        pa.array([1.0, 2.0, 1.0]).dictionary_encode(),
        pa.array(["1", "2", "1"], pa.large_string()),
        pa.array(["1", "2", "1"], pa.string_view()),
        pa.array([b"1", b"2", b"1"]),
        pa.chunked_array([["1"], ["2", "1"]]),
        pa.chunked_array([pa.array(["1"]).dictionary_encode(), pa.array(["2", "1"]).dictionary_encode()]),
    ],
)
def test_codes_are_found_however_they_are_stored(values: Any) -> None:
    assert column(coded(CODES, {"x": values}), "x") == [0, 1, 0]


def test_codes_of_frames_are_found() -> None:
    assert column(coded(CODES, pa.table(pl.DataFrame({"x": ["1", "2"]}))), "x") == [0, 1]
    categories = pd.DataFrame({"x": pd.Categorical(["1", "2"], categories=["3", "2", "1"])})
    assert column(coded(CODES, pa.Table.from_pandas(categories)), "x") == [0, 1]


def test_true_and_false_are_codes() -> None:
    assert column(coded(YESNO, {"x": [True, False]}), "x") == [0, 1]


@pytest.mark.parametrize("nothing", [None, "", "  "])
def test_what_is_missing_has_the_first_missing_code(nothing: str | None) -> None:
    assert column(coded(MISSING, {"x": ["1", nothing, "NA", "9"]}), "x") == [0, 2, 3, 2]
    fails(CODES, {"x": ["1", nothing]}, "'x' has 1 missing", "missing = ")


def test_nan_and_null_are_missing_among_numbers_that_are_codes() -> None:
    assert column(coded(MISSING, {"x": [1.0, float("nan"), None]}), "x") == [0, 2, 2]
    assert column(coded(MISSING, {"x": pa.nulls(2)}), "x") == [2, 2]


def test_undeclared_codes_are_a_mistake_that_names_a_few() -> None:
    fails(CODES, {"x": ["1", "3", "4", "5", "6"]}, "'3', '4', '5'.", "[variables.x.codes]")
    fails(CODES, {"x": [1.5, 1]}, "'1.5'")
    fails(CODES, {"x": pa.array(["1", "3"]).dictionary_encode()}, "'3'")


@pytest.mark.parametrize("values", [pa.array([[1], [2]]), pa.array([{"a": 1}]), pa.array([b"\xff\xfe"])])
def test_columns_that_hold_no_codes_are_a_mistake(values: pa.Array) -> None:
    fails(CODES, {"x": values}, "'x'", "neither codes nor numbers")


def test_many_codes_need_two_bytes_and_few_need_one() -> None:
    for number, kind in ((255, pa.uint8()), (256, pa.uint16())):
        catalog = "[variables.x.codes]\n" + "\n".join(f"k{i} = ''" for i in range(number))
        found = coded(catalog, {"x": [f"k{number - 1}"]})
        assert found.records["c0"].type == kind
        assert column(found, "x") == [number - 1]


NUMBER = "[variables.x]\nkind = 'numeric'\n"


def test_bins_begin_at_their_cutpoint() -> None:
    catalog = NUMBER + "decimals = 1\ncutpoints = [0, 10.5, 20]\nmissing = ['']\n"
    values = [-0.1, 0.0, 10.4, 10.5, 19.9, 20.0, 1e9, None]
    found = coded(catalog, {"x": values})
    assert found.records[found.facts.classes["x"]].to_pylist() == [0, 1, 1, 2, 2, 3, 3, 4]


@pytest.mark.parametrize("values", [["1.5", " 2 ", ""], [1.5, 2.0, None], [Decimal("1.5"), Decimal(2), None]])
def test_numbers_are_read_however_they_are_stored(values: list[Any]) -> None:
    found = coded(NUMBER + "decimals = 1\nmissing = ['']", {"x": values})
    assert (column(found, "x"), found.facts.decimals) == ([15, 20, None], {"x": 1})


@pytest.mark.parametrize("values", [["5", "-9", "no answer", "-9.0"], [5, -9, None, -9], [5.0, -9.0, float("nan"), -9]])
def test_what_is_declared_missing_is_missing_in_texts_and_in_numbers(values: list[Any]) -> None:
    catalog = NUMBER + "minimum = 0\nmissing = ['no answer', '-9']\n"
    assert column(coded(catalog, {"x": values}), "x") == [5, None, None, None]


@pytest.mark.parametrize(
    ("domain", "values", "words"),
    [
        ("", [1, None], "1 missing values"),
        ("", ["1", "many"], "holds text"),
        ("", ["1", "nan"], "holds text"),
        ("", [date(2020, 1, 1)], "holds text"),
        ("", [1.0, float("inf")], "infinite"),
        ("", [1.5], "more decimals than the 0"),
        ("decimals = 2", [0.125], "more decimals than the 2"),
        ("minimum = 0", [-1, 5], "1 values outside"),
        ("maximum = 10", [11, 12], "2 values outside"),
    ],
)
def test_numbers_outside_their_declared_domain_are_a_mistake(domain: str, values: list[Any], words: str) -> None:
    fails(NUMBER + domain, {"x": values}, "'x'", words)


def test_the_finest_precision_takes_any_number() -> None:
    assert column(coded(NUMBER + "decimals = 9", {"x": [1e-12, 1 / 3]}), "x") == [0, 333_333_333]


WEIGHTED = "weight = 'w'\nweight_decimals = {}\n" + NUMBER + "decimals = {}\n"


@given(
    st.integers(0, 4),
    st.integers(0, 4),
    st.lists(st.tuples(st.integers(-(10**7), 10**7), st.integers(0, 10**6)), min_size=1, max_size=20),
)
def test_weighted_contributions_are_exact(decimals: int, places: int, rows: list[tuple[int, int]]) -> None:
    table = {"x": [x / 10**decimals for x, _ in rows], "w": [w / 10**places for _, w in rows]}
    found = coded(WEIGHTED.format(places, decimals), table)
    assert column(found, "x") == [x * w for x, w in rows]
    assert found.records["weight"].to_pylist() == [w for _, w in rows]
    assert found.facts.decimals == {"x": decimals + places}


@given(st.lists(st.floats(-1e25, 1e25), min_size=1, max_size=30))
def test_large_numbers_lose_decimals_and_their_sums_never_overflow(values: list[float]) -> None:
    found = coded(NUMBER + "decimals = 9", {"x": values})
    stored, scale = column(found, "x"), found.facts.decimals["x"]
    assert sum(abs(v) for v in stored) < 2**62
    for value, whole in zip(values, stored, strict=True):
        error = abs(Fraction(value) - whole / Fraction(10) ** scale)
        assert error <= max(Fraction(1, 2) / Fraction(10) ** scale, abs(Fraction(value)) / 2**50) * Fraction(11, 10)
    if scale < 9:
        assert sum(abs(Fraction(v)) for v in values) * Fraction(10) ** (scale + 1) >= 2**61 / len(values)


@pytest.mark.parametrize("weights", [[1.0, -0.5], [1.0, None], ["1", ""], [1.0, float("nan")]])
def test_a_negative_or_missing_weight_is_a_mistake(weights: list[Any]) -> None:
    fails("weight = 'w'\n" + CODES, {"x": [1, 2], "w": weights}, "'w'", "negative or missing in 1 records")


def test_other_weights_that_cannot_be_added_up_are_mistakes() -> None:
    fails("weight = 'w'\n" + CODES, {"x": [1], "w": ["heavy"]}, "'w'", "holds text")
    fails("weight = 'w'\n" + CODES, {"x": [1], "w": [1e18]}, "'w'", "too large")
    assert coded("weight = 'w'\n" + CODES, {"x": [1, 2], "w": [0, 1.25]}).records["weight"].to_pylist() == [0, 125]


LEVELS = """
[variables.region.codes]
N = "North"
S = "South"
[variables.town]
parent = "region"
[variables.town.codes]
n1 = { label = "", parent = "N" }
n2 = { label = "", parent = "N" }
s1 = { label = "", parent = "S" }
"""


def test_data_that_break_the_hierarchy_are_a_mistake() -> None:
    assert column(coded(LEVELS, {"region": ["N", "S"], "town": ["n2", "s1"]}), "region") == [0, 1]
    fails(
        LEVELS, {"region": ["N", "S", "S"], "town": ["n1", "n2", "n2"]}, "2 records 'region' is not the declared parent"
    )


def test_a_coarser_level_that_is_not_in_the_data_follows_from_the_finer() -> None:
    assert column(coded(LEVELS, {"town": ["s1", "n2"]}), "region") == [1, 0]
    fails(LEVELS, {"region": ["N"]}, "'town'; the data have none")


def test_levels_of_a_hierarchy_file_follow_from_the_codes() -> None:
    hrc = {"file": "A\n@A1\n@@A11\n@@A12\n@A2\nB\n"}
    found = coded("[variables.x]\nhierarchy_file = 'file'\nmissing = ['NA']", {"x": ["A12", "B", "A2", None]}, **hrc)
    assert [column(found, name) for name in ("x", "x_2", "x_1")] == [[1, 3, 2, 4], [0, 2, 1, 3], [0, 1, 0, 2]]
    fails("[variables.x]\nhierarchy_file = 'file'", {"x": ["A"]}, "'A'", **hrc)


def test_columns_that_are_not_there_are_mistakes_with_the_nearest() -> None:
    fails(CODES, {"X": [1]}, "'x'; the data have none")
    fails("unit = 'idd'\n" + CODES, {"x": [1], "id": [1]}, "'idd'", "'id'")
    fails("weight = 'weihgt'\n" + CODES, {"x": [1], "weight": [1]}, "'weihgt'", "'weight'")


def test_no_records_or_nothing_to_ask_are_mistakes() -> None:
    fails(CODES, {"x": pa.array([], pa.string())}, "no records")
    fails("[variables.x]\nrole = 'identifier'", {"x": ["a"]}, "identifiers only")


UNIT = "unit = 'id'\n" + CODES


def keys(found: Coded) -> list[tuple[int, int]]:
    return list(zip(found.records["unit"].to_pylist(), found.records["key"].to_pylist(), strict=True))


def test_units_with_several_records_have_one_unit_key_and_many_record_keys() -> None:
    found = coded(UNIT, {"id": ["a", "b", "a", "a"], "x": [1, 1, 2, 2]})
    units, records = zip(*keys(found), strict=True)
    assert found.facts.several
    assert units[0] == units[2] == units[3] != units[1]
    assert len(set(records)) == 4


@pytest.mark.parametrize("ids", [[7, 8], [7.0, 8.0], ["7", " 8"], pa.array(["7", "8"]).dictionary_encode()])
def test_the_same_units_have_the_same_keys_however_their_names_are_stored(ids: Any) -> None:
    assert keys(coded(UNIT, {"id": ids, "x": [1, 2]})) == keys(coded(UNIT, {"id": ["7", "8"], "x": [1, 2]}))


@pytest.mark.parametrize("ids", [["a", None], ["a", ""], [1.0, float("nan")]])
def test_a_record_without_a_unit_is_a_mistake(ids: list[Any]) -> None:
    fails(UNIT, {"id": ids, "x": [1, 2]}, "'id' is missing in 1 records")


def test_equal_records_without_a_unit_are_different_units() -> None:
    found = coded(CODES, {"x": [1, 1, 1, 2]})
    assert len({unit for unit, _ in keys(found)}) == len({key for _, key in keys(found)}) == 4
    assert not found.facts.several


def test_keys_and_their_version_depend_on_the_secret_and_classes_do_not() -> None:
    table = {"id": list(range(50)), "x": [1, 2] * 25}
    one, two = coded(UNIT, table), coded(UNIT, table, OTHER)
    assert not set(keys(one)) & set(keys(two))
    assert one.facts.keys != two.facts.keys
    assert column(one, "x") == column(two, "x")


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("12"), st.integers(0, 3)), min_size=1, max_size=12),
    st.randoms(use_true_random=False),
    st.booleans(),
)
def test_the_order_of_the_file_plays_no_part(rows: list[tuple[str, str, int]], random: Any, unit: bool) -> None:
    catalog = ("unit = 'id'\n" if unit else "") + CODES + "[variables.n]\nkind = 'numeric'\n"

    def told(some: Sequence[tuple[str, str, int]]) -> tuple[str, list[dict[str, Any]]]:
        ids, codes, numbers = zip(*some, strict=True)
        found = coded(catalog, {"id": ids, "x": codes, "n": numbers})
        return found.facts.data, sorted(found.records.to_pylist(), key=str)

    assert told(rows) == told(random.sample(rows, len(rows)))


def test_the_data_mark_changes_with_any_record() -> None:
    marks = {
        coded(UNIT, {"id": ids, "x": xs}).facts.data for ids in (["a", "b"], ["a", "c"]) for xs in ([1, 2], [1, 1])
    }
    assert len(marks) == 4


@pytest.mark.parametrize("unit", ["id", "", "more"])
def test_many_records_are_put_in_the_order_of_stores_while_they_are_coded(
    unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether a column names units, none does, or each has several records: the same records, with the same mark."""
    catalog = (
        f'unit = "{unit}"\n' if unit else ""
    ) + "[variables.more]\nkind = 'numeric'\n[variables.x]\nkind = 'numeric'\n"
    draw = np.random.default_rng(3)
    data = {"id": [*range(500)], "more": draw.integers(0, 90, 500), "x": draw.normal(size=500).round()}
    plain = coded(catalog, data)
    monkeypatch.setattr("confide.site.coding.encode.ORDERED_FROM", 500)
    ordered = coded(catalog, data)
    assert not plain.records.equals(ordered.records)
    assert in_stored_order(plain.records).equals(ordered.records) and ordered.facts == plain.facts


BASE = "[variables.x]\nlabel = 'X'\n[variables.x.codes]\na = 'A'\n[variables.n]\nkind = 'numeric'\ncutpoints = [5]\n"


def mark(catalog: str) -> str:
    return catalog_mark(read_dataset(catalog, name="d", read_file=str))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a = 'A'", "b = 'A'"),
        ("a = 'A'", "a = 'A'\nb = 'B'"),
        ("[5]", "[6]"),
        ("[5]", "[5]\nminimum = 0"),
        ("[5]", "[5]\ndecimals = 1"),
        ("[5]", "[5]\nmissing = ['']"),
        ("label = 'X'", "missing = ['NA']"),
        ("label = 'X'", "role = 'identifier'"),
    ],
)
def test_the_catalog_mark_changes_with_what_codes_records(old: str, new: str) -> None:
    assert mark(BASE.replace(old, new)) != mark(BASE)


@pytest.mark.parametrize(("old", "new"), [("'X'", "'Y'"), ("'A'", "'B'"), ("label = 'X'", "role = 'key'\ngroup = 'g'")])
def test_the_catalog_mark_does_not_change_with_words(old: str, new: str) -> None:
    assert mark(BASE.replace(old, new)) == mark(BASE)


def test_the_catalog_mark_changes_with_parents() -> None:
    assert mark(LEVELS) != mark(
        LEVELS.replace('n2 = { label = "", parent = "N" }', 'n2 = { label = "", parent = "S" }')
    )


def test_a_hundred_thousand_records_are_coded_alike_in_chunks() -> None:
    rng = np.random.default_rng(1)
    table = pa.table({"id": np.arange(100_000), "x": rng.integers(1, 3, 100_000).astype(str)})
    chunks = pa.concat_tables([table.slice(start, 30_000) for start in range(0, 100_000, 30_000)])
    assert coded(UNIT, table).records.equals(coded(UNIT, chunks).records)
