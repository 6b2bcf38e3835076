"""The demonstration data: what the generators promise, checked against the catalogs they ship with."""

import tomllib
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from confide.demo import firms, people
from confide.errors import Mistake

GENERATORS = {"people": people, "firms": firms}
each = pytest.mark.parametrize("dataset", GENERATORS)


def catalog(dataset: str) -> dict[str, Any]:
    return tomllib.loads(files("confide.demo").joinpath(f"{dataset}.toml").read_text("utf-8"))


def variables(dataset: str, *keys: str) -> dict[str, dict[str, Any]]:
    """The variables of a catalog that are columns and have all these keys."""
    return {
        name: variable
        for name, variable in catalog(dataset)["variables"].items()
        if "of" not in variable and all(key in variable for key in keys)
    }


@pytest.fixture(scope="module")
def tables() -> dict[str, pa.Table]:
    return {dataset: make(100_000) for dataset, make in GENERATORS.items()}


@pytest.fixture(scope="module")
def persons(tables: dict[str, pa.Table]) -> pd.DataFrame:
    return tables["people"].to_pandas()


@pytest.fixture(scope="module")
def establishments(tables: dict[str, pa.Table]) -> pd.DataFrame:
    return tables["firms"].to_pandas()


@each
@pytest.mark.parametrize("rows", [0, 1, 2, 1000])
def test_any_number_of_rows_gives_that_many_with_the_same_columns(dataset: str, rows: int) -> None:
    table = GENERATORS[dataset](rows)
    table.validate(full=True)
    assert table.num_rows == rows
    assert table.schema == GENERATORS[dataset](10).schema


@each
def test_a_negative_number_of_rows_is_a_mistake(dataset: str) -> None:
    with pytest.raises(Mistake):
        GENERATORS[dataset](-1)


@each
def test_the_same_seed_gives_the_same_table_and_another_seed_another(dataset: str) -> None:
    first, again, other = (GENERATORS[dataset](1000, seed=seed) for seed in (7, 7, 8))
    assert first.equals(again)
    assert not first.equals(other)


@each
def test_identifiers_go_on_across_blocks(dataset: str) -> None:
    table = GENERATORS[dataset](300_000)
    assert table.column(0).num_chunks > 1
    assert table.column(0).to_pylist() == list(range(1, 300_001))
    owner = table.column(1).to_numpy()
    assert owner[0] == 1
    assert set(np.unique(np.diff(owner))) == {0, 1}


@each
def test_columns_and_codes_stand_in_the_order_of_the_catalog(dataset: str, tables: dict[str, pa.Table]) -> None:
    assert tables[dataset].column_names == [*variables(dataset), catalog(dataset)["weight"]]
    for name, variable in variables(dataset, "codes").items():
        column = tables[dataset][name]
        assert pa.types.is_dictionary(column.type)
        assert column.chunk(0).dictionary.to_pylist() == list(variable["codes"])
        assert set(column.unique().to_pylist()) == set(variable["codes"]), name


@each
def test_numbers_lie_between_their_declared_bounds(dataset: str, tables: dict[str, pa.Table]) -> None:
    for name, variable in variables(dataset, "minimum").items():
        values = tables[dataset][name].drop_null().to_pandas()
        assert values.min() >= variable["minimum"], name
        assert values.max() <= variable.get("maximum", np.inf), name


@each
def test_each_code_lies_under_its_declared_parent(dataset: str, tables: dict[str, pa.Table]) -> None:
    for name, variable in variables(dataset, "parent").items():
        pairs = tables[dataset].select([name, variable["parent"]]).to_pandas().drop_duplicates()
        declared = {(code, entry["parent"]) for code, entry in variable["codes"].items()}
        assert set(pairs.itertuples(index=False, name=None)) == declared


@each
def test_the_catalog_describes_every_variable(dataset: str) -> None:
    read = catalog(dataset)
    names = read["variables"]
    assert {"title", "source", "period"} <= set(read)
    assert read["unit"] in names
    assert read["weight"] not in names  # a weight is named, not described: nobody asks about it
    for name, variable in names.items():
        assert {"label", "subject", "kind", "role"} <= set(variable), name
        assert variable["kind"] in {"categorical", "numeric"}
        assert variable["role"] in {"identifier", "key", "confidential", "other"}
        assert variable["role"] == "identifier" or variable["kind"] == "numeric" or variable["codes"]
        assert variable.get("parent", name) in names
        assert variable.get("of", name) in names
        assert variable["kind"] == "numeric" or set(variable.get("missing", [])) <= set(variable.get("codes", {}))
        assert variable.get("cutpoints", []) == sorted(set(variable.get("cutpoints", [])))
        labels = [code if isinstance(code, str) else code["label"] for code in variable.get("codes", {}).values()]
        assert len(set(labels)) == len(labels), name


@each
def test_a_recode_cuts_where_its_number_does(dataset: str) -> None:
    names = catalog(dataset)["variables"]
    for variable in names.values():
        if "of" in variable:
            assert set(variable["cutpoints"]) <= set(names[variable["of"]]["cutpoints"])


def test_both_catalogs_declare_the_same_geography() -> None:
    for name in ("region", "county"):
        assert catalog("people")["variables"][name] == catalog("firms")["variables"][name]


def test_a_household_lives_in_one_municipality_with_an_adult(persons: pd.DataFrame) -> None:
    households = persons.groupby("household_id")
    assert households["municipality"].nunique().max() == 1
    assert households["age"].max().min() >= 18
    assert households.size().max() > 6
    assert 1.8 < households.size().mean() < 2.6


def test_parents_are_at_least_17_years_older_than_the_children_of_their_household(persons: pd.DataFrame) -> None:
    parents = persons[persons["children"] > 0].groupby("household_id")
    youngest = persons.groupby("household_id")["age"].apply(lambda ages: np.sort(ages.to_numpy()))
    for house, group in parents:
        oldest_child = youngest[house][group["children"].iloc[0] - 1]
        assert group["age"].min() - oldest_child >= 17


def test_taxes_are_part_of_income_and_progressive(persons: pd.DataFrame) -> None:
    assert (persons["taxes"] <= persons["income"]).all()
    rate = persons.groupby(pd.cut(persons["income"], [0, 20_000, 40_000, 80_000, np.inf]), observed=True).apply(
        lambda group: group["taxes"].sum() / group["income"].sum()
    )
    assert rate.is_monotonic_increasing


def test_hours_occupation_industry_and_wages_belong_to_the_employed(persons: pd.DataFrame) -> None:
    employed = persons["employment"] == "employed"
    assert (persons["hours"].notna() == employed).all()
    assert ((persons["wages"] > 0) == employed).all()
    for name in ("occupation_major", "occupation_sub", "occupation", "industry"):
        assert ((persons[name] != "none") == employed).all(), name


def test_about_a_quarter_have_no_income_a_few_have_much_and_fewer_less_than_their_wages(persons: pd.DataFrame) -> None:
    income = persons["income"].sort_values(ascending=False)
    assert 0 < (persons["wages"] > persons["income"]).mean() < 0.02
    assert 0.15 < (income == 0).mean() < 0.35
    assert 0.04 < income.head(1000).sum() / income.sum() < 0.2


def test_mean_income_rises_with_education(persons: pd.DataFrame) -> None:
    means = persons[persons["age"] >= 25].groupby("education", observed=True)["income"].mean()
    levels = [code for code in catalog("people")["variables"]["education"]["codes"] if code != "ns"]
    assert means[levels].is_monotonic_increasing
    sellers = persons[persons["occupation_major"] == "5"].groupby("education", observed=True)["income"].mean()
    assert sellers["master"] > 1.2 * sellers["primary"]


def test_mean_income_of_the_employed_depends_on_sex_region_and_occupation(persons: pd.DataFrame) -> None:
    employed = persons[persons["employment"] == "employed"]
    for name, higher, lower in (("sex", "male", "female"), ("region", "C", "W"), ("occupation_major", "1", "9")):
        means = employed.groupby(name, observed=True)["income"].mean()
        assert means[higher] > 1.1 * means[lower], name


def test_marital_status_and_employment_depend_on_age(persons: pd.DataFrame) -> None:
    minor, old = persons["age"] < 18, persons["age"] >= 75
    assert (persons["marital"][minor] == "never").all()
    assert (persons["marital"][old] == "widowed").mean() > 5 * (persons["marital"][~old] == "widowed").mean()
    assert ((persons["employment"] == "child") == (persons["age"] < 15)).all()
    assert (persons["employment"][old] == "retired").mean() > 0.95


def test_municipalities_and_countries_of_birth_are_very_unequal(persons: pd.DataFrame) -> None:
    sizes = persons["municipality"].value_counts()
    assert sizes.max() > 50 * sizes.min()
    shares = persons["country_of_birth"].value_counts(normalize=True)
    assert 0.8 < shares["native"] < 0.9
    assert shares.min() < 0.003


def test_weights_have_two_digits_and_vary_by_region(persons: pd.DataFrame, tables: dict[str, pa.Table]) -> None:
    assert tables["people"]["weight"].type == pa.decimal128(7, 2)
    weights = persons["weight"].astype(float)
    assert weights.min() > 0
    assert 18 < weights.mean() < 25
    means = weights.groupby(persons["region"], observed=True).mean()
    assert means.max() > 1.5 * means.min()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_largest_1_percent_of_establishments_hold_about_a_third_of_turnover(seed: int) -> None:
    turnover = np.sort(firms(100_000, seed=seed)["turnover"].to_numpy())[::-1]
    assert 0.28 < turnover[:1000].sum() / turnover.sum() < 0.40


def test_most_holdings_own_one_establishment_and_a_few_own_dozens(establishments: pd.DataFrame) -> None:
    owned = establishments.groupby("holding_id").size()
    assert (owned == 1).mean() > 0.85
    assert 0 < (owned >= 24).mean() < 0.01


def test_size_class_follows_from_employees(establishments: pd.DataFrame) -> None:
    for code, employees in establishments.groupby("size_class", observed=True)["employees"]:
        low, _, high = str(code).rstrip("+").partition("-")
        assert employees.min() >= int(low)
        assert not high or employees.max() <= int(high)


def test_exports_are_part_of_turnover_and_most_export_nothing(establishments: pd.DataFrame) -> None:
    assert (establishments["exports"] <= establishments["turnover"]).all()
    assert (establishments["exports"] == 0).mean() > 0.8
    assert 0.2 < (establishments["investment"] == 0).mean() < 0.8


def test_legal_form_depends_on_size(establishments: pd.DataFrame) -> None:
    forms = pd.crosstab(establishments["size_class"], establishments["legal_form"], normalize="index")
    assert forms.loc["1-4", "sole"] > 0.5
    assert forms.loc["250+", "sole"] == 0
    assert forms.loc["250+", "public"] > 5 * forms.loc["5-9", "public"]


def test_large_establishments_stand_for_themselves(establishments: pd.DataFrame) -> None:
    weight = establishments["weight"].astype(float)
    assert (weight[establishments["employees"] >= 50] == 1).all()
    assert 10 < weight[establishments["employees"] < 5].max() <= 12


def test_people_are_made_without_a_loop_over_them(calls_of) -> None:
    few, many = (calls_of(lambda n=n: people(n)) for n in (10_000, 100_000))
    assert many < 1.1 * few
