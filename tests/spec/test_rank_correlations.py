"""Rank correlations: those of scipy by classes, read off the released tables, judged as these, and corrected for noise."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import spearmanr

from asking import python_correlation, python_table
from confide.answering.auditing.asked import told_tables
from confide.answering.correlations.ranks import RankedVariable, rank_correlation
from confide.answering.regressions.fit import Unfit
from confide.answering.tables.quantiles import QuantileBins
from confide.data.noise_law import factors
from confide.errors import Mistake
from confide.model.policy import PRESETS
from confide.spelling.json import read_request, write_request

CUTS = (100, 200, 300, 350, 400, 450, 500, 600, 800, 1200)


def asked(*variables: str, **words: Any) -> Any:
    return python_correlation("people", list(variables), method="spearman", **words)


def matrix(desk: Any, *variables: str, **words: Any) -> Any:
    grid = desk.consider(asked(*variables, **words)).grids["correlations"]
    return np.array([row[1:] for row in grid.rows], dtype=np.float64)


@pytest.fixture(scope="module")
def cut(town: Any) -> Any:
    """The people of the town without weights, whose incomes go with age and have cutpoints; some are missing."""
    people = town.people.drop_columns(["w"])
    ages, random = people["age"].to_numpy(), np.random.default_rng(5)
    income = (random.lognormal(6, 0.5, len(ages)) * (1 + ages / 50) / 2).round()
    income = pa.array(income, mask=random.random(len(ages)) < 0.1)
    catalog = town.catalog.replace('weight = "w"\n', "") + f"cutpoints = {list(CUTS)}\n"
    return replace(
        town, catalog=catalog, people=people.set_column(people.column_names.index("income"), "income", income)
    )


def test_without_protection_they_are_those_of_scipy_by_classes(cut: Any) -> None:
    found = matrix(cut.preset("open").desk(), "age", "income", "ill")
    data = cut.people.to_pandas()
    classes = {
        "age": np.searchsorted((20, 40, 60, 110), data["age"], side="right"),
        "income": np.where(data["income"].isna(), np.nan, np.searchsorted(CUTS, data["income"], side="right")),
        "ill": (data["ill"] == "yes").to_numpy().astype(float),
    }
    for (a, one), (b, other) in combinations(enumerate(classes.values()), 2):
        expected = spearmanr(one, other, nan_policy="omit").statistic
        # the second digit of a standard error of 1/sqrt(1200), .029, is the third decimal
        assert found[a, b] == found[b, a] == pytest.approx(expected, abs=0.51e-3)
    known = data[data["income"].notna()]
    raw = spearmanr(known["age"], known["income"]).statistic
    # guards: of classes, 4 of age and 11 of income, the correlation is a little less than that of the numbers
    assert raw - 0.06 < found[0, 1] < raw


def test_weights_count(town: Any) -> None:
    found = matrix(town.preset("open").desk(), "age", "ill")[0, 1]
    data = town.people.to_pandas()
    weights, ages = data["w"].to_numpy(), np.searchsorted((20, 40, 60, 110), data["age"], side="right")

    def ranks(classes: Any) -> Any:
        shares = np.bincount(classes, weights) / weights.sum()
        return (np.cumsum(shares) - shares / 2)[classes]

    one, other = ranks(ages), ranks((data["ill"] == "yes").to_numpy().astype(int))
    covariance = np.cov(one, other, aweights=weights)
    assert found == pytest.approx(covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1]), abs=0.51e-3)


def test_they_follow_from_the_table_that_anybody_may_ask_for(cut: Any) -> None:
    """So nothing that is done with ranks, of whatever universes, tells more than that table does (T8)."""
    desk = cut.under(tables={"sparsity": 1.0, "mean_cell": 0.0, "class_disclosure": False}).desk()
    for where in (None, {"county": "A"}):
        counts = (
            desk.consider(python_table("people", rows="age", columns="income", where=where)).columns["count"].values
        )
        plain = [RankedVariable(np.zeros(5, bool)), RankedVariable(np.zeros(len(CUTS) + 1, bool))]
        expected = rank_correlation(counts[:5, : len(CUTS) + 1], plain)
        assert matrix(desk, "age", "income", where=where)[0, 1] == pytest.approx(expected, abs=0.51e-3)


def test_they_are_refused_where_the_table_is(cut: Any) -> None:
    desk = cut.under(tables={"sparsity": 0.0, "sparse_below": 40, "cross": True}).desk()
    assert not desk.consider(python_correlation("people", ["age", "income"])).reasons
    refused = desk.consider(asked("age", "income")).reasons
    assert refused and refused == desk.consider(python_table("people", rows="age", columns="income")).reasons


def test_suggestions_lead_on(cut: Any) -> None:
    desk = cut.under(tables={"sparsity": 0.0, "sparse_below": 40, "cross": True}).desk()
    assert any("method='pearson'" in str(suggestion) for suggestion in desk.suggest(asked("age", "income")))


def test_what_does_not_vary_is_refused(cut: Any) -> None:
    one = cut.people.set_column(cut.people.column_names.index("ill"), "ill", pa.array(["no"] * cut.people.num_rows))
    reasons = cut.preset("open").of(one).desk().consider(asked("age", "ill")).reasons
    assert [reason.rule for reason in reasons] == ["models.classes"]


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        (["age", "log(income)"], r"Ranks are of 'income' itself: name it without log\(...\)."),
        (["age", "income"], "'income' has no ranks: no cutpoints are declared for it."),
        (["age"], "A correlation needs two or more variables"),
    ],
)
def test_mistakes_say_what_to_do(town: Any, variables: list[str], words: str) -> None:
    with pytest.raises(Mistake, match=words):
        town.desk().consider(asked(*variables))


def test_an_unknown_method_is_a_mistake() -> None:
    with pytest.raises(Mistake, match="There is no method of correlation 'kendall'"):
        python_correlation("people", ["age", "income"], method="kendall")


def test_a_question_without_a_method_is_written_as_before() -> None:
    plain, ranked = python_correlation("people", ["age", "income"]), asked("age", "income")
    assert "method" not in write_request(plain) and write_request(ranked)["method"] == "spearman"
    assert read_request(write_request(ranked)) == ranked


def test_the_audit_counts_the_tables_by_bins(cut: Any) -> None:
    assert told_tables(asked("age", "income", "sex"), cut.dataset) == {
        ("age", "income"), ("age", "sex"), ("income", "sex"),
    }  # fmt: skip


def test_own_cuts_of_a_number_exclude_each_other(cut: Any) -> None:
    catalog = cut.catalog + '\n[variables.rich]\nkind = "numeric"\nof = "income"\ncutpoints = [700]\n'
    desk = replace(cut, catalog=catalog, policy=PRESETS["open"]).desk()
    reasons = desk.consider(asked("age", "income", where={"rich": ["700+"]})).reasons
    assert [reason.rule for reason in reasons] == ["tables.exclusion"]
    assert not desk.consider(asked("age", "ill", where={"rich": ["700+"]})).reasons


@pytest.mark.parametrize("table", [np.zeros((2, 2)), np.array([[3.0, 4.0], [0.0, 0.0]])])
def test_a_table_of_one_class_is_unfit(table: Any) -> None:
    with pytest.raises(Unfit):
        rank_correlation(table, [RankedVariable(np.zeros(2, bool))] * 2)


@pytest.mark.parametrize(("zeros", "spread"), [(0.0, 0.3), (0.0, 0.5), (0.3, 0.4)])
def test_the_noise_of_records_is_taken_back(zeros: float, spread: float) -> None:
    """Of 100,000 numbers the error is .003; what is stated of noise and of bins makes up the rest of .015 (a guard)."""
    random = np.random.default_rng(7)
    size = 100_000
    one = random.normal(size=size)
    other = 0.7 * one + np.sqrt(0.51) * random.normal(size=size)
    numbers = np.where(random.random(size) < zeros, 0.0, np.exp(8 + 0.6 * one))
    noisy = numbers * factors(random.random(size), spread)
    cuts = np.r_[1, np.geomspace(500, 20000, 12)]
    bins = QuantileBins(np.r_[0, cuts], np.r_[cuts - 1, 200_000], 1.0)
    placed = [np.searchsorted(cuts, values, side="right") for values in (numbers, noisy)]
    beside = np.searchsorted(np.linspace(-2, 2, 12), other)
    true, seen = (np.histogram2d(place, beside, bins=[np.arange(15) - 0.5, np.arange(14) - 0.5])[0] for place in placed)
    plain = [RankedVariable(np.zeros(14, bool)), RankedVariable(np.zeros(13, bool))]
    corrected = rank_correlation(seen, [RankedVariable.of(bins, seen.sum(axis=1), spread), plain[1]])
    expected = rank_correlation(true, plain)
    assert rank_correlation(seen, plain) < expected - 0.03
    assert corrected == pytest.approx(expected, abs=0.015)
