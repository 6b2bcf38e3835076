"""Models say what statsmodels says of the same records, always the same, and no more digits of it than they should."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

from asking import Desk, python_correlation, python_regression
from confide.answering.correlations.correlate import sampling_errors
from confide.answering.road import Road
from confide.answering.shield import Shield
from confide.engines.duckdb.engine import DuckDBEngine
from confide.engines.duckdb.store import write_store

LIMITS_OPEN = {
    "units": 0, "units_per_column": 1, "dummy": 0, "interaction": 0, "leverage_units": 1,
    "influence": 1.0, "r_squared": 1.0, "class_fit": 0.0,
}  # fmt: skip
SM = {"gaussian": sm.families.Gaussian, "binomial": sm.families.Binomial, "poisson": sm.families.Poisson}


@pytest.fixture
def open_town(town: Any) -> Any:
    """Nothing is protected but digits; the weight is in force, so standard errors are robust.

    The cross is judged, and every cross passes: models in which all classes interact are answered too.
    """
    return town.preset("open").under(models=LIMITS_OPEN, tables={"cross": True})


@pytest.fixture
def plain_town(open_town: Any) -> Any:
    """The same without a weight: model-based standard errors."""
    return replace(open_town, catalog=open_town.catalog.replace('weight = "w"', ""))


def consider(town: Any, formula: str, *, secret: int = 0, **words: Any) -> Any:
    return town.desk(secret).consider(python_regression("people", formula, **words))


class Oracle:
    """The records of a model as a matrix, built from the labels of its columns, and what statsmodels makes of them."""

    def __init__(
        self, people: pa.Table, response: str, labels: Any, *, chosen: Any = True, weighted: bool = True
    ) -> None:
        columns = {name: people[name].to_numpy() for name in people.column_names}
        with np.errstate(divide="ignore", invalid="ignore"):
            y = _factor(response, columns)
            x = np.column_stack([np.prod([_factor(f, columns) for f in one.split(":")], axis=0) for one in labels])
        self.rows = np.isfinite(y) & np.isfinite(x).all(axis=1) & chosen
        self.x, self.y, self.unit = x[self.rows], y[self.rows], columns["id"][self.rows]
        self.w = columns["w"][self.rows] if weighted else np.ones(self.rows.sum())

    def fit(self, family: str) -> Any:
        model = sm.GLM(self.y, self.x, family=SM[family](), var_weights=self.w)
        return model.fit(tol=1e-14, maxiter=200)

    def robust(self, params: Any, family: str) -> Any:
        """Standard errors by the sandwich over units, with the correction for few units and many columns."""
        mu = SM[family]().fitted(self.x @ params)
        bread = np.linalg.inv((self.x * (self.w * SM[family]().variance(mu))[:, None]).T @ self.x)
        scores = self.x * (self.w * (self.y - mu))[:, None]
        units, place = np.unique(self.unit, return_inverse=True)
        sums = np.zeros((len(units), len(params)))
        np.add.at(sums, place, scores)
        n, p, g = len(self.y), len(params), len(units)
        return np.sqrt(np.diag(bread @ sums.T @ sums @ bread) * g / (g - 1) * (n - 1) / (n - p))


def _factor(text: str, columns: dict[str, Any]) -> Any:
    if text == "(Intercept)":
        return np.ones(len(columns["id"]))
    if "=" in text:
        name, code = text.split("=")
        return (columns[name] == code).astype(float)
    function, _, name = text.rstrip(")").rpartition("(")
    values = columns[name].astype(float)
    if function == "log":
        return np.log(values)
    return values if not function else np.sqrt(values) if function == "sqrt" else values**2


def labels(answer: Any) -> list[str]:
    assert not answer.reasons, answer.reasons
    return [row[0] for row in answer.grids["coefficients"].rows]


MODELS = [
    ("income ~ age + sex", "gaussian"),
    ("income ~ age + age^2 + town", "gaussian"),
    ("log(income) ~ log(age) + sex*county + sqrt(age)", "gaussian"),
    ("income ~ sex*age + trade", "gaussian"),
    ("income ~ sex*age*trade + ill", "gaussian"),
    ("age ~ log(income):sex + log(income) + sex", "gaussian"),
    ("ill=yes ~ age + sex*county", "binomial"),
    ("town=a2 ~ log(income) + age^2 + trade", "binomial"),
    ("income ~ age + sex*trade + town", "poisson"),
    ("age ~ sqrt(income) + sex*ill + work", "poisson"),
]


@pytest.mark.parametrize(("formula", "family"), MODELS)
@pytest.mark.parametrize("weighted", [False, True])
def test_before_rounding_estimates_and_errors_are_those_of_statsmodels(
    open_town: Any, plain_town: Any, formula: str, family: str, weighted: bool
) -> None:
    town = open_town if weighted else plain_town
    answer = consider(town, formula, family=family)
    oracle = Oracle(town.people, formula.split(" ~ ")[0], labels(answer), weighted=weighted)
    fit, found = oracle.fit(family), answer.model.fitted.inference
    np.testing.assert_allclose(found.estimates, fit.params, rtol=1e-8, atol=1e-10)
    expected = oracle.robust(fit.params, family) if weighted else fit.bse
    np.testing.assert_allclose(found.errors, expected, rtol=1e-7)
    if not weighted and family == "gaussian":
        ols = sm.OLS(oracle.y, oracle.x).fit()
        np.testing.assert_allclose(found.p_values, ols.pvalues, rtol=1e-6, atol=1e-12)
        assert found.r_squared == pytest.approx(ols.rsquared, abs=1e-10)
    if family != "gaussian":
        scale = found.null_deviance / fit.null_deviance  # weights have mean 1 here
        assert found.deviance == pytest.approx(scale * fit.deviance, rel=1e-9)
        assert weighted or scale == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize(("formula", "family"), MODELS)
def test_what_is_released_is_that_to_the_released_precision(plain_town: Any, formula: str, family: str) -> None:
    answer = consider(plain_town, formula, family=family)
    oracle = Oracle(plain_town.people, formula.split(" ~ ")[0], labels(answer), weighted=False)
    fit = oracle.fit(family)
    rows = answer.grids["coefficients"].rows
    for (_, estimate, error, statistic, _), exact, spread in zip(rows, fit.params, fit.bse, strict=True):
        unit = 10.0 ** (np.floor(np.log10(spread)) - 1)
        assert abs(estimate - exact) <= 0.5000001 * unit and abs(error - spread) <= 0.5000001 * unit
        assert statistic == float(f"{estimate / error:.3g}"), "of what is shown: it has no digits that those have not"
    assert dict(answer.grids["statistics"].rows)["n"] == oracle.rows.sum()


def test_several_records_of_a_unit_are_a_cluster(plain_town: Any, people_of: Any) -> None:
    town = plain_town.of(people_of(size=300, seed=8, visits=4))
    answer = consider(town, "income ~ age + sex*county")
    oracle = Oracle(town.people, "income", labels(answer), weighted=False)
    groups = np.unique(oracle.unit, return_inverse=True)[1]
    fit = sm.OLS(oracle.y, oracle.x).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    found = answer.model.fitted.inference
    np.testing.assert_allclose(found.estimates, fit.params, rtol=1e-8)
    np.testing.assert_allclose(found.errors, fit.bse, rtol=1e-7)
    np.testing.assert_allclose(found.p_values, fit.pvalues, rtol=1e-6, atol=1e-12)
    assert dict(answer.grids["statistics"].rows)["n"] == len(set(oracle.unit)), "people, not records"


def test_a_universe_is_fitted_alone(plain_town: Any) -> None:
    answer = consider(plain_town, "income ~ age + sex", where=[{"county": "A", "sex": ["f", "m"]}, {"town": "b1"}])
    chosen = np.isin(plain_town.people["town"].to_numpy(), ["a1", "a2", "b1"])
    oracle = Oracle(plain_town.people, "income", labels(answer), weighted=False, chosen=chosen)
    np.testing.assert_allclose(answer.model.fitted.inference.estimates, oracle.fit("gaussian").params, rtol=1e-8)


def test_correlations_are_those_of_numpy_rounded(open_town: Any) -> None:
    names = ["age", "income", "sex", "trade"]
    answer = open_town.desk().consider(python_correlation("people", names))
    grid = answer.grids["correlations"]
    oracle = Oracle(open_town.people, "income", [row[0] for row in grid.rows])
    exact = np.cov(oracle.x.T, aweights=oracle.w)
    exact /= np.sqrt(np.outer(np.diag(exact), np.diag(exact)))
    released = np.array([row[1:] for row in grid.rows])
    # to the second digit of the standard error, at most four decimals
    errors = np.maximum(sampling_errors(exact, len(oracle.y)), 1e-3)
    assert (np.abs(released - exact) <= 0.5000001 * 10.0 ** (np.floor(np.log10(errors)) - 1)).all()
    assert np.array_equal(released, released.T) and (np.diag(released) == 1).all()


@settings(max_examples=15)
@given(
    st.lists(
        st.sampled_from(["age", "log(age)", "sex", "county", "ill", "sex:age", "trade", "age^2"]),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from(["income", "log(income)", "sqrt(income)"]),
    st.sampled_from(["gaussian", "poisson"]),
)
def test_any_model_agrees_with_statsmodels(town: Any, terms: list[str], response: str, family: str) -> None:
    """Terms in any order and number; parts that an interaction lacks are added."""
    terms = [*terms, *(["sex", "age"] if "sex:age" in terms else [])]
    plain = replace(town, catalog=town.catalog.replace('weight = "w"', "")).preset("open").under(models=LIMITS_OPEN)
    response = "income" if family == "poisson" else response
    answer = consider(plain, f"{response} ~ {' + '.join(terms)}", family=family)
    oracle = Oracle(plain.people, response, labels(answer), weighted=False)
    fit = oracle.fit(family)
    np.testing.assert_allclose(answer.model.fitted.inference.estimates, fit.params, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(answer.model.fitted.inference.errors, fit.bse, rtol=1e-6)


# The same question, the same answer

ASKED: list[tuple[str, dict[str, Any]]] = [
    ("income ~ age + sex", {}),
    ("log(income) ~ age*sex + county", {"where": {"work": "yes"}}),
    ("ill=yes ~ age + sex", {"family": "binomial", "where": {"county": "A"}}),
    ("income ~ age + trade", {"family": "poisson"}),
]


@pytest.mark.parametrize(("formula", "words"), ASKED)
def test_the_same_request_has_the_same_answer_whatever_the_order_of_records(
    town: Any, formula: str, words: dict[str, Any]
) -> None:
    first = consider(town, formula, **words)
    assert labels(first)
    desk = town.desk()
    request = python_regression("people", formula, **words)
    assert desk.consider(request).grids == desk.consider(request).grids == first.grids
    mixed = town.of(town.people.take(np.random.default_rng(2).permutation(town.people.num_rows)))
    assert consider(mixed, formula, **words).grids == first.grids


SAME: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"where": {"county": "A"}}, {"where": {"town": ["a1", "a2", "a9"]}}),
    ({"where": {"county": "A"}}, {"where": [{"county": "A"}, {"county": "A"}]}),
    ({"where": {"sex": "f", "work": "yes"}}, {"where": {"work": ["yes"], "sex": ["f"]}}),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_units_in_other_words_give_the_same_numbers(town: Any, one: Any, other: Any) -> None:
    first, second = consider(town, "income ~ age + ill", **one), consider(town, "income ~ age + ill", **other)
    assert labels(first) == labels(second)
    assert first.grids == second.grids


def test_the_order_of_terms_changes_the_analysis_of_variance_alone(town: Any) -> None:
    first, second = consider(town, "income ~ age + sex + ill"), consider(town, "income ~ ill + sex + age + age")
    assert sorted(first.grids["coefficients"].rows) == sorted(second.grids["coefficients"].rows)


def test_another_secret_moves_a_model_a_little(town: Any) -> None:
    """Drops of 2 to 5 units and the noise of n: n within 15, estimates within half a standard error, over 8 secrets."""
    answers = [consider(town, "income ~ age + sex", secret=number) for number in range(8)]
    sizes = [dict(answer.grids["statistics"].rows)["n"] for answer in answers]
    assert len(set(sizes)) > 1 and max(sizes) - min(sizes) <= 15
    rows = [{row[0]: row[1:3] for row in answer.grids["coefficients"].rows} for answer in answers]
    ages = np.array([row["age"] for row in rows])
    assert len(set(ages[:, 0])) > 1 and np.ptp(ages[:, 0]) < ages[:, 1].min() / 2


@contextmanager
def duck(town: Any, path: Path) -> Iterator[Desk]:
    write_store(town.coded(), path / "town.duckdb")
    engine = DuckDBEngine(path / "town.duckdb")
    try:
        yield Desk(Road(town.dataset, engine, Shield(town.policy, town.secret())))
    finally:
        engine.close()


def test_both_engines_release_the_same(town: Any, people_of: Any, tmp_path: Path) -> None:
    for visits in (1, 3):
        crowd = town.of(people_of(size=900, seed=visits, visits=visits))
        path = tmp_path / str(visits)
        path.mkdir()
        with duck(crowd, path) as desk:
            for formula, words in [*ASKED, ("income ~ sex*work", {}), ("income ~ town + county", {})]:
                request = python_regression("people", formula, **words)
                mine, plain = desk.consider(request), crowd.desk().consider(request)
                assert (mine.reasons, getattr(mine, "grids", None)) == (plain.reasons, getattr(plain, "grids", None))
            pairs = python_correlation("people", ["age", "income", "sex", "ill"])
            assert desk.consider(pairs).grids == crowd.desk().consider(pairs).grids != {}


def test_a_predictor_of_which_nothing_is_left_is_left_out(town: Any, tmp_path: Path) -> None:
    """Ten men: no dummy for them, and the model of age alone on both engines."""
    people = town.people
    sex = pa.array(np.where(np.arange(people.num_rows) < 10, "m", "f"))
    few = town.of(people.set_column(people.schema.get_field_index("sex"), "sex", sex))
    with duck(few, tmp_path) as desk:
        answers = [d.consider(python_regression("people", "income ~ sex + age")) for d in (desk, few.desk())]
    assert [labels(answer) for answer in answers] == [["(Intercept)", "age"]] * 2
    assert answers[0].grids == answers[1].grids == consider(few, "income ~ age").grids
