"""Hybrid data: means, covariances and regressions are the very same, however near to the file it is."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide import microdata
from confide.errors import Mistake


def file(size: int = 200, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    age = rng.uniform(18, 80, size)
    pay = rng.lognormal(7, 0.5, size) + 10 * age
    return pa.table({"age": age, "pay": pay, "tax": 0.2 * pay + rng.normal(0, 20, size), "one": np.ones(size)})


def matrix(table: pa.Table) -> np.ndarray:
    return np.column_stack([table[name].to_numpy() for name in ("age", "pay", "tax")])


@given(st.floats(0, 0.999), st.integers(0, 10**6), st.booleans())
def test_means_and_covariances_are_the_very_same(proximity: float, seed: int, given_age: bool) -> None:
    method = microdata.HybridData(proximity=proximity, given=("age",) if given_age else ())
    after = method.protect(file(), columns=["pay", "tax"], teaching_seed=seed).frame
    old, new = matrix(file()), matrix(after)
    part = slice(None) if given_age else slice(1, None)
    assert np.allclose(new.mean(axis=0), old.mean(axis=0))
    assert np.allclose(np.cov(new.T)[part, part], np.cov(old.T)[part, part])


def test_what_is_given_keeps_its_regressions() -> None:
    after = (
        microdata.HybridData(proximity=0.0, given=("age",))
        .protect(file(), columns=["pay", "tax"], teaching_seed=3)
        .frame
    )
    slopes = [np.polyfit(x[:, 0], x[:, 1], 1) for x in (matrix(file()), matrix(after))]
    assert slopes[0] == pytest.approx(slopes[1])


def test_proximity_is_the_correlation_with_what_was() -> None:
    for proximity in (0.0, 0.3, 0.9):
        after = microdata.HybridData(proximity=proximity).protect(file(), columns=["pay", "tax"], teaching_seed=2).frame
        for name in ("pay", "tax"):
            assert np.corrcoef(after[name], file()[name])[0, 1] == pytest.approx(proximity, abs=1e-9)


def test_missing_values_stay_missing_and_what_is_exact_is_of_complete_records() -> None:
    frame = file()
    pay = pa.array(frame["pay"].to_numpy(), mask=np.arange(200) % 10 == 0)
    holes = frame.set_column(1, "pay", pay)
    after = microdata.HybridData().protect(holes, columns=["pay", "tax"], teaching_seed=1).frame
    assert after["pay"].is_null().to_pylist() == holes["pay"].is_null().to_pylist()
    whole = ~np.asarray(holes["pay"].is_null())
    old, new = (np.column_stack([t["pay"].to_numpy()[whole], t["tax"].to_numpy()[whole]]) for t in (holes, after))
    assert np.allclose(np.cov(old.T), np.cov(new.T))


def test_columns_that_say_the_same_still_do() -> None:
    frame = file().append_column("cents", pa.array(file()["pay"].to_numpy() * 100))
    after = microdata.HybridData(proximity=0.2).protect(frame, columns=["pay", "cents"], teaching_seed=1).frame
    assert np.allclose(after["cents"].to_numpy(), 100 * after["pay"].to_numpy())


def test_what_cannot_be_mixed_is_a_mistake() -> None:
    for columns, given_, size, words in [
        (["pay", "one"], (), 50, "'one' is the same in all records"),
        (["pay", "tax"], (), 4, "need 5 complete records, and there are 4"),
        (["pay"], ("pay",), 50, "cannot be given"),
        (["pay"], ("pey",), 50, "No column called 'pey'"),
    ]:
        with pytest.raises(Mistake, match=words):
            microdata.HybridData(given=given_).protect(file(size), columns=columns, teaching_seed=1)
    holes = file().set_column(0, "age", pa.array(file()["age"].to_numpy(), mask=np.arange(200) == 3))
    with pytest.raises(Mistake, match="'age' is missing"):
        microdata.HybridData(given=("age",)).protect(holes, columns=["pay"], teaching_seed=1)
