"""The tree of boxes finds what comparing everything with everything finds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.data.kdtree.static import apart, build, close, distinct_rows, links, nearest, within


def plainly_apart(a, b, nominal):
    """The squared distance of two records, one attribute after the other."""
    total = 0.0
    for x, y, category in zip(a, b, nominal, strict=True):
        if np.isnan(x):
            continue
        total += 1.0 if np.isnan(y) else float(x != y) if category else (x - y) ** 2
    return total


def points(draw, rows, nominal):
    columns = []
    for category in nominal:
        values = st.integers(0, 3) if category else st.sampled_from([-2.5, -1.0, 0.0, 0.1, 0.5, 1.0, 3.0])
        columns.append(draw(st.lists(st.one_of(values, st.just(np.nan)), min_size=rows, max_size=rows)))
    return np.array(columns, np.float64).T.reshape(rows, len(nominal))


@st.composite
def clouds(draw):
    nominal = np.array(draw(st.lists(st.booleans(), min_size=1, max_size=4)))
    return points(draw, draw(st.integers(1, 60)), nominal), points(draw, 8, nominal), nominal


@given(clouds())
def test_distances_neighbours_and_ties_are_those_of_a_full_search(cloud):
    records, asked, nominal = cloud
    tree = build(records, nominal)
    far = np.array([[plainly_apart(a, b, nominal) for b in records] for a in asked])
    least = nearest(asked, tree)
    np.testing.assert_allclose(least, far.min(axis=1), atol=1e-12)
    at, found = within(asked, tree, close(least, tree))
    for i in range(len(asked)):
        assert sorted(found[at[i] : at[i + 1]]) == np.flatnonzero(far[i] <= far[i].min() + 1e-9).tolist()


@given(clouds(), st.integers(0, 59))
def test_a_link_counts_ties_and_is_broken_by_anyone_closer(cloud, truth):
    records, asked, nominal = cloud
    truth = truth % len(records)
    first, _, count = distinct_rows(records)
    own = np.repeat(records[truth][None, :], len(asked), axis=0)
    found = links(asked, build(records[first], nominal, count), apart(asked, own, nominal))
    for i, a in enumerate(asked):
        far = np.array([plainly_apart(a, b, nominal) for b in records])
        closer, tied = (far < far[truth] - 1e-9).any(), (np.abs(far - far[truth]) <= 1e-9).sum()
        assert found[i] == (0 if closer else tied)


@given(clouds())
def test_distinct_rows_are_counted_with_missing_values_equal(cloud):
    records, _, _ = cloud
    first, kind, count = distinct_rows(records)
    np.testing.assert_array_equal(records[first][kind], records)
    assert count.sum() == len(records)
    seen = {tuple("?" if np.isnan(x) else x for x in row) for row in records}
    assert len(first) == len(seen)


@pytest.mark.parametrize("dimensions", [1, 3, 8])
def test_a_tree_of_many_levels_finds_the_same_as_scipy(dimensions):
    from scipy.spatial import cKDTree

    rng = np.random.default_rng(dimensions)
    records, asked = rng.normal(size=(3000, dimensions)), rng.normal(size=(200, dimensions))
    tree = build(records, np.zeros(dimensions, bool))
    expected = cKDTree(records).query(asked)[0] ** 2
    np.testing.assert_allclose(nearest(asked, tree), expected, rtol=1e-12)


def test_distances_are_of_double_precision():
    """In single precision 16777216 and 16777217 are the same."""
    records = np.array([[16777216.0], [16777217.0]])
    far = nearest(np.array([[16777217.0]]), build(records, np.zeros(1, bool)))
    assert far.tolist() == [0.0]
    tied = links(records, build(records, np.zeros(1, bool)), np.zeros(2))
    assert tied.tolist() == [1, 1]


def test_no_attribute_at_all_ties_with_everybody():
    nothing = np.empty((5, 0))
    assert links(nothing, build(nothing, np.zeros(0, bool)), np.zeros(5)).tolist() == [5] * 5
