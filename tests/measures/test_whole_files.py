"""Propensity, Hellinger distance, regressions and subdomains."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import Mistake
from confide.measures.utility import hellinger, propensity, regression_overlap, subdomains

NAMES = ["age", "sex", "region", "income", "wealth"]


def dummies(frame, names):
    coded = pd.get_dummies(frame[names], drop_first=True, dtype=float, dummy_na=False)
    return sm.add_constant(coded)


def test_pmse_is_that_of_statsmodels(people_of, masked_of):
    original = people_of(300).drop(columns="wealth").dropna()
    released = masked_of(original.assign(wealth=1.0)).dropna()
    names = ["age", "sex", "region", "income"]
    found = propensity(original, released, columns=names)
    both = pd.concat([original, released])
    outcome = np.repeat([0, 1], [len(original), len(released)])
    design = dummies(both, names)
    design["income"] /= 1000
    fit = sm.Logit(outcome, design).fit(disp=0, tol=1e-12)
    fair = len(released) / len(both)
    pmse = np.mean((fit.predict() - fair) ** 2)
    assert found.pmse == pytest.approx(pmse, rel=1e-6)
    k, n = design.shape[1], len(both)
    assert found.expected == pytest.approx((k - 1) * (1 - fair) ** 2 * fair / n)
    assert found.standardised == pytest.approx(
        (pmse - found.expected) / (np.sqrt(2 * (k - 1)) * (1 - fair) ** 2 * fair / n)
    )


@pytest.mark.parametrize("interactions", [False, True])
def test_the_ratio_is_about_one_for_a_file_drawn_from_the_same_population(interactions):
    """Snoke et al. (2018): pMSE of a synthetic file from the true model has mean (k-1)(1-c)^2 c / N."""
    rng = np.random.default_rng(1)
    ratios = []
    for _ in range(60):
        fitted = rng.normal(size=(400, 2))
        mean, spread = fitted.mean(axis=0), np.cov(fitted.T)
        frames = [fitted, rng.multivariate_normal(mean, spread, 400)]
        ratios.append(
            propensity(
                *(pd.DataFrame(f, columns=["a", "b"]) for f in frames), columns=["a", "b"], interactions=interactions
            ).ratio
        )
    assert abs(np.mean(ratios) - 1) < 4 * np.std(ratios) / np.sqrt(60)


def test_files_that_are_the_same_cannot_be_told_apart_and_others_always(people_of):
    """The logistic fit ends before a probability of 1: the tenth of a percent guards."""
    original = people_of(200)
    found = propensity(original, original, columns=NAMES, interactions=True)
    assert found.pmse == pytest.approx(0, abs=1e-12) and found.ratio == pytest.approx(0, abs=1e-6)
    other = original.assign(age=original["age"] + 1000)
    assert propensity(original, other, columns=NAMES).percent == pytest.approx(100, abs=0.1)


def test_constants_singular_columns_and_missing_values_do_no_harm():
    x = np.arange(10.0)
    original = pd.DataFrame({"a": x, "b": 2 * x, "c": 5.0, "d": np.where(x > 4, np.nan, x), "s": ["u", None] * 5})
    found = propensity(original, original, columns=list(original))
    assert found.percent == pytest.approx(0, abs=1e-9)
    constant = pa.table({"c": [1.0, 1.0]})
    assert propensity(constant, constant, columns="c").ratio == 0
    one = pa.table({"c": [1.0]})
    assert propensity(one, one, columns="c").percent == 0
    gone = original.assign(d=np.nan)
    assert propensity(original, gone, columns="d").percent > 10


def test_a_model_of_thousands_of_columns_is_a_mistake():
    many = pa.table({"s": [str(i) for i in range(3000)]})
    with pytest.raises(Mistake, match="too many"):
        propensity(many, many, columns="s")


@given(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=20),
    st.lists(st.sampled_from("abcd"), min_size=1, max_size=20),
)
def test_hellinger_distances_of_categories_are_those_of_the_definition(before, after):
    found = hellinger(pa.table({"x": before}), pa.table({"x": after}), columns="x").distance[0]
    product = sum(np.sqrt(before.count(c) / len(before) * after.count(c) / len(after)) for c in "abcd")
    assert found == pytest.approx(np.sqrt(max(0.0, 1 - product)), abs=1e-7)
    assert 0 <= found <= 1
    assert hellinger(pa.table({"x": before}), pa.table({"x": before}), columns="x").percent == 0


def test_hellinger_distances_of_numbers_are_over_bins_of_equal_shares():
    x = np.arange(100.0)
    low = hellinger(pa.table({"x": x}), pa.table({"x": np.where(x < 50, x, x - 50)}), columns="x", bins=2)
    assert low.distance[0] == pytest.approx(np.sqrt(1 - np.sqrt(0.5)))
    assert hellinger(pa.table({"x": x}), pa.table({"x": x[::-1]}), columns="x").percent == 0
    blank = pa.table({"x": pa.array([None] * 3, pa.float64())})
    assert hellinger(pa.table({"x": x}), blank, columns="x").distance[0] == 1
    with pytest.raises(Mistake, match="1 bin or more"):
        hellinger(blank, blank, columns="x", bins=0)


def test_hellinger_distances_may_be_weighted():
    original, released = pa.table({"x": list("ab"), "w": [3.0, 1.0]}), pa.table({"x": list("aaab"), "w": [1.0] * 4})
    assert hellinger(original, released, columns="x", weight="w").percent == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("weight", [None, "weight"])
def test_coefficients_errors_and_overlaps_are_those_of_statsmodels(people_of, masked_of, weight):
    original = people_of(400).dropna()
    released = masked_of(original).dropna()
    found = regression_overlap(
        original, released, response="income", predictors=["age", "sex", "wealth"], weight=weight
    )
    for frame, estimate, error in (
        (original, found.original, found.original_error),
        (released, found.released, found.released_error),
    ):
        design = pd.DataFrame({"c": 1.0, "age": frame["age"], "sex": 0.0, "wealth": frame["wealth"]})
        rare = original["sex"].value_counts().index[1]
        design["sex"] = (frame["sex"] == rare).astype(float)
        fit = sm.WLS(frame["income"], design, weights=1.0 if weight is None else frame[weight]).fit()
        np.testing.assert_allclose(estimate, fit.params, rtol=1e-8)
        np.testing.assert_allclose(error, fit.bse, rtol=1e-8)
        if frame is original:
            first = fit.conf_int().to_numpy()
        else:
            second = fit.conf_int().to_numpy()
    common = np.maximum(np.minimum(first[:, 1], second[:, 1]) - np.maximum(first[:, 0], second[:, 0]), 0)
    np.testing.assert_allclose(
        found.overlap, (common / np.ptp(first, axis=1) + common / np.ptp(second, axis=1)) / 2, rtol=1e-6
    )


def test_logistic_coefficients_are_those_of_statsmodels(people_of):
    original = people_of(500)
    original["ill"] = np.where(
        np.random.default_rng(1).random(500) < 1 / (1 + np.exp(3 - original["age"] / 20)), "yes", "no"
    )
    released = original.assign(age=original["age"] + np.random.default_rng(2).integers(-9, 10, 500))
    found = regression_overlap(original, released, response="ill", predictors=["age", "sex"], family="binomial")
    rare = original["sex"].value_counts().index[1]
    for frame, estimate, error in (
        (original, found.original, found.original_error),
        (released, found.released, found.released_error),
    ):
        design = pd.DataFrame({"c": 1.0, "age": frame["age"], "sex": (frame["sex"] == rare).astype(float)})
        fit = sm.Logit((frame["ill"] == "yes").astype(float), design).fit(disp=0, tol=1e-12)
        np.testing.assert_allclose(estimate, fit.params, rtol=1e-5)
        np.testing.assert_allclose(error, fit.bse, rtol=1e-5)
    assert 0 < found.percent < 100


def test_the_same_file_overlaps_wholly_and_others_not_at_all(people_of):
    original = people_of(200)
    same = regression_overlap(original, original, response="income", predictors=["age", "region", "wealth"])
    assert same.percent == 100 and (same.difference == 0).all()
    assert "region=missing" in same.names and "wealth is missing" in same.names
    other = original.assign(income=-50 * original["income"])
    assert regression_overlap(original, other, response="income", predictors="age").overlap[0] == 0


def test_what_the_released_file_cannot_estimate_overlaps_with_nothing():
    original = pa.table({"s": list("aabbcc"), "y": [1.0, 2.0, 3.0, 5.0, 4.0, 9.0]})
    released = pa.table({"s": list("aabbbb"), "y": [1.0, 2.0, 3.0, 5.0, 4.0, 9.0]})
    found = regression_overlap(original, released, response="y", predictors="s")
    assert found.names[-1] == "s=c" and found.overlap[-1] == 0 and np.isnan(found.released[-1])
    exact = pa.table({"x": [1.0, 2.0], "y": [2.0, 4.0]})
    assert regression_overlap(exact, exact, response="y", predictors="x").percent == 100


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"response": "x"}, "cannot be a predictor"),
        ({"response": "s"}, "holds categories"),
        ({"response": "s", "family": "binomial"}, "3 different values"),
        ({"response": "y", "family": "gamma"}, "'gaussian' or 'binomial'"),
        ({"response": "y", "confidence": 1}, "between 0 and 1"),
    ],
)
def test_regressions_that_make_no_sense_are_a_mistake(change, words):
    file = pa.table({"x": [1.0, 2.0, 3.0], "y": [1.0, 3.0, 2.0], "s": list("abc")})
    with pytest.raises(Mistake, match=words):
        regression_overlap(file, file, predictors="x", **change)


@pytest.mark.parametrize("weight", [None, "weight"])
def test_means_and_covariances_of_parts_are_those_of_pandas(people_of, masked_of, weight):
    original = people_of(400).dropna()
    released = masked_of(original).dropna()
    found = subdomains(original, released, by=["sex", "region"], columns=["income", "wealth"], weight=weight)
    for place, part in enumerate(found.parts):
        sides = [f[(f["sex"] == part[0]) & (f["region"] == part[1])] for f in (original, released)]
        assert [len(side) for side in sides] == [found.original[place], found.released[place]]
        stats = []
        for side in sides:
            x, w = (
                side[["income", "wealth"]].to_numpy(),
                np.ones(len(side)) if weight is None else side[weight].to_numpy(),
            )
            mean = np.average(x, axis=0, weights=w)
            cov = ((x - mean) * w[:, None]).T @ (x - mean) / w.sum() * len(side) / (len(side) - 1)
            stats.append((mean, cov[np.triu_indices(2)]))
        unit = np.sqrt(stats[0][1][[0, 2]])
        least = 0.01 * unit, 0.01 * np.array([unit[0] ** 2, unit[0] * unit[1], unit[1] ** 2])
        for kind, values in enumerate((found.means, found.covariances)):
            before, after = stats[0][kind], stats[1][kind]
            assert values[place] == pytest.approx(
                np.mean(np.abs(before - after) / np.maximum(np.abs(before), least[kind]))
            )


def test_a_part_that_is_gone_has_lost_everything():
    original = pa.table({"s": list("aaabbb"), "x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]})
    released = pa.table({"s": list("aaaaaa"), "x": [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]})
    found = subdomains(original, released, by="s", columns="x", minimum=2)
    assert found.released.tolist() == [6, 0] and found.means.tolist() == [0.0, 1.0]
    assert found.valid() == 50
    assert subdomains(original, original, by="s", columns="x", minimum=1).percent == 0


def test_parts_too_small_and_columns_of_categories_are_a_mistake():
    file = pa.table({"s": ["a", "b"], "x": [1.0, 2.0]})
    with pytest.raises(Mistake, match="No part has 10 records"):
        subdomains(file, file, by="s", columns="x")
    with pytest.raises(Mistake, match="holds categories"):
        subdomains(file, file, by="x", columns="s", minimum=1)
