"""Medians and other quantiles: read off the table by the bins of the number, and judged as it is."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from asking import python_table
from confide.answering.tables.quantiles import Distributions, QuantileBins
from confide.errors import Mistake

QUANTILES = {"p10": 0.1, "p25": 0.25, "median": 0.5, "p75": 0.75, "p90": 0.9}
LENIENT = {
    "universe": {"gamma": 0, "gamma_star": 0, "marginals": False, "complement": False, "decide_on": "true"},
    "tables": {"sparsity": 1.0, "mean_cell": 0.0, "class_disclosure": False},
}
BARE = {
    **LENIENT,
    "drop": {"k": 0},
    "counts": {"mechanism": "none"},
    "totals": {"mechanism": "none", "units": 0, "dominance_k": 100.0, "p_percent": 0.0, "risk_limit": 1.0},
}
CUTS = (100, 200, 300, 350, 400, 450, 500, 600, 800, 1200)


def asked(of: str = "income", rows: Any = "sex", measure: Any = tuple(QUANTILES), **more: Any) -> Any:
    return python_table("people", rows=rows, measure=list(measure), of=of, **more)


@pytest.fixture(scope="module")
def cut(town: Any) -> Any:
    """The people of the town, whose incomes have cutpoints; some incomes are missing, and nobody has sex x."""
    return replace(town, catalog=f"{town.catalog}cutpoints = {list(CUTS)}\n")


def weighted_quantile(values: Any, weights: Any, share: float) -> float:
    order = np.argsort(values)
    return float(np.interp(share * weights.sum(), np.cumsum(weights[order]) - weights[order] / 2, values[order]))


def test_without_protection_they_are_those_of_the_records_to_a_part_of_a_bin(cut: Any) -> None:
    columns = cut.under(**BARE).desk().consider(asked()).columns
    data = cut.people.to_pandas()
    for place, sex in enumerate(("f", "m")):
        own = data[(data["sex"] == sex) & data["income"].notna()]
        for name, share in QUANTILES.items():
            true = weighted_quantile(own["income"].to_numpy(), own["w"].to_numpy(), share)
            # guards: read between cutpoints that are 50 to 400 apart, they are off by less than a fifth of that
            width = np.diff([0, *CUTS])[np.searchsorted(CUTS, true)]
            assert columns[name].values[place] == pytest.approx(true, abs=0.2 * width)


def test_they_follow_from_the_table_by_bins_that_anybody_may_ask_for(cut: Any) -> None:
    """So nothing that is done with quantiles, of whatever universes, tells more than that table does (T8)."""
    desk = cut.under(**LENIENT).desk()
    for where in (None, {"county": "A"}, [{"sex": "f", "age": ["20-39"]}, {"town": "b1"}]):
        shown = desk.consider(asked(where=where)).columns
        table = desk.consider(
            asked(rows=["sex", "income"], measure=["count", "weighted_count", "mean"], where=where)
        ).columns
        bins = slice(0, len(CUTS) + 1)
        found = Distributions(
            QuantileBins.of(cut.dataset.variables["income"]),
            *(table["weighted_count"].__dict__[part][..., bins] for part in ("values", "noise")),
            table["mean"].values[..., bins],
            table["count"].values[..., bins].sum(axis=-1),
            0.0,
        )
        for name, share in QUANTILES.items():
            rounded = shown[name].values
            error = np.hypot(*found.errors(share))
            told = np.isfinite(rounded)
            assert (np.isfinite(found.values(share)) == told).all() and told.any()
            assert (np.abs(rounded - found.values(share))[told] <= 0.051 * error[told] + 0.005).all()


def test_they_are_refused_where_the_table_by_bins_is(cut: Any) -> None:
    desk = cut.under(**{**LENIENT, "tables": {"sparsity": 0.0, "sparse_below": 40}}).desk()
    assert not desk.consider(asked(measure=["mean"])).reasons
    by_bins = desk.consider(python_table("people", rows=["sex", "income"])).reasons
    assert by_bins and desk.consider(asked()).reasons == by_bins


def test_bins_count_among_the_variables_of_a_table(cut: Any) -> None:
    desk = cut.under(tables={**LENIENT["tables"], "dimensions": 2}).desk()
    assert not [r for r in desk.consider(asked(rows="sex")).reasons if r.rule == "tables.dimensions"]
    assert [r.rule for r in desk.consider(asked(rows=["sex", "county"])).reasons] == ["tables.dimensions"]


def test_the_same_units_have_the_same_quantiles_in_whatever_words(cut: Any) -> None:
    desk = cut.under(**LENIENT).desk()
    one = desk.consider(asked(where={"county": "A"})).columns
    assert desk.consider(asked(where={"town": ["a1", "a2", "a9"]})).columns == one


def test_an_empty_cell_has_none_and_an_open_bin_tells_none(cut: Any) -> None:
    columns = cut.under(**BARE).desk().consider(asked()).columns
    assert columns["median"].marks.tolist() == ["", "", "z", ""]
    rich = cut.people.set_column(
        cut.people.column_names.index("income"), "income", pa.array(np.full(cut.people.num_rows, 5_000.0))
    )
    columns = cut.under(**BARE).of(rich).desk().consider(asked()).columns
    assert columns["median"].marks.tolist() == ["x", "x", "z", "x"]


def test_a_number_of_one_value_has_that_value(cut: Any) -> None:
    none = cut.people.set_column(
        cut.people.column_names.index("income"), "income", pa.array(np.zeros(cut.people.num_rows))
    )
    town = replace(cut, catalog=cut.catalog.replace(f"{list(CUTS)}", f"{[1, *CUTS]}"))
    columns = town.under(**BARE).of(none).desk().consider(asked()).columns
    assert columns["median"].values[[0, 1, 3]].tolist() == columns["p90"].values[[0, 1, 3]].tolist() == [0, 0, 0]


def test_a_recode_gives_quantiles_by_its_own_cutpoints(cut: Any) -> None:
    recode = '\n[variables.pay]\nkind = "numeric"\nof = "income"\ncutpoints = [200, 400, 600, 1200]\n'
    desk = replace(cut, catalog=cut.catalog + recode).under(**BARE).desk()
    fine, wide = (desk.consider(asked(of=of, measure=["median"])) for of in ("income", "pay"))
    assert fine.columns["median"].label == wide.columns["median"].label
    assert wide.columns["median"].values[:2] == pytest.approx(fine.columns["median"].values[:2], rel=0.1)
    assert (wide.columns["median"].noise[:2] > fine.columns["median"].noise[:2]).all()
    with pytest.raises(Mistake, match="no totals or means"):
        desk.consider(asked(of="pay", measure=["median", "mean"]))


def test_a_recode_is_suggested_where_the_finest_bins_are_refused(cut: Any) -> None:
    recode = '\n[variables.pay]\nkind = "numeric"\nof = "income"\ncutpoints = [400, 800]\n'
    crowd = replace(cut, catalog=cut.catalog + recode).under(
        **{**LENIENT, "tables": {"mean_cell": 40.0, "sparsity": 1.0}}
    )
    road = crowd.desk().road
    question = road.admit(asked(measure=["median"]))
    assert road.consider(question).reasons
    assert "of=pay" in next(iter(road.suggest(question))).address


def test_other_measures_stand_beside_them_unchanged(cut: Any) -> None:
    desk = cut.under(**LENIENT).desk()
    both = desk.consider(asked(measure=["count", "median", "mean"])).columns
    alone = desk.consider(asked(measure=["count", "mean"])).columns
    assert list(both) == ["count", "median", "mean"]
    assert both["count"] == alone["count"] and both["mean"] == alone["mean"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"of": "income"}, "no cutpoints are declared"),
        ({"of": "age", "rows": "age"}, "does not go with its own classes"),
        ({"of": "sex"}, "not a numeric variable"),
        ({"of": None}, "needs a variable"),
    ],
)
def test_what_has_no_quantiles_is_a_mistake(town: Any, words: dict[str, Any], said: str) -> None:
    with pytest.raises(Mistake, match=said):
        town.desk().consider(asked(**words))


def test_noise_of_records_is_taken_back() -> None:
    """Lognormal numbers with the noise of records, spread 0.4: left so, the median is 8 percent low and p90 2 percent high."""
    from confide.data.noise_law import factors

    random = np.random.default_rng(1)
    true = np.exp(random.normal(9, 0.8, 200_000))
    noised = np.rint(true * factors(random.random(200_000), 0.4))
    edges = np.concatenate([[0], np.exp(np.linspace(6, 12, 40)).round(), [1e7]])
    counts, sums = (np.histogram(noised, edges, weights=w)[0].astype(float) for w in (None, noised))
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    bins = QuantileBins(edges[:-1], edges[1:] - 1, 1.0)
    for spread, off in ((0.0, 0.06), (0.4, 0.015)):
        found = Distributions(bins, counts, np.ones_like(counts), means, counts.sum(), spread)
        worst = max(abs(found.values(q) / np.quantile(true, q) - 1) for q in (0.25, 0.5, 0.75))
        assert (worst > off) == (spread == 0.0), worst


def test_the_mean_of_a_wide_bin_tells_where_its_numbers_are() -> None:
    """From 0 to 999 with a mean at a quarter of that, three quarters lie below the mean: the median is two thirds of the way to it."""
    bins = QuantileBins(np.array([0.0, 1_000.0]), np.array([999.0, 2_000.0]), 1.0)
    counts = np.array([100.0, 0.0])
    for mean, median in ((249.75, 999 / 6), (499.5, 499.5), (np.nan, 499.5)):
        found = Distributions(bins, counts, np.ones(2), np.array([mean, np.nan]), counts.sum(), 0.0)
        assert found.values(0.5) == pytest.approx(median)
