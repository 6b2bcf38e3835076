"""Correlations: transformed as in formulas, and of classes no more than their published table says."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from asking import python_correlation, python_table
from confide.errors import Mistake
from confide.model.policy import PRESETS

POLICY = PRESETS["standard"]


def matrix(desk: Any, *variables: str, **words: Any) -> tuple[list[str], Any]:
    grid = desk.consider(python_correlation("people", list(variables), **words)).grids["correlations"]
    return list(grid.columns[1:]), np.array([row[1:] for row in grid.rows], dtype=np.float64)


@pytest.fixture
def rich(town: Any) -> Any:
    """Everyone has an income, so that logarithms leave nobody out, and it goes with age."""
    people = town.people
    ages = people["age"].to_numpy()
    income = np.random.default_rng(5).lognormal(6 + ages / 50, 0.5).round() + 1
    return town.preset("standard").of(
        people.set_column(people.column_names.index("income"), "income", pa.array(income))
    )


@pytest.mark.parametrize(
    ("texts", "changes"),
    [
        (["age", "log(income)"], (np.positive, np.log)),
        (["sqrt(age)", "sqrt(income)"], (np.sqrt, np.sqrt)),
        (["square(age)", "income"], (np.square, np.positive)),
    ],
)
def test_a_transformed_number_has_the_correlation_of_its_transform(rich: Any, texts: Any, changes: Any) -> None:
    labels, found = matrix(rich.desk(), *texts)
    ages, incomes, weights = (rich.people[name].to_numpy() for name in ("age", "income", "w"))
    covariance = np.cov(changes[0](ages), changes[1](incomes), aweights=weights)
    expected = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
    assert found[0, 1] == pytest.approx(expected, abs=0.51e-3)
    assert labels == texts


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        (["age", "log(sex)"], "Only numeric variables can be transformed"),
        (["age", "exp(income)"], "There is no transformation 'exp'"),
        (["age", "income^3"], "Only squares are possible"),
        (["age", "log(incom)"], "No variable called 'incom'"),
        (["log(age)", "age"], "each named once"),
    ],
)
def test_mistakes_are_those_of_a_formula(town: Any, variables: list[str], words: str) -> None:
    with pytest.raises(Mistake, match=words):
        town.desk().consider(python_correlation("people", variables))


def test_correlations_of_classes_follow_from_the_published_table(town: Any) -> None:
    """Unweighted: phi of the counts as published, to the digits shown; that of the true counts is another."""
    columns = [name for name in town.people.column_names if name != "w"]
    crowd = town.of(town.people.select(columns))
    desk = type(town)(town.catalog.replace('weight = "w"\n', ""), crowd.people, POLICY).desk()
    labels, found = matrix(desk, "sex", "trade")
    counts = desk.consider(python_table("people", rows="sex", columns="trade")).columns["count"].values
    n, (one, two) = counts[-1, -1], (counts[:, -1] / counts[-1, -1], counts[-1] / counts[-1, -1])
    sexes, trades = ["f", "m", "x"], ["p", "q", "r"]
    true = np.array(crowd.people["sex"]) == "f", np.array(crowd.people["trade"]) == "p"
    for first in labels[:2]:
        for second in labels[2:]:
            i, j = sexes.index(first[-1]), trades.index(second[-1])
            phi = (counts[i, j] / n - one[i] * two[j]) / np.sqrt(one[i] * (1 - one[i]) * two[j] * (1 - two[j]))
            assert found[labels.index(first), labels.index(second)] == pytest.approx(phi, abs=0.51e-3)
    exact = np.corrcoef(*(part.astype(float) for part in true))[0, 1]
    assert abs(found[labels.index("sex=f"), labels.index("trade=p")] - exact) > 1e-3


def test_classes_of_a_correlation_are_chosen_on_the_records_that_have_the_numbers(town: Any) -> None:
    """All but two of a class have no income: it has no column beside income, and does not get the question refused."""
    people = town.people
    trades = np.array(people["trade"])
    lacking = np.flatnonzero(trades == "p")[2:]
    incomes = [
        None if row in set(lacking.tolist()) else value for row, value in enumerate(people["income"].to_pylist())
    ]
    short = town.preset("standard").of(
        people.set_column(people.column_names.index("income"), "income", pa.array(incomes, people["income"].type))
    )
    assert "trade=p" in matrix(short.desk(), "trade", "age")[0]
    assert "trade=p" not in matrix(short.desk(), "trade", "age", "income")[0]
