"""Simulated search by peers: the rule of section 4, its figures, and what they do not show."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.coprivacy import SearchSimulation
from confide.coprivacy.search.rule import CLOSE, entropy, entropy_gain, spread
from confide.coprivacy.simulation.kernel import COPRIVATE, PRINTED, play, play_plain
from confide.coprivacy.simulation.simulate import RULES, evenness, linked
from confide.errors import Mistake

COUNTS = st.lists(st.integers(1, 50), min_size=1, max_size=30)


def gain(count, counts):
    return entropy_gain(count, sum(counts), sum(map(spread, counts)))


@given(COUNTS)
def test_a_query_that_is_new_always_raises_the_entropy_so_it_goes_direct(counts):
    assert gain(0, counts) > CLOSE


@given(COUNTS, st.data())
def test_the_gain_is_the_difference_of_two_entropies(counts, data):
    place = data.draw(st.integers(0, len(counts) - 1))
    more = [count + (one == place) for one, count in enumerate(counts)]
    assert gain(counts[place], counts) == pytest.approx(entropy(more) - entropy(counts), abs=1e-11)


def test_who_has_submitted_nothing_asks_directly_and_helps_nobody():
    """Nothing raises the entropy of one query, and nothing lowers it."""
    assert gain(0, []) == 0 and gain(5, [5]) == pytest.approx(0, abs=CLOSE)


@given(st.lists(st.integers(0, 9), min_size=2, max_size=8))
def test_the_peer_to_whom_it_went_least_is_the_one_of_expression_2(counts):
    """The largest entropy of one's own forwarding after one more: so the rule may compare counts."""
    after = [entropy(count + (one == place) for one, count in enumerate(counts)) for place in range(len(counts))]
    least = {place for place, count in enumerate(counts) if count == min(counts)}
    assert {place for place, value in enumerate(after) if value >= max(after) - 1e-12} >= least
    assert all(after[place] == pytest.approx(max(after)) for place in least)


@pytest.mark.parametrize("rule", [COPRIVATE, PRINTED])
def test_the_compiled_loop_does_what_its_source_says(rule):
    queries = np.random.default_rng(1).integers(6, size=(7, 30))
    order = np.random.default_rng(2).permuted(np.tile(np.arange(7), (30, 1)), axis=1)
    for one, other in zip(
        play(queries, order, 6, 3, rule, np.random.default_rng(3)),
        play_plain(queries, order, 6, 3, rule, np.random.default_rng(3)),
        strict=True,
    ):
        assert (one == other).all()


@given(st.lists(st.lists(st.integers(0, 4), min_size=2, max_size=2), min_size=1, max_size=40))
def test_two_peers_play_as_section_4_says(asked):
    """Said again in words of entropies: the asker submits unless it lowers theirs, the other if it raises theirs."""
    seen, became = [[0] * 5, [0] * 5], []

    def change(peer, query):
        return entropy(count + (one == query) for one, count in enumerate(seen[peer])) - entropy(seen[peer])

    for turn in asked:
        for peer, query in enumerate(turn):
            forwarded = change(peer, query) < -1e-12
            helped = forwarded and change(1 - peer, query) > 1e-12
            seen[1 - peer if helped else peer][query] += 1
            became.append((1 if helped else -1) if forwarded else 0)
    queries = np.array(asked).T.copy()
    order = np.tile([0, 1], (len(asked), 1))
    submitted, forwarded, found = play(queries, order, 5, 5, COPRIVATE, np.random.default_rng(1))
    assert submitted.tolist() == seen and found.T.ravel().tolist() == became
    assert forwarded.sum() == np.abs(became).sum()


def test_every_query_is_submitted_once_and_every_peer_asked_is_counted():
    queries = np.random.default_rng(1).integers(5, size=(8, 40))
    order = np.tile(np.arange(8), (40, 1))
    submitted, forwarded, became = play(queries, order, 5, 3, COPRIVATE, np.random.default_rng(1))
    assert (submitted.sum(axis=0) == np.bincount(queries.ravel())).all()
    assert forwarded.sum() == np.abs(became).sum() and np.abs(became).max() == 3
    assert not forwarded[np.arange(8), :, np.arange(8)].any(), "nobody forwards to oneself"


def test_two_peers_can_only_ask_each_other():
    queries = np.zeros((2, 9), int)
    queries[:, 0] = 1
    became = play(queries, np.tile([0, 1], (9, 1)), 2, 5, COPRIVATE, np.random.default_rng(1))[2]
    assert np.abs(became).max() == 1


@pytest.mark.parametrize(("peers", "submitted", "delta", "printed"), [(10, 5.23, 0.43, 0.84), (100, 5.54, 0.59, 0.60)])
def test_the_figures_of_the_simulation(peers, submitted, delta, printed):
    """50 topics, Zipf 1, 200 queries each, 5 attempts: means of ten runs, against those of a prototype.

    Half a unit of what it printed, and the spread of a run over peers: entropies of ten differ by .05, shares by .04.
    """
    runs = [SearchSimulation(peers=peers).run(np.random.default_rng(seed)) for seed in range(10)]
    assert np.mean([run.forwarding for run in runs]) == pytest.approx(1, abs=0.005)
    assert np.mean([run.submitted for run in runs]) == pytest.approx(submitted, abs=0.055)
    assert np.mean([run.asked for run in runs]) == pytest.approx(4.4, abs=0.05) and runs[0].largest == np.log2(50)
    assert np.mean([run.delta.share for run in runs]) == pytest.approx(delta, abs=0.045)
    assert all(run.delta.low < run.delta.share < run.delta.high for run in runs)
    as_printed = [SearchSimulation(peers=peers, rule="printed").run(np.random.default_rng(seed)) for seed in range(3)]
    assert np.mean([run.forwarding for run in as_printed]) == pytest.approx(printed, abs=0.03)


def test_even_histories_do_not_hide_interests_and_a_uniform_relay_does():
    found = {rule: SearchSimulation(rule=rule).run(np.random.default_rng(1)) for rule in RULES}
    assert (
        found["coprivate"].submitted
        > found["uniform"].submitted
        > found["decoys"].submitted
        > found["direct"].submitted
    )
    assert found["coprivate"].linked > 0.75 and found["uniform"].linked < 0.05
    assert found["direct"].linked == found["decoys"].linked == 1
    assert found["coprivate"].peers_asked == pytest.approx(2.9, abs=0.1)


def test_linkage_and_evenness_by_hand():
    interests = np.array([[0.9, 0.1], [0.1, 0.9]])
    assert linked(np.array([[5, 1], [1, 5]]), interests) == 1 and linked(np.array([[1, 5], [5, 1]]), interests) == 0
    forwarded = np.array([[[0, 2, 1], [0, 1, 0]], [[3, 0, 0], [0, 0, 0]], [[0, 0, 0], [0, 0, 0]]], np.int16)
    # Three to two peers as 2 and 1 is as even as can be; as 3 and 0 it has no entropy; what was sent once says nothing.
    assert evenness(forwarded, others=2) == pytest.approx(0.5)
    assert evenness(forwarded[:1] * 0, others=2) is None


@pytest.mark.parametrize(
    ("told", "complaint"),
    [
        ({"peers": 1}, "at least 2"),
        ({"rule": "tor"}, "must be one of coprivate"),
        ({"peers": 10_000}, "do not fit"),
        ({"exponent": float("nan")}, "must be a number"),
    ],
)
def test_what_cannot_be_simulated_is_a_mistake(told, complaint):
    with pytest.raises(Mistake, match=complaint):
        SearchSimulation(**told)
