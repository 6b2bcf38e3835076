"""Algorithm 5, mended: what each user gives to the log of a cluster."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide import ReleaseKey
from confide.querylogs import Taxonomy, classify, log_utility
from confide.querylogs.centroid import centroid_lines, quotas
from confide.querylogs.microaggregation import summarised
from logged import made

clusters_of_users = st.lists(
    st.lists(st.lists(st.integers(1, 7), min_size=1, max_size=5), min_size=2, max_size=6), min_size=1, max_size=4
)


@given(clusters_of_users, st.integers(0, 99))
def test_a_cluster_gets_the_mean_of_its_lines_and_never_none(asked, seed):
    cluster = np.repeat(np.arange(len(asked)), [len(users) for users in asked])
    lines = np.array([sum(queries) for users in asked for queries in users], float)
    quota = quotas(cluster, lines, np.random.default_rng(seed))
    sizes, totals = np.bincount(cluster), np.bincount(cluster, weights=lines)
    fair = lines / sizes[cluster]
    assert (np.abs(np.bincount(cluster, weights=quota) - totals / sizes) < 1).all()
    assert (np.bincount(cluster, weights=quota) >= 1).all()
    assert (np.floor(fair) <= quota).all() and (quota <= np.ceil(fair)).all()


@given(clusters_of_users, st.integers(0, 99))
def test_quotas_are_full_and_no_query_is_taken_more_often_than_it_was_asked(asked, seed):
    cluster = np.repeat(np.arange(len(asked)), [len(users) for users in asked])
    flat = [sorted(queries, reverse=True) for users in asked for queries in users]
    users = np.repeat(np.arange(len(flat)), [len(queries) for queries in flat])
    times = np.concatenate(flat)
    taken = centroid_lines(cluster, users, times, np.random.default_rng(seed))
    quota = quotas(cluster, np.bincount(users, weights=times), np.random.default_rng(seed))
    assert (taken <= times).all() and (taken >= 0).all()
    assert (np.bincount(users, weights=taken) == quota).all()


def test_a_small_user_beside_a_large_one_gives_different_queries():
    """Two lines of four queries asked once are due; the list is gone through many times, and each query counts once."""
    asked = np.array([1] * 4 + [7] * 5)
    for seed in range(200):
        taken = centroid_lines(np.zeros(2, int), np.array([0] * 4 + [1] * 5), asked, np.random.default_rng(seed))
        assert taken[:4].sum() == 2 and (taken <= asked).all()


def test_three_users_of_one_query_never_leave_an_empty_log():
    """As printed the log of such a cluster is empty in 30 % of draws."""
    for seed in range(200):
        random = np.random.default_rng(seed)
        assert centroid_lines(np.zeros(3, int), np.arange(3), np.ones(3, int), random).sum() == 1


def test_users_of_one_and_nine_queries_both_keep_half():
    """As printed they keep .11 and .56. The mean of 4,000 draws of a 0 or 1 has a standard error of .008: four of them."""
    users = np.array([0] + [1] * 9)
    random = np.random.default_rng(1)
    taken = np.array([centroid_lines(np.zeros(2, int), users, np.ones(10, int), random) for _ in range(4000)])
    assert abs(taken[:, 0].mean() - 0.5) < 0.032
    assert abs(taken[:, 1:].sum(axis=1).mean() / 9 - 0.5) < 0.032


def test_three_times_a_share_of_four_tenths_is_one_copy_and_a_second_with_two_tenths():
    """The paper's example, p. 50. A user with 4 of 10 lines in a cluster of two has room for two copies.

    The standard error of .2 over 5,000 draws is .0057: four of them.
    """
    users, asked = np.array([0, 0, 1]), np.array([3, 1, 6])
    random = np.random.default_rng(2)
    first = np.array([centroid_lines(np.zeros(2, int), users, asked, random)[0] for _ in range(5000)])
    # Both places go to the first query in the first pass with .2; else the second query takes its turn with .4, and so on.
    in_turn = 0.2 + 0.8 * 0.6
    assert set(first) == {1, 2}
    assert abs((first == 2).mean() - in_turn) < 4 * (in_turn * (1 - in_turn) / 5000) ** 0.5


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_users_who_have_nothing_in_common_keep_exactly_one_part_in_k(k):
    """The worst case of p. 51: k users of 30 different queries of a topic that nobody else has."""
    topics = [f"topic{user}" for user in range(k)]
    own = Taxonomy(
        parents=dict.fromkeys(topics),
        names=dict.fromkeys(topics, ""),
        words={topic: f"word{topic}" for topic in topics},
    )
    log = made([(f"u{user}", f"word{topics[user]} {number}") for user in range(k) for number in range(30)])
    found = classify(log, own)
    for seed in range(20):
        clustered = summarised(log, np.zeros(k, int), ReleaseKey.taught(seed))
        assert log_utility(found, clustered).srp[0] == pytest.approx(1 / k, abs=1e-12)
