"""How alike users are by what they ask about (Erola et al. 2011, Algorithm 2), in compiled loops over sparse counts."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from confide.arrays import Bools, Floats, Ints
from confide.data.compiling import compiled

__all__ = ["closest", "likeness"]

LATER = 2.0**-20
"""What counts second is scaled by this, what counts third by its square: so that it decides between equals only."""

DENSE = 40
"""Steps over all columns that take as long as one over what is not 0; measured (benchmarks/querylogs.py)."""


def likeness(topics: csr_array, terms: csr_array, lines: Ints, *, levels: Ints | None = None) -> Floats:
    """Give for each pair of users the topics they share; for users without topics, shared terms, then a like number of lines.

    Shared is the sum of minima over the counts of all topics. With the `levels` of the topics it is, on each level, that sum
    over the sum of maxima (Ruzicka), added over levels: how large a share of two users' interests is common, and not how
    much. Nobody is like themselves: the diagonal is below everything.

    >>> likeness(csr_array([[2, 1], [1, 1]]), csr_array((2, 1), dtype=int), np.array([3, 2]))[0, 1].round(6)
    np.float64(2.0)
    """
    if levels is None:
        shared = _shared(topics)
    else:
        shared = sum((_share(topics[:, np.flatnonzero(levels == one)]) for one in np.unique(levels)), np.zeros(1))
    bare = np.flatnonzero(np.diff(topics.indptr) == 0)
    shared[np.ix_(bare, bare)] += LATER * _shared(terms[bare])
    _add_volumes(shared, np.asarray(lines, np.float64))
    np.fill_diagonal(shared, -np.inf)
    return shared


def _share(counts: csr_array) -> Floats:
    """Sums of minima over sums of maxima."""
    shared, totals = _shared(counts), np.asarray(counts.sum(axis=1), np.float64)
    return np.asarray(shared / np.maximum(totals[:, None] + totals[None, :] - shared, 1))


@compiled
def _add_volumes(shared: Floats, lines: Floats) -> None:  # pragma: no cover - compiled
    """Add the smaller number of lines over the larger, which is at most 1, scaled as what counts third."""
    inverse = LATER * LATER / lines
    for one in range(len(lines)):
        for other in range(len(lines)):
            shared[one, other] += min(lines[one] * inverse[other], lines[other] * inverse[one])


def closest(some: csr_array, others: csr_array, same: Bools) -> Floats:
    """Give the most topics that each of `some` users shares with one of the `others`, except where both are the `same`."""
    return _closest(_dense(some), _dense(others), same)


def _dense(counts: csr_array) -> Any:
    """Counts with their zeros, in 16 bits where they fit: the processor compares 16 of these at a time."""
    return counts.toarray().astype(np.int16 if counts.nnz == 0 or counts.data.max() < 2**15 else np.int64)


@compiled
def _closest(some: Any, others: Any, same: Bools) -> Floats:  # pragma: no cover - compiled
    most = np.zeros(len(some))
    for one in range(len(some)):
        for other in range(len(others)):
            total = 0
            for column in range(some.shape[1]):
                total += min(some[one, column], others[other, column])
            if total > most[one] and not same[one, other]:
                most[one] = total
    return most


def _shared(counts: csr_array) -> Floats:
    """Sums of minima of rows, by whichever way takes fewer steps: over all columns, many at a time, or over what is not 0."""
    size, columns = counts.shape
    steps = (np.bincount(counts.indices, minlength=columns).astype(np.float64) ** 2).sum()
    if columns * size**2 < DENSE * steps:
        return _minima_dense(_dense(counts))
    columns_first = counts.tocsc()
    columns_first.sort_indices()
    return _minima(
        counts.indptr.astype(np.int64), counts.indices.astype(np.int64), counts.data.astype(np.int64),
        columns_first.indptr.astype(np.int64), columns_first.indices.astype(np.int64),
        columns_first.data.astype(np.int64),
    )  # fmt: skip


@compiled
def _minima_dense(counts: Any) -> Floats:  # pragma: no cover - compiled
    size, columns = counts.shape
    shared = np.zeros((size, size))
    for one in range(size):
        for other in range(one):
            total = 0
            for column in range(columns):
                total += min(counts[one, column], counts[other, column])
            shared[one, other] = shared[other, one] = total
    return shared


@compiled
def _minima(
    starts: Ints, columns: Ints, counts: Ints, ends: Ints, users: Ints, theirs: Ints
) -> Floats:  # pragma: no cover - compiled
    """A row is filled at a time, topic by topic, from the users who have the topic: it stays in the cache."""
    size = len(starts) - 1
    shared = np.zeros((size, size))
    for one in range(size):
        for place in range(starts[one], starts[one + 1]):
            for other in range(ends[columns[place]], ends[columns[place] + 1]):
                shared[one, users[other]] += min(counts[place], theirs[other])
    return shared
