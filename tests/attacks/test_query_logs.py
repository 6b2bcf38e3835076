"""The attacks on query logs find what is there to be found, and no more."""

import numpy as np
import pytest

from confide import Mistake, ReleaseKey
from confide.attacks.query_logs import link_users, planted_users, weaknesses
from confide.querylogs import LogMicroaggregation, Taxonomy, classify
from confide.querylogs.microaggregation import summarised
from logged import made

TOPICS = Taxonomy(parents={"1": None, "2": None}, names={"1": "tea", "2": "car"}, words={})
KEY = ReleaseKey.taught(1)


def grouped(asked, cluster):
    found = classify(made(asked), TOPICS)
    return found, summarised(found.log, np.array(cluster), KEY)


def test_queries_that_only_one_user_asks_find_their_cluster():
    """Of each pair the log keeps half of the lines; their terms are those of the cluster alone."""
    asked = [(f"u{user}", f"tea word{user} {number}") for user in range(8) for number in range(6)]
    found, clustered = grouped(asked, [0, 0, 1, 1, 2, 2, 3, 3])
    link = link_users(found, clustered, np.random.default_rng(1), known=2)
    assert (link.found, link.pseudonyms, link.targets) == (1.0, 1.0, 8)


def test_where_all_users_ask_the_same_the_intruder_guesses():
    asked = [(f"u{user}", "tea") for user in range(12)]
    found, clustered = grouped(asked, np.repeat(range(4), 3))
    link = link_users(found, clustered, np.random.default_rng(1), known=1)
    assert link.found == pytest.approx(1 / 4) and link.pseudonyms == pytest.approx(1 / 12)
    assert np.isnan(link.theirs)


def test_another_line_is_the_targets_by_their_share_of_the_cluster():
    asked = [("a", f"tea a{n}") for n in range(40)] + [("b", f"tea b{n}") for n in range(40)]
    found, clustered = grouped(asked, [0, 0])
    link = link_users(found, clustered, np.random.default_rng(1), known=1)
    assert link.theirs == pytest.approx(0.5, abs=1 / 39)


def test_clusters_of_one_giver_and_of_one_topic_are_counted():
    asked = [("a", f"tea {n}") for n in range(20)] + [("b", "car"), ("c", "tea x"), ("d", "tea y")]
    found, clustered = grouped(asked, [0, 0, 1, 1])
    seen = weaknesses(found, clustered)
    assert seen.one_topic == 0.5 and seen.dominated == 1.0


def test_planted_users_isolate_who_is_alone_with_their_interest():
    asked = [("target", "car one"), ("target", "car two")] + [
        (f"u{user}", f"tea {n}") for user in range(9) for n in range(2)
    ]
    found = classify(made(asked), TOPICS)
    able = LogMicroaggregation(k=3)
    alone = found.log.names.to_pylist().index("target")
    share = planted_users(found, able, KEY, targets=10)
    assert alone == 0 and share >= 0.1


def test_of_a_log_of_several_blocks_a_sample_is_attacked():
    found = classify(
        made([(f"u{user}", f"{'tea' if user % 2 else 'car'} {n}") for user in range(230) for n in range(2)]), TOPICS
    )
    method = LogMicroaggregation(k=2, block=100)
    assert 0 <= planted_users(found, method, KEY, targets=3) <= 1
    some = found.some(np.array([1, 5, 7]))
    assert some.log.names.to_pylist() == ["u1", "u5", "u7"] and some.log.lines.tolist() == [2, 2, 2]


def test_more_queries_than_anybody_asked_cannot_be_known():
    found, clustered = grouped([("a", "tea"), ("b", "tea")], [0, 0])
    with pytest.raises(Mistake, match="No user has 2 different queries"):
        link_users(found, clustered, np.random.default_rng(1), known=2)
    with pytest.raises(Mistake, match="No user has 2"):
        planted_users(found, LogMicroaggregation(k=2), KEY)
