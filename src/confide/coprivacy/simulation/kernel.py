"""The loop of the simulation, compiled: who submits which query. Its plain twin is its own source."""

from math import log2

import numpy as np
from numpy.typing import NDArray

from confide.arrays import Ints
from confide.coprivacy.search.rule import CLOSE, entropy_gain
from confide.data.compiling import compiled

__all__ = ["COPRIVATE", "PRINTED", "Small", "play", "play_plain"]

COPRIVATE, PRINTED = 0, 1
Small = NDArray[np.int16]
_gain = compiled(entropy_gain)


def play_plain(
    queries: Ints, order: Ints, topics: int, attempts: int, rule: int, random: np.random.Generator
) -> tuple[Ints, Small, Ints]:
    """Submitted counts (peer by topic), forwarded counts (peer by topic by peer), and of each query what became of it.

    `queries[i, r]` is what peer i asks in round r and `order[r]` in which order peers ask then. What became of a query is
    how many peers were asked, negative if none of them helped; 0 for one that goes directly.
    """
    peers, rounds = queries.shape
    submitted = np.zeros((peers, topics), np.int64)
    totals, spreads = np.zeros(peers, np.int64), np.zeros(peers)
    forwarded = np.zeros((peers, topics, peers), np.int16)
    sent, sent_spreads = np.zeros((peers, topics), np.int64), np.zeros((peers, topics))
    asked = np.zeros((peers, rounds), np.int64)
    tried = np.full(peers, -1, np.int64)
    query = 0
    for turn in range(rounds):
        for peer in order[turn]:
            topic = queries[peer, turn]
            by = peer
            if _gain(submitted[peer, topic], totals[peer], spreads[peer]) < -CLOSE:
                tried[peer] = query
                count = 0
                while by == peer and count < min(attempts, peers - 1):
                    best, ties, found = 0.0, 0, -1
                    for other in range(peers):
                        if tried[other] == query:
                            continue
                        if rule == COPRIVATE:  # the largest entropy of one's own forwarding: to whom one sent it least
                            worth = -float(forwarded[peer, topic, other])
                        else:  # as printed: the largest entropy of the other's own forwarding
                            n = sent[other, topic]
                            worth = log2(n) - sent_spreads[other, topic] / n if n > 0 else 0.0
                        if found < 0 or worth > best + CLOSE:
                            best, ties, found = worth, 1, other
                        elif worth >= best - CLOSE:
                            ties += 1
                            if random.random() * ties < 1.0:
                                found = other
                    tried[found] = query
                    count += 1
                    c = int(forwarded[peer, topic, found])
                    sent_spreads[peer, topic] += (c + 1) * log2(c + 1) - (c * log2(c) if c > 0 else 0.0)
                    sent[peer, topic] += 1
                    forwarded[peer, topic, found] = c + 1
                    if _gain(submitted[found, topic], totals[found], spreads[found]) > CLOSE:
                        by = found
                asked[peer, turn] = count if by != peer else -count
            c = submitted[by, topic]
            spreads[by] += (c + 1) * log2(c + 1) - (c * log2(c) if c > 0 else 0.0)
            submitted[by, topic] += 1
            totals[by] += 1
            query += 1
    return submitted, forwarded, asked


play = compiled(play_plain)
