"""The information loss table of the survey."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from confide.errors import Mistake
from confide.measures.utility import discrepancies
from confide.measures.utility.information_loss import Discrepancies

MATRICES = ("values", "means", "covariances", "variances", "correlations", "loadings", "communalities", "scores")


def plain_table(x, y, floor=0.01):
    """The formulas of the survey as they are printed, cell by cell, with the fifth term over i < j and a floor."""
    n, p = x.shape
    sd = x.std(axis=0, ddof=1)
    v, w = np.cov(x.T), np.cov(y.T)
    r, s = np.corrcoef(x.T), np.corrcoef(y.T)

    def three(cells, divisor):
        """Cells are original, released, unit, weight."""
        square = sum(h * (a - b) ** 2 for a, b, _, h in cells) / divisor
        absolute = sum(h * abs(a - b) for a, b, _, h in cells) / divisor
        variation = sum(h * abs(a - b) / max(abs(a), floor * u) for a, b, u, h in cells) / divisor
        return square, absolute, variation

    def components(m):
        values, vectors = np.linalg.eigh(m)
        return values[::-1], vectors[:, ::-1]

    (lam, e), (mu, f) = components(r), components(s)
    f = f * np.sign((e * f).sum(axis=0))
    rf, rf2 = e * np.sqrt(lam), f * np.sqrt(mu)
    fs, fs2 = e / np.sqrt(lam), f / np.sqrt(mu)
    return {
        "values": three([(x[i, j], y[i, j], sd[j], 1) for i in range(n) for j in range(p)], n * p),
        "means": three([(x[:, j].mean(), y[:, j].mean(), sd[j], 1) for j in range(p)], p),
        "covariances": three(
            [(v[i, j], w[i, j], sd[i] * sd[j], 1) for j in range(p) for i in range(j + 1)], p * (p + 1) / 2
        ),
        "variances": three([(v[j, j], w[j, j], sd[j] ** 2, 1) for j in range(p)], p),
        "correlations": three([(r[i, j], s[i, j], 1, 1) for j in range(p) for i in range(j)], p * (p - 1) / 2),
        "loadings": three([(rf[i, j], rf2[i, j], 1, lam[j]) for j in range(p) for i in range(p)], p**2),
        "communalities": three([(rf[i, 0] ** 2, rf2[i, 0] ** 2, 1, 1) for i in range(p)], p),
        "scores": three([(fs[i, j], fs2[i, j], 1, lam[j]) for j in range(p) for i in range(p)], p**2),
    }


def frames(*matrices):
    return [pd.DataFrame(x, columns=[f"x{i}" for i in range(x.shape[1])]) for x in matrices]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_cell_of_the_table_is_the_printed_formula(seed):
    rng = np.random.default_rng(seed)
    x = rng.lognormal(size=(60, 4)) @ rng.uniform(0, 1, (4, 4))
    y = x * (1 + 0.1 * rng.normal(size=x.shape))
    found = discrepancies(*frames(x, y), columns=["x0", "x1", "x2", "x3"])
    for name, expected in plain_table(x, y).items():
        part = getattr(found, name)
        assert (part.square, part.absolute, part.variation) == pytest.approx(expected), name


def test_information_loss_is_the_mean_of_five_with_absolute_errors_of_correlations():
    rng = np.random.default_rng(4)
    x = rng.lognormal(size=(50, 3))
    y = x * (1 + 0.2 * rng.normal(size=x.shape))
    table = plain_table(x, y)
    five = [table[name][2] for name in ("values", "means", "covariances", "variances")] + [table["correlations"][1]]
    assert discrepancies(*frames(x, y), columns=["x0", "x1", "x2"]).loss == pytest.approx(100 * np.mean(five))


numbers = arrays(np.float64, st.tuples(st.integers(1, 12), st.integers(1, 3)), elements=st.integers(-5, 5).map(float))


@given(numbers)
def test_nothing_is_lost_if_nothing_changed(x):
    """Zeros, constants, singular covariances and single records among them."""
    (frame,) = frames(x)
    found = discrepancies(frame, frame, columns=list(frame))
    assert isinstance(found, Discrepancies)
    for name in MATRICES:
        part = getattr(found, name)
        assert (part.square, part.absolute, part.variation) == (0, 0, 0), name
    assert found.loss == 0


@given(numbers, st.randoms(use_true_random=False))
def test_losses_are_finite_and_free_of_the_order_of_records(x, random):
    y = x + np.array([[random.choice([-1.0, 0.0, 1.0]) for _ in row] for row in x])
    order = list(range(len(x)))
    random.shuffle(order)
    a, b, c, d = frames(x, y, x[order], y[order])
    found, again = discrepancies(a, b, columns=list(a)), discrepancies(c, d, columns=list(a))
    for name in MATRICES[:5]:
        one, other = getattr(found, name), getattr(again, name)
        assert np.isfinite([one.square, one.absolute, one.variation]).all()
        assert one.variation == pytest.approx(other.variation, abs=1e-9)
    assert found.loss >= 0


def test_mean_variations_are_free_of_units():
    rng = np.random.default_rng(6)
    x = rng.lognormal(size=(80, 3))
    y = x * (1 + 0.1 * rng.normal(size=x.shape))
    unit = np.array([1.0, 1000.0, 0.01])
    found, scaled = (
        discrepancies(*frames(*both), columns=["x0", "x1", "x2"]) for both in ((x, y), (x * unit, y * unit))
    )
    for name in MATRICES:
        assert getattr(found, name).variation == pytest.approx(getattr(scaled, name).variation), name


def test_a_zero_is_divided_by_the_floor_and_not_by_itself():
    x, y = np.array([[0.0], [2.0], [4.0]]), np.array([[0.1], [2.0], [4.0]])
    found = discrepancies(*frames(x, y), columns="x0")
    assert found.values.variation == pytest.approx(0.1 / (0.01 * 2) / 3)
    raw = discrepancies(*frames(x, y), columns="x0", floor=0)
    assert raw.values.variation == np.inf
    assert discrepancies(*frames(x, x), columns="x0", floor=0).values.variation == 0


def test_equal_weights_change_nothing_and_weights_count_records_as_often():
    rng = np.random.default_rng(8)
    x = rng.lognormal(size=(20, 2))
    y = x * (1 + 0.1 * rng.normal(size=x.shape))
    times = rng.integers(1, 4, 20)
    a, b = (frame.assign(w=times * 1.0) for frame in frames(x, y))
    weighted = discrepancies(a, b, columns=["x0", "x1"], weight="w")
    c, d = frames(np.repeat(x, times, axis=0), np.repeat(y, times, axis=0))
    repeated = discrepancies(c, d, columns=["x0", "x1"])
    for name in ("values", "means", "correlations"):
        assert getattr(weighted, name).absolute == pytest.approx(getattr(repeated, name).absolute), name
    same = [frame.assign(w=7.0) for frame in frames(x, y)]
    assert discrepancies(*same, columns=["x0", "x1"], weight="w").loss == pytest.approx(
        discrepancies(*frames(x, y), columns=["x0", "x1"]).loss
    )


def test_values_are_compared_where_both_are_known_and_matrices_from_complete_records():
    x = np.array([[1.0, 2.0], [2.0, np.nan], [3.0, 5.0], [4.0, 1.0]])
    y = np.array([[1.0, 2.0], [3.0, 1.0], [np.nan, 5.0], [4.0, 1.0]])
    found = discrepancies(*frames(x, y), columns=["x0", "x1"])
    assert found.values.absolute == pytest.approx(1 / 6)
    complete = x[[0, 2, 3]].mean(axis=0), y[[0, 1, 3]].mean(axis=0)
    assert found.means.absolute == pytest.approx(np.abs(complete[0] - complete[1]).mean())


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ({"x": ["a", "b"], "y": [1.0, 2.0]}, "'x' holds categories"),
        ({"x": [None, 1.0], "y": [1.0, None]}, "In the original file no record has a value"),
        ({"x": [float("inf"), 1.0], "y": [1.0, 2.0]}, "infinite"),
    ],
)
def test_numbers_that_cannot_be_compared_are_a_mistake(file, words):
    table = pa.table(file)
    with pytest.raises(Mistake, match=words):
        discrepancies(table, table, columns=["x", "y"])


def test_a_negative_floor_is_a_mistake():
    table = pa.table({"x": [1.0]})
    with pytest.raises(Mistake, match="floor is 0 or more"):
        discrepancies(table, table, columns="x", floor=-1)
