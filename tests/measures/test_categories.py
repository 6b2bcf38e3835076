"""How much categories changed."""

from collections import Counter
from itertools import combinations
from math import log2

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import Mistake
from confide.measures.utility import changes, entropy_loss, pram_entropy, table_distance

values = st.one_of(st.none(), st.sampled_from("abc"))
files = st.lists(st.tuples(values, values, values, values), min_size=1, max_size=25)


def tables(rows):
    sides = [
        {"x": [r[0] for r in rows], "y": [r[1] for r in rows]},
        {"x": [r[2] for r in rows], "y": [r[3] for r in rows]},
    ]
    return [pa.table({name: pa.array(column, pa.string()) for name, column in side.items()}) for side in sides]


@given(files)
def test_changes_are_those_of_comparing_one_by_one(rows):
    original, released = tables(rows)
    found = changes(original, released, columns=["x", "y"])
    for place in (0, 1):
        pairs = [(row[place], row[place + 2]) for row in rows]
        suppressed = np.mean([a is not None and b is None for a, b in pairs])
        changed = np.mean([a is not None and b is not None and a != b for a, b in pairs])
        distance = np.mean([a != b for a, b in pairs])
        assert found.suppressed[place] == pytest.approx(100 * suppressed)
        assert found.changed[place] == pytest.approx(100 * changed)
        assert found.distance[place] == pytest.approx(distance)
    assert 0 <= found.percent <= 100
    assert changes(original, original, columns=["x", "y"]).percent == 0


def test_ordered_categories_change_by_their_ranks():
    ranks = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    original = pd.DataFrame({"x": pd.Series(["low", "low", "high", "mid"], dtype=ranks)})
    released = pd.DataFrame({"x": pd.Series(["mid", "high", "high", None], dtype=ranks)})
    assert changes(original, released, columns="x").percent == pytest.approx(100 * (0.5 + 1 + 0 + 1) / 4)


def test_changes_may_be_weighted_and_numbers_compared():
    original, released = pa.table({"n": [1, 2], "w": [3.0, 1.0]}), pa.table({"n": [1, 5], "w": [3.0, 1.0]})
    assert changes(original, released, columns="n", weight="w").percent == 25


@given(files, st.integers(1, 3))
def test_tables_differ_by_half_the_sum_over_all_cells_of_all_tables(rows, ways):
    original, released = tables(rows)
    found = table_distance(original, released, columns=["x", "y"], ways=ways)
    gaps = []
    for w in range(1, min(2, ways) + 1):
        for chosen in combinations((0, 1), w):
            before = Counter(tuple(row[c] for c in chosen) for row in rows)
            after = Counter(tuple(row[c + 2] for c in chosen) for row in rows)
            gaps.append(sum(abs(before[cell] - after[cell]) for cell in before | after) / 2 / len(rows))
    assert found == pytest.approx(100 * np.mean(gaps))
    assert 0 <= found <= 100
    assert table_distance(original, original, columns=["x", "y"], ways=ways) == 0


def test_tables_of_files_of_other_sizes_and_weights_are_compared_by_shares():
    original, released = pa.table({"x": list("ab"), "w": [3.0, 1.0]}), pa.table({"x": list("aaab"), "w": [1.0] * 4})
    assert table_distance(original, released, columns="x", weight="w") == 0
    assert table_distance(original, released, columns="x") == 25


@given(files)
def test_entropy_lost_is_that_of_the_definition(rows):
    original, released = tables(rows)
    found = entropy_loss(original, released, columns=["x", "y"])
    for place in (0, 1):
        pairs = Counter((row[place], row[place + 2]) for row in rows)
        after = Counter(row[place + 2] for row in rows)
        bits = -sum(n / len(rows) * log2(n / after[b]) for (_, b), n in pairs.items())
        whole = -sum(n / len(rows) * log2(n / len(rows)) for n in Counter(row[place] for row in rows).values())
        assert found.bits[place] == pytest.approx(bits, abs=1e-9)
        assert found.share[place] == pytest.approx(100 * bits / whole if whole else 0, abs=1e-6)
    assert ((found.share >= 0) & (found.share <= 100)).all()
    assert entropy_loss(original, original, columns=["x", "y"]).percent == pytest.approx(0, abs=1e-6)


def test_recoding_to_other_kinds_of_values_loses_what_it_merges():
    original = pa.table({"age": [21, 25, 33, 38]})
    released = pa.table({"age": ["20s", "20s", "30s", "30s"]})
    assert entropy_loss(original, released, columns="age").bits.tolist() == [1.0]
    gone = pa.table({"age": pa.array([None] * 4, pa.string())})
    assert entropy_loss(original, gone, columns="age").percent == 100


def test_the_entropy_of_a_pram_matrix_is_what_drawing_from_it_loses():
    """60,000 draws: an entropy of about a bit has a standard error near 0.003, and the limit is three of them."""
    rng = np.random.default_rng(1)
    matrix = np.array([[0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.0, 0.2, 0.8]])
    before = rng.choice(3, 60_000, p=[0.5, 0.3, 0.2])
    after = np.array([rng.choice(3, size=(before == c).sum(), p=matrix[c]) for c in range(3)], dtype=object)
    drawn = np.empty(60_000, int)
    for c in range(3):
        drawn[before == c] = after[c]
    found = entropy_loss(pa.table({"x": before.astype(str)}), pa.table({"x": drawn.astype(str)}), columns="x").bits[0]
    assert pram_entropy(np.bincount(before), matrix) == pytest.approx(found, abs=0.01)


@pytest.mark.parametrize(
    ("frequency", "matrix"),
    [
        ([1, 1], [[1.0, 0.0]]),
        ([1, 1], [[0.5, 0.4], [0, 1]]),
        ([1, 1], [[1.5, -0.5], [0, 1]]),
        ([0, 0], [[1, 0], [0, 1]]),
    ],
)
def test_a_matrix_that_is_none_is_a_mistake(frequency, matrix):
    with pytest.raises(Mistake):
        pram_entropy(frequency, matrix)


def test_tables_of_no_columns_are_a_mistake():
    with pytest.raises(Mistake, match="1 column or more"):
        table_distance(pa.table({"x": ["a"]}), pa.table({"x": ["a"]}), columns="x", ways=0)
