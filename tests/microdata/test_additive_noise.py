"""Additive noise: what each kind does to means and covariances, on average and exactly."""

import numpy as np
import pyarrow as pa
import pytest

from confide.errors import Mistake
from confide.microdata import AdditiveNoise
from confide.microdata.methods.gaussian import root

NAMES = ["a", "b", "c"]
K = 0.3


def file(n: int = 200, *, seed: int = 5) -> pa.Table:
    """Two columns that go together (correlation about .9) and one against them, on quite different scales."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal(n)
    a, b = 1000 + 50 * (common + 0.3 * rng.standard_normal(n)), 0.1 * (common + 0.3 * rng.standard_normal(n))
    return pa.table({"a": a, "b": b, "c": 5 - common + rng.standard_normal(n)})


def matrix(frame: object) -> np.ndarray:
    table = pa.table(frame)
    return np.column_stack([table[name].to_numpy() for name in NAMES])


def masked(method: AdditiveNoise, frame: pa.Table, seed: int = 1) -> np.ndarray:
    return matrix(method.protect(frame, columns=NAMES, teaching_seed=seed))


def announced(kind: str, s: np.ndarray, n: int) -> np.ndarray:
    """The expected covariance matrix (divisor n - 1) of the masked file."""
    if kind == "linear":  # about the sample mean, Kim's constant loses a little: squares about the true mean stay
        return s * (1 + K) * (n - 1) / (n * (1 + K) - 1)
    return {"uncorrelated": s + K * np.diag(np.diag(s)), "correlated": (1 + K) * s}.get(kind, s)


KINDS = ("uncorrelated", "correlated", "linear", "covariance-preserving")


@pytest.mark.parametrize("kind", KINDS)
def test_means_and_covariances_are_as_announced_on_average(kind: str) -> None:
    frame = file()
    x = matrix(frame)
    scale = np.outer(x.std(axis=0), x.std(axis=0))
    files = [masked(AdditiveNoise(k=K, kind=kind), frame, seed) for seed in range(300)]
    means = np.array([(y.mean(axis=0) - x.mean(axis=0)) / x.std(axis=0) for y in files])
    off = np.array([(np.cov(y.T) - announced(kind, np.cov(x.T), len(x))) / scale for y in files])
    for drawn in (means, off):  # 5 standard errors of the average over the files
        assert np.all(np.abs(drawn.mean(axis=0)) < 5 * drawn.std(axis=0) / np.sqrt(len(files)))
        assert np.all(drawn.std(axis=0) > 0)


def test_the_constant_of_kim_keeps_squares_about_the_true_means() -> None:
    frame = file(n=4)
    x = matrix(frame)
    spread = x.var(axis=0, ddof=1)
    files = [masked(AdditiveNoise(k=2.0, kind="linear"), frame, seed) for seed in range(1000)]
    squares = np.array([((y - x.mean(axis=0)) ** 2).sum(axis=0) / (len(x) - 1) / spread for y in files])
    assert np.all(np.abs(squares.mean(axis=0) - 1) < 5 * squares.std(axis=0) / np.sqrt(len(files)))


def test_noise_that_preserves_covariances_is_not_drawn_column_by_column() -> None:
    frame = file(n=10_000)
    x = matrix(frame)
    for kind in ("correlated", "linear", "covariance-preserving"):
        y = masked(AdditiveNoise(k=K, kind=kind), frame)
        shrunk = 1.0 if kind == "correlated" else 1 / np.sqrt(1 + K)
        noise = y - x.mean(axis=0) - shrunk * (x - x.mean(axis=0))
        # the standard error of a correlation is below 1 / sqrt(n) = .01
        assert np.all(np.abs(np.corrcoef(noise.T) - np.corrcoef(x.T)) < 0.05)
        assert np.corrcoef(noise.T)[0, 1] > 0.8
    apart = masked(AdditiveNoise(k=K, kind="uncorrelated"), frame) - x
    assert abs(np.corrcoef(apart.T)[0, 1]) < 0.05


@pytest.mark.parametrize("kind", ["uncorrelated", "correlated", "covariance-preserving"])
@pytest.mark.parametrize("n", [7, 200])
def test_exact_means_exact_in_this_very_file(kind: str, n: int) -> None:
    frame = file(n)
    x, y = matrix(frame), masked(AdditiveNoise(k=K, kind=kind, exact=True), frame)
    assert y.mean(axis=0) == pytest.approx(x.mean(axis=0), rel=1e-10)
    assert np.cov(y.T) == pytest.approx(announced(kind, np.cov(x.T), n), rel=1e-8)
    assert not np.any(np.isclose(x, y, rtol=1e-9))


def test_exact_holds_among_complete_records_and_the_others_are_masked_too() -> None:
    frame = file()
    gaps = pa.array([None if i % 7 == 0 else v for i, v in enumerate(frame["b"].to_pylist())], pa.float64())
    frame = frame.set_column(1, "b", gaps)
    x, y = matrix(frame), masked(AdditiveNoise(exact=True), frame)
    whole = ~np.isnan(x).any(axis=1)
    assert np.array_equal(np.isnan(x), np.isnan(y))
    assert np.cov(y[whole].T) == pytest.approx(np.cov(x[whole].T), rel=1e-8)
    assert not np.any(x[~whole] == y[~whole])


def test_columns_that_depend_on_each_other_still_do() -> None:
    frame = file()
    frame = frame.set_column(2, "c", pa.array(2 * frame["a"].to_numpy() - 3))
    for exact in (False, True):
        y = masked(AdditiveNoise(exact=exact), frame)
        assert y[:, 2] == pytest.approx(2 * y[:, 0] - 3, rel=1e-6)


def test_the_order_of_columns_does_not_matter() -> None:
    one = pa.table(AdditiveNoise().protect(file(), columns=NAMES, teaching_seed=1))
    other = pa.table(AdditiveNoise().protect(file(), columns=NAMES[::-1], teaching_seed=1))
    for name in NAMES:
        assert one[name].to_numpy() == pytest.approx(other[name].to_numpy(), rel=1e-12)


def test_dates_are_moved_by_days() -> None:
    days = pa.array(np.arange(18_000, 19_000, dtype=np.int32)).cast(pa.date32())
    after = AdditiveNoise(k=0.1).protect(pa.table({"born": days}), columns="born", teaching_seed=1).frame["born"]
    assert after.type == pa.date32() and after.to_pylist() != days.to_pylist()


@pytest.mark.parametrize(
    ("frame", "method", "complaint"),
    [
        (file(6), AdditiveNoise(exact=True), "more than 6 complete records"),
        (pa.table({"a": [1.0, 2.0], "b": [3.0, 3.0], "c": [1.0, 2.0]}), AdditiveNoise(), "'b' is the same"),
        (pa.table({"a": [1.0, None], "b": [3.0, 3.0], "c": [1.0, 2.0]}), AdditiveNoise(), "fewer than two records"),
    ],
)
def test_files_that_teach_too_little_are_mistakes(frame: pa.Table, method: AdditiveNoise, complaint: str) -> None:
    with pytest.raises(Mistake, match=complaint):
        masked(method, frame)


def test_exact_and_linear_do_not_go_together() -> None:
    with pytest.raises(Mistake, match="exact does not go with 'linear'"):
        AdditiveNoise(kind="linear", exact=True)


def test_the_root_is_of_the_nearest_covariance_matrix() -> None:
    rng = np.random.default_rng(2)
    there = np.cov(rng.standard_normal((50, 4)).T)
    assert root(there).moved == 0 and root(there).matrix @ root(there).matrix == pytest.approx(there)
    wrong = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])
    near = root(wrong)
    after = near.matrix @ near.matrix
    assert np.linalg.eigvalsh(after).min() > -1e-12
    assert near.moved == pytest.approx(np.linalg.norm(after - wrong) / np.linalg.norm(wrong))
