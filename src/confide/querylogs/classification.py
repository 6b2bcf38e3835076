"""The topics of a log (Erola et al. 2011, Algorithm 1): how often each user asks about what, level by level."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from confide.arrays import Bools, Floats, Ints
from confide.errors import Mistake
from confide.querylogs.log import QueryLog
from confide.querylogs.terms import terms_per_query
from confide.querylogs.topics import Classifier

__all__ = ["Classification", "classify"]

ENOUGH = 0.5
"""A level is worth considering if at least this share of queries reaches it (Erola et al. 2011, p. 52)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Classification:
    """Queries by their topics and by their terms.

    `topics` and `terms` count for each query (a row) how often it is about a topic and has a term; `levels` has the level
    of each topic.
    """

    log: QueryLog
    topics: csr_array
    terms: csr_array
    levels: Ints

    @cached_property
    def shares(self) -> Floats:
        """The share of lines that have a topic on each level, from level 1 on (Figure 2)."""
        return np.array([self._reached(level)[self.log.queries].mean() for level in range(1, self.levels.max() + 1)])

    @cached_property
    def classified(self) -> Bools:
        """Which users have a topic at all."""
        return np.bincount(self.log.users, weights=self._reached(1)[self.log.queries]) > 0

    @property
    def warnings(self) -> list[str]:
        """What a custodian should know before relying on the topics."""
        few = [level for level, share in enumerate(self.shares, 1) if share < ENOUGH]
        return [
            f"On level {level} only {self.shares[level - 1]:.0%} of the lines have a topic, less than {ENOUGH:.0%}."
            for level in few
        ]

    def of_users(self, users: Ints) -> tuple[csr_array, csr_array]:
        """How often each of some users is about each topic, and uses each term."""
        asked = self.log.counts[users]
        return asked @ self.topics, asked @ self.terms

    def some(self, users: Ints) -> "Classification":
        """The same of some users only."""
        place = np.full(len(self.log.names), -1)
        place[users] = np.arange(len(users))
        lines = place[self.log.users] >= 0
        log = QueryLog(
            users=place[self.log.users[lines]], queries=self.log.queries[lines],
            names=self.log.names.take(users), texts=self.log.texts,
        )  # fmt: skip
        return replace(self, log=log)

    def _reached(self, level: int) -> Bools:
        return np.asarray(self.topics[:, np.flatnonzero(self.levels == level)].sum(axis=1)) > 0


def classify(log: QueryLog, classifier: Classifier, *, best: int = 5, levels: int = 3) -> Classification:
    """Give the queries of a log their topics: of each term the best ones, and those above them down to level `levels`.

    A term counts once for each topic that one of its best topics is or lies under. A log of which nothing is classified is
    a Mistake: its users would be grouped as if nothing were known.
    """
    if best < 1 or levels < 1:
        raise Mistake("Each term needs one topic or more, on one level or more.")
    terms, words = terms_per_query(log.texts)
    rows: list[int] = []
    topics: dict[tuple[int, str], int] = {}
    columns: list[int] = []
    for place, paths in enumerate(classifier.paths(words, best)):
        found = dict.fromkeys((level, topic) for path in paths for level, topic in enumerate(path[:levels], 1))
        columns += [topics.setdefault(one, len(topics)) for one in found]
        rows += [place] * len(found)
    if not topics:
        raise Mistake(
            "Not one query has a topic.",
            suggestions=["Give the topics more words, or use another taxonomy or language."],
        )
    of_terms = csr_array((np.ones(len(rows), np.int32), (rows, columns)), shape=(len(words), len(topics)))
    return Classification(
        log=log, topics=terms @ of_terms, terms=terms, levels=np.array([level for level, _ in topics])
    )  # fmt: skip
