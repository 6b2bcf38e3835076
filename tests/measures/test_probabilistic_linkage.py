"""Linkage by weight of evidence."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from confide.data.kdtree.static import distinct_rows
from confide.measures.pairs import paired
from confide.measures.risk import distance_linkage, k_anonymity, probabilistic_linkage
from confide.measures.risk.comparisons import HOPELESS, LEVELS, MISSING, UNLIKE, Comparison, better
from confide.measures.risk.mixture import STARTS, fitted, start
from confide.measures.risk.probabilistic import evidence
from confide.microdata import RankSwapping

DATA = Path(__file__).parents[3] / "shared" / "data"
NAMES = ["age", "sex", "region", "income", "wealth"]


def plain_level(a, b, nominal):
    if np.isnan(a) or np.isnan(b):
        return MISSING
    limits = [0.0] * UNLIKE if nominal else LEVELS[:-1]
    return next((level for level, limit in enumerate(limits) if abs(a - b) <= limit + 1e-15), UNLIKE)


def plain_levels(compared):
    """The level of every attribute of every pair."""
    return np.array(
        [
            [[plain_level(a, b, n) for a, b, n in zip(r, o, compared.nominal, strict=True)] for o in compared.original]
            for r in compared.released
        ]
    )


def plain_em(levels, unlinked, linked, share):
    """EM over all pairs, one after the other, with scipy's regression under an order."""
    for _ in range(200):
        total = np.zeros_like(linked)
        for pair in levels:
            product = np.prod([linked[k, x] / unlinked[k, x] if x < MISSING else 1.0 for k, x in enumerate(pair)])
            for k, x in enumerate(pair):
                if x < MISSING:
                    total[k, x] += share * product / (share * product + 1 - share)
        after = np.zeros_like(linked)
        for k, (row, u) in enumerate(zip(total, unlinked, strict=True)):
            seen, strict = u > 0, u * np.arange(len(LEVELS), 0, -1)
            falling = isotonic_regression(row[seen] / u[seen], weights=u[seen], increasing=False).x * u[seen]
            after[k, seen] = (1 - 1e-6) * falling / falling.sum() + 1e-6 * strict[seen] / strict.sum()
        done = np.abs(after - linked).max() < 1e-5
        linked = after
        if done:
            break
    return linked


def test_levels_patterns_and_probabilities_are_those_of_plain_loops(people_of, masked_of):
    original = people_of(30)
    compared = Comparison.of(paired(original, masked_of(original), NAMES))
    levels, unlinked = plain_levels(compared).reshape(-1, 5), compared.unlinked()
    shares = [[np.mean(part[part < MISSING] == x) for x in range(len(LEVELS))] for part in levels.T]
    np.testing.assert_allclose(unlinked, shares)
    weight = evidence(start(unlinked), unlinked)
    kept = levels[np.array([sum(weight[k, x] for k, x in enumerate(pair)) >= HOPELESS for pair in levels])]
    patterns = compared.patterns(weight)
    counted = {tuple(row): n for row, n in zip(patterns.levels.tolist(), patterns.count.tolist(), strict=True)}
    rows, times = np.unique(kept, axis=0, return_counts=True)
    assert counted == {tuple(row): n for row, n in zip(rows.tolist(), times.tolist(), strict=True)}
    ends = [plain_em(kept, unlinked, start(unlinked, fall), 1 / 30) for fall in STARTS]
    found = fitted(patterns, unlinked, share=1 / 30)
    assert min(np.abs(found - end).max() for end in ends) < 1e-9


def test_pairs_that_are_hopeless_at_first_sight_are_left_out():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(60, 12)), columns=[f"x{j}" for j in range(12)])
    compared = Comparison.of(paired(frame, frame, list(frame)))
    unlinked = compared.unlinked()
    counted = compared.patterns(evidence(start(unlinked), unlinked)).count.sum()
    assert 60 <= counted < 60 * 60 / 2


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_file_against_itself_is_linked_at_least_as_often_as_its_uniques(data):
    """Keys may depend on each other, be constant, skewed or missing; who is missing a key is like anybody in it."""
    rng = np.random.default_rng(data.draw(st.integers(0, 10_000)))
    rows, hidden = data.draw(st.integers(1, 60)), rng.integers(0, 4, 60)
    table = {}
    for place, kind in enumerate(data.draw(st.lists(st.sampled_from("cdnbm"), min_size=1, max_size=6))):
        values = {
            "c": rng.integers(0, 5, 60).astype(str),
            "d": hidden.astype(str),
            "n": np.round(np.exp(rng.normal(size=60)), 1),
            "b": (hidden + rng.integers(0, 2, 60)).astype(float),
            "m": np.where(rng.random(60) < 0.2, None, (hidden % 2).astype(str)),
        }[kind][:rows]
        table[f"{kind}{place}"] = pa.array(values, from_pandas=True)
    frame = pa.table(table)
    unique = k_anonymity(frame, keys=frame.column_names, blank="anything").frequency == 1
    found = probabilistic_linkage(frame, frame, columns=frame.column_names)
    assert (found.probability[unique] == 1).all()
    assert found.percent >= 100 * unique.mean() - 1e-9


@pytest.mark.reference
def test_the_test_file_of_the_ihsn_is_linked_with_itself_as_often_as_by_distance():
    """It was linked nowhere while EM could end with linked pairs that are less alike than any two."""
    keys = ["urbrur", "roof", "sex", "age"]
    people = pd.read_csv(DATA / "ihsn_testdata_sdcmicro.csv.gz").astype(dict.fromkeys(keys[:3], str))
    found = probabilistic_linkage(people, people, columns=keys)
    assert found.percent == pytest.approx(distance_linkage(people, people, columns=keys).percent)
    assert found.percent == pytest.approx(11.38, abs=0.005)  # to the digits of the figure in the report of the fault


def test_numbers_that_were_swapped_are_linked_by_how_near_they_are():
    """Each value is another's, so only fine levels tell: with four of them (0, 1, 5, 100 percent) one in five was linked."""
    rng = np.random.default_rng(1)
    hidden = rng.normal(size=(600, 3)) @ rng.normal(size=(3, 10)) + rng.normal(size=(600, 10))
    frame = pd.DataFrame(hidden, columns=[f"x{j}" for j in range(10)])
    swapped = RankSwapping(p=8).protect(frame, columns=list(frame), teaching_seed=3).frame
    assert probabilistic_linkage(frame, swapped, columns=list(frame)).percent > 80


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_links_are_those_of_the_heaviest_pair_found_by_comparing_all(seed):
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1, 25))
    frame = pd.DataFrame({"x": rng.integers(0, 6, rows) * 1.0, "s": rng.choice(["a", "b", None], rows)})
    masked = frame.assign(x=np.where(rng.random(rows) < 0.3, np.nan, frame["x"] + rng.integers(-1, 2, rows)))
    pair = paired(frame, masked, ["x", "s"])
    compared = Comparison.of(pair)
    weight = np.column_stack([rng.normal(size=(2, len(LEVELS))).round(1), np.zeros(2)])
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
    linked, unlinked = np.zeros((2, 1, len(LEVELS)))
    linked[0, [0, -1]], unlinked[0, [0, -1]] = (0.8, 0.2), (0.2, 0.8)
    assert evidence(linked, unlinked).tolist() == [[2.0, *[0.0] * (len(LEVELS) - 2), -2.0, 0.0]]


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


def test_any_number_of_columns_can_be_compared():
    table = pa.table({f"x{i}": [1.0, 2.0, 5.0] for i in range(40)})
    assert probabilistic_linkage(table, table, columns=table.column_names).percent == 100
