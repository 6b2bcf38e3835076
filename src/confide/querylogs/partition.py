"""Clusters of at least k users alike (Erola et al. 2011, Algorithms 3 and 4)."""

import numpy as np

from confide.arrays import Floats, Ints
from confide.data.compiling import compiled

__all__ = ["clusters"]


def clusters(likeness: Floats, k: int) -> Ints:
    """Give each user the number of a cluster: the most alike pair, then k-2 times who is most like its members together.

    Promise: every cluster has k to 2k-1 members. The printed loop runs while at most k users are left; meant is at least.
    The last users, fewer than k, join the clusters whose first k members are most like them.

    >>> clusters(np.array([[-np.inf, 1, 9], [1, -np.inf, 2], [9, 2, -np.inf]]), 2)
    array([0, 0, 0])
    """
    return _clusters(likeness, k)


@compiled
def _clusters(likeness: Floats, k: int) -> Ints:  # pragma: no cover - compiled
    size = len(likeness)
    label = np.full(size, -1, np.int64)
    best = np.empty(size, np.int64)
    for user in range(size):
        best[user] = np.argmax(likeness[user])
    number = size // k
    members = np.empty((number, k), np.int64)
    for cluster in range(number):
        one = _most_alike(likeness, label, best)
        members[cluster, 0], members[cluster, 1] = one, best[one]
        label[one] = label[best[one]] = cluster
        together = likeness[one] + likeness[best[one]]
        for joined in range(2, k):
            other = _argmax_free(together, label)
            members[cluster, joined] = other
            label[other] = cluster
            together += likeness[other]
    for user in range(size):
        if label[user] < 0:
            label[user] = _nearest(likeness[user], members)
    return label


@compiled
def _most_alike(likeness: Floats, label: Ints, best: Ints) -> int:  # pragma: no cover - compiled
    """The free user whose most alike free user is most alike of all; `best` is brought up to date where it must be."""
    while True:
        found, most = -1, -np.inf
        for user in range(len(label)):
            if label[user] < 0 and (found < 0 or likeness[user, best[user]] > most):
                found, most = user, likeness[user, best[user]]
        if label[best[found]] < 0:
            return found
        # What was best is taken. The next best is no better, so nobody passed over before has become the first.
        best[found] = _argmax_free(likeness[found], label)


@compiled
def _argmax_free(row: Floats, label: Ints) -> int:  # pragma: no cover - compiled
    found, most = -1, -np.inf
    for user in range(len(row)):
        if label[user] < 0 and row[user] > most:
            found, most = user, row[user]
    return found


@compiled
def _nearest(row: Floats, members: Ints) -> int:  # pragma: no cover - compiled
    found, most = -1, -np.inf
    for cluster in range(len(members)):
        total = 0.0
        for place in range(members.shape[1]):
            total += row[members[cluster, place]]
        if total > most:
            found, most = cluster, total
    return found
