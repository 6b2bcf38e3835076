"""Camouflage: answers hold the truth, and whatever is asked no value is known more closely than its interval."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from confide import microdata
from confide.errors import Mistake


def hidden(size: int, seed: int, vectors: int = 8) -> tuple[np.ndarray, np.ndarray, np.ndarray, microdata.Camouflage]:
    rng = np.random.default_rng(seed)
    values = rng.lognormal(5, 1, size)
    low, high = values * (1 - rng.uniform(0.05, 0.1, size)), values * (1 + rng.uniform(0.05, 0.1, size))
    return (
        values,
        low,
        high,
        microdata.Camouflage.hide(values, lower=low, upper=high, vectors=vectors, teaching_seed=seed),
    )


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(0, 10**6), st.integers(6, 12))
def test_every_answer_holds_the_truth_and_single_values_reach_their_ends(size: int, seed: int, vectors: int) -> None:
    values, low, high, camouflage = hidden(size, seed, vectors)
    rng = np.random.default_rng(seed)
    chosen, weights = rng.random(size) < 0.5, rng.normal(size=size)
    total, weighted = camouflage.total(chosen), camouflage.weighted(weights)
    assert total.low <= values[chosen].sum() <= total.high
    assert weighted.low <= weights @ values <= weighted.high
    for place in range(size):
        answer = camouflage.mean([place])
        assert answer.low <= low[place] and answer.high >= high[place]
    assert np.all(camouflage.points >= low - 1e-9 * high) and np.all(camouflage.points <= high * (1 + 1e-9))


def test_an_intruder_with_many_answers_cannot_narrow_a_value() -> None:
    """Every answer is two inequalities; the least and the most that they leave for a value are found by linear programs."""
    _, low, high, camouflage = hidden(8, 3)
    rng = np.random.default_rng(1)
    rows, ends = [], []
    for _ in range(400):
        weights = rng.normal(size=8) if rng.random() < 0.5 else rng.integers(0, 2, 8).astype(float)
        answer = camouflage.weighted(weights)
        rows += [weights, -weights]
        ends += [answer.high, -answer.low]
    for place in range(8):
        aim = np.eye(8)[place]
        least, most = (
            sign * linprog(sign * aim, A_ub=np.array(rows), b_ub=ends, bounds=(None, None)).fun for sign in (1, -1)
        )
        assert least <= low[place] * (1 + 1e-9) and most >= high[place] * (1 - 1e-9)


def test_the_vector_is_inside_and_where_depends_on_the_seed() -> None:
    values, low, high, one = hidden(30, 5)
    other = microdata.Camouflage.hide(values, lower=low, upper=high, teaching_seed=6)
    assert not np.allclose(one.points, other.points)
    for camouflage in (one, other):
        assert not np.allclose(camouflage.points.mean(axis=0), values)
        share = np.linalg.lstsq(np.vstack([camouflage.points.T, np.ones(8)]), np.append(values, 1), rcond=None)[0]
        assert share.min() > 0 and np.allclose(camouflage.points.T @ share, values)


def test_totals_of_many_are_told_closely() -> None:
    values, _, _, camouflage = hidden(5000, 2)
    whole = camouflage.total(np.arange(5000))
    some = camouflage.total(np.random.default_rng(1).random(5000) < 0.2)
    # Both guard against regression; set after seeing the result.
    assert (whole.high - whole.low) / values.sum() < 0.001
    assert (some.high - some.low) / values.sum() < 0.01


def test_public_values_stay_exact_and_nobody_adds_to_nothing() -> None:
    camouflage = microdata.Camouflage.hide([5.0, 10.0], lower=[5, 9], upper=[5, 11], teaching_seed=1)
    assert camouflage.total([0]) == pytest.approx((5, 5)) and camouflage.total([]) == (0, 0)
    assert len(camouflage) == 2 and repr(camouflage) == "Camouflage(2 values)"


def test_bad_questions_and_bad_intervals_are_mistakes() -> None:
    good: dict[str, Any] = {"values": [1.0, 2.0], "lower": [0, 1], "upper": [2, 3], "teaching_seed": 1}
    for change, words in [
        ({"lower": [0, 2]}, "record 2"),
        ({"upper": [0.5, 1.5]}, r"record 1 \(and 1 more\)"),
        ({"upper": [2, 300]}, "more vectors"),
        ({"lower": [0]}, "one lower and one upper"),
        ({"values": [1.0, float("nan")]}, "all known"),
        ({"values": ["a", "b"]}, "must be numbers"),
        ({"vectors": 2}, "vectors"),
        ({"teaching_seed": -1}, "seed"),
    ]:
        with pytest.raises(Mistake, match=words):
            microdata.Camouflage.hide(**{**good, **change})
    camouflage = microdata.Camouflage.hide(**good)
    for ask in (
        lambda: camouflage.mean([]),
        lambda: camouflage.total([2]),
        lambda: camouflage.total([0, 0]),
        lambda: camouflage.total([-1]),
        lambda: camouflage.total([0.5]),
        lambda: camouflage.total([True]),
        lambda: camouflage.weighted([1.0]),
    ):
        with pytest.raises(Mistake):
            ask()
