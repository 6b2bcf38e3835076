"""Minimal sample uniques and their scores."""

from itertools import combinations
from math import prod

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.errors import Mistake
from confide.measures.risk import suda

KEYS = ["residence", "gender", "education", "labour"]


def plain_minimal(rows, size):
    """Every subset of keys of every record, smallest first: unique on it, and on no part of it."""
    keys = len(rows[0])
    found = [[] for _ in rows]
    for s in range(1, size + 1):
        for chosen in combinations(range(keys), s):
            seen = [tuple(row[k] for k in chosen) for row in rows]
            for i, one in enumerate(seen):
                part_found = any(set(part) <= set(chosen) for part in found[i])
                if None not in one and seen.count(one) == 1 and not part_found:
                    found[i].append(chosen)
    return found


cells = st.one_of(st.none(), st.integers(0, 2))
files = st.integers(1, 4).flatmap(lambda k: st.lists(st.tuples(*[cells] * k), min_size=1, max_size=12))


@settings(max_examples=150)
@given(files, st.integers(1, 4))
def test_minimal_uniques_and_scores_are_those_of_trying_every_set(rows, size):
    keys = len(rows[0])
    size = min(size, keys)
    file = pa.table({f"k{i}": pa.array([row[i] for row in rows], pa.int64()) for i in range(keys)})
    found = suda(file, keys=file.column_names, size=size)
    expected = plain_minimal(rows, size)
    counts = [[sum(len(m) == s for m in each) for s in range(1, size + 1)] for each in expected]
    assert found.minimal.tolist() == counts

    def points(s):
        return prod(keys - i for i in range(s, min(size, keys - 1) + 1))

    assert found.score == pytest.approx([sum(points(len(m)) for m in each) for each in expected])
    total = sum(points(len(m)) for each in expected for m in each)
    share = [
        sum(points(len(m)) for each in expected for m in each if k in m) / total if total else 0 for k in range(keys)
    ]
    assert found.contribution == pytest.approx(share)
    assert ((found.dis >= 0) & (found.dis <= 1)).all() and ((found.dis > 0) == (found.score > 0)).all()


def test_the_guides_scores_are_found(guide):
    """Benschop et al., table 4.5: scores with sets of up to 3 keys."""
    found = suda(guide, keys=KEYS, size=3)
    assert found.score.tolist() == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]
    assert found.minimal[4].tolist() == [1, 3, 0]


def test_the_guides_dis_scores_are_found(guide):
    """Benschop et al., table 4.5: DIS-SUDA at a sampling fraction of 1 percent, by the scores of the first program."""
    sampled = guide.assign(w=100.0)
    found = suda(sampled, keys=KEYS, weight="w", scoring="ihsn")
    assert found.dis.round(4).tolist() == [0, 0, 0.0051, 0, 0.0107, 0, 0.0051, 0.0088, 0, 0]


def test_five_thousand_records_with_ten_keys_are_scored():
    rng = np.random.default_rng(1)
    file = pd.DataFrame({f"k{i}": rng.zipf(1.6, 5000).clip(max=3 + i) for i in range(10)})
    assert suda(file, keys=list(file)).percent > 50


def test_a_file_in_which_all_are_alike_has_no_special_uniques():
    found = suda(pa.table({"a": [1, 1], "b": [2, 2]}), keys=["a", "b"])
    assert found.score.tolist() == found.dis.tolist() == [0, 0] and found.percent == 0
    assert found.contribution.tolist() == [0, 0]


def test_one_record_is_unique_on_every_key():
    found = suda(pa.table({"a": [1], "b": [2]}), keys=["a", "b"])
    assert found.minimal.tolist() == [[2, 0]]


@pytest.mark.parametrize("size", [0, 5, -1])
def test_a_size_that_no_set_has_is_a_mistake(guide, size):
    with pytest.raises(Mistake, match="from 1 to 4"):
        suda(guide, keys=KEYS, size=size)


def test_too_many_sets_are_a_mistake():
    file = pa.table({f"k{i}": np.arange(1000) for i in range(40)})
    with pytest.raises(Mistake, match="too many combinations"):
        suda(file, keys=file.column_names)


def test_other_scorings_are_a_mistake(guide):
    with pytest.raises(Mistake, match="'elliot' or 'ihsn'"):
        suda(guide, keys=KEYS, scoring="mine")
