"""Linkage by distance, nearest and one-to-one."""

from itertools import permutations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.errors import Mistake
from confide.measures.risk import distance_linkage, one_to_one_linkage

NAMES = ["age", "sex", "region", "income", "wealth"]


def plain_linkage(original, released, numbers, categories):
    """Every released record against every original one, in plain Python; standardised, ties shared."""
    spread = {name: np.nanstd(original[name]) for name in numbers}
    original, released = ({name: frame[name].tolist() for name in frame} for frame in (original, released))
    rows, chances = len(original["age"]), []
    for i in range(rows):
        far = []
        for j in range(rows):
            total = 0.0
            for name in numbers:
                a, b = released[name][i], original[name][j]
                if not np.isnan(a):
                    total += 1.0 if np.isnan(b) else ((a - b) / spread[name]) ** 2
            for name in categories:
                a, b = released[name][i], original[name][j]
                if not pd.isna(a):
                    total += float(pd.isna(b) or a != b)
            far.append(total)
        far = np.array(far)
        tied = far <= far.min() * (1 + 1e-9)
        chances.append(1 / tied.sum() if tied[i] else 0.0)
    return np.array(chances)


def test_linkage_of_mixed_columns_is_that_of_a_plain_search(people_of, masked_of):
    original = people_of(80)
    released = masked_of(original)
    found = distance_linkage(original, released, columns=NAMES)
    expected = plain_linkage(original, released, ["age", "income", "wealth"], ["sex", "region"])
    np.testing.assert_allclose(found.probability, expected)
    assert 5 < found.percent < 95


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=12))
def test_equal_records_share_their_links(pairs):
    original = pa.table({"x": [float(a) for a, _ in pairs]})
    released = pa.table({"x": [float(b) for _, b in pairs]})
    found = distance_linkage(original, released, columns="x", scaling="none").probability
    a, b = np.array(pairs, np.float64).T
    if np.ptp(a) == 0:  # a constant tells nothing
        assert found.tolist() == [1 / len(a)] * len(a)
        return
    for i in range(len(a)):
        far = np.abs(b[i] - a)
        assert found[i] == pytest.approx((far[i] == far.min()) / (far == far.min()).sum())


def test_the_intruder_searches_all_records_and_not_only_the_right_one():
    """Masked values near their own original are no links if another record is nearer."""
    original = pa.table({"x": [0.0, 1.0, 2.0, 3.0]})
    released = pa.table({"x": [0.9, 1.9, 2.9, 3.1]})
    assert distance_linkage(original, released, columns="x").probability.tolist() == [0.0, 0.0, 0.0, 1.0]


def test_records_unchanged_are_all_linked_unless_they_are_alike(people_of):
    original = people_of(300)
    assert distance_linkage(original, original, columns=["income", "age"]).percent == 100
    twice = pd.concat([original, original])
    assert distance_linkage(twice, twice, columns=["income", "age"]).percent == pytest.approx(50)


def test_linkage_does_not_depend_on_the_order_of_records(people_of, masked_of):
    original = people_of(200)
    released = masked_of(original)
    order = np.random.default_rng(3).permutation(200)
    found = distance_linkage(original, released, columns=NAMES)
    again = distance_linkage(original.iloc[order], released.iloc[order], columns=NAMES)
    np.testing.assert_allclose(found.probability[order], again.probability)


@pytest.mark.parametrize("scaling", ["standardised", "range", "mahalanobis", "ranks"])
def test_no_unit_of_measurement_matters_once_numbers_are_scaled(people_of, masked_of, scaling):
    original = people_of(200).drop(columns="wealth")
    released = original.assign(income=masked_of(original.assign(wealth=1.0))["income"])
    in_cents = [frame.assign(income=frame["income"] * 100 + 7) for frame in (original, released)]
    plain = distance_linkage(original, released, columns=["age", "income"], scaling=scaling)
    scaled = distance_linkage(*in_cents, columns=["age", "income"], scaling=scaling)
    np.testing.assert_allclose(plain.probability, scaled.probability)


def test_mahalanobis_is_free_of_turns_and_copes_with_a_singular_covariance():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(150, 2)) @ np.array([[3.0, 1.0], [0.0, 0.2]])
    y = x + 0.1 * rng.normal(size=x.shape)
    turn = np.array([[2.0, -1.0], [0.5, 4.0]])

    def linked(a, b):
        frames = [pd.DataFrame(side, columns=["u", "v"]) for side in (a, b)]
        return distance_linkage(*frames, columns=["u", "v"], scaling="mahalanobis").probability

    np.testing.assert_array_equal(linked(x, y), linked(x @ turn, y @ turn))
    doubled = [pd.DataFrame({"u": side[:, 0], "v": 2 * side[:, 0], "c": 1.0}) for side in (x, y)]
    alone = [pd.DataFrame({"u": side[:, 0]}) for side in (x, y)]
    np.testing.assert_array_equal(
        distance_linkage(*doubled, columns=["u", "v", "c"], scaling="mahalanobis").probability,
        distance_linkage(*alone, columns=["u"], scaling="mahalanobis").probability,
    )


def test_a_mahalanobis_distance_needs_every_value(people_of):
    with pytest.raises(Mistake, match="'wealth' has missing values"):
        distance_linkage(people_of(50), people_of(50), columns=["age", "wealth"], scaling="mahalanobis")


def test_what_is_suppressed_tells_nothing_and_what_is_missing_in_the_original_fits_nobody_well():
    original = pa.table({"x": [0.0, 1.0, None], "s": ["a", "b", "b"]})
    gone = pa.table({"x": pa.array([None, None, None], pa.float64()), "s": pa.array([None, None, None], pa.string())})
    assert distance_linkage(original, gone, columns=["x", "s"]).probability == pytest.approx([1 / 3] * 3)
    kept = pa.table({"x": [0.0, 1.0, 1.0], "s": ["a", "b", "b"]})
    assert distance_linkage(original, kept, columns=["x", "s"]).probability.tolist() == [1.0, 1.0, 0.0]


def test_minus_999_is_a_number_like_any_other():
    original = pa.table({"x": [-999.0, -998.0, 5.0]})
    assert distance_linkage(original, original, columns="x").percent == 100
    missing = pa.table({"x": [None, None, 5.0]})
    assert distance_linkage(missing, missing, columns="x").percent < 100


def test_a_recoded_key_is_searched_for_as_it_was_recoded():
    original = pa.table({"age": [21, 25, 33, 38], "sex": list("fmfm")})
    released = pa.table({"age": ["20-29", "20-29", "30-39", "30-39"], "sex": list("fmfm")})
    assert distance_linkage(original, released, columns=["age", "sex"]).percent == 100
    assert distance_linkage(original, released, columns=["age"]).percent == 50


def test_a_column_of_another_kind_that_is_no_recoding_is_a_mistake():
    original = pa.table({"age": [21, 21, 33]})
    released = pa.table({"age": ["young", "old", "old"]})
    with pytest.raises(Mistake, match="holds numbers in the original file, categories in the released"):
        distance_linkage(original, released, columns="age")


def test_a_sample_is_linked_by_its_identifier_among_all_original_records(people_of):
    original = people_of(200).assign(id=np.arange(200))
    sample = original.sample(50, random_state=1)
    found = distance_linkage(original, sample, columns=["income", "age"], identifier="id")
    assert (found.percent, len(found.probability), found.candidates) == (100, 50, 200)
    with pytest.raises(Mistake, match="200 records, the released one 50"):
        distance_linkage(original, sample, columns=["income", "age"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.assign(id=1), "missing or stands twice in the released"),
        (lambda f: f.assign(id=f["id"] + 900), "records of the released file have an unknown 'id'"),
        (lambda f: f.drop(columns="id"), "In the released file: No column called 'id'"),
        (lambda f: f.drop(columns="income"), "In the released file: No column called 'income'"),
        (lambda f: f.iloc[:0], "The released file has no records"),
    ],
)
def test_files_that_do_not_match_are_a_mistake(people_of, change, words):
    original = people_of(50).assign(id=np.arange(50))
    with pytest.raises(Mistake, match=words):
        distance_linkage(original, change(original), columns=["income", "age"], identifier="id")


def test_a_single_record_is_linked_and_a_constant_is_a_guess():
    one = pa.table({"x": [3.0]})
    assert distance_linkage(one, one, columns="x").percent == 100
    same = pa.table({"x": [3.0, 3.0, 3.0, 3.0]})
    found = distance_linkage(same, same, columns="x")
    assert found.percent == found.guessing == 25


def test_frames_of_all_kinds_and_what_was_released_give_the_same(people_of, masked_of):
    from confide.microdata import Rounding

    original = people_of(80)
    released = Rounding(base=100).protect(original, columns=["income"])
    frames = [(original, released), (pl.from_pandas(original), pl.from_pandas(released.frame))]
    frames.append((pa.Table.from_pandas(original), pa.table(released)))
    found = [distance_linkage(*pair, columns=["age", "income"]).percent for pair in frames]
    assert len(set(found)) == 1


def test_an_unknown_scaling_is_a_mistake():
    one = pa.table({"x": [3.0]})
    with pytest.raises(Mistake, match="Did you mean 'standardised'"):
        distance_linkage(one, one, columns="x", scaling="standardized")


def test_a_one_to_one_linkage_has_the_least_total_distance():
    rng = np.random.default_rng(7)
    for _ in range(20):
        x, y = rng.normal(size=5), rng.normal(size=5)
        best = min(permutations(range(5)), key=lambda p: sum((y - x[list(p)]) ** 2))
        found = one_to_one_linkage(pa.table({"x": x}), pa.table({"x": y}), columns="x", scaling="none")
        assert found.probability.tolist() == [float(best[i] == i) for i in range(5)]


def test_equal_records_share_one_to_one_links_too():
    original = pa.table({"x": [0.0, 0.0, 1.0, 5.0]})
    assert one_to_one_linkage(original, original, columns="x").probability.tolist() == [0.5, 0.5, 1.0, 1.0]
    grouped = pa.table({"x": [0.5, 0.5, 0.5, 5.0]})  # the three cannot be told apart, nor the first two of the original
    found = one_to_one_linkage(original, grouped, columns="x").probability
    assert found == pytest.approx([1 / 3, 1 / 3, 1 / 3, 1.0])


def test_expected_one_to_one_links_are_the_mean_over_all_best_assignments():
    original, released = np.array([0.0, 0.0, 1.0, 2.0]), np.array([0.4, 0.4, 0.4, 2.0])
    found = one_to_one_linkage(pa.table({"x": original}), pa.table({"x": released}), columns="x", scaling="none")
    ways = np.array(list(permutations(range(4))))
    cost = ((released - original[ways]) ** 2).sum(axis=1)
    best = ways[cost <= cost.min() + 1e-12]
    np.testing.assert_allclose(found.probability, (best == np.arange(4)).mean(axis=0))


def test_a_one_to_one_linkage_handles_missing_values_and_categories(people_of, masked_of):
    original = people_of(120)
    released = masked_of(original)
    near, best = (link(original, released, columns=NAMES).percent for link in (distance_linkage, one_to_one_linkage))
    assert best > near  # who must use every record once does better here
    assert one_to_one_linkage(original, original, columns=["income"]).percent == 100


def test_two_thousand_records_are_assigned():
    rng = np.random.default_rng(9)
    x = rng.normal(size=(2000, 5))
    frames = [pd.DataFrame(side, columns=list("abcde")) for side in (x, x + 0.3 * rng.normal(size=x.shape))]
    assert one_to_one_linkage(*frames, columns=list("abcde")).percent > 40


def test_a_one_to_one_linkage_of_too_many_records_says_so():
    many = pa.table({"x": np.arange(6001.0)})
    with pytest.raises(Mistake, match="up to 6,000 records; there are 6,001"):
        one_to_one_linkage(many, many, columns="x")
