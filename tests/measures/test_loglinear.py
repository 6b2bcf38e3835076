"""Risks by a log-linear model."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from scipy.integrate import quad

from confide.errors import Mistake
from confide.measures.risk import model_risk

FORMULAS = {"main": "n ~ C(a) + C(b) + C(c)", "pairs": "n ~ (C(a) + C(b) + C(c)) ** 2"}


def sample(rows=400, seed=1):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, rows)
    b = np.where(rng.random(rows) < 0.5, a, rng.integers(0, 4, rows))
    return pd.DataFrame({"a": a, "b": b, "c": rng.integers(0, 5, rows), "w": 20.0})


@pytest.mark.parametrize("terms", ["main", "pairs"])
def test_fitted_counts_are_those_of_statsmodels_over_all_cells(terms):
    file = sample()
    cells = pd.MultiIndex.from_product([range(4), range(4), range(5)], names=list("abc")).to_frame(index=False)
    counts = file.groupby(list("abc")).size().rename("n").reset_index()
    table = cells.merge(counts, how="left").fillna({"n": 0})
    fitted = smf.glm(FORMULAS[terms], table, family=sm.families.Poisson()).fit(tol=1e-12, maxiter=200).fittedvalues
    mu = file.merge(table.assign(mu=fitted))[["a", "b", "c", "mu", "n"]].groupby(list("abc")).first()
    found = model_risk(file, keys=list("abc"), weight="w", terms=terms)
    rows = mu.loc[list(zip(file["a"], file["b"], file["c"], strict=True))]
    h = rows["mu"].to_numpy() * 20 * (1 - 1 / 20)
    alone = rows["n"].to_numpy() == 1
    assert alone.any() and (found.alone == alone).all()
    np.testing.assert_allclose(found.unique[alone], np.exp(-h[alone]), rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(found.risk[alone], (1 - np.exp(-h[alone])) / h[alone], rtol=1e-5)


def test_risks_of_larger_classes_are_the_expectation_of_one_over_the_people():
    file = sample()
    found = model_risk(file, keys=list("abc"), weight="w", terms="main")
    count = file.groupby(list("abc"))["w"].transform("size").to_numpy()
    share = [file[name].value_counts(normalize=True) for name in "abc"]
    fitted = 400 * 20 * np.prod([s.loc[file[n]].to_numpy() for s, n in zip(share, "abc", strict=True)], axis=0)
    for row in (0, 10, 20, 30):
        f, h = count[row], fitted[row] * 0.95
        expected = quad(lambda t, f=f, h=h: t ** (f - 1) * np.exp(-h * (1 - t)), 0, 1, epsabs=0, epsrel=1e-10)[0]
        assert found.risk[row] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(("terms", "bias"), [("main", 0.05), ("pairs", 0.25)])
def test_the_expected_population_uniques_are_near_the_true_ones(terms, bias):
    """Twelve populations of independent keys. A model with pairs, which has 180 parameters for 1,000 records, overfits.

    The biases guard against regression; set after seeing the result.
    """
    rng = np.random.default_rng(11)
    true, estimated = 0, 0.0
    for _ in range(12):
        people = pd.DataFrame({f"k{i}": rng.integers(0, 5, 5000) for i in range(5)})
        keys = list(people)
        frequency = people.groupby(keys)["k0"].transform("size").to_numpy()
        drawn = np.sort(rng.permutation(5000)[:1000])
        file = people.iloc[drawn].assign(w=5.0)
        alone = file.groupby(keys)["k0"].transform("size").to_numpy() == 1
        true += int((alone & (frequency[drawn] == 1)).sum())
        estimated += model_risk(file, keys=keys, weight="w", terms=terms).population_uniques
    assert true > 1000
    assert estimated == pytest.approx(true, rel=bias)


def test_a_record_without_a_key_has_no_cell():
    file = pa.table({"a": ["x", None, "y"], "b": ["p", "p", "q"], "w": [10.0, 10.0, 10.0]})
    found = model_risk(file, keys=["a", "b"], weight="w")
    assert found.risk[1] == 0 and not found.alone[1]
    blank = pa.table({"a": pa.array([None], pa.string()), "w": [10.0]})
    assert model_risk(blank, keys="a", weight="w").expected == 0


def test_a_table_too_large_for_pairs_is_a_mistake_and_main_effects_are_not():
    rng = np.random.default_rng(1)
    file = pd.DataFrame({name: rng.permutation(300) for name in "abc"}).assign(w=2.0)
    with pytest.raises(Mistake, match="27,000,000 cells"):
        model_risk(file, keys=list("abc"), weight="w")
    assert model_risk(file, keys=list("abc"), weight="w", terms="main").expected > 0


def test_other_terms_are_a_mistake():
    with pytest.raises(Mistake, match="'main' effects or all 'pairs'"):
        model_risk(sample(20), keys=list("abc"), weight="w", terms="triples")
