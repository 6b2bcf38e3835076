"""Semantic microaggregation of query logs (Erola et al. 2011): users alike in clusters of k, one log for each cluster."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from confide.arrays import Ints
from confide.data.release_key import ReleaseKey
from confide.errors import Mistake
from confide.model.parameter import Parameters, parameter
from confide.querylogs.centroid import centroid_lines
from confide.querylogs.classification import Classification
from confide.querylogs.log import QueryLog
from confide.querylogs.partition import clusters
from confide.querylogs.similarity import closest, likeness

__all__ = ["ClusteredLog", "LogMicroaggregation", "random_clusters", "similarity_lost", "summarised"]

SAMPLE = 100
"""Users by whom it is estimated what blocks cost."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ClusteredLog:
    """A log whose users are in clusters, and the lines that stand for each cluster.

    `cluster` has the cluster of each user; `lines` are the places of the chosen lines in the log.
    """

    log: QueryLog
    cluster: Ints
    lines: Ints
    blocks: int = 1
    lost: float = 0.0
    """Of the likeness to the most alike user, the share lost because that user is in another block; by a sample."""

    @property
    def sizes(self) -> Ints:
        """How many users each cluster has."""
        return np.bincount(self.cluster)

    @cached_property
    def counts(self) -> csr_array:
        """How often each query (a column) stands in the log of each cluster (a row)."""
        rows = self.cluster[self.log.users[self.lines]]
        shape = (len(self.sizes), len(self.log.texts))
        return csr_array((np.ones(len(rows), np.int32), (rows, self.log.queries[self.lines])), shape=shape)


@dataclass(frozen=True, kw_only=True)
class LogMicroaggregation(Parameters):
    """Query-log microaggregation: clusters of at least k users who ask about the same topics share one log.

    Promise: each cluster has k to 2k-1 users, and each line of its log was asked by one of them; whose it is, the log
    does not say. A log of T lines for s users has T/s, to which each gives the share 1/s of theirs. Who is alike is decided
    by the topics; between equals by the key, never by the order of the file. What k does not promise is in the explanation.
    """

    k: int = parameter(3, "How many users a cluster has at least.", low=2)
    similarity: str = parameter(
        "minima", "How users are compared: minima (topics shared), ruzicka (share shared).", among=("minima", "ruzicka")
    )
    block: int = parameter(2000, "Larger logs are cut into blocks of so many users, by main topic.", low=100)

    def _check(self) -> None:
        if self.block < 2 * self.k:
            raise Mistake(
                f"LogMicroaggregation: a block of {self.block} users is too small for k = {self.k}; take 2k or more."
            )

    def protect(self, topics: Classification, *, key: ReleaseKey) -> ClusteredLog:
        """The log in clusters, all that is drawn from the key."""
        random = key.generator("query log", "order")
        blocks = self._blocks(topics, random)
        cluster = self._clusters(topics, blocks)
        lost = similarity_lost(topics, blocks, random) if len(blocks) > 1 else 0.0
        return replace(summarised(topics.log, cluster, key), blocks=len(blocks), lost=lost)

    def clusters(self, topics: Classification, *, key: ReleaseKey) -> Ints:
        """The cluster of each user alone, as `protect` draws it."""
        return self._clusters(topics, self._blocks(topics, key.generator("query log", "order")))

    def _clusters(self, topics: Classification, blocks: list[Ints]) -> Ints:
        cluster = np.empty(len(topics.log.names), np.int64)
        first = 0
        for users in blocks:
            cluster[users] = first + self._cut(topics, users)
            first += len(users) // self.k
        return cluster

    def _blocks(self, topics: Classification, random: np.random.Generator) -> list[Ints]:
        """The users in a random order or, if they are too many to compare all, in parts by their main topics."""
        order = random.permutation(len(topics.log.names))
        if len(order) < self.k:
            raise Mistake(
                f"The log has fewer users than k = {self.k}.",
                suggestions=["Take a smaller k, from 2, or a larger log."],
            )
        number = max(1, round(len(order) / self.block))
        if number > 1:
            order = order[np.lexsort(_main_topics(topics, random)[:, order][::-1])]
        return np.array_split(order, number)

    def _cut(self, topics: Classification, users: Ints) -> Ints:
        about, terms = topics.of_users(users)
        levels = topics.levels if self.similarity == "ruzicka" else None
        return clusters(likeness(about, terms, topics.log.lines[users], levels=levels), self.k)


def summarised(log: QueryLog, cluster: Ints, key: ReleaseKey) -> ClusteredLog:
    """The log of each cluster, for users in clusters of whatever origin."""
    random = key.generator("query log", "lines")
    asked = log.asked
    # The most frequent queries of a user first, equals at random; and of a query's lines, any may be the one that stays.
    most = asked.times.max()
    order = _sorted_at_random(asked.users * (most + 1) + most - asked.times, random)
    taken = np.empty(len(order), np.int64)
    taken[order] = centroid_lines(cluster, asked.users[order], asked.times[order], random)
    lines = _sorted_at_random(log.users * len(log.texts) + log.queries, random)
    starts = np.cumsum(asked.times) - asked.times
    within = np.arange(taken.sum()) - np.repeat(np.cumsum(taken) - taken, taken)
    return ClusteredLog(log=log, cluster=cluster, lines=lines[np.repeat(starts, taken) + within])


def _sorted_at_random(values: Ints, random: np.random.Generator) -> Ints:
    """Places of the values from the least to the largest, equals in a random order."""
    order = random.permutation(np.arange(len(values), dtype=np.uint32))  # half the memory, for millions of lines
    return np.asarray(order[np.argsort(values[order], kind="stable")])


def random_clusters(log: QueryLog, k: int, key: ReleaseKey) -> ClusteredLog:
    """The log in clusters drawn at random: what any grouping keeps, against which one by topics is measured."""
    number = len(log.names)
    cluster = np.empty(number, np.int64)
    order = key.generator("query log", "random").permutation(number)
    cluster[order] = np.arange(number) % max(1, number // k)
    return summarised(log, cluster, key)


def similarity_lost(topics: Classification, blocks: list[Ints], random: np.random.Generator) -> float:
    """Give the share of their likeness to the most alike user that users lose, who can only be joined within their block."""
    number = len(topics.log.names)
    some = np.sort(random.choice(number, min(SAMPLE, number), replace=False))
    about = topics.of_users(some)[0]
    within, anywhere = np.zeros(len(some)), np.zeros(len(some))
    for users in blocks:
        most = closest(about, topics.of_users(users)[0], some[:, None] == users[None, :])
        anywhere = np.maximum(anywhere, most)
        here = np.isin(some, users)
        within[here] = most[here]
    return float(1 - within.sum() / anywhere.sum()) if anywhere.any() else 0.0


def _main_topics(topics: Classification, random: np.random.Generator) -> Ints:
    """For each user (a column) their commonest topic of each level (a row); who has none there comes last, by main term."""
    levels = [np.flatnonzero(topics.levels == level) for level in range(1, topics.levels.max() + 1)]
    of_queries = [*(topics.topics[:, random.permutation(columns)] for columns in levels), topics.terms]
    return np.array([_commonest(topics.log.counts @ counts) for counts in of_queries])


def _commonest(counts: csr_array) -> Ints:
    """The column with the largest count in each row, or the first of several; without counts, one more than there are."""
    has = np.flatnonzero(np.diff(counts.indptr))
    most = np.zeros(counts.shape[0], counts.dtype)
    most[has] = np.maximum.reduceat(counts.data, counts.indptr[has]) if len(has) else 0
    found = np.full(counts.shape[0], counts.shape[1])
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    reached = counts.data == most[rows]
    np.minimum.at(found, rows[reached], counts.indices[reached])
    return found
