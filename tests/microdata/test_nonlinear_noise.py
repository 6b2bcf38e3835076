"""Noise with nonlinear transformation: columns keep their distributions, whatever their shape, and go together as before."""

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import ndtri
from scipy.stats import ks_2samp, rankdata

from confide.errors import Mistake
from confide.microdata import NonlinearNoise

NAMES = ["pay", "debt", "children"]


def file(n: int = 1500, seed: int = 3) -> pa.Table:
    """A skewed number, a skewed number with many zeros, and a count, from normal scores that go together."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal(n)
    pay, debt, children = (0.8 * common + 0.6 * rng.standard_normal(n) for _ in range(3))
    return pa.table(
        {
            "pay": np.exp(8 + pay),
            "debt": np.where(debt < 0, 0.0, np.exp(debt * 3)),
            "children": np.clip(np.rint(children + 1), 0, 4).astype(int),
        }
    )


def scores(table: pa.Table) -> np.ndarray:
    return np.column_stack([ndtri((rankdata(table[name]) - 0.5) / len(table)) for name in NAMES])


def test_every_distribution_stays() -> None:
    """The limit on zeros guards."""
    frame = file()
    after = pa.table(NonlinearNoise(k=0.5).protect(frame, columns=NAMES, teaching_seed=1))
    for name in NAMES:  # two independent files of 1,500 differ by .05 in one case of 20; here one shapes the other
        assert ks_2samp(frame[name].to_numpy(), after[name].to_numpy()).statistic < 0.05
    assert abs(np.mean(after["debt"].to_numpy() == 0) - np.mean(frame["debt"].to_numpy() == 0)) < 0.04


def test_a_discrete_column_keeps_its_values_and_a_rare_number_is_not_released() -> None:
    frame = file()
    after = pa.table(NonlinearNoise().protect(frame, columns=NAMES, teaching_seed=1))
    assert set(after["children"].to_pylist()) == {0, 1, 2, 3, 4}
    assert not set(after["pay"].to_pylist()) & set(frame["pay"].to_pylist())
    assert max(after["pay"].to_pylist()) < max(frame["pay"].to_pylist())


def test_correlations_of_normal_scores_stay_on_average() -> None:
    frame = file(400)
    before = np.corrcoef(scores(frame).T)
    drawn = [NonlinearNoise(k=0.5).protect(frame, columns=NAMES, teaching_seed=seed) for seed in range(100)]
    off = np.array([np.corrcoef(scores(pa.table(one)).T) - before for one in drawn])
    assert np.all(np.abs(off.mean(axis=0)) < 1e-9 + 5 * off.std(axis=0) / 10)


def test_the_larger_the_noise_the_farther_a_value_goes() -> None:
    frame = file()
    far = []
    for k in (0.01, 0.15, 1.0):
        after = pa.table(NonlinearNoise(k=k).protect(frame, columns=NAMES, teaching_seed=1))
        far.append(np.mean((scores(after) - scores(frame))[:, 0] ** 2))
    # the mean square of (z + e) / sqrt(1 + k) - z, with z and e of variances 1 and k, is 2 - 2 / sqrt(1 + k); the tolerance guards
    assert far == pytest.approx([2 - 2 / np.sqrt(1 + k) for k in (0.01, 0.15, 1.0)], rel=0.12)


def test_ordered_categories_stay_categories() -> None:
    rng = np.random.default_rng(1)
    places, order = rng.choice(3, 500, p=[0.6, 0.3, 0.1]), ["low", "middle", "high"]
    frame = pa.table({"x": pa.DictionaryArray.from_arrays(places, order, ordered=True)})
    after = pa.table(NonlinearNoise(k=1).protect(frame, columns="x", teaching_seed=1))
    counts = [sum(value == level for value in after["x"].to_pylist()) for level in order]
    # five standard errors of a count, at most
    assert after.schema == frame.schema and counts == pytest.approx(np.bincount(places), abs=5 * np.sqrt(500 / 4))
    assert after["x"].to_pylist() != frame["x"].to_pylist()


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ([1.0, 2.0, 3.0], "'x' has fewer than 5 known values"),
        ([7.0] * 9, "'x' is the same in all records"),
        (["a", "b"] * 5, "without an order"),
    ],
)
def test_what_cannot_be_masked_is_named(values: list, complaint: str) -> None:
    with pytest.raises(Mistake, match=complaint):
        NonlinearNoise().protect(pa.table({"x": values}), columns="x", teaching_seed=1)
