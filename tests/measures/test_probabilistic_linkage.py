"""Linkage by weight of evidence."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.data.kdtree.static import distinct_rows
from confide.errors import Mistake
from confide.measures.pairs import paired
from confide.measures.risk import probabilistic_linkage
from confide.measures.risk.comparisons import LEVELS, MISSING, Comparison, better
from confide.measures.risk.probabilistic import estimated, evidence

NAMES = ["age", "sex", "region", "income", "wealth"]


def plain_level(a, b, nominal):
    if np.isnan(a) or np.isnan(b):
        return MISSING
    gap = abs(a - b)
    if gap <= 1e-15:
        return 0
    return 3 if nominal or gap > 0.05 + 1e-15 else 1 if gap <= 0.01 + 1e-15 else 2


def plain_levels(compared):
    """The level of every attribute of every pair."""
    return np.array(
        [
            [[plain_level(a, b, n) for a, b, n in zip(r, o, compared.nominal, strict=True)] for o in compared.original]
            for r in compared.released
        ]
    )


def plain_em(levels, unlinked, share):
    """EM over all pairs, one after the other; the same start, the same floor."""
    linked = np.where(unlinked > 0, np.array([0.6, 0.2, 0.1, 0.1]), 0.0)
    linked = linked / linked.sum(axis=1)[:, None]
    pairs = levels.reshape(-1, levels.shape[2])
    for _ in range(200):
        total = np.zeros_like(linked)
        for pair in pairs:
            true = np.prod([linked[k, x] if x < MISSING else 1.0 for k, x in enumerate(pair)])
            false = np.prod([unlinked[k, x] if x < MISSING else 1.0 for k, x in enumerate(pair)])
            weight = share * true / (share * true + (1 - share) * false)
            for k, x in enumerate(pair):
                if x < MISSING:
                    total[k, x] += weight
        after = np.where(unlinked > 0, np.maximum(total / total.sum(axis=1)[:, None], 1e-6), 0.0)
        after /= after.sum(axis=1)[:, None]
        done = np.abs(after - linked).max() < 1e-7
        linked = after
        if done:
            break
    return linked


def test_levels_patterns_and_probabilities_are_those_of_plain_loops(people_of, masked_of):
    original = people_of(30)
    compared = Comparison.of(paired(original, masked_of(original), NAMES))
    levels = plain_levels(compared)
    shares = [[np.mean(part[part < MISSING] == x) for x in range(len(LEVELS))] for part in levels.reshape(-1, 5).T]
    np.testing.assert_allclose(compared.unlinked(), shares)
    patterns = compared.patterns()
    counted = {tuple(row): n for row, n in zip(patterns.levels.tolist(), patterns.count.tolist(), strict=True)}
    rows, times = np.unique(levels.reshape(-1, 5), axis=0, return_counts=True)
    assert counted == {tuple(row): n for row, n in zip(rows.tolist(), times.tolist(), strict=True)}
    np.testing.assert_allclose(
        estimated(patterns, compared.unlinked(), share=1 / 30), plain_em(levels, compared.unlinked(), 1 / 30), atol=1e-9
    )


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_links_are_those_of_the_heaviest_pair_found_by_comparing_all(seed):
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1, 25))
    frame = pd.DataFrame({"x": rng.integers(0, 6, rows) * 1.0, "s": rng.choice(["a", "b", None], rows)})
    masked = frame.assign(x=np.where(rng.random(rows) < 0.3, np.nan, frame["x"] + rng.integers(-1, 2, rows)))
    pair = paired(frame, masked, ["x", "s"])
    compared = Comparison.of(pair)
    weight = np.column_stack([rng.normal(size=(2, 4)).round(1), np.zeros(2)])
    first, _, count = distinct_rows(compared.original)
    found = better(compared, pair.truth, weight, (first, count))
    total = np.array([[sum(weight[k, x] for k, x in enumerate(one)) for one in row] for row in plain_levels(compared)])
    for i in range(rows):
        heavier, tied = (total[i] > total[i, i] + 1e-9).any(), (np.abs(total[i] - total[i, i]) <= 1e-9).sum()
        assert found[i] == (0 if heavier else tied)


def test_the_intruder_learns_how_the_file_was_masked(people_of):
    """Of two keys left as they were nine times in ten, EM finds the nine tenths without being told who is who."""
    rng = np.random.default_rng(4)
    original = pd.DataFrame({name: rng.integers(0, 40, 1500).astype(str) for name in "abcd"})
    released = original.copy()
    for name in released:
        swapped = rng.random(1500) < 0.1
        released.loc[swapped, name] = rng.integers(0, 40, swapped.sum()).astype(str)
    found = probabilistic_linkage(original, released, columns=list("abcd"))
    # 0.9 and a fortieth of a tenth, within 4 standard errors of a share of 1,500.
    np.testing.assert_allclose(found.linked[:, 0], 0.9025, atol=0.03)
    assert found.percent > 90


def test_evidence_of_a_level_that_never_occurs_is_nothing():
    weight = evidence(np.array([[0.8, 0.0, 0.0, 0.2]]), np.array([[0.2, 0.0, 0.0, 0.8]]))
    assert weight.tolist() == [[2.0, 0.0, 0.0, -2.0, 0.0]]


def test_unchanged_files_are_linked_and_equal_records_shared(people_of):
    original = people_of(200)
    assert probabilistic_linkage(original, original, columns=NAMES).percent == pytest.approx(100)
    twice = pd.concat([original, original])
    assert probabilistic_linkage(twice, twice, columns=NAMES).percent == pytest.approx(50)


def test_links_do_not_depend_on_the_order_of_records_or_columns(people_of, masked_of):
    original = people_of(150)
    released = masked_of(original)
    order = np.random.default_rng(1).permutation(150)
    found = probabilistic_linkage(original, released, columns=NAMES)
    again = probabilistic_linkage(original.iloc[order], released.iloc[order], columns=NAMES[::-1])
    np.testing.assert_allclose(found.probability[order], again.probability)


@pytest.mark.parametrize("frame", [{"x": [1.0]}, {"x": [2.0, 2.0]}, {"s": ["a", "b"]}, {"x": [None, 1.0]}])
def test_tiny_constant_and_empty_columns_give_a_probability(frame):
    table = pa.table(frame)
    found = probabilistic_linkage(table, table, columns=list(frame))
    assert ((found.probability >= 0) & (found.probability <= 1)).all()
    assert found.percent >= found.guessing - 1e-9


def test_a_column_all_missing_says_nothing():
    table = pa.table({"x": pa.array([None, None, None], pa.float64())})
    assert probabilistic_linkage(table, table, columns="x").percent == pytest.approx(100 / 3)


def test_more_columns_than_patterns_can_hold_are_a_mistake():
    table = pa.table({f"x{i}": [1.0, 2.0] for i in range(28)})
    with pytest.raises(Mistake, match="up to 27 columns"):
        probabilistic_linkage(table, table, columns=table.column_names)
