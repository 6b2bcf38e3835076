"""k-anonymity, l-diversity and t-closeness."""

from collections import Counter
from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

from confide.errors import Mistake
from confide.measures.risk import k_anonymity, l_diversity, t_closeness

values = st.one_of(st.none(), st.sampled_from("abc"))
files = st.lists(st.tuples(values, values, values), min_size=1, max_size=30).map(
    lambda rows: pa.table(
        {name: pa.array(column, pa.string()) for name, column in zip("xyz", zip(*rows, strict=True), strict=True)}
    )
)


@given(files)
def test_classes_are_those_of_counting_with_blanks_as_a_category(file):
    rows = list(zip(*(file[name].to_pylist() for name in "xyz"), strict=True))
    found = k_anonymity(file, keys=["x", "y", "z"])
    counted = Counter(rows)
    assert found.frequency.tolist() == [counted[row] for row in rows]
    assert found.k == min(counted.values())
    assert found.unique == pytest.approx(100 * sum(n == 1 for n in counted.values()) / len(rows))


@given(files)
def test_a_blank_may_also_match_anything(file):
    rows = list(zip(*(file[name].to_pylist() for name in "xyz"), strict=True))
    expected = [
        sum(all(a is None or b is None or a == b for a, b in zip(r, s, strict=True)) for s in rows) for r in rows
    ]
    loose = k_anonymity(file, keys=["x", "y", "z"], blank="anything")
    assert loose.frequency.tolist() == expected
    assert loose.k >= k_anonymity(file, keys=["x", "y", "z"]).k


def test_the_guides_classes_and_diversity_are_found(guide):
    """Benschop et al., tables 4.1 to 4.3: sample frequencies, 2- and 3-anonymity, distinct l-diversity."""
    keys = ["residence", "gender", "education", "labour"]
    found = k_anonymity(guide, keys=keys)
    assert found.frequency.tolist() == [2, 2, 1, 2, 1, 2, 1, 1, 2, 2]
    assert (found.below(2), found.below(3)) == (40, 100)
    assert l_diversity(guide, keys=keys, confidential="health").distinct.tolist() == [1, 1, 1, 2, 1, 2, 1, 1, 2, 2]


def test_the_guides_missing_values_are_read_as_it_reads_them():
    """Benschop et al., table 4.2: a missing value matches any."""
    file = pa.table({"g": ["m"] * 3, "e": ["complete", "incomplete", None], "l": ["e"] * 3})
    assert k_anonymity(file, keys=["g", "e", "l"], blank="anything").frequency.tolist() == [2, 2, 3]
    assert k_anonymity(file, keys=["g", "e", "l"]).frequency.tolist() == [1, 1, 1]


def test_entropy_diversity_is_that_of_the_definition():
    file = pa.table({"k": list("aaaab"), "c": ["x", "x", "y", "z", "x"]})
    found = l_diversity(file, keys="k", confidential="c")
    p = np.array([0.5, 0.25, 0.25])
    assert found.entropy[0] == pytest.approx(np.exp(-(p * np.log(p)).sum()))
    assert found.entropy_level == pytest.approx(1) and found.level == 1


def test_a_missing_confidential_value_makes_no_class_more_diverse():
    file = pa.table({"k": list("aabb"), "c": ["x", None, None, None]})
    found = l_diversity(file, keys="k", confidential="c")
    assert found.distinct.tolist() == [1, 1, np.inf, np.inf]
    assert found.disclosed == 50


def test_the_distances_of_the_papers_salaries_are_found():
    """Li, Li and Venkatasubramanian (2007), section 4.2: 0.375 and 0.167 for salaries 3k to 11k."""
    salary = [3, 4, 5, 6, 11, 8, 7, 9, 10]
    groups = [1, 1, 1, 2, 2, 2, 3, 3, 3]
    file = pa.table({"group": [str(g) for g in groups], "salary": salary})
    found = t_closeness(file, keys="group", confidential="salary").distance
    assert found[0] == pytest.approx(0.375)
    assert found[3] == pytest.approx(1 / 6)
    assert t_closeness(file, keys="group", confidential="salary").level == pytest.approx(0.375)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 8)), min_size=1, max_size=40))
def test_distances_of_numbers_are_earth_movers_distances_of_ranks(rows):
    file = pa.table({"k": [str(k) for k, _ in rows], "c": [float(c) ** 2 for _, c in rows]})
    found = t_closeness(file, keys="k", confidential="c").distance
    distinct = sorted({c for _, c in rows})
    if len(distinct) == 1:
        assert (found == 0).all()
        return
    rank = [distinct.index(c) / (len(distinct) - 1) for _, c in rows]
    for i, (k, _) in enumerate(rows):
        own = [r for (other, _), r in zip(rows, rank, strict=True) if other == k]
        assert found[i] == pytest.approx(wasserstein_distance(own, rank))


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("xyz")), min_size=1, max_size=40))
def test_distances_of_categories_are_half_the_sum_of_differences(rows):
    file = pa.table({"k": [str(k) for k, _ in rows], "c": [c for _, c in rows]})
    found = t_closeness(file, keys="k", confidential="c").distance
    for i, (k, _) in enumerate(rows):
        own = [c for other, c in rows if other == k]
        gaps = [abs(own.count(c) / len(own) - sum(v == c for _, v in rows) / len(rows)) for c in "xyz"]
        assert found[i] == pytest.approx(sum(gaps) / 2)
        assert 0 <= found[i] <= 1 + 1e-12


def test_ordered_categories_are_as_far_apart_as_their_declared_ranks():
    ordered = pd.Categorical(["low", "mid", "high", "high"], categories=["low", "mid", "high"], ordered=True)
    file = pd.DataFrame({"k": list("abcc"), "c": ordered})
    found = t_closeness(file, keys="k", confidential="c").distance
    assert found[0] == pytest.approx(wasserstein_distance([0], [0, 0.5, 1, 1]))


def test_numbers_true_or_false_and_dates_are_keys_too():
    stamps = pd.to_datetime(["2020-01-01", "2020-01-01", "2021-01-01", "2021-01-01"])
    file = pd.DataFrame({"d": stamps, "b": [True, True, False, False], "x": [1.5, 1.5, np.nan, np.nan]})
    assert k_anonymity(file, keys=["d", "b", "x"]).k == 2


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ([], "Name at least one column as keys"),
        (["a", "a"], "named twice"),
        (["aa"], "Did you mean 'a'"),
        (["l"], "holds list"),
    ],
)
def test_keys_that_cannot_be_are_a_mistake(keys, words):
    with pytest.raises(Mistake, match=words):
        k_anonymity(pa.table({"a": [1], "l": [[1]]}), keys=keys)


def test_a_key_is_not_confidential_and_a_file_has_records():
    file = pa.table({"a": [1]})
    for measure, empty in product((l_diversity, t_closeness), (False, True)):
        with pytest.raises(Mistake, match="no records" if empty else "is a key"):
            measure(file.slice(0, 0) if empty else file, keys="a", confidential="a")


def test_keys_of_a_million_combinations_do_not_overflow():
    rng = np.random.default_rng(1)
    file = pd.DataFrame({f"k{i}": rng.integers(0, 10**9, 500) for i in range(12)})
    assert k_anonymity(pd.concat([file, file]), keys=list(file)).frequency.tolist() == [2] * 1000
