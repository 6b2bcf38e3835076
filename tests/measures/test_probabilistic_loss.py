"""Information loss between 0 and 100."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm

from confide.errors import Mistake
from confide.measures.utility import probabilistic_loss
from confide.measures.utility.probabilistic import _correlation_variance, _Sample

KINDS = ("quantiles", "means", "variances", "covariances", "correlations")


def test_a_mean_one_standard_error_away_is_a_loss_of_68():
    x = np.random.default_rng(1).normal(size=400)
    error = x.std() / 20
    found = probabilistic_loss(pa.table({"x": x}), pa.table({"x": x + error}), columns="x")
    assert found.means == pytest.approx(100 * (2 * norm.cdf(1) - 1))
    assert found.variances == pytest.approx(0, abs=1e-6)
    assert np.isnan(found.covariances) and np.isnan(found.correlations)


numbers = arrays(np.float64, st.tuples(st.integers(1, 15), st.integers(1, 3)), elements=st.integers(-4, 4).map(float))


@given(numbers, numbers)
def test_losses_are_between_0_and_100_and_0_for_the_same_file(x, y):
    width = min(x.shape[1], y.shape[1])
    names = [f"x{i}" for i in range(width)]
    original, released = (pd.DataFrame(side[:, :width], columns=names) for side in (x, y))
    found = probabilistic_loss(original, released, columns=names)
    for kind in KINDS:
        value = getattr(found, kind)
        assert np.isnan(value) == (width == 1 and kind in KINDS[3:]) and not (value < 0 or value > 100)
    assert probabilistic_loss(original, original, columns=names).percent == 0
    assert 0 <= found.percent <= 100


def test_standard_errors_are_those_of_resampling():
    """The asymptotic errors of statistics against 2,000 bootstrap samples: within 10 percent."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(1500, 2)) @ np.array([[1.0, 0.6], [0.0, 0.8]])
    x[:, 1] = np.exp(x[:, 1] / 2)
    sample = _Sample(x, None, "original")
    draws = [x[rng.integers(0, 1500, 1500)] for _ in range(2000)]
    errors = {
        "correlation": (
            np.sqrt(_correlation_variance(sample, 0, 1, np.corrcoef(x.T)[0, 1]) / 1500),
            [np.corrcoef(d.T)[0, 1] for d in draws],
        ),
        "covariance": (
            np.sqrt((sample.moment((0, 2), (1, 2)) - sample.moment((0, 1), (1, 1)) ** 2) / 1500),
            [np.cov(d.T)[0, 1] for d in draws],
        ),
        "variance": (
            np.sqrt((sample.moment((1, 4)) - sample.moment((1, 2)) ** 2) / 1500),
            [d[:, 1].var() for d in draws],
        ),
    }
    for name, (error, drawn) in errors.items():
        assert error == pytest.approx(np.std(drawn), rel=0.1), name


def test_another_sample_of_the_same_population_loses_about_half():
    """If both files are samples, differences have twice the variance: the mean loss of a mean is E erf(|Z|), about 61."""
    rng = np.random.default_rng(3)
    losses = []
    for _ in range(60):
        frames = [pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"]) for _ in range(2)]
        losses.append(probabilistic_loss(*frames, columns=["a", "b"]).means)
    z = np.abs(rng.normal(0, np.sqrt(2), 100_000))
    expected = 100 * np.mean(2 * norm.cdf(z) - 1)
    assert abs(np.mean(losses) - expected) < 4 * np.std(losses) / np.sqrt(60)


def test_more_noise_loses_more(people_of, masked_of):
    original = people_of(500)
    names = ["age", "income", "wealth"]
    losses = [probabilistic_loss(original, masked_of(original, noise=n), columns=names).percent for n in (0.05, 0.3, 1)]
    assert losses == sorted(losses) and losses[0] < losses[2]


def test_weights_count_records_as_often():
    rng = np.random.default_rng(4)
    x, times = rng.normal(size=(50, 2)), rng.integers(1, 5, 50)
    y = x + rng.normal(0, 0.1, x.shape)
    names = ["a", "b"]
    weighted = [pd.DataFrame(side, columns=names).assign(w=times.astype(float)) for side in (x, y)]
    repeated = [pd.DataFrame(np.repeat(side, times, axis=0), columns=names) for side in (x, y)]
    a, b = probabilistic_loss(*weighted, columns=names, weight="w"), probabilistic_loss(*repeated, columns=names)
    assert 0 < a.means < b.means  # the same difference; but weights say less than as many records


def test_categories_and_files_without_complete_records_are_a_mistake():
    with pytest.raises(Mistake, match="holds categories"):
        probabilistic_loss(pa.table({"s": ["a"]}), pa.table({"s": ["a"]}), columns="s")
    blank = pa.table({"x": pa.array([None, 1.0]), "y": pa.array([1.0, None])})
    with pytest.raises(Mistake, match="no record has a value"):
        probabilistic_loss(blank, blank, columns=["x", "y"])
