"""Rank swapping and data swapping: who changes places with whom."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.errors import Mistake
from confide.microdata import DataSwapping, RankSwapping
from confide.microdata.search.exchange import pairs_in_classes, pairs_near


def plain_pairs(size: int, width: int, rng: np.random.Generator) -> list[int]:
    """Each free rank takes a free one above it within reach: written down as it is said."""
    partner = [-1] * size
    for i in range(size):
        if partner[i] < 0:
            free = [j for j in range(i + 1, min(size - 1, i + width) + 1) if partner[j] < 0]
            j = int(rng.choice(free)) if free else i
            partner[i], partner[j] = j, i
    return partner


@settings(deadline=None)
@given(st.integers(0, 60), st.integers(1, 70), st.integers(0, 10**6))
def test_pairs_are_mutual_and_within_reach(size: int, width: int, seed: int) -> None:
    partner = pairs_near(size, width, np.random.default_rng(seed))
    assert np.array_equal(partner[partner], np.arange(size))
    assert np.all(np.abs(partner - np.arange(size)) <= width)
    alone = np.flatnonzero(partner == np.arange(size))
    assert np.all(np.diff(alone) > width)  # two that are left within reach would have found each other


def test_partners_are_drawn_as_the_plain_procedure_draws_them() -> None:
    times, size, width = 4000, 12, 4
    counts = np.zeros((2, size, size))
    for seed in range(times):
        for which, pairs in enumerate((pairs_near, plain_pairs)):
            partner = np.asarray(pairs(size, width, np.random.default_rng([which, seed])))
            counts[which, np.arange(size), partner] += 1
    # the difference of two counts of chance p has variance 2 times p (1 - p); five standard errors
    share = counts.mean(axis=0) / times
    assert np.all(np.abs(counts[0] - counts[1]) <= 5 * np.sqrt(2 * times * share * (1 - share)) + 1e-9)
    assert np.mean(share > 0) > 0.3


def test_values_stay_and_ranks_move_at_most_p_percent() -> None:
    rng = np.random.default_rng(1)
    x = rng.permutation(1000).astype(float)
    for p in (1, 5, 20):
        y = RankSwapping(p=p).protect(pa.table({"x": x}), columns="x", teaching_seed=1).frame["x"].to_numpy()
        assert np.array_equal(np.sort(y), np.sort(x))
        assert np.abs(y - x).max() <= 10 * p and np.mean(y != x) > 0.9
        # Ranks p percent away at most cost a correlation of 6 (p/100)^2 at most: Spearman's formula. Nine tenths guard.
        assert np.corrcoef(x, y)[0, 1] > 1 - (p / 100) ** 2 * 6


def test_equal_values_missing_values_and_order_of_categories() -> None:
    grade = pd.CategoricalDtype(["low", "middle", "high"], ordered=True)
    values = pd.Series(["low", None, "high", "middle", "low", "middle"] * 50, dtype=grade)
    after = RankSwapping(p=5).protect(pd.DataFrame({"x": values}), columns="x", teaching_seed=1).frame["x"]
    assert after.isna().equals(values.isna()) and after.value_counts().equals(values.value_counts())
    moved = np.abs(after.cat.codes - values.cat.codes)
    assert moved.max() == 1 and moved.sum() > 0  # 5 % of 250 never leads from low to high
    with pytest.raises(Mistake, match="'x' has categories without an order"):
        RankSwapping().protect(pd.DataFrame({"x": values.astype(str)}), columns="x", teaching_seed=1)


def test_one_value_stays_and_two_change_places() -> None:
    assert RankSwapping().protect(pa.table({"x": [7]}), columns="x", teaching_seed=1).frame["x"].to_pylist() == [7]
    assert RankSwapping().protect(pa.table({"x": [7, 8]}), columns="x", teaching_seed=1).frame["x"].to_pylist() == [
        8,
        7,
    ]


def test_large_files_are_swapped_without_a_loop_over_records(calls_of) -> None:
    frame = pa.table({"x": np.random.default_rng(1).standard_normal(200_000)})
    few, many = (
        calls_of(lambda n=n: RankSwapping().protect(frame.slice(0, n), columns="x", teaching_seed=1))
        for n in (1_000, 200_000)
    )
    assert many < 2 * few


# ---- data swapping


@settings(deadline=None)
@given(st.lists(st.integers(0, 4), max_size=60), st.floats(0.01, 1), st.integers(0, 10**6))
def test_pairs_agree_in_class(classes: list[int], share: float, seed: int) -> None:
    codes = np.array(classes, np.int64)
    partner = pairs_in_classes(codes, share, np.random.default_rng(seed))
    assert np.array_equal(partner[partner], np.arange(len(codes))) and np.array_equal(codes[partner], codes)
    for one in set(classes):
        size = classes.count(one)
        moved = int(np.sum((partner != np.arange(len(codes))) & (codes == one)))
        assert abs(moved - share * size) <= 2


def test_tables_of_matching_and_masked_columns_stay() -> None:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({name: rng.integers(0, 5, 2000) for name in ("sex", "age", "town", "income", "job")})
    released = DataSwapping(match=["sex", "age"], share=0.3).protect(frame, columns=["income", "job"], teaching_seed=1)
    after = released.frame
    kept = ["sex", "age", "income", "job"]
    assert after.value_counts(kept).sort_index().equals(frame.value_counts(kept).sort_index())
    assert (
        not after.value_counts(["town", "income"])
        .sort_index()
        .equals(frame.value_counts(["town", "income"]).sort_index())
    )
    # records drawn: on average 600, within one pair for each of the 25 classes
    assert abs(released.report["swapped"] - 600) <= 50
    changed = (after[["income", "job"]] != frame[["income", "job"]]).any(axis=1).sum()
    assert changed <= released.report["swapped"]


def test_every_record_has_the_same_chance_to_be_swapped() -> None:
    drawn = np.zeros(21)
    for seed in range(1000):
        partner = pairs_in_classes(np.zeros(21, np.int64), 0.3, np.random.default_rng(seed))
        drawn += partner != np.arange(21)
    assert np.all(np.abs(drawn - 300) < 5 * np.sqrt(1000 * 0.3 * 0.7) + 5)


def test_records_do_not_match_in_what_is_masked_or_unknown() -> None:
    frame = pa.table({"a": [1, 2], "b": [1, 2]})
    with pytest.raises(Mistake, match="'a' is masked"):
        DataSwapping(match=["a"]).protect(frame, columns="a", teaching_seed=1)
    with pytest.raises(Mistake, match="No column called 'c'"):
        DataSwapping(match=["c"]).protect(frame, columns="a", teaching_seed=1)
