"""Drafts: what `confide init` makes of a file works at once and is near what a custodian would write."""

import tomllib
from datetime import date, datetime, time
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.errors import Mistake
from confide.model.catalog.toml import read_dataset
from confide.site.coding.encode import encode
from confide.site.cutpoints.draft import METHODS, draft_cutpoints
from confide.site.drafting.draft import draft as drafting
from confide.site.secret import Secret
from confide.sources.source import Source

SECRET = Secret(b"s" * 32)
ROWS = 1000
RNG = np.random.default_rng(7)
SEX = RNG.choice(["f", "m"], ROWS)
REGION = RNG.choice(list("nsew"), ROWS)


def draft(columns: dict[str, Any] | pa.Table, **facts: Any) -> dict[str, Any]:
    """The draft for some columns, read as TOML after it was seen to work."""
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    text = drafting(Source(table, **facts), name="d").catalog
    encode(read_dataset(text, name="d", read_file=str), table, secret=SECRET)
    return tomllib.loads(text)


def variable(values: Any, name: str = "x", **facts: Any) -> dict[str, Any]:
    """The draft for one column."""
    described = draft({"sex": SEX[: len(values)], name: values}, **facts)["variables"][name]
    assert isinstance(described, dict)
    return described


def shown(values: Any, name: str = "x") -> str:
    found = variable(values, name)
    return str(found["role"] if found["role"] == "identifier" else found["kind"])


def test_a_first_look_at_a_survey() -> None:
    income = np.where(RNG.random(ROWS) < 0.2, 0, RNG.lognormal(10, 0.6, ROWS).round())
    town = RNG.choice(["n1", "n2", "n3", "s1", "s2"], ROWS)
    found = draft(
        {
            "person_id": np.arange(ROWS)[::-1],
            "age": RNG.integers(0, 95, ROWS),
            "sex": SEX,
            "region": np.char.upper(town.astype("<U1")),
            "town": town,
            "income": income,
            "weight": RNG.integers(50, 150, ROWS) / 10,
        }
    )
    assert (found["title"], found["unit"], found["weight"], found["weight_decimals"]) == ("d", "person_id", "weight", 1)
    variables = found["variables"]
    assert "weight" not in variables
    assert variables["person_id"]["role"] == "identifier"
    assert variables["town"]["parent"] == "region"
    assert variables["town"]["codes"]["s2"] == {"label": "s2", "parent": "S"}
    assert (variables["age"]["kind"], variables["age"]["role"], variables["age"]["minimum"]) == ("numeric", "key", 0)
    assert all(cut % 5 == 0 for cut in variables["age"]["cutpoints"])
    assert variables["income"]["role"] == "confidential"
    assert variables["income"]["cutpoints"][0] == 1
    assert all(cut % 1000 == 0 for cut in variables["income"]["cutpoints"][1:])
    assert variables["sex"] == {"label": "sex", "kind": "categorical", "role": "key", "codes": {"f": "f", "m": "m"}}


@pytest.mark.parametrize("name", ["id", "ID", "pid", "person_id", "hh.hhid", "personId", "SERIALNO", "case key"])
def test_a_column_named_as_an_identifier_names_the_unit(name: str) -> None:
    ids = RNG.permutation(ROWS)
    assert draft({name: ids, "sex": SEX})["unit"] == name
    assert shown(ids, name) == "identifier"


@pytest.mark.parametrize("name", ["paid", "kid", "grid", "covid", "id_type"])
def test_a_name_that_only_sounds_like_an_identifier_does_not(name: str) -> None:
    assert "unit" not in draft({name: RNG.integers(0, 5, ROWS), "sex": SEX})


def test_of_several_identifiers_the_finest_names_the_unit_and_the_others_are_hidden() -> None:
    table = pa.table({"household_id": np.arange(ROWS) // 3, "person_id": np.arange(ROWS), "sex": SEX})
    found = draft(table)
    assert found["unit"] == "person_id"
    assert found["variables"]["household_id"]["role"] == "identifier"
    assert found["household"] == "household_id"
    numbered = drafting(Source(table.rename_columns(["dwelling", "person_id", "sex"])), name="d").catalog
    assert '# or "dwelling"' not in numbered and tomllib.loads(numbered)["household"] == "dwelling"
    assert (
        '# or "group_id"' in drafting(Source(table.rename_columns(["group_id", "person_id", "sex"])), name="d").catalog
    )
    assert "several records each" in drafting(Source(table.drop_columns("person_id")), name="d").catalog


def test_people_are_the_units_of_their_jobs_and_visits() -> None:
    table = pa.table({"visit_id": np.arange(ROWS), "patient_id": RNG.permutation(ROWS) // 3, "sex": SEX})
    assert 'unit = "patient_id"   # several records each; or "visit_id"' in drafting(Source(table), name="d").catalog
    homes = pa.table(
        {"hh_id": np.arange(ROWS) // 3, "person_id": np.arange(ROWS), "job_id": np.arange(ROWS), "sex": SEX}
    )
    assert draft(homes)["unit"] == "person_id" and draft(homes)["household"] == "hh_id"


def test_records_numbered_through_the_file_and_texts_that_are_all_different_name_units() -> None:
    assert draft({"x": np.arange(ROWS) * 100 + 7, "sex": SEX})["unit"] == "x"
    assert draft({"x": [f"E{i}" for i in RNG.permutation(ROWS)], "sex": SEX})["unit"] == "x"
    assert shown(np.arange(ROWS) // 3) == "identifier"
    assert "unit" not in draft({"x": RNG.permutation(ROWS), "sex": SEX})
    assert "unit" not in draft({"x": [f"Remark {i}" for i in range(ROWS)], "sex": SEX})


@pytest.mark.parametrize("name", ["w", "weight", "WGT", "PWGTP", "fnlwgt", "sampling_weight", "hh.weights", "rb050"])
def test_a_column_named_as_a_weight_weighs(name: str) -> None:
    assert draft({name: RNG.random(ROWS) + 1, "sex": SEX})["weight"] == name


@pytest.mark.parametrize("name", ["birth_weight", "body_weight", "weighty", "WEIGHT_LOSS"])
def test_a_weight_of_something_else_does_not(name: str) -> None:
    assert "weight" not in draft({name: RNG.random(ROWS) + 1, "sex": SEX})


def test_a_second_weight_is_hidden_and_a_text_is_no_weight() -> None:
    weights = RNG.random(ROWS) + 1
    found = draft({"w": weights, "hh_weight": weights, "sex": SEX})
    assert found["weight"] == "w"
    assert found["variables"]["hh_weight"]["role"] == "identifier"
    assert "weight" not in draft({"weight": np.where(SEX == "f", "light", "heavy")})


def test_people_have_their_own_weight_where_a_file_has_that_of_households_too() -> None:
    weights = RNG.random(ROWS) + 1
    assert draft({"db090": weights, "rb050": weights, "sex": SEX})["weight"] == "rb050"
    assert draft({"hh_weight": weights, "weight": weights, "sex": SEX})["weight"] == "weight"
    assert draft({"hh_weight": weights, "sex": SEX})["weight"] == "hh_weight"


def test_words_that_several_records_share_may_name_the_unit_too() -> None:
    table = pa.table({"site": [f"B{i}" for i in range(ROWS)], "firm": [f"E{i // 2}" for i in range(ROWS)], "sex": SEX})
    text = drafting(Source(table), name="d").catalog
    assert 'unit = "site"   # or "firm"' in text


def test_numbers_of_a_small_file_have_fewer_bins_so_that_tables_by_three_have_units_enough() -> None:
    values = np.round(RNG.lognormal(10, 0.6, 20_000))
    bins = {rows: len(variable(values[:rows])["cutpoints"]) + 1 for rows in (400, ROWS)}
    assert bins == {400: 4, ROWS: 5}
    many = draft({"sex": np.resize(SEX, len(values)), "x": values})["variables"]["x"]["cutpoints"]
    assert 9 <= len(many) + 1 <= 10


def test_bins_are_as_many_as_units_allow_not_records() -> None:
    values, units = np.round(RNG.lognormal(10, 0.6, ROWS)), np.arange(ROWS) // 5
    found = draft({"person_id": units, "sex": SEX, "x": values})["variables"]["x"]["cutpoints"]
    assert len(found) + 1 == 3


def test_an_amount_that_few_have_is_cut_at_zero() -> None:
    few = np.where(np.arange(ROWS) < 40, RNG.integers(5, 900, ROWS), 0)
    assert variable(RNG.permutation(few))["cutpoints"] == [1]
    assert "cutpoints" not in variable(RNG.permutation(np.where(np.arange(ROWS) < 20, few, 0)))


def test_long_codes_get_a_level_of_how_they_begin() -> None:
    codes = np.array([f"{first}{rest}" for first in range(11, 20) for rest in range(10, 20)])
    found = draft({"sex": SEX, "naics4": RNG.choice([*codes, ""], ROWS)})["variables"]
    group = found["naics4_group"]
    assert list(group["codes"]) == [str(first) for first in range(11, 20)]
    above = {c: said["parent"] for code, said in found["naics4"]["codes"].items() for c in said.get("synonyms", [code])}
    assert found["naics4"]["parent"] == "naics4_group" and above.items() >= {(code, code[:2]) for code in codes}
    assert group["role"] == found["naics4"]["role"] == "key" and group["missing"] == found["naics4"]["missing"]


def test_codes_get_no_level_where_there_is_room_for_them_or_none_is_known() -> None:
    few = RNG.choice([f"{n}" for n in range(100, 109)], ROWS)
    uneven = RNG.choice([f"{n}" for n in range(60, 160)], ROWS)
    below = np.char.add(np.char.add(REGION, "1"), RNG.integers(10, 99, ROWS).astype(str))
    assert not [n for n in draft({"sex": SEX, "a_code": few, "b_code": uneven})["variables"] if "group" in n]
    assert not [n for n in draft({"region": REGION, "a_code": below})["variables"] if "group" in n]


@pytest.mark.parametrize(
    ("values", "name", "kind"),
    [
        (RNG.integers(0, 12, ROWS), "x", "categorical"),
        (RNG.integers(0, 40, ROWS), "x", "numeric"),
        (RNG.integers(0, 40, ROWS), "det_ind_code", "categorical"),
        (RNG.integers(23001, 23040, ROWS), "county_fips", "categorical"),
        (RNG.integers(100, 140, ROWS), "naics6", "categorical"),
        (RNG.integers(0, 40, ROWS), "job_class", "categorical"),
        (RNG.choice(["01", "07", "10"], ROWS), "x", "categorical"),
        (RNG.choice(["1", "2", "N"], ROWS), "x", "categorical"),
        (RNG.choice([*map(str, range(80)), "N"], ROWS), "x", "numeric"),
        (RNG.choice([*map(str, range(1000, 9000, 100)), "N"], ROWS), "x", "categorical"),
        (RNG.choice(["1.25", "2.5", "?"], ROWS), "x", "categorical"),
        ([*map(str, RNG.random(ROWS - 1)), "NA"], "x", "numeric"),
        ([*map(str, RNG.random(ROWS - 1)), "inf"], "x", "identifier"),
        (RNG.integers(0, 2, ROWS) == 1, "x", "categorical"),
        ([f"{i:032x}" for i in RNG.integers(0, 10**9, ROWS)], "x", "identifier"),
        ([f"3478E{i}" for i in RNG.integers(0, 10**9, ROWS)], "x", "identifier"),
        (["long " * 40, "short"] * (ROWS // 2), "x", "identifier"),
        ([date(2000, 1, 1 + i % 28) for i in range(ROWS)], "x", "numeric"),
        ([datetime(2000, 1, 1, i % 24, i % 60) for i in range(ROWS)], "x", "numeric"),
        ([f"2000-01-{1 + i % 28:02d}" for i in range(ROWS)], "x", "numeric"),
        ([time(i % 24, i % 60) for i in range(ROWS)], "x", "identifier"),
        ([date(2000 + i % 5, 1, 1) for i in range(ROWS)], "x", "categorical"),
        (["same"] * ROWS, "x", "categorical"),
        ([7] * ROWS, "x", "categorical"),
    ],
)
def test_what_a_column_is_drafted_as(values: Any, name: str, kind: str) -> None:
    assert shown(values, name) == kind


def test_classes_that_are_a_confidential_number_in_bands_are_confidential_too() -> None:
    income = np.where(RNG.random(ROWS) < 0.3, 0, RNG.lognormal(10, 0.6, ROWS).round())
    age = RNG.integers(0, 95, ROWS)
    found = draft(
        {
            "income": income,
            "income_decile": np.where(income > 0, 10 * income.argsort().argsort() // ROWS, -1),
            "works": np.where(income > 0, "yes", "no"),
            "job": np.where(income > 0, RNG.choice(["a", "b", "c"], ROWS), "none"),
            "age": age,
            "age_group": age // 20,
        }
    )
    roles = {name: variable["role"] for name, variable in found["variables"].items()}
    assert roles["income_decile"] == roles["income"] == "confidential"
    assert {roles[name] for name in ("works", "job", "age", "age_group")} == {"key"}


def test_columns_without_values_are_left_out() -> None:
    for empty in (pa.nulls(ROWS), pa.nulls(ROWS, pa.string()), [""] * ROWS, [float("nan")] * ROWS):
        assert list(draft({"sex": SEX, "x": empty})["variables"]) == ["sex"]


def test_data_of_identifiers_alone_are_a_mistake() -> None:
    with pytest.raises(Mistake, match="nothing but identifiers"):
        draft({"id": range(50), "w": [1.0] * 50})


def test_missing_values_are_declared() -> None:
    assert variable(["a", "b", None] * 30)["missing"] == ["NA"]
    assert variable(["a", "NA", None] * 30)["missing"] == ["missing", "NA"]
    assert variable([*range(90), None])["missing"] == [""]
    assert variable([*map(str, range(90)), "N", ""])["missing"] == ["", "N"]
    assert "missing" not in variable(["a", "b"] * 30)


def test_codes_stand_in_the_order_people_expect() -> None:
    sizes = ["0-4", "10-19", "100-249", "20-49", "5-9", "250+"]
    assert list(variable(sizes * 20)["codes"]) == ["0-4", "5-9", "10-19", "20-49", "100-249", "250+"]
    assert list(variable(["18-24", "<18", "65+", "25-64"] * 20)["codes"]) == ["<18", "18-24", "25-64", "65+"]
    assert list(variable([10, 9, -1, -10, 0] * 20)["codes"]) == ["-10", "-1", "0", "9", "10"]
    assert list(variable(["A10", "A9", "B", "²"] * 20)["codes"]) == ["A9", "A10", "B", "²"]


@pytest.mark.parametrize(
    ("values", "decimals"),
    [
        (np.arange(100.0), 0),
        (np.arange(100) / 10, 1),
        (np.arange(100) / 4, 2),
        (np.arange(1, 101) / 3, 6),
        (np.arange(100) / 3e9, 9),
        (np.array([*range(99), 5.5e-17]), 0),
        ([cent / 100 for cent in range(100)], 2),
    ],
)
def test_decimals_are_as_many_as_the_numbers_need(values: Any, decimals: int) -> None:
    assert variable(RNG.permutation(values))["decimals"] == decimals


def test_a_minimum_is_zero_or_not_declared() -> None:
    assert variable(RNG.permutation(np.arange(50, 150)))["minimum"] == 0
    assert "minimum" not in variable(RNG.permutation(np.arange(-1, 99)))
    assert "maximum" not in variable(RNG.permutation(np.arange(100)))


@pytest.mark.parametrize(
    "name", ["a.b", 'say "hi"', "it's", "two words", "größe", "日本", "a=b;c,d", "\\", "[x]", "#", "x]y"]
)
def test_names_and_codes_of_any_kind_are_drafted(name: str) -> None:
    found = draft({name: [name, "a\nb", "\x7f\t", "1"] * 20})
    assert list(found["variables"]) == [name]
    assert set(found["variables"][name]["codes"]) == {name, "a\nb", "\x7f", "1"}


def test_labels_of_the_file_are_used() -> None:
    facts = {
        "labels": {"x": "Sex of person"},
        "value_labels": {"x": {"2": "Female", "1": "Male", "9": "No answer"}},
        "missing": {"x": ["9"]},
    }
    found = variable([1.0, 2.0, 3.0, 9.0] * 20, **facts)
    assert found["label"] == "Sex of person"
    assert found["missing"] == ["9"]
    assert list(found["codes"].items()) == [("2", "Female"), ("1", "Male"), ("9", "No answer"), ("3", "3")]


def test_a_number_of_which_a_few_values_have_labels_stays_a_number() -> None:
    facts = {"value_labels": {"x": {"98": "98 or more", "99": "No answer"}}, "missing": {"x": ["99"]}}
    found = variable(RNG.integers(0, 100, ROWS).astype(float), **facts)
    assert (found["kind"], found["missing"], found["minimum"]) == ("numeric", ["99"], 0)
    assert max(found["cutpoints"]) < 98


def levels(fine: Any, coarse: Any, **more: Any) -> str | None:
    return draft({"fine": fine, "coarse": coarse, **more})["variables"]["fine"].get("parent")


def test_a_real_hierarchy_is_found_and_an_accidental_one_is_not() -> None:
    fine = RNG.integers(0, 12, ROWS)
    assert levels(fine, np.array(list("abc"))[fine // 4]) == "coarse"
    assert levels(fine, np.where(np.arange(ROWS) == 5, "rare", "usual")) is None
    assert levels(fine, np.where(fine == 3, "rare", "usual")) == "coarse"
    few = np.arange(30) % 6
    assert levels(few, np.where(np.arange(30) == 5, "a", "b")) is None


def test_missing_values_on_both_levels_go_together() -> None:
    fine = RNG.integers(0, 12, ROWS)
    letters = np.array(list("abc"))[fine // 4]
    absent = RNG.random(ROWS) < 0.1
    codes = pa.array(np.char.add("f", fine.astype(str)), mask=absent)
    assert levels(codes, pa.array(letters, mask=absent)) == "coarse"
    assert levels(codes, letters) is None


def test_a_chain_of_levels_is_found_and_siblings_of_one_parent_are_not() -> None:
    fine = RNG.integers(0, 40, ROWS)
    chain = draft(
        {"a": fine // 20, "b": np.char.add("b", (fine // 4).astype(str)), "c": np.char.add("c", fine.astype(str))}
    )
    assert [chain["variables"][name].get("parent") for name in "abc"] == [None, "a", "b"]
    half = fine // 20
    siblings = draft(
        {
            "half": half,
            "one": np.char.add("o", (half * 5 + RNG.integers(0, 5, ROWS)).astype(str)),
            "two": np.char.add("t", (half * 6 + RNG.integers(0, 6, ROWS)).astype(str)),
        }
    )
    assert [siblings["variables"][name].get("parent") for name in ("one", "two")] == [None, None]


def test_three_hundred_columns_are_drafted_quickly() -> None:
    columns = {f"c{i}": RNG.integers(0, 6, ROWS) for i in range(300)}
    assert len(tomllib.loads(drafting(Source(pa.table(columns)), name="d").catalog)["variables"]) == 300


VALUES = st.one_of(
    st.lists(st.sampled_from(["a", "b", "NA", "", " c ", "_", "?", None]), min_size=40, max_size=40),
    st.lists(st.integers(-5, 200) | st.none(), min_size=40, max_size=40),
    st.lists(st.floats(-1e6, 1e6, width=32) | st.none(), min_size=40, max_size=40),
    st.lists(st.booleans() | st.none(), min_size=40, max_size=40),
    st.lists(st.text(max_size=4), min_size=40, max_size=40),
    st.lists(st.dates(), min_size=40, max_size=40),
    st.lists(st.decimals(-1000, 1000, places=2), min_size=40, max_size=40),
    st.lists(st.sampled_from([0.0, 1.5, -0.0, float("nan")]), min_size=40, max_size=40),
)
NAMES = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8)


@settings(max_examples=150)
@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=5))
def test_a_draft_of_any_data_reads_and_codes_them(columns: dict[str, list[Any]]) -> None:
    table = pa.table({"sex": ["f", "m"] * 20, **{f"_{name}": values for name, values in columns.items()}})
    draft(table)


@pytest.mark.parametrize("method", METHODS)
def test_cutpoints_of_each_method_can_be_pasted_into_a_catalog(method: str) -> None:
    values = RNG.gamma(3, 10, ROWS).round(1).clip(max=60)
    lines = draft_cutpoints({"x": values}, "x", method=method, minimum=60)
    dataset = read_dataset("[variables.x]\nkind = 'numeric'\n" + "\n".join(lines), name="d", read_file=str)
    found = encode(dataset, pa.table({"x": values}), secret=SECRET)
    counts = np.bincount(found.records[found.facts.classes["x"]].to_numpy())
    assert counts.min() >= 60
    assert len(counts) == len(dataset.variables["x"].codes) > 2
    assert bool(dataset.variables["x"].nodes) == (method == "partitioned")


def test_nodes_span_bins_and_tell_no_extreme_of_the_data() -> None:
    lines = draft_cutpoints({"x": np.arange(17, 97)}, "x", method="partitioned", minimum=10)
    assert lines[1:] == [
        "decimals = 0",
        "minimum = 0",
        "cutpoints = [27, 37, 47, 57, 67, 77, 87]",
        'nodes = ["0-56", "57+", "0-36", "37-56", "57-76", "77+"]',
    ]
    below = draft_cutpoints({"x": np.arange(-40, 40)}, "x", method="partitioned", minimum=20)
    assert below[1:] == ["decimals = 0", "cutpoints = [-20, 0, 20]", 'nodes = ["<0", "0+"]']


@pytest.mark.parametrize(
    ("column", "options", "words"),
    [
        ("xx", {}, "'x'"),
        ("x", {"method": "fixt"}, "'fixed'"),
        ("x", {"minimum": 0}, "minimum"),
        ("x", {"minimum": 10**6}, "fewer"),
        ("x", {"minimum": 600}, "one bin"),
        ("sex", {}, "not numeric"),
    ],
)
def test_cutpoints_that_cannot_be_drafted_are_a_mistake(column: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(Mistake, match=words):
        draft_cutpoints({"x": np.arange(ROWS), "sex": SEX}, column, **options)
