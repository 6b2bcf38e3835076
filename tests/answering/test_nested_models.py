"""Deviance tables, comparisons and covariances of models: right, rounded, judged, and no way back to a count."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from scipy import stats

from asking import Desk, python_regression, python_table
from confide.answering.road import Road
from confide.answering.shield import Shield
from confide.engines.memory.engine import MemoryEngine
from confide.errors import Mistake
from confide.model.policy import PRESETS, CountRules, Policy, TableRules

LOOSE = TableRules(sparsity=1.0, mean_cell=0.0, class_disclosure=False)
POLICY = replace(PRESETS["tablebuilder"], tables=LOOSE)
EXACT = replace(POLICY, counts=CountRules(mechanism="none"))
SIZE = 900


@pytest.fixture(scope="module")
def desks(town: Any, people_of: Any) -> Any:
    table = people_of(size=SIZE, seed=4)
    ages, towns = (np.array(table[name].to_pylist()) for name in ("age", "town"))
    chance = 1 / (1 + np.exp(1.5 - 0.03 * ages + 0.8 * (towns == "b1")))
    ill = np.where(np.random.default_rng(5).random(SIZE) < chance, "yes", "no")
    for name, column in (("w", np.ones(SIZE)), ("ill", ill)):
        table = table.set_column(table.column_names.index(name), name, [column])
    here = town.of(table)
    engine = MemoryEngine(here.coded())

    @cache
    def desk(secret: int = 0, policy: Policy = POLICY) -> Desk:
        return Desk(Road(here.dataset, engine, Shield(policy, here.secret(secret))))

    desk.frame = table.to_pandas()
    return desk


def told(desk: Desk, formula: str, **more: Any) -> Any:
    answer = desk.consider(python_regression("people", formula, **more))
    assert not answer.reasons, answer.reasons
    return answer


def within(value: float, wanted: float, error: float) -> bool:
    """Whether a number was rounded to the second digit of an error."""
    return abs(value - wanted) <= error / 20 * 1.001


def test_a_table_of_deviance_is_that_of_the_models_one_after_the_other(desks: Any) -> None:
    data = desks.frame.dropna(subset=["income"]).assign(ill=lambda d: (d["ill"] == "yes").astype(float))
    answer = told(desks(0, EXACT), "ill=yes ~ age + town + income", family="binomial", also="deviance")
    rows = answer.grids["deviance"].rows
    formulas = ["ill ~ 1", "ill ~ age", "ill ~ age + C(town)", "ill ~ age + C(town) + income"]
    left = [smf.glm(text, data, family=sm.families.Binomial()).fit().deviance for text in formulas]
    assert [row[0] for row in rows] == ["(Intercept)", "age", "town", "income"]
    assert [row[1] for row in rows] == [None, 1, 3, 1]
    for row, before, after in zip(rows[1:], left, left[1:], strict=False):
        taken = before - after
        assert within(row[2], taken, np.sqrt(2 * row[1] + 4 * taken))
        assert row[3] == pytest.approx(after, rel=0.06), "two digits below 1,000 units"
        assert row[4] == pytest.approx(max(stats.chi2.sf(row[2], row[1]), 1e-4), rel=0.01)
    assert taken < 20, "the records without an income are left out of all of them, or this would be large"


def test_a_comparison_is_a_test_of_the_terms_that_are_left_out(desks: Any) -> None:
    data = desks.frame.assign(ill=lambda d: (d["ill"] == "yes").astype(float))
    answer = told(
        desks(0, EXACT),
        "ill=yes ~ age + town + sex",
        family="binomial",
        against="ill=yes ~ sex + age",
        also="covariance",
    )
    small, whole = answer.grids["comparison"].rows
    fits = [
        smf.glm(text, data, family=sm.families.Binomial()).fit()
        for text in ("ill ~ age + C(sex)", "ill ~ age + C(sex) + C(town)")
    ]
    taken = fits[0].deviance - fits[1].deviance
    assert small[0] == "ill=yes ~ age + sex" and whole[0] == "ill=yes ~ age + town + sex"
    assert whole[4] == 3 and within(whole[5], taken, np.sqrt(6 + 4 * taken))
    assert small[4:] == (None, None, None)
    assert whole[3] == pytest.approx(fits[1].aic, rel=0.06)


def test_gaussian_models_are_compared_by_f(desks: Any) -> None:
    data = desks.frame.dropna(subset=["income"])
    answer = told(desks(0, EXACT), "income ~ age + town + sex", against="income ~ sex")
    small, whole = answer.grids["comparison"].rows
    fits = [smf.ols(text, data).fit() for text in ("income ~ C(sex)", "income ~ age + C(sex) + C(town)")]
    f, p, dof = fits[1].compare_f_test(fits[0])
    assert whole[4] == dof and whole[5] == pytest.approx(f, rel=0.07) and whole[6] == pytest.approx(p, rel=0.3)
    assert small[2] == pytest.approx(fits[0].ssr, rel=0.06)


def test_smaller_models_have_the_drawn_counts_of_the_whole(desks: Any) -> None:
    """Deviances of several secrets differ: none of them is that of the true counts."""
    formula = "ill=yes ~ town + trade"
    found = {
        told(desks(secret), formula, family="binomial", also="deviance").grids["deviance"].rows[1:]
        for secret in range(6)
    }
    assert len(found) > 3
    alone = told(desks(1), "ill=yes ~ town", family="binomial")
    nested = told(desks(1), formula, family="binomial", also="deviance").grids["deviance"].rows[1]
    statistics = dict(alone.grids["statistics"].rows)
    assert nested[3] == statistics["residual_deviance"], "the same number as if it had been asked for"


def test_a_difference_of_deviances_tells_the_protected_sizes_of_classes_and_not_the_true_ones(desks: Any) -> None:
    """The intruder works the likelihood ratio out from the shares that the model tells, for true and for protected sizes."""
    towns = desks.frame["town"].value_counts()
    off: dict[str, list[float]] = {"told": [], "plain": [], "noise": []}
    for secret in range(30):
        desk = desks(secret)
        model = told(desk, "ill=yes ~ town", family="binomial").model
        table = desk.consider(python_table("people", rows="town")).columns["count"].values
        beta = model.inference.estimates
        places = {label.removeprefix("town="): b for label, b in zip(model.compiled.labels[1:], beta[1:], strict=True)}
        codes = ["a1", "a2", "a9", "b1", "b2"]
        shares = {code: 1 / (1 + np.exp(-beta[0] - places.get(code, 0.0))) for code in towns.index}
        sizes = [{code: table[codes.index(code)] for code in towns.index}, dict(towns)]
        published, true = (_likelihood_ratio(some, shares) for some in sizes)
        null, left = model.inference.null_deviance, model.inference.deviance
        off["told"].append(model.likelihood_ratio(None) - true)
        off["plain"].append((null - left) / model.fitted.sizes[0] - true)
        off["noise"].append(published - true)
    told_by, plain, noise = (float(np.sqrt(np.mean(np.square(off[name])))) for name in ("told", "plain", "noise"))
    assert plain < 0.2 * noise, "the difference of deviances itself tells true sizes"
    assert told_by > 0.7 * noise, "what is told has the noise that protected sizes have"


def _likelihood_ratio(sizes: dict[str, float], shares: dict[str, float]) -> float:
    def deviance(n: float, yes: float, share: float) -> float:
        return -2 * float(yes * np.log(share) + (n - yes) * np.log(1 - share))

    whole = sum(n * shares[code] for code, n in sizes.items()) / sum(sizes.values())
    return sum(deviance(n, n * shares[c], whole) - deviance(n, n * shares[c], shares[c]) for c, n in sizes.items())


def test_a_comparison_tells_no_model_that_would_be_refused(desks: Any) -> None:
    """A saturated model within another that is not: asked alone it is refused, and so is the comparison."""
    alone = desks().consider(python_regression("people", "income ~ sex*town"))
    assert [reason.rule for reason in alone.reasons] == ["models.saturated"]
    assert not desks().consider(python_regression("people", "income ~ trade + sex*town")).reasons
    asked = python_regression("people", "income ~ trade + sex*town", against="income ~ sex*town")
    assert [reason.rule for reason in desks().consider(asked).reasons] == ["models.nested"]
    assert next(iter(desks().suggest(asked))) == "without the comparison"


@pytest.mark.parametrize(
    ("formula", "more", "match"),
    [
        ("income ~ age", {"also": "deviance"}, "analysis of variance"),
        ("income ~ age", {"also": "effects"}, "binomial"),
        ("income ~ age", {"also": "nothing"}, "no addition"),
        ("income ~ relevel(town, a1)", {"also": "covariance"}, "relevel"),
        ("income ~ age + sex", {"against": "income ~ trade"}, "some of the terms"),
        ("income ~ age + sex", {"against": "income ~ sex + age"}, "some of the terms"),
        ("income ~ age + sex", {"against": "log(income) ~ sex"}, "something else"),
        ("income ~ age + sex", {"against": "income"}, "formula"),
    ],
)
def test_what_cannot_be_compared_is_a_mistake(desks: Any, formula: str, more: Any, match: str) -> None:
    with pytest.raises(Mistake, match=match):
        desks().consider(python_regression("people", formula, **more))


def test_a_covariance_has_the_published_standard_errors_in_its_diagonal(desks: Any) -> None:
    answer = told(desks(), "income ~ age + square(age) + town + trade", also="covariance")
    grid, shown = answer.grids["covariance"], answer.grids["coefficients"].rows
    exact = answer.model.inference
    assert grid.columns == ("term", *(row[0] for row in shown))
    errors = np.array([row[2] for row in shown])
    for at, row in enumerate(grid.rows):
        assert row[1 + at] == pytest.approx(errors[at] ** 2, rel=1e-5)
        for other, value in enumerate(row[1:]):
            terms = {label.partition("=")[0] for label in (row[0], shown[other][0]) if "=" in label}
            assert (value is None) == (len(terms) > 1), "none between two terms of classes"
            if value is not None and other != at:
                true = exact.covariance[at, other] / exact.errors[at] / exact.errors[other]
                assert abs(value / errors[at] / errors[other] - true) <= 0.026, "a step of 0.05 at 900 units"
    by = dict(zip(grid.columns, grid.rows[1], strict=True))
    ages = by["square(age)"] / errors[1] / errors[2]
    assert ages == pytest.approx(exact.covariance[1, 2] / exact.errors[1] / exact.errors[2], abs=0.006)
