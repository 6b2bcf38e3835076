"""Post-masking optimisation: moments are those of the original again, and no value came nearer to what it was."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from confide import measures
from confide.data.release_key import ReleaseKey
from confide.errors import Mistake
from confide.microdata import AdditiveNoise, ReleaseGate, Resampling, Rounding, post_masking

NAMES = ["a", "b", "c"]


def file(n: int = 300, seed: int = 2) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    common = rng.standard_normal(n)
    return pd.DataFrame(
        {"a": 100 + 9 * common, "b": np.exp(common + rng.standard_normal(n)), "c": rng.standard_normal(n) - common}
    )


def far(original: pd.DataFrame, released: pd.DataFrame) -> np.ndarray:
    return (np.abs(released - original) / original.std(ddof=0)).to_numpy()


METHODS = [AdditiveNoise(k=0.2, kind="uncorrelated"), AdditiveNoise(k=0.2, kind="correlated"), Resampling()]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: str(method)[:40])
@pytest.mark.parametrize("near", [0.05, 0.2])
def test_moments_become_those_of_the_original_and_no_value_comes_near(method, near: float) -> None:
    """The promise is in the last line; how near the moments come guards."""
    original = file()
    masked = method.protect(original, columns=NAMES, teaching_seed=5)
    better = post_masking(original, masked, columns=NAMES, near=near)
    assert better.report["after"] < better.report["before"] / 50
    scale = np.outer(original.std(), original.std())
    assert np.abs((better.frame.cov() - original.cov()) / scale).to_numpy().max() < 0.02
    before, after = far(original, masked.frame), far(original, better.frame)
    assert np.all(after >= np.minimum(before, near) - 1e-9)


def test_less_is_lost_and_interval_disclosure_does_not_grow() -> None:
    original = file(500)
    masked = AdditiveNoise(k=0.3, kind="uncorrelated").protect(original, columns=NAMES, teaching_seed=7)
    before, after = (
        measures.score(original, one, columns=NAMES) for one in (masked, post_masking(original, masked, columns=NAMES))
    )
    assert after.loss < before.loss and after.interval <= before.interval and after.value < before.value


def test_frames_of_every_kind_come_back_as_they_are_and_other_columns_stay() -> None:
    original = file().assign(id=range(300))
    masked = Rounding(base=3).protect(original, columns=NAMES).frame
    plain = post_masking(original, masked, columns=NAMES).frame
    assert plain["id"].equals(original["id"]) and list(plain.columns) == list(original.columns)
    assert (
        plain["a"].tolist()
        == post_masking(pl.from_pandas(original), pl.from_pandas(masked), columns=NAMES).frame["a"].to_list()
    )


def test_whole_numbers_are_rounded_away_from_the_original_and_missing_stays_missing() -> None:
    rng = np.random.default_rng(1)
    values = rng.integers(0, 1000, 400)
    blank = rng.random(400) < 0.1
    original = pa.table({"x": values})
    masked = pa.table({"x": pa.array(values + rng.integers(-300, 301, 400), mask=blank)})
    after = post_masking(original, masked, columns="x", near=9).frame["x"]
    assert after.type == pa.int64() and after.is_null().to_pylist() == blank.tolist()
    gaps = [np.abs(np.array(one.to_pylist(), float)[~blank] - values[~blank]) for one in (masked["x"], after)]
    assert np.all(gaps[1] >= gaps[0])


@pytest.mark.parametrize(
    ("released", "given", "complaint"),
    [
        (pa.table({"x": [1.0]}), {}, "2 records, the released one 1"),
        (pa.table({"x": [1.0, 2.0]}), {}, "Fewer than 3 records"),
        (pa.table({"x": ["a", "b"]}), {}, "holds categories"),
        (pa.table({"y": [1.0, 2.0]}), {}, "No column called 'x'"),
        (pa.table({"x": [1.0, 2.0]}), {"near": -1}, "near must be"),
    ],
)
def test_what_cannot_be_done_says_why(released: pa.Table, given: dict, complaint: str) -> None:
    with pytest.raises(Mistake, match=complaint):
        post_masking(pa.table({"x": [1.0, 5.0]}), released, columns="x", **given)


def test_what_was_done_before_goes_with_the_file_so_that_a_teaching_seed_is_not_released(tmp_path) -> None:
    original = file()
    masked = AdditiveNoise(k=0.3).protect(original, columns=NAMES, teaching_seed=7)
    moved = post_masking(original, masked, columns=NAMES)
    assert [step.method for step in moved.steps] == ["additive-noise", "post-masking"]
    with pytest.raises(Mistake, match="not for release"):
        ReleaseGate(original, key=ReleaseKey.kept(tmp_path / "a.key")).write(moved, tmp_path / "out.csv")
