"""What a log in clusters keeps of what its users asked about (Erola et al. 2011, section 4.1)."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from confide.arrays import Floats, Ints
from confide.querylogs.classification import Classification
from confide.querylogs.microaggregation import ClusteredLog

__all__ = ["LogUtility", "kept_share", "log_utility"]

PART = 10_000
"""Users that are looked at at a time."""


@dataclass(frozen=True, kw_only=True)
class LogUtility:
    """What users find of themselves in the log of their cluster, on average.

    `srp` is the semantic remain percentage of each level, from level 1 on, over users who have a topic there. The classifier
    that made the clusters judges itself there; `terms` is the same of the words as they were written.
    """

    srp: tuple[float, ...]
    terms: float


def log_utility(topics: Classification, clustered: ClusteredLog) -> LogUtility:
    """Give the share of each user's topics, level by level, and of their terms, that is in the log of their cluster."""
    depth = range(1, topics.levels.max() + 1)
    about = [(topics.topics[:, np.flatnonzero(topics.levels == level)]) for level in depth]
    *srp, terms = (_mean(topics, clustered, of_queries) for of_queries in (*about, topics.terms))
    return LogUtility(srp=tuple(srp), terms=terms)


def kept_share(before: csr_array, after: csr_array) -> Floats:
    """Give the sum of minima over the sum of what was before, row by row; NaN where that is 0.

    >>> kept_share(csr_array([[2, 1], [0, 0]]), csr_array([[1, 5], [1, 1]]))
    array([0.66666667,        nan])
    """
    total = np.asarray(before.sum(axis=1), np.float64)
    shared = np.asarray(before.minimum(after).sum(axis=1), np.float64)
    return np.asarray(np.divide(shared, total, out=np.full(len(total), np.nan), where=total > 0))


def _mean(topics: Classification, clustered: ClusteredLog, of_queries: csr_array) -> float:
    centroids = clustered.counts @ of_queries
    shares = [
        kept_share(topics.log.counts[users] @ of_queries, centroids[clustered.cluster[users]])
        for users in _parts(len(topics.log.names))
    ]
    known = np.concatenate(shares)
    return float(known[~np.isnan(known)].mean()) if not np.isnan(known).all() else float("nan")


def _parts(size: int) -> list[Ints]:
    return [np.arange(start, min(size, start + PART)) for start in range(0, size, PART)]
