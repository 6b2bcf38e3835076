"""Shuffling and resampling: the same values elsewhere, and averages of samples."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from confide.errors import Mistake
from confide.microdata import Resampling, Shuffling

N = 5000


def file(seed: int = 1) -> pd.DataFrame:
    """A normal copula with margins that are not normal."""
    rng = np.random.default_rng(seed)
    z = rng.multivariate_normal(
        np.zeros(4), [[1, 0.6, 0.5, 0.3], [0.6, 1, 0.4, 0.2], [0.5, 0.4, 1, 0.7], [0.3, 0.2, 0.7, 1]], N
    )
    return pd.DataFrame(
        {
            "age": np.floor(50 + 15 * z[:, 0]),
            "size": np.exp(z[:, 1]),
            "income": np.exp(2 * z[:, 2]),
            "tax": z[:, 3] ** 3,
        }
    )


def ranks(frame: pd.DataFrame) -> np.ndarray:
    return np.asarray(spearmanr(frame).statistic)


def test_values_stay_and_correlations_of_ranks_stay() -> None:
    before = file()
    after = Shuffling(given=["age", "size"]).protect(before, columns=["income", "tax"], teaching_seed=1).frame
    for name in ("income", "tax"):
        assert np.array_equal(np.sort(after[name]), np.sort(before[name]))
    # the standard error of a rank correlation is about 1 / sqrt(5000) = .014
    assert np.all(np.abs(ranks(after) - ranks(before)) < 5 / np.sqrt(N))


def test_own_values_do_not_matter_once_others_are_given() -> None:
    before = file()
    after = Shuffling(given=["age", "size"]).protect(before, columns=["income", "tax"], teaching_seed=1).frame
    design = np.column_stack([np.ones(N), *(before[name].rank() for name in ("age", "size"))])
    for name in ("income", "tax"):
        old, new = (frame[name].rank().to_numpy() for frame in (before, after))
        rest = [y - design @ np.linalg.lstsq(design, y, rcond=None)[0] for y in (old, new)]
        assert abs(np.corrcoef(*rest)[0, 1]) < 5 / np.sqrt(N)


def test_without_given_columns_records_have_nothing_in_common_with_their_own() -> None:
    before = file()
    after = Shuffling().protect(before, columns=["income", "tax"], teaching_seed=1).frame
    assert abs(spearmanr(before["income"], after["income"]).statistic) < 5 / np.sqrt(N)
    there, here = ranks(before)[2, 3], ranks(after)[2, 3]
    assert abs(there - here) < 5 / np.sqrt(N)


def test_missing_values_stay_and_columns_that_follow_from_others_still_do() -> None:
    before = file()
    before["income"] = before["income"].where(np.arange(N) % 5 != 0)
    before["twice"] = 2 * before["tax"]
    before.loc[::7, "age"] = np.nan
    after = Shuffling(given=["age"]).protect(before, columns=["income", "tax", "twice"], teaching_seed=1).frame
    assert after["income"].isna().equals(before["income"].isna())
    # Two ranks guard against regression; set after seeing the result.
    assert np.allclose(after["twice"].rank(), after["tax"].rank(), atol=2)


def test_what_is_masked_cannot_be_given() -> None:
    with pytest.raises(Mistake, match="'a' is masked"):
        Shuffling(given=["a"]).protect(pa.table({"a": [1, 2]}), columns="a", teaching_seed=1)
    with pytest.raises(Mistake, match="'b' has categories without an order"):
        Shuffling(given=["b"]).protect(pa.table({"a": [1, 2], "b": ["x", "y"]}), columns="a", teaching_seed=1)


# ---- resampling


def plain_resampling(x: np.ndarray, samples: int, rng: np.random.Generator) -> np.ndarray:
    drawn = [np.sort(rng.choice(x, len(x))) for _ in range(samples)]
    out = np.empty(len(x))
    out[np.argsort(x)] = np.mean(drawn, axis=0)
    return out


def test_values_are_averages_of_equally_ranked_values_of_samples() -> None:
    x = np.array([5.0, 1.0, 9.0, 30.0, 2.0])
    found, plain = (
        np.array(many)
        for many in (
            [
                Resampling(samples=2).protect(pa.table({"x": x}), columns="x", teaching_seed=s).frame["x"]
                for s in range(600)
            ],
            [plain_resampling(x, 2, np.random.default_rng(s)) for s in range(600)],
        )
    )
    for statistic in (np.mean, np.var):
        one, other = statistic(found, axis=0), statistic(plain, axis=0)
        error = np.sqrt((found.var(axis=0) + plain.var(axis=0)) / 600)
        if statistic is np.var:
            error = np.sqrt(
                (((found - found.mean(axis=0)) ** 2).var(axis=0) + ((plain - plain.mean(axis=0)) ** 2).var(axis=0))
                / 600
            )
        assert np.all(np.abs(one - other) < 5 * error)


@settings(deadline=None)
@given(st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6)), min_size=1, max_size=40), st.integers(1, 5))
def test_order_and_range_stay(values: list[float | None], samples: int) -> None:
    frame = pa.table({"x": pa.array(values, pa.float64())})
    after = Resampling(samples=samples).protect(frame, columns="x", teaching_seed=1).frame["x"].to_pylist()
    assert [value is None for value in values] == [value is None for value in after]
    known = sorted((old, new) for old, new in zip(values, after, strict=True) if old is not None and new is not None)
    for (old, new), (next_old, next_new) in pairwise(known):
        assert old == next_old or new <= next_new
    for _, new in known:
        assert known[0][0] - 1e-6 <= new <= known[-1][0] + 1e-6


def test_more_samples_change_less() -> None:
    x = np.random.default_rng(1).lognormal(0, 1, 2000)
    off = [
        np.abs(
            Resampling(samples=s).protect(pa.table({"x": x}), columns="x", teaching_seed=1).frame["x"].to_numpy() - x
        ).mean()
        for s in (1, 4, 64)
    ]
    assert off[0] > 1.3 * off[1] > 1.3 * 1.3 * off[2] > 0
