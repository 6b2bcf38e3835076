"""PRAM: chances as announced, counts that stay on average, and counts that can be estimated."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from confide.errors import Mistake
from confide.microdata import Pram, estimated_counts
from confide.microdata.methods.pram import drawn

P = {
    "a": {"a": 0.7, "b": 0.3},
    "b": {"a": 0.1, "b": 0.8, "c": 0.1},
    "c": {"b": 0.25, "c": 0.75},
}
SHARES = np.array([0.6, 0.3, 0.1])


def file(n: int = 30_000, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table({"x": pa.array(rng.choice(["a", "b", "c"], n, p=SHARES)), "w": pa.array(rng.uniform(1, 5, n))})


def counts(frame: Any) -> np.ndarray:
    values = pa.table(frame)["x"].to_pylist()
    return np.array([values.count(label) for label in "abc"], float)


@pytest.mark.parametrize(
    "method", [Pram(change=0.4), Pram(change=0.4, invariant=False), Pram(matrices={"x": P}), Pram(matrices={"x": P}, invariant=False)]
)  # fmt: skip
def test_values_change_with_the_reported_chances(method: Pram) -> None:
    frame = file()
    released = method.protect(frame, columns="x", teaching_seed=1)
    matrix = released.report["matrices"]["x"]["chances"]
    assert np.allclose(matrix.sum(axis=1), 1) and matrix.min() >= 0
    for j, old in enumerate("abc"):
        rows = pa.compute.equal(frame["x"], old)
        found = counts(released.frame.filter(rows))
        n = found.sum()
        assert np.all(np.abs(found - n * matrix[j]) <= 5 * np.sqrt(n * matrix[j] * (1 - matrix[j])) + 1e-6)
    if method.invariant:
        share = counts(frame) / len(frame)
        assert share @ matrix == pytest.approx(share)
    elif method.matrices:
        assert matrix.tolist() == [[0.7, 0.3, 0.0], [0.1, 0.8, 0.1], [0.0, 0.25, 0.75]]
    else:
        assert matrix == pytest.approx(0.6 * np.eye(3) + 0.4 / 3)


def test_invariant_counts_stay_on_average_and_others_do_not() -> None:
    frame = file(500)
    for invariant in (True, False):
        method = Pram(matrices={"x": P}, invariant=invariant)
        found = np.array([counts(method.protect(frame, columns="x", teaching_seed=seed)) for seed in range(300)])
        off = np.abs(found.mean(axis=0) - counts(frame)) / (found.std(axis=0) / np.sqrt(300))
        assert np.all(off < 5) == invariant


def test_weighted_counts_stay_on_average_where_weights_are_given() -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"x": rng.choice(list("abc"), 400, p=SHARES)})
    frame["w"] = np.where(frame["x"] == "a", 1.0, 10.0) * rng.uniform(0.5, 1.5, 400)
    true = frame.groupby("x")["w"].sum()
    found = np.array([
        Pram(change=0.5).protect(frame, columns="x", weight="w", teaching_seed=s).frame.groupby("x")["w"].sum() for s in range(300)
    ])  # fmt: skip
    assert np.all(np.abs(found.mean(axis=0) - true) < 5 * found.std(axis=0) / np.sqrt(300))


def test_counts_are_estimated_without_bias() -> None:
    frame = file(500)
    method, estimates = Pram(matrices={"x": P}, invariant=False), []
    for seed in range(300):
        released = method.protect(frame, columns="x", teaching_seed=seed)
        now = dict(zip("abc", counts(released), strict=True))
        estimates.append(list(estimated_counts(now, released.report["matrices"]["x"]).values()))
    found = np.array(estimates)
    assert np.all(np.abs(found.mean(axis=0) - counts(frame)) < 5 * found.std(axis=0) / np.sqrt(300))
    assert found.sum(axis=1) == pytest.approx(500)


def test_estimates_that_cannot_be_had_are_mistakes() -> None:
    with pytest.raises(Mistake, match="no inverse"):
        estimated_counts({"a": 1.0}, {"labels": ["a", "b"], "chances": [[0.5, 0.5], [0.5, 0.5]]})
    with pytest.raises(Mistake, match="no category 'z'"):
        estimated_counts({"z": 1.0}, {"labels": ["a", "b"], "chances": np.eye(2)})


def test_drawing_is_that_of_the_plain_procedure() -> None:
    rng = np.random.default_rng(4)
    codes, chances, uniform = rng.integers(-1, 3, 500), rng.dirichlet(np.ones(3), 3), rng.random(500)
    sums = np.cumsum(chances, axis=1)
    plain = [
        -1 if code < 0 else next(j for j in range(3) if u * sums[code][-1] < sums[code][j])
        for code, u in zip(codes, uniform, strict=True)
    ]
    assert drawn(codes, sums, uniform).tolist() == plain


def test_codes_that_are_numbers_stay_numbers_and_unseen_categories_can_appear() -> None:
    matrix = {"1": {"1": 0.5, "9": 0.5}, "2": {"2": 1.0}, "9": {"9": 1.0}}
    frame = pl.DataFrame({"x": [1, 2, None] * 50})
    after = Pram(matrices={"x": matrix}, invariant=False).protect(frame, columns="x", teaching_seed=1).frame["x"]
    assert after.dtype == pl.Int64 and set(after.to_list()) == {1, 2, 9, None}
    assert after.is_null().to_list() == frame["x"].is_null().to_list()
    still = Pram(matrices={"x": matrix}).protect(frame, columns="x", teaching_seed=1).frame["x"]
    assert set(still.to_list()) == {1, 2, None}  # invariant: what never was never is


def test_strata_have_chances_of_their_own() -> None:
    frame = pa.table({"x": list("aaab") * 20 + list("abbb") * 20, "area": ["n"] * 80 + ["s"] * 80})
    report = Pram().protect(frame, columns="x", by="area", teaching_seed=1).report
    north, south = (report["strata"][(area,)]["matrices"]["x"]["chances"] for area in "ns")
    assert north[0, 0] == pytest.approx(0.8 + 0.2 * 0.75) and south[0, 0] == pytest.approx(0.8 + 0.2 * 0.25)


@pytest.mark.parametrize(
    ("matrix", "complaint"),
    [
        ({"a": {"a": 0.5}}, "sum to 1"),
        ({"a": {"a": 1.5, "b": -0.5}, "b": {"b": 1}}, "positive"),
        ({"a": {"b": 1.0}}, "'b' of 'x' has chances to appear but no row"),
    ],
)
def test_matrices_that_are_none_are_mistakes(matrix: dict[str, dict[str, float]], complaint: str) -> None:
    with pytest.raises(Mistake, match=complaint):
        Pram(matrices={"x": matrix})


@pytest.mark.parametrize(
    ("values", "matrices", "complaint"),
    [
        (["a", "z"], {"x": {"a": {"a": 1.0}}}, "no row for 'z'"),
        (["a"], {"xx": {"a": {"a": 1.0}}}, "'xx', which is not among.*'x'"),
        ([1], {"x": {"1": {"b": 1.0}, "b": {"b": 1.0}}}, "of other kinds"),
        (
            pa.array(["a", "a"]).dictionary_encode(),
            {"x": {"a": {"b": 1.0}, "b": {"b": 1.0}}},
            "categories that 'x' does not declare",
        ),
        (list(range(2001)), {}, "more than 2,000 categories"),
    ],
)
def test_files_that_do_not_fit_are_mistakes(values: Any, matrices: dict[str, Any], complaint: str) -> None:
    with pytest.raises(Mistake, match=complaint):
        Pram(matrices=matrices, invariant=False).protect(pa.table({"x": values}), columns="x", teaching_seed=1)
