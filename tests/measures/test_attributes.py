"""What an intruder learns by looking up keys."""

from collections import Counter

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import Mistake
from confide.measures.risk import attribute_disclosure

rows = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from(["x", "y", None])), min_size=1, max_size=20
)


def modes(values):
    counts = Counter(value for value in values if value is not None)
    return {value: 1 for value, n in counts.items() if n == max(counts.values())} if counts else {}


@given(rows, rows)
def test_categories_learnt_are_those_of_a_plain_search(before, after):
    after = after + after[:1] * (len(after) == len(before))  # files of one size might pass for recoded
    original = pa.table({"k": [f"{a}{b}" for a, b, _ in before], "c": pa.array([c for *_, c in before], pa.string())})
    released = pa.table({"k": [f"{a}{b}" for a, b, _ in after], "c": pa.array([c for *_, c in after], pa.string())})
    found = attribute_disclosure(original, released, keys="k", confidential="c")
    overall = modes([c for *_, c in after])
    for i, (a, b, c) in enumerate(before):
        if c is None:
            assert np.isnan(found.correct[i])
            continue
        alike = [z for x, y, z in after if (x, y) == (a, b)]
        near = alike or [z for *_, z in after]  # nobody has the key: all are equally far
        named = modes(near) or overall
        assert found.correct[i] == pytest.approx(named.get(c, 0) / max(1, len(named)))
    known = [c for *_, c in before if c is not None]
    guessed = [overall.get(c, 0) / max(1, len(overall)) for c in known]
    assert found.guessing == pytest.approx(100 * np.mean(guessed) if known else 0)


def best_guess(values, share):
    """The end of an interval about a value that lies in most of them."""
    ends = [v + sign * share * abs(v) for v in values for sign in (-1, 1)]
    covered = [sum(v - share * abs(v) - 1e-12 <= e <= v + share * abs(v) + 1e-12 for v in values) for e in ends]
    return max(covered)


def test_a_number_is_guessed_where_most_of_the_class_are_near():
    pay = [100.0, 101.0, 102.0, 500.0, 7.0]
    file = pa.table({"k": ["a"] * 4 + ["b"], "pay": pay})
    found = attribute_disclosure(file, file, keys="k", confidential="pay", within_percent=5)
    assert found.correct.tolist() == [1, 1, 1, 0, 1]
    assert found.guessing == 60 and found.gain == pytest.approx(20)
    assert best_guess(pay, 0.05) == 3


@given(st.lists(st.floats(-100, 100).map(lambda x: round(x, 1)), min_size=1, max_size=15), st.sampled_from([0, 5, 30]))
def test_the_guess_for_all_is_right_for_as_many_as_any_number_could_be(values, percent):
    file = pa.table({"k": ["a"] * len(values), "v": values})
    found = attribute_disclosure(file, file, keys="k", confidential="v", within_percent=percent)
    assert found.guessing == pytest.approx(100 * best_guess(values, percent / 100) / len(values))
    assert found.percent == pytest.approx(found.guessing)  # one class is the whole file


def test_numeric_keys_are_looked_up_by_distance_in_files_of_any_size():
    original = pa.table({"age": [20, 40, 60], "ill": ["no", "no", "yes"]})
    synthetic = pa.table({"age": [21, 22, 39, 59, 61], "ill": ["no", "no", "no", "yes", "yes"]})
    found = attribute_disclosure(original, synthetic, keys="age", confidential="ill")
    assert found.correct.tolist() == [1, 1, 1]
    assert found.guessing == pytest.approx(200 / 3)


def test_noise_on_the_keys_protects(people_of, masked_of):
    original = people_of(400)
    same = attribute_disclosure(original, original, keys=["age", "wealth"], confidential="income")
    noisy = attribute_disclosure(
        original, masked_of(original, noise=1.0), keys=["age", "wealth"], confidential="income"
    )
    assert same.percent > 90 > 30 > noisy.percent > 0


def test_a_recoded_key_is_looked_up_as_it_was_recoded():
    original = pd.DataFrame({"age": [21, 25, 33, 38], "ill": ["no", "no", "yes", "yes"]})
    released = original.assign(age=["20s", "20s", "30s", "30s"])
    assert attribute_disclosure(original, released, keys="age", confidential="ill").percent == 100


def test_nothing_known_means_nothing_learnt():
    blank = pa.table({"k": ["a"], "c": pa.array([None], pa.string()), "n": pa.array([None], pa.float64())})
    for name in "cn":
        found = attribute_disclosure(blank, blank, keys="k", confidential=name)
        assert found.percent == found.guessing == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [({"confidential": "k"}, "is a key"), ({"confidential": "c", "within_percent": 100}, "0 to 100")],
)
def test_what_makes_no_sense_is_a_mistake(change, words):
    file = pa.table({"k": ["a"], "c": ["x"]})
    with pytest.raises(Mistake, match=words):
        attribute_disclosure(file, file, keys="k", **change)
