"""The lines that stand for a cluster of users (Erola et al. 2011, Algorithm 5, mended)."""

import numpy as np

from confide.arrays import Floats, Ints
from confide.data.compiling import compiled

__all__ = ["centroid_lines", "quotas"]


def centroid_lines(cluster: Ints, users: Ints, asked: Ints, random: np.random.Generator) -> Ints:
    """Give how often each query of each user enters the log of the user's cluster.

    `users` and `asked` say of each query whose it is and how often they asked it; they stand user by user, the most
    frequent queries first; `cluster` says which cluster each user is in.

    Promise: a cluster of s users with T lines gets T/s lines, rounded at random, never none; a user gives the share 1/s of
    their lines, rounded at random with that mean; no query enters more often than its user asked it.

    A query asked r times by a user with the share c of the cluster's lines is taken floor(rc) times, and once more with
    the probability of what is left; the list is gone through again until the user's quota is full. As printed it is gone
    through once and quotas are fractions of a line, so small clusters end empty and users fall below 1/s.
    """
    starts = np.concatenate([[0], np.cumsum(np.bincount(users, minlength=len(cluster)))]).astype(np.int64)
    lines: Floats = np.bincount(users, weights=asked, minlength=len(cluster)).astype(np.float64)
    totals = np.bincount(cluster, weights=lines)
    return _taken(
        starts, np.asarray(asked, np.int64), quotas(cluster, lines, random), lines / totals[cluster], random
    )  # fmt: skip


def quotas(cluster: Ints, lines: Floats, random: np.random.Generator) -> Ints:
    """Give how many lines each user gives to their cluster: lines over members, rounded by systematic sampling.

    Promise: each is one of the two whole numbers beside its fraction, with the fraction as its mean, and so is their sum;
    since a user has a line or more, the sum is 1 or more.
    """
    order = np.argsort(cluster, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(cluster))[:-1]])
    sizes = np.bincount(cluster)[cluster[order]]
    # One random start a cluster; a line falls to the user in whose stretch the next whole number lies. In units of 1/size,
    # so that the sums are whole numbers and exact.
    before = np.concatenate([[0.0], np.cumsum(lines[order])])
    start = random.random(len(first))[cluster[order]] * sizes
    base = before[first][cluster[order]]
    low, high = before[:-1] - base, before[1:] - base
    found = np.empty(len(order), np.int64)
    found[order] = np.floor((high + start) / sizes) - np.floor((low + start) / sizes)
    return found


@compiled
def _taken(
    starts: Ints, asked: Ints, quota: Ints, share: Floats, random: np.random.Generator
) -> Ints:  # pragma: no cover - compiled
    taken = np.zeros(len(asked), np.int64)
    for user in range(len(quota)):
        left = quota[user]
        while left > 0:  # ends: a quota is no more than the user's lines, and what is due has a mean above 0
            for query in range(starts[user], starts[user + 1]):
                due = asked[query] * share[user]
                copies = int(due) + (random.random() < due - int(due))
                copies = min(copies, left, asked[query] - taken[query])
                taken[query] += copies
                left -= copies
                if left == 0:
                    break
    return taken
