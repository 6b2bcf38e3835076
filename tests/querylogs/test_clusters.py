"""Algorithms 1 to 4: who is alike, and who is grouped with whom."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from confide import Mistake, ReleaseKey
from confide.querylogs import LogMicroaggregation, classify, similarity
from confide.querylogs.microaggregation import similarity_lost
from confide.querylogs.partition import clusters
from confide.querylogs.similarity import likeness
from logged import made

counts_of_users = st.integers(2, 12).flatmap(
    lambda users: st.lists(
        st.lists(st.sampled_from([0, 0, 0, 1, 2, 9]), min_size=5, max_size=5), min_size=users, max_size=users
    )
)


def plain_clusters(like, k):
    """Algorithms 3 and 4 as they are meant, in plain Python."""
    free, found = set(range(len(like))), []
    while len(free) >= k:
        one, other = max(((a, b) for a in sorted(free) for b in sorted(free)), key=lambda pair: like[pair])
        cluster = [one, other]
        while len(cluster) < k:
            cluster.append(
                max(sorted(free - set(cluster)), key=lambda user: sum(like[member, user] for member in cluster))
            )
        found.append(cluster)
        free -= set(cluster)
    first = [list(cluster) for cluster in found]
    for user in sorted(free):
        best = max(range(len(found)), key=lambda place: sum(like[user, member] for member in first[place]))
        found[best].append(user)
    return {frozenset(cluster) for cluster in found}


@given(st.integers(2, 4), st.integers(0, 999), st.integers(4, 15))
def test_clusters_are_those_of_a_plain_twin(k, seed, users):
    drawn = np.random.default_rng(seed).random((users, users))
    like = drawn + drawn.T
    np.fill_diagonal(like, -np.inf)
    label = clusters(like, k)
    assert {frozenset(np.flatnonzero(label == one).tolist()) for one in set(label)} == plain_clusters(like, k)


@given(counts_of_users, st.integers(2, 5), st.integers(0, 50))
def test_every_cluster_has_k_to_2k_less_one_members(counts, k, seed):
    if len(counts) < k:
        return
    like = likeness(csr_array(counts), csr_array((len(counts), 1), dtype=int), np.ones(len(counts), int))
    sizes = np.bincount(clusters(like, k))
    assert sizes.min() >= k and sizes.max() <= 2 * k - 1 and sizes.sum() == len(counts)


@given(counts_of_users)
def test_shared_topics_are_sums_of_minima_either_way_and_ruzicka_their_share_of_maxima(counts):
    table, bare = np.array(counts), csr_array((len(counts), 1), dtype=int)
    minima = np.minimum(table[:, None], table[None]).sum(axis=2)
    maxima = np.maximum(table[:, None], table[None]).sum(axis=2)
    off = ~np.eye(len(table), dtype=bool)
    kept = similarity.DENSE
    for dense in (0, 10**9):
        similarity.DENSE = dense
        try:
            like = likeness(csr_array(counts), bare, np.ones(len(table), int))
            share = likeness(csr_array(counts), bare, np.ones(len(table), int), levels=np.zeros(5, int))
        finally:
            similarity.DENSE = kept
        assert np.allclose(like[off], minima[off], atol=1e-9)
        assert np.allclose(share[off], (minima / np.maximum(maxima, 1))[off], atol=1e-9)
        assert np.isneginf(np.diag(like)).all()


def test_counts_beyond_16_bits_are_compared_as_they_are():
    like = likeness(csr_array([[40_000, 1], [50_000, 2]]), csr_array((2, 1), dtype=int), np.ones(2, int))
    assert like[0, 1] == pytest.approx(40_001)


def test_users_of_one_interest_are_grouped(log, taxonomy):
    found = classify(log, taxonomy)
    cluster = LogMicroaggregation(k=3).protect(found, key=ReleaseKey.taught(1)).cluster
    interest = np.where(np.arange(30) < 18, np.arange(30) % 3, 3)
    assert all(len(set(interest[cluster == one])) == 1 for one in set(cluster))


def test_users_without_topics_are_grouped_by_terms_then_by_volume(taxonomy):
    lines = [("a", "quux eins"), ("b", "blub zwei"), ("c", "quux drei"), ("d", "blub vier")]
    lines += [
        (user, f"{user}{number}")
        for user, often in (("e", 1), ("f", 40), ("g", 1), ("h", 40))
        for number in range(often)
    ]
    found = classify(made([*lines, ("x", "football"), ("y", "football")]), taxonomy)
    for seed in range(5):
        cluster = LogMicroaggregation(k=2).protect(found, key=ReleaseKey.taught(seed)).cluster
        names = found.log.names.to_pylist()
        pairs = {frozenset(names[user] for user in np.flatnonzero(cluster == one)) for one in set(cluster)}
        assert pairs == {frozenset(pair) for pair in ("ac", "bd", "eg", "fh", "xy")}


def test_between_equals_the_key_decides_and_not_the_order_of_the_file(taxonomy):
    found = classify(made([(f"u{number:02}", "football") for number in range(12)]), taxonomy)
    drawn = {tuple(LogMicroaggregation(k=2).protect(found, key=ReleaseKey.taught(seed)).cluster) for seed in range(10)}
    neighbours = [sum(labels[2 * n] == labels[2 * n + 1] for n in range(6)) for labels in drawn]
    assert len(drawn) > 5 and min(neighbours) < 6


def test_the_same_key_repeats_and_another_does_not(log, taxonomy):
    found, method = classify(log, taxonomy), LogMicroaggregation(k=3)
    one, again, other = (method.protect(found, key=ReleaseKey.taught(seed)) for seed in (1, 1, 2))
    assert (one.lines == again.lines).all() and (one.cluster == again.cluster).all()
    assert len(one.lines) != len(other.lines) or (one.lines != other.lines).any()


def test_blocks_are_cut_by_main_topic_and_tell_what_they_cost(taxonomy):
    words = [words.split() for words in ("football tennis goal", "piano opera song", "bread cheese soup")]
    asked = [(f"u{user:03}", word) for user in range(300) for word in words[user % 3]]
    found = classify(made(asked), taxonomy)
    whole = LogMicroaggregation(k=3, block=300).protect(found, key=ReleaseKey.taught(1))
    cut = LogMicroaggregation(k=3, block=100).protect(found, key=ReleaseKey.taught(1))
    assert (whole.blocks, whole.lost) == (1, 0.0) and (cut.blocks, cut.lost) == (3, 0.0)
    topic = np.arange(300) % 3
    assert all(len(set(topic[cut.cluster == one])) == 1 for one in set(cut.cluster))
    assert cut.sizes.min() >= 3


def test_what_blocks_cost_is_measured_by_the_most_alike_user_elsewhere(taxonomy):
    """Two pairs of twins: both kept together, both torn apart, and one of them."""
    lines = [(user, query) for user in "ab" for query in ("piano", "piano")]
    lines += [(user, query) for user in "cd" for query in ("bread", "bread")]
    found = classify(made(lines), taxonomy)
    random = np.random.default_rng(1)
    assert similarity_lost(found, [np.array([0, 1]), np.array([2, 3])], random) == 0.0
    assert similarity_lost(found, [np.array([0, 2]), np.array([1, 3])], random) == 1.0
    assert similarity_lost(found, [np.array([0]), np.array([1, 2, 3])], random) == 0.5


def test_chosen_lines_belong_to_the_cluster_and_are_drawn_once(log, taxonomy):
    clustered = LogMicroaggregation(k=4).protect(classify(log, taxonomy), key=ReleaseKey.taught(5))
    assert len(set(clustered.lines)) == len(clustered.lines)
    given = np.bincount(log.users[clustered.lines], minlength=30)
    assert (np.abs(given - log.lines / clustered.sizes[clustered.cluster]) < 1).all()


@pytest.mark.parametrize("k", [1, 0, -3])
def test_a_cluster_of_fewer_than_two_is_a_mistake(k):
    with pytest.raises(Mistake, match="k must be at least 2"):
        LogMicroaggregation(k=k)


def test_a_block_that_might_be_smaller_than_a_cluster_is_a_mistake():
    with pytest.raises(Mistake, match="too small for k = 60"):
        LogMicroaggregation(k=60, block=100)


def test_fewer_users_than_k_are_a_mistake(log, taxonomy):
    with pytest.raises(Mistake, match="fewer users than k = 31"):
        LogMicroaggregation(k=31).protect(classify(log, taxonomy), key=ReleaseKey.taught(1))


def test_nothing_classified_is_a_mistake(taxonomy):
    with pytest.raises(Mistake, match="Not one query has a topic"):
        classify(made([("a", "zz"), ("b", "yy")]), taxonomy)
